"""What a queue model must beat: forecasts without a network, as distributions over the same bins.

Each is fitted to training windows for one horizon and gives [n, bins] for others. A point forecast
becomes a distribution by the empirical residuals of its training windows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.windows import Windows

__all__ = ["AutoRegression", "Climatology", "Persistence", "Transition"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RESIDUALS = 2000  # quantiles that stand for all residuals


def _bins(edges: Ints, size: Ints) -> Ints:
    return np.searchsorted(edges, size, side="right").astype(np.int64)


def _quantiles(residuals: Floats) -> Floats:
    places = (np.arange(_RESIDUALS) + 0.5) / _RESIDUALS
    return np.quantile(residuals, places, method="inverted_cdf").astype(np.float64)


def _spread(center: Floats, residuals: Floats, edges: Ints) -> Floats:
    """Distributions of `center` [n] plus a residual; what would be negative is an empty queue."""
    below = np.searchsorted(residuals, edges - center[:, None], side="left") / len(residuals)
    ends = np.zeros((len(center), 1))
    return np.diff(np.concatenate([ends, below, ends + 1.0], axis=1), axis=1)


@dataclass(frozen=True, eq=False)
class Climatology:
    """The same distribution for every window: how often each bin came in training."""

    p: Floats

    @classmethod
    def fit(cls, windows: Windows, column: int, edges: Ints) -> "Climatology":
        """Of a column of `HORIZONS`."""
        count = np.bincount(_bins(edges, windows.later[:, column]), minlength=len(edges) + 1)
        return cls(count / count.sum())

    def predict(self, windows: Windows) -> Floats:
        """[n, bins]."""
        return np.tile(self.p, (len(windows), 1))


@dataclass(frozen=True, eq=False)
class Persistence:
    """The queue stays as it is, but for the changes that training has seen, in bytes."""

    residuals: Floats
    edges: Ints

    @classmethod
    def fit(cls, windows: Windows, column: int, edges: Ints) -> "Persistence":
        """Of a column of `HORIZONS`."""
        return cls(_quantiles((windows.later[:, column] - windows.now).astype(np.float64)), edges)

    def predict(self, windows: Windows) -> Floats:
        """[n, bins]."""
        return _spread(windows.now.astype(np.float64), self.residuals, self.edges)


@dataclass(frozen=True, eq=False)
class Transition:
    """How often each bin followed the present one: persistence that knows how long the queue is."""

    p: Floats  # [bin now, bin then]
    edges: Ints

    @classmethod
    def fit(cls, windows: Windows, column: int, edges: Ints) -> "Transition":
        """Of a column of `HORIZONS`; a bin that training has not seen stays."""
        bins = len(edges) + 1
        count = np.zeros((bins, bins))
        now, then = _bins(edges, windows.now), _bins(edges, windows.later[:, column])
        np.add.at(count, (now, then), 1.0)
        count += np.eye(bins) * (count.sum(axis=1, keepdims=True) == 0)
        return cls(count / count.sum(axis=1, keepdims=True), edges)

    def predict(self, windows: Windows) -> Floats:
        """[n, bins]."""
        return np.asarray(self.p[_bins(self.edges, windows.now)])


@dataclass(frozen=True, eq=False)
class AutoRegression:
    """Least squares on the queue's last lengths, with residuals."""

    weights: Floats  # [T + 1], the last is the constant
    residuals: Floats
    edges: Ints

    @classmethod
    def fit(cls, windows: Windows, column: int, edges: Ints) -> "AutoRegression":
        """Of a column of `HORIZONS`."""
        x = _design(windows)
        y = windows.later[:, column].astype(np.float64)
        weights = np.linalg.lstsq(x, y, rcond=None)[0].astype(np.float64)
        return cls(weights, _quantiles(y - x @ weights), edges)

    def predict(self, windows: Windows) -> Floats:
        """[n, bins]."""
        return _spread(_design(windows) @ self.weights, self.residuals, self.edges)


def _design(windows: Windows) -> Floats:
    past = windows.signals[:, :, 0].astype(np.float64)
    return np.concatenate([past, np.ones((len(past), 1))], axis=1)
