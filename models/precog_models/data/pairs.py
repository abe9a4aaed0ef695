"""Pre-processing (2)-(3): from RTT sequences to features, labels and bins.

    S_0 = R_0,  S_t = 0.2 R_t + 0.8 S_{t-1}
    K_t = (R_t - S_t) / S_t,  L_t = (R_{t+1} - S_t) / S_t

per flow. A pair is the window [K_{t-7} .. K_t] with its label L_t; before a flow's first sample K
is zero, so that the first prediction is made from the first sample. In addition to the real
features there are the integers that the feature unit computes from the same samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_STEPS, Fmt

from ..jit import njit
from ..measure.feature import feature_stream
from .trace import RttTrace

__all__ = ["BIN_EDGES", "BLOCKS", "SIGMA", "Pairs", "make_pairs"]

SIGMA = 0.2
BIN_EDGES = (0.02, 0.08, 0.15)  # of |K_t|, thesis §3.3: four bins
BLOCKS = 20  # contiguous stretches of time into which a run is divided


_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Windows, labels, and what the baselines and the integer model need; one row a pair."""

    k: NDArray[np.float32]  # [n, 8]: K_{t-7} .. K_t
    label: NDArray[np.float32]  # [n]: L_t
    srtt: NDArray[np.float64]  # [n]: S_t, ticks
    rtt_previous: NDArray[np.int64]  # [n]: R_{t-1}, ticks (R_t where there is none)
    rtt_next: NDArray[np.int64]  # [n]: R_{t+1}, ticks: the truth
    k_q: NDArray[np.int16]  # [n, 8]: the feature unit's K, X's format
    srtt_q: NDArray[np.int64]  # [n]: the feature unit's S, SRTT's format
    bin: NDArray[np.int64]  # [n]: 0..3, of |K_t|
    trace: NDArray[np.int64]  # [n]: index of the trace in its sequence
    block: NDArray[np.int64]  # [n]: time block of the label, 0..BLOCKS-1
    whole: NDArray[np.bool_]  # [n]: every sample of window and label lies in that block

    def __len__(self) -> int:
        return len(self.label)

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "Pairs":
        """The pairs of a mask or of an index list."""
        return Pairs(**{f.name: getattr(self, f.name)[which] for f in fields(self)})

    @classmethod
    def concatenate(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """All pairs of `parts`, in their order."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    @property
    def bin_counts(self) -> NDArray[np.int64]:
        """Pairs in each of the four bins."""
        return np.bincount(self.bin, minlength=len(BIN_EDGES) + 1)


@njit
def _smooth(rtt: NDArray[np.int64], sigma: float) -> NDArray[np.float64]:
    s = np.empty(len(rtt))
    s[0] = rtt[0]
    for t in range(1, len(rtt)):
        s[t] = sigma * rtt[t] + (1.0 - sigma) * s[t - 1]
    return s


def _windows(k: NDArray[_T]) -> NDArray[_T]:
    """[n] to [n, 8], zeros before the start."""
    padded = np.concatenate([np.zeros(MAX_STEPS - 1, dtype=k.dtype), k])
    return np.lib.stride_tricks.sliding_window_view(padded, MAX_STEPS)


def _flow_pairs(rtt: NDArray[np.int64], block: NDArray[np.int64], trace: int) -> Pairs:
    s = _smooth(rtt, SIGMA)
    k = (rtt - s) / s
    srtt_q, k_q = feature_stream(rtt, Fmt.SIGMA.from_float(SIGMA))
    # A window and its label touch samples t-7 .. t+1.
    first = np.maximum(np.arange(len(rtt) - 1) - (MAX_STEPS - 1), 0)
    return Pairs(
        k=_windows(k.astype(np.float32))[:-1],
        label=((rtt[1:] - s[:-1]) / s[:-1]).astype(np.float32),
        srtt=s[:-1],
        rtt_previous=np.concatenate([rtt[:1], rtt[:-2]]),
        rtt_next=rtt[1:],
        k_q=_windows(k_q.astype(np.int16))[:-1],
        srtt_q=srtt_q[:-1],
        bin=np.digitize(np.abs(k[:-1]), BIN_EDGES),
        trace=np.full(len(rtt) - 1, trace),
        block=block[1:],
        whole=block[first] == block[1:],
    )


def make_pairs(trace: RttTrace, index: int = 0) -> Pairs:
    """Every pair of a run; flows with fewer than two samples have none.

    Parameters
    ----------
    trace : RttTrace
        The run.
    index : int
        What `Pairs.trace` says.

    Returns
    -------
    Pairs
        Flow by flow, in each flow in the order of time.

    Raises
    ------
    ValueError
        No flow has two samples.
    """
    n = len(trace.rtt)
    # Blocks are stretches of time that hold equally many samples; t is sorted.
    block = np.arange(n) * BLOCKS // max(n, 1)
    order = np.argsort(trace.flow, kind="stable")
    borders = np.flatnonzero(np.diff(trace.flow[order])) + 1
    parts = [
        _flow_pairs(trace.rtt[which], block[which], index)
        for which in np.split(order, borders)
        if len(which) >= 2
    ]
    if not parts:
        raise ValueError("a trace must have a flow with two samples or more")
    return Pairs.concatenate(parts)
