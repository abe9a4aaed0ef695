"""A GRU of starts in real numbers: a rival of the LSTM's, which no card and no host runs.

It has as many parameters as the LSTM, to 3 %: 18 units instead of 16. Its level is the median of
its distribution, as the models' that cards run.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from precog_models.durable import write_durably
from precog_models.forecast.starts import INPUTS, quantile
from precog_spec.contract import PROBABILITY, Fmt

__all__ = ["UNITS", "Weights", "levels_of", "read_weights", "write_weights"]

UNITS = 18
_NAMES = ("w_ih", "w_hh", "b_ih", "b_hh", "head_w", "head_b")
_MEDIAN = 0.5

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

#: Arrays by the names of `precog_models.train.gru.Gru`'s parameters.
Weights = Mapping[str, _Floats]


def write_weights(weights: Weights, path: Path) -> None:
    """Write a GRU.

    Raises
    ------
    OSError
        The disk does not take it; the file is then as it was.
    """
    write_durably(path, save({name: weights[name] for name in _NAMES}))


def read_weights(path: Path) -> Weights:
    """Read a GRU.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    weights: Weights = load(path.read_bytes())
    return weights


def levels_of(weights: Weights, x: _Ints) -> _Ints:
    """Levels of windows.

    Parameters
    ----------
    weights : mapping of str to ndarray
    x : ndarray of int64, shape (n, STEPS, 8)
        As `precog_models.forecast.starts.window` makes them.

    Returns
    -------
    ndarray of int64, shape (n,)
        0..7.
    """
    real = x[:, :, :INPUTS] / Fmt.X.one
    h = np.zeros((len(x), weights["w_hh"].shape[0]))
    for k in range(x.shape[1]):
        of_x = np.split(real[:, k] @ weights["w_ih"] + weights["b_ih"], 3, axis=1)
        of_h = np.split(h @ weights["w_hh"] + weights["b_hh"], 3, axis=1)
        reset, update = (_sigmoid(a + b) for a, b in zip(of_x[:2], of_h[:2], strict=True))
        new = np.tanh(of_x[2] + reset * of_h[2])
        h = new + update * (h - new)
    logits = h @ weights["head_w"] + weights["head_b"]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p *= PROBABILITY.one / p.sum(axis=1, keepdims=True)
    return quantile(np.rint(p).astype(np.int64), _MEDIAN)


def _sigmoid(x: _Floats) -> _Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))
