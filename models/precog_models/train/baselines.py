"""What a predictor must beat: each gives out_t for pairs, like the LSTM's head."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.pairs import Pairs
from .sampler import balanced_weights

__all__ = ["AutoRegression", "linear", "persistence"]

Floats = NDArray[np.float64]


def persistence(pairs: Pairs) -> Floats:
    """RTT_{t+1} = RTT_t."""
    return pairs.k[:, -1].astype(np.float64)


def linear(pairs: Pairs) -> Floats:
    """RTT_{t+1} = RTT_t + (RTT_t - RTT_{t-1}); persistence at a flow's first sample."""
    now = (1.0 + pairs.k[:, -1]) * pairs.srtt
    return np.asarray((2.0 * now - pairs.rtt_previous) / pairs.srtt - 1.0)


@dataclass(frozen=True, eq=False)
class AutoRegression:
    """out_t = a . [K_{t-p+1} .. K_t] + b, by least squares with every bin weighing the same.

    Parameters
    ----------
    weights : ndarray, shape (p,)
        a, oldest first.
    bias : float
        b.
    """

    weights: Floats
    bias: float

    @classmethod
    def fit(cls, pairs: Pairs, order: int = 3) -> "AutoRegression":
        """Fit to training pairs."""
        root = np.sqrt(balanced_weights(pairs))
        x = np.column_stack([pairs.k[:, -order:], np.ones(len(pairs))]).astype(np.float64)
        solution = np.linalg.lstsq(x * root[:, None], pairs.label * root, rcond=None)[0]
        return cls(weights=np.asarray(solution[:-1], dtype=np.float64), bias=float(solution[-1]))

    def predict(self, pairs: Pairs) -> Floats:
        """out_t of each pair."""
        return np.asarray(pairs.k[:, -len(self.weights) :] @ self.weights + self.bias)
