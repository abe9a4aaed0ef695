"""What a predictor must beat: each gives out_t for pairs, like the LSTM's head."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.pairs import Pairs
from .sampler import balanced_weights

__all__ = ["AutoRegression", "linear", "persistence"]

Floats = NDArray[np.float64]

_ROUNDS = 30
_LEAST_DISTANCE = 1e-3  # keeps the weight of a pair that is already met finite


def persistence(pairs: Pairs) -> Floats:
    """RTT_{t+1} = RTT_t."""
    return pairs.k[:, -1].astype(np.float64)


def linear(pairs: Pairs) -> Floats:
    """RTT_{t+1} = RTT_t + (RTT_t - RTT_{t-1}); persistence at a flow's first sample."""
    now = (1.0 + pairs.k[:, -1]) * pairs.srtt
    return np.asarray((2.0 * now - pairs.rtt_previous) / pairs.srtt - 1.0)


@dataclass(frozen=True, eq=False)
class AutoRegression:
    """out_t = a . [K_{t-p+1} .. K_t] + b, fitted with every bin weighing the same.

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
    def fit(cls, pairs: Pairs, order: int = 3, *, robust: bool = False) -> "AutoRegression":
        """Fit to training pairs.

        Parameters
        ----------
        pairs : Pairs
        order : int
            p.
        robust : bool
            False: least squares. True: the least mean of (13) itself, by 30 rounds of reweighted
            least squares; the best that a linear predictor can do, since RTT spikes of ten times
            the mean pull least squares away from everything else.

        Returns
        -------
        AutoRegression
        """
        x = np.column_stack([pairs.k[:, -order:], np.ones(len(pairs))]).astype(np.float64)
        label = pairs.label.astype(np.float64)
        balance = balanced_weights(pairs)
        solution = _least_squares(x, label, balance)
        for _ in range(_ROUNDS if robust else 0):
            distance = np.maximum(np.abs(x @ solution - label), _LEAST_DISTANCE)
            solution = _least_squares(x, label, balance / ((1.0 + label) * distance))
        return cls(weights=solution[:-1], bias=float(solution[-1]))

    def predict(self, pairs: Pairs) -> Floats:
        """out_t of each pair."""
        return np.asarray(pairs.k[:, -len(self.weights) :] @ self.weights + self.bias)


def _least_squares(x: Floats, y: Floats, weights: Floats) -> Floats:
    root = np.sqrt(weights)
    solution = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)
