"""The table of errors: LSTM in real numbers and in integers, and the baselines, by scenario.

The error of a pair is |RTTpred - RTT_{t+1}| / RTT_{t+1} in percent, which is (13). *Balanced* is
the mean of the four bins' means, so that every bin of |K_t| counts the same whatever its size;
*unbalanced* is the plain mean. Intervals come from a bootstrap over whole blocks of time, since
neighbouring pairs are not independent.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import MAX_INPUTS, Fmt

from ..data.dataset import Dataset
from ..data.pairs import BIN_EDGES, BLOCKS, Pairs
from ..float_lstm import FloatLstm
from ..image import Image
from ..jit import njit
from ..predict.lstm import forward_windows
from ..predict.rtt_head import rtt_pred
from .baselines import AutoRegression, linear, persistence

__all__ = ["METHODS", "Evaluation", "Score", "evaluate", "integer_rtt"]

METHODS = ("float", "integer", "ar3", "ar3-robust", "linear", "persistence")

_BINS = len(BIN_EDGES) + 1
_CONFIDENCE = (2.5, 97.5)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Errors of one method on one set of pairs, percent.

    Parameters
    ----------
    group, law, method : str
        Scenario, rate law (``"all"``: together), one of `METHODS`.
    pairs : int
        How many were scored.
    balanced, unbalanced : float
        Mean of the bins' means; mean of all.
    bins : tuple of float
        The four bins' means; NaN where a bin is empty.
    interval : tuple of float
        95 % interval of `balanced`.
    """

    group: str
    law: str
    method: str
    pairs: int
    balanced: float
    unbalanced: float
    bins: tuple[float, ...]
    interval: tuple[float, float]


@dataclass(frozen=True)
class Evaluation:
    """Every score, in the order group, law, method."""

    scores: tuple[Score, ...]

    def score(self, group: str, method: str, law: str = "all") -> Score:
        """One row.

        Raises
        ------
        KeyError
            There is none of that name.
        """
        for score in self.scores:
            if (score.group, score.law, score.method) == (group, law, method):
                return score
        raise KeyError(f"no score of {method!r} for {group!r}, law {law!r}")

    def to_dict(self) -> list[dict[str, Any]]:
        """JSON data, one object a row."""
        return [asdict(score) for score in self.scores]


@njit
def _rtt_pred_many(
    srtt: NDArray[np.int64], out: NDArray[np.int64], pred: NDArray[np.int64]
) -> None:
    for n in range(len(srtt)):
        pred[n] = rtt_pred(srtt[n], out[n])


def integer_rtt(image: Image, pairs: Pairs) -> NDArray[np.int64]:
    """RTTpred of each pair, SRTT's format: integer features, golden LSTM, golden head.

    Raises
    ------
    ValueError
        The model has more than one input.
    """
    weights = image.weights
    if weights.inputs != 1:
        raise ValueError(f"an RTT model must have one input, not {weights.inputs}")
    x = np.zeros((len(pairs), weights.steps, MAX_INPUTS), dtype=np.int64)
    x[:, :, 0] = pairs.k_q[:, -weights.steps :]
    out = np.ascontiguousarray(forward_windows(weights, x)[:, 0])
    pred = np.zeros(len(pairs), dtype=np.int64)
    _rtt_pred_many(pairs.srtt_q, out, pred)
    return pred


def _errors(out: Floats, pairs: Pairs) -> Floats:
    label = pairs.rtt_next / pairs.srtt - 1.0
    return np.asarray(100.0 * np.abs(out - label) / (1.0 + label))


def _score(
    group: str,
    law: str,
    method: str,
    errors: Floats,
    pairs: Pairs,
    draws: int,
    rng: np.random.Generator,
) -> Score:
    units, unit = np.unique(pairs.trace * BLOCKS + pairs.block, return_inverse=True)
    cell = unit * _BINS + pairs.bin
    shape = (len(units), _BINS)
    sums = np.bincount(cell, errors, minlength=len(units) * _BINS).reshape(shape)
    counts = np.bincount(cell, minlength=len(units) * _BINS).reshape(shape)
    picks = rng.multinomial(len(units), np.full(len(units), 1.0 / len(units)), size=draws)
    with np.errstate(invalid="ignore"):  # an empty bin is 0 / 0 = NaN and is left out of the mean
        bins = sums.sum(axis=0) / counts.sum(axis=0)
        drawn = np.nanmean((picks @ sums) / (picks @ counts), axis=1)
    low, high = np.percentile(drawn, _CONFIDENCE)
    return Score(
        group=group,
        law=law,
        method=method,
        pairs=len(pairs),
        balanced=float(np.nanmean(bins)),
        unbalanced=float(errors.mean()),
        bins=tuple(float(b) for b in bins),
        interval=(float(low), float(high)),
    )


def evaluate(
    dataset: Dataset,
    model: FloatLstm,
    image: Image | None = None,
    *,
    draws: int = 400,
    seed: int = 0,
) -> Evaluation:
    """Score the predictor and its baselines on every test group.

    Parameters
    ----------
    dataset : Dataset
        AR(3) is fitted to its core training pairs, by least squares and by the error itself.
    model : FloatLstm
        One input, one output.
    image : Image, optional
        The quantized model; without it there are no ``integer`` rows.
    draws : int
        Bootstrap resamples.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Evaluation
    """
    methods: dict[str, Callable[[Pairs], Floats]] = {
        "float": lambda p: model.forward(p.k[:, -model.steps :, None])[:, 0],
        "ar3": AutoRegression.fit(dataset.core).predict,
        "ar3-robust": AutoRegression.fit(dataset.core, robust=True).predict,
        "linear": linear,
        "persistence": persistence,
    }
    if image is not None:
        methods["integer"] = lambda p: integer_rtt(image, p) / Fmt.SRTT.one / p.srtt - 1.0
    scores = []
    for group, pairs in dataset.test.items():
        laws = dataset.law_of(pairs)
        errors = {name: _errors(method(pairs), pairs) for name, method in methods.items()}
        names = sorted(set(laws.tolist()))
        for law in ["all", *(names if len(names) > 1 else [])]:
            which = np.ones(len(pairs), dtype=bool) if law == "all" else laws == law
            chosen = pairs.select(which)
            for name in METHODS:
                if name in errors:
                    rng = np.random.default_rng(seed)  # the same blocks for every method
                    scores.append(_score(group, law, name, errors[name][which], chosen, draws, rng))
    return Evaluation(tuple(scores))
