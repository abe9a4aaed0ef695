"""Send queues of one run: every request and departure, and the profile of each queue over time.

A trace is the hand-over point between measurement (simulation, card) and training of forecasts. A
queue is *profiled* once a base RTT, as the profiler block does it: the four numbers that it has at
that time, plus numbers that only a forecast's judge may know.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import PROFILE_INPUTS, QueueEvent

from ..jit import njit
from ..measure.profiler import PROFILE_STATE, queue_clear, queue_step
from .arrays import load_records, save_records

__all__ = ["Profile", "QueueTrace", "load_queue_traces", "profile", "save_queue_traces"]

_COLUMNS = {"queue": "int32", "t": "int64", "size": "int64"}
_HEADS = "queue_heads"
_ARRIVAL, _DEPARTURE = int(QueueEvent.ARRIVAL), int(QueueEvent.DEPARTURE)
_PEAK, _BYTES_IN = PROFILE_STATE.index("peak"), PROFILE_STATE.index("bytes_in")

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QueueTrace:
    """Requests and departures of every queue pair of one run, in their order.

    Parameters
    ----------
    queue : ndarray of int64, shape (n,)
        Queue pair of each change, 0..queues - 1.
    t : ndarray of int64, shape (n,)
        When, ticks, never decreasing.
    size : ndarray of int64, shape (n,)
        Bytes requested; negative: bytes that left.
    queues : int
        Queue pairs of the run.
    base_rtt : int
        Base RTT, ticks: the period of the profile and the unit of horizons.
    end : int
        Ticks at which the run ends.
    group : str
        The scenario under which figures are reported.
    law : str
        The rate law that ran.
    card : dict
        Everything needed to make the run again (JSON data).

    Raises
    ------
    ValueError
        Lengths differ, time runs backwards, a queue does not exist, or a number is out of range.
    """

    queue: Ints
    t: Ints
    size: Ints
    queues: int
    base_rtt: int
    end: int
    group: str
    law: str
    card: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.queue) == len(self.t) == len(self.size):
            lengths = (len(self.queue), len(self.t), len(self.size))
            raise ValueError(f"queue, t and size must have one length, not {lengths}")
        for name in ("queues", "base_rtt", "end"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if not len(self.t):
            return
        if not 0 <= self.queue.min() <= self.queue.max() < self.queues:
            raise ValueError(
                f"queue must be in 0..{self.queues - 1}, not {self.queue.min()}..{self.queue.max()}"
            )
        if self.t[0] < 0 or (np.diff(self.t) < 0).any():
            raise ValueError("t must be >= 0 and never decrease: changes come in their order")


@dataclass(frozen=True, eq=False)
class Profile:
    """Samples of every queue of a run, one a period.

    Parameters
    ----------
    signals : ndarray of int64, shape (queues, samples, 4)
        What the profiler has before it is normalised, in the order of `PROFILE_FIELDS`.
    highest : ndarray of int64, shape (queues, samples)
        Most bytes in the queue since the sample before.
    requested : ndarray of int64, shape (queues, samples)
        Bytes requested since the sample before.
    """

    signals: Ints
    highest: Ints
    requested: Ints

    @property
    def occupancy(self) -> Ints:
        """Bytes in the queue at each sample."""
        return self.signals[:, :, 0]


@njit
def _profile(
    queue: Ints,
    t: Ints,
    size: Ints,
    period: int,
    rows: Ints,
    signals: Ints,
    highest: Ints,
    requested: Ints,
) -> None:
    n = 0
    for k in range(signals.shape[1]):
        while n < len(t) and t[n] <= (k + 1) * period:
            kind = _ARRIVAL if size[n] >= 0 else _DEPARTURE
            queue_step(rows[queue[n]], kind, abs(size[n]), t[n], 0)
            n += 1
        for q in range(len(rows)):
            signals[q, k] = rows[q, : signals.shape[2]]
            highest[q, k] = rows[q, _PEAK]
            requested[q, k] = rows[q, _BYTES_IN]
            queue_clear(rows[q])


def profile(trace: QueueTrace) -> Profile:
    """Profile every queue once a base RTT, by the golden profiler.

    All queues are sampled at the same times, the first one a base RTT after the start; the card,
    which visits its queue pairs in turn, is at most a round late.
    """
    shape = (trace.queues, trace.end // trace.base_rtt)
    signals = np.zeros((*shape, len(PROFILE_INPUTS)), dtype=np.int64)
    highest, requested = (np.zeros(shape, dtype=np.int64) for _ in range(2))
    rows = np.zeros((trace.queues, len(PROFILE_STATE)), dtype=np.int64)
    _profile(trace.queue, trace.t, trace.size, trace.base_rtt, rows, signals, highest, requested)
    return Profile(signals, highest, requested)


def save_queue_traces(path: str | Path, traces: Sequence[QueueTrace]) -> None:
    """Write traces to a compressed ``.npz`` file."""
    save_records(path, traces, _COLUMNS, _HEADS)


def load_queue_traces(path: str | Path) -> list[QueueTrace]:
    """Read what `save_queue_traces` wrote.

    Raises
    ------
    ValueError
        The file is not one of queue traces.
    """
    return load_records(path, QueueTrace, _COLUMNS, _HEADS, "queue traces")
