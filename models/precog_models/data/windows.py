"""Windows of queue profiles with what came after them: what a queue model learns from.

A window is the last T samples of one queue, a base RTT apart. What came after is known for each
horizon of `HORIZONS` base RTTs: the queue then, its highest until then, and what was requested
until then. Windows that are a window and the longest horizon apart share no sample: independent
ones are taken at that stride (`INDEPENDENT`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_INPUTS, PROFILE_CENTER, PROFILE_GAIN, PROFILE_INPUTS

from ..measure.profiler import normalise
from .queue_trace import QueueTrace, profile

__all__ = [
    "BIN_EDGES",
    "BLOCKS",
    "HORIZONS",
    "INDEPENDENT",
    "STEPS",
    "THRESHOLD_BIN",
    "Normaliser",
    "Windows",
    "make_windows",
]

HORIZONS = (1, 4)  # base RTTs
#: Bytes: an empty queue has a bin of its own; the last one begins at about eight times what
#: 100 Gb/s carry in a base RTT of 4 to 6 us, more than is gone within the longest horizon.
BIN_EDGES = (1, *(k << 10 for k in (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)))
THRESHOLD_BIN = 9  # 64 KiB, about one of those
STEPS = 8
INDEPENDENT = STEPS + max(HORIZONS)
BLOCKS = 10  # contiguous stretches of time into which a run is divided

_SPREAD = 3.0  # of an input after normalisation, against X's range of 8: gates must tell bins apart

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Normaliser:
    """Registers of the profiler: logarithms that become 0, and slopes.

    Parameters
    ----------
    centers, gains : tuple of int
        One for each input, in `PROFILE_CENTER`'s and `PROFILE_GAIN`'s formats.
    """

    centers: tuple[int, ...]
    gains: tuple[int, ...]

    @classmethod
    def fit(cls, signals: Ints) -> "Normaliser":
        """Inputs of mean 0 and standard deviation 3 over `signals` [..., 4]."""
        log = np.log2(signals.reshape(-1, len(PROFILE_INPUTS)) + 1.0)
        spread = np.maximum(log.std(axis=0), _SPREAD / 4)  # the gain's range ends at 4
        return cls(
            tuple(PROFILE_CENTER.from_float(c) for c in log.mean(axis=0)),
            tuple(PROFILE_GAIN.from_float(_SPREAD / s) for s in spread),
        )

    def __call__(self, signals: Ints) -> Ints:
        """Engine inputs of `signals` [n, T, 4]: [n, T, 8] in X's format."""
        x = np.zeros((*signals.shape[:2], MAX_INPUTS), dtype=np.int64)
        x[:, :, : signals.shape[2]] = normalise(signals, self.centers, self.gains)
        return x


@dataclass(frozen=True, eq=False)
class Windows:
    """One row a window; columns of the last three are `HORIZONS`."""

    signals: Ints  # [n, T, 4], oldest first
    queue: Ints  # [n]: queue of its run
    run: Ints  # [n]: index of the trace in its sequence
    block: Ints  # [n]: block of time, unique over runs
    whole: NDArray[np.bool_]  # [n]: all samples, and what came after, lie in that block
    later: Ints  # [n, 2]: bytes in the queue
    highest: Ints  # [n, 2]: most bytes until then
    requested: Ints  # [n, 2]: bytes requested until then

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def now(self) -> Ints:
        """Bytes in the queue at the newest sample."""
        return self.signals[:, -1, 0]

    def select(self, which: NDArray[np.bool_] | Ints) -> "Windows":
        """The windows of a mask or of an index list."""
        return Windows(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


def _of_run(trace: QueueTrace, index: int, stride: int) -> Windows:
    seen = profile(trace)
    samples = seen.occupancy.shape[1]
    parts: list[Windows] = []
    ends = np.arange(STEPS - 1, samples - max(HORIZONS), stride)
    for q in range(trace.queues):
        # The card takes no sample before the first request.
        first = int(np.argmax(seen.requested[q] > 0)) if seen.requested[q].any() else samples
        at = ends[ends - (STEPS - 1) >= first]
        back = at[:, None] + np.arange(1 - STEPS, 1)
        ahead = [at[:, None] + np.arange(1, h + 1) for h in HORIZONS]
        parts.append(
            Windows(
                signals=seen.signals[q][back],
                queue=np.full(len(at), q),
                run=np.full(len(at), index),
                block=index * BLOCKS + at * BLOCKS // samples,
                whole=back[:, 0] * BLOCKS // samples == (at + max(HORIZONS)) * BLOCKS // samples,
                later=np.stack([seen.occupancy[q][at + h] for h in HORIZONS], axis=1),
                highest=np.stack([seen.highest[q][k].max(axis=1) for k in ahead], axis=1),
                requested=np.stack([seen.requested[q][k].sum(axis=1) for k in ahead], axis=1),
            )
        )
    return _concatenate(parts)


def _concatenate(parts: Sequence[Windows]) -> Windows:
    return Windows(
        **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Windows)}
    )


def make_windows(traces: Sequence[QueueTrace], *, stride: int = INDEPENDENT) -> Windows:
    """Windows of every queue of every trace, run by run and queue by queue.

    Parameters
    ----------
    traces : sequence of QueueTrace
    stride : int
        Samples from a window to the next one of its queue.

    Raises
    ------
    ValueError
        The stride is not positive, or no trace is long enough for a window.
    """
    if stride < 1:
        raise ValueError(f"stride must be positive, not {stride!r}")
    windows = _concatenate([_of_run(trace, i, stride) for i, trace in enumerate(traces)])
    if not len(windows):
        need = STEPS + max(HORIZONS)
        raise ValueError(f"a trace must last more than {need} base RTTs with requests in them")
    return windows
