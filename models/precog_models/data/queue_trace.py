"""Send queues of one run: every request and departure, and the profile of each queue over time.

A trace is the hand-over point between whoever measures (simulation, card) and whoever learns
forecasts. A queue is *profiled* once a period, as the profiler block does it: the four numbers that
it knows at that time (`SIGNALS`), and beside them what is to be forecast, the bytes in the queue.
"""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["SIGNALS", "Profile", "QueueTrace", "load_queue_traces", "profile", "save_queue_traces"]

#: What a sample holds, in the order of the queue head's inputs.
SIGNALS = ("occupancy", "inter_arrival", "service_time", "message_size")

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
        `SIGNALS`: bytes and ticks, as the profiler has them before they are normalised.
    occupancy : ndarray of int64, shape (queues, samples)
        Bytes in the queue at the sample, of 64 bits: the truth.
    highest : ndarray of int64, shape (queues, samples)
        Most bytes in the queue since the sample before.
    requested : ndarray of int64, shape (queues, samples)
        Bytes requested since the sample before.
    """

    signals: Ints
    occupancy: Ints
    highest: Ints
    requested: Ints


@njit(cache=True)
def _profile(
    queue: Ints,
    t: Ints,
    size: Ints,
    period: int,
    signals: Ints,
    occupancy: Ints,
    highest: Ints,
    requested: Ints,
) -> None:
    queues, samples = occupancy.shape
    held = np.zeros(queues, dtype=np.int64)
    most = np.zeros(queues, dtype=np.int64)
    came = np.zeros(queues, dtype=np.int64)
    asked = np.full(queues, -1, dtype=np.int64)  # when the last request came
    since = np.zeros(queues, dtype=np.int64)  # when the service that runs began
    gap = np.zeros(queues, dtype=np.int64)
    service = np.zeros(queues, dtype=np.int64)
    last = np.zeros(queues, dtype=np.int64)
    n = 0
    for k in range(samples):
        now = (k + 1) * period
        while n < len(t) and t[n] <= now:
            q = queue[n]
            if size[n] >= 0:
                if held[q] == 0:
                    since[q] = t[n]
                if asked[q] >= 0:
                    gap[q] = t[n] - asked[q]
                asked[q] = t[n]
                last[q] = size[n]
                came[q] += size[n]
            else:
                service[q] = t[n] - since[q]
                since[q] = t[n]
            held[q] += size[n]
            most[q] = max(most[q], held[q])
            n += 1
        for q in range(queues):
            signals[q, k, 0] = held[q]
            signals[q, k, 1] = gap[q]
            signals[q, k, 2] = service[q]
            signals[q, k, 3] = last[q]
            occupancy[q, k] = held[q]
            highest[q, k] = most[q]
            requested[q, k] = came[q]
            most[q] = held[q]
            came[q] = 0


def profile(trace: QueueTrace) -> Profile:
    """Profile every queue once a base RTT; the first sample is one base RTT after the start.

    A service begins when the queue stops being empty or with the departure before.
    """
    shape = (trace.queues, trace.end // trace.base_rtt)
    signals = np.zeros((*shape, len(SIGNALS)), dtype=np.int64)
    occupancy, highest, requested = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    _profile(
        trace.queue, trace.t, trace.size, trace.base_rtt, signals, occupancy, highest, requested
    )
    return Profile(signals, occupancy, highest, requested)


def save_queue_traces(path: str | Path, traces: Sequence[QueueTrace]) -> None:
    """Write traces to a compressed ``.npz`` file."""
    arrays: dict[str, NDArray[Any]] = {}
    heads = []
    for i, trace in enumerate(traces):
        heads.append({k: v for k, v in asdict(trace).items() if k not in ("queue", "t", "size")})
        arrays[f"queue_{i}"] = trace.queue.astype(np.int32)
        arrays[f"t_{i}"] = trace.t
        arrays[f"size_{i}"] = trace.size
    text = np.frombuffer(json.dumps(heads).encode(), dtype=np.uint8)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, queue_heads=text, **arrays)


def load_queue_traces(path: str | Path) -> list[QueueTrace]:
    """Read what `save_queue_traces` wrote.

    Raises
    ------
    ValueError
        The file is not one of queue traces.
    """
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            heads = json.loads(file["queue_heads"].tobytes())
            return [
                QueueTrace(
                    queue=file[f"queue_{i}"].astype(np.int64),
                    t=file[f"t_{i}"].astype(np.int64),
                    size=file[f"size_{i}"].astype(np.int64),
                    **head,
                )
                for i, head in enumerate(heads)
            ]
    except (KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a file of queue traces: {error}") from error
