"""Whether one model forecasts better than another, from windows that both have seen.

Both forecast the same windows; what counts is the difference of their CRPS. Windows of one stretch
of time share what happened there, so the differences are averaged over stretches first, and the
stretches' means decide by a one-sided z test.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_models.forecast.metrics import crps

__all__ = ["Duel", "Tally", "bin_crps", "persistence_crps"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def bin_crps(distributions: Ints, bins: int, came: Ints) -> Floats:
    """CRPS, in bins, of forecasts [n, 16] that are 32768 in all, of a model with this many bins."""
    if not len(came):
        return np.zeros(0)
    return np.asarray(crps(distributions[:, :bins] / 32768.0, came), dtype=np.float64)


def persistence_crps(now: Ints, came: Ints) -> Floats:
    """CRPS of the forecast that a queue stays in its bin: how many edges it was off."""
    found: Floats = np.abs(now - came).astype(np.float64)
    return found


@dataclass(frozen=True)
class Tally:
    """Sums over the windows that were judged lately.

    Parameters
    ----------
    n : int
    score, reference : float
        Mean CRPS of the model and of persistence, bins.
    """

    n: int
    score: float
    reference: float

    @property
    def skill(self) -> float:
        """1 - score / reference; 0 where persistence is perfect and so is the model."""
        if self.reference == 0:
            return 0.0 if self.score == 0 else -math.inf
        return 1.0 - self.score / self.reference


class Duel:
    """Differences of two scores over the last stretches of time.

    Parameters
    ----------
    stretches : int
        Kept.
    """

    def __init__(self, stretches: int) -> None:
        self._sums: deque[list[float]] = deque(maxlen=stretches)  # sum of differences, windows
        self._stretch: int | None = None

    def add(self, stretch: int, ours: Floats, theirs: Floats) -> None:
        """Windows of one stretch; a lower score is better."""
        if not len(ours):
            return
        if stretch != self._stretch:
            self._stretch = stretch
            self._sums.append([0.0, 0.0])
        self._sums[-1][0] += float((ours - theirs).sum())
        self._sums[-1][1] += len(ours)

    def __len__(self) -> int:
        return len(self._sums)

    def verdict(self, least: int, z: float) -> int:
        """-1: ours is better, 1: theirs is, 0: open; with fewer than `least` stretches open."""
        if len(self._sums) < max(2, least):
            return 0
        means = np.array([total / n for total, n in self._sums])
        mean, error = means.mean(), means.std(ddof=1) / math.sqrt(len(means))
        if mean + z * error < 0:
            return -1
        return int(mean - z * error > 0)
