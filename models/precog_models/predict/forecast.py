"""What a queue pair's profile leads to, and what its predictive scheduler is told of it.

    profile ─► history ─► [queue model] ─► softmax ─► P(queue >= threshold) ─► score ─┬─► forecast
    decision on a sample ─► (RTTpred - base) / budget ─► score ─┐                     │
                                                                └─► by `ScoreSource` ◄┘─► PSCHED

The caller runs the model; this module has everything around it. Compiled, rows of int64.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import FORECAST_FIELDS, NO_SCORE, ScoreSource

from ..jit import njit
from .cps import rtt_position, score, tail
from .softmax import softmax

__all__ = [
    "FORECAST_CONFIG",
    "FORECAST_PARAMETERS",
    "FORECAST_SCORES",
    "P_AT",
    "forecast_answer",
    "forecast_none",
    "forecast_scored",
    "rtt_told",
    "score_to_tell",
]

#: A queue pair's configuration: whether it names a `queue` model, its slot, a `ScoreSource`.
FORECAST_CONFIG = ("queue_enable", "queue_slot", "score_source")

#: What all queue pairs share: the first bin of congestion, and ticks of queueing delay that count
#: as congestion.
FORECAST_PARAMETERS = ("threshold_bin", "rtt_budget")

#: A queue pair's row: of each model the last score that its scheduler wants plus 1, or 0; whether
#: PSCHED is to be told; and the score of the last decision on a sample plus 1, wanted or not.
FORECAST_SCORES = ("queue_score", "rtt_score", "news", "rtt_made")

_QUEUE_SCORE, _RTT_SCORE, _NEWS, _RTT_MADE = range(len(FORECAST_SCORES))
_THRESHOLD, _BUDGET = range(len(FORECAST_PARAMETERS))
_SOURCE = FORECAST_CONFIG.index("score_source")
_NAMES = [name for name, _ in FORECAST_FIELDS]
P_AT = _NAMES.index("p0")
_CPS, _VERSION = _NAMES.index("cps"), _NAMES.index("version")
_QUEUE, _RTT, _MAX = (int(s) for s in (ScoreSource.QUEUE, ScoreSource.RTT, ScoreSource.MAX))

Ints = NDArray[np.int64]


@njit
def _tell(config: Ints, scores: Ints, which: int, source: int, value: int) -> None:
    if config[_SOURCE] == source or config[_SOURCE] == _MAX:
        scores[which] = value
        scores[_NEWS] = 1


@njit
def forecast_none(config: Ints, scores: Ints, answer: Ints) -> None:
    """There is no valid model; arguments as `forecast_answer`."""
    answer[P_AT:] = 0
    answer[_CPS] = NO_SCORE
    _tell(config, scores, _QUEUE_SCORE, _QUEUE, 0)


@njit
def forecast_scored(
    config: Ints, parameters: Ints, knots: Ints, scores: Ints, version: int, answer: Ints
) -> None:
    """The distribution in `answer` gets its score; arguments as `forecast_answer`."""
    cps = score(knots, tail(answer[P_AT:_CPS], parameters[_THRESHOLD]))
    answer[_CPS], answer[_VERSION] = cps, version
    _tell(config, scores, _QUEUE_SCORE, _QUEUE, cps + 1)


@njit
def forecast_answer(
    config: Ints,
    parameters: Ints,
    knots: Ints,
    scores: Ints,
    logits: Ints,
    outputs: int,
    version: int,
    answer: Ints,
) -> None:
    """A model's logits become the forecast.

    Parameters
    ----------
    config : ndarray of int64
        `FORECAST_CONFIG`.
    parameters : ndarray of int64
        `FORECAST_PARAMETERS`.
    knots : ndarray of int64, shape (65,)
        Calibration table of the `queue` model.
    scores : ndarray of int64
        `FORECAST_SCORES`. Changed in place.
    logits : ndarray of int64, shape (16,)
        In OUT's format.
    outputs, version : int
        The model's.
    answer : ndarray of int64
        `contract.FORECAST_FIELDS`; receives all but `qp` and `t`.
    """
    softmax(logits, outputs, answer[P_AT:_CPS])
    forecast_scored(config, parameters, knots, scores, version, answer)


@njit
def rtt_told(
    config: Ints,
    parameters: Ints,
    knots: Ints,
    scores: Ints,
    predicted: int,
    base: int,
    skilled: bool,
) -> None:
    """A sample has been decided on.

    Parameters
    ----------
    config, parameters, scores : ndarray of int64
        As `forecast_answer`.
    knots : ndarray of int64, shape (65,)
        Calibration table of the `rtt` model.
    predicted, base : int
        The decision's; 0: there was no prediction.
    skilled : bool
        The predictor is known to be clearly better than persistence, or is not judged.
    """
    value = 0
    if predicted and skilled:
        value = 1 + score(knots, rtt_position(predicted, base, parameters[_BUDGET]))
    scores[_RTT_MADE] = value
    _tell(config, scores, _RTT_SCORE, _RTT, value)


@njit
def score_to_tell(config: Ints, scores: Ints) -> int:
    """What PSCHED is to be told now, a score or `NO_SCORE`; -1: nothing new. Asking takes it."""
    if not scores[_NEWS]:
        return -1
    scores[_NEWS] = 0
    best = 0
    if config[_SOURCE] == _QUEUE or config[_SOURCE] == _MAX:
        best = scores[_QUEUE_SCORE]
    if config[_SOURCE] == _RTT or config[_SOURCE] == _MAX:
        best = max(best, scores[_RTT_SCORE])
    return int(best - 1) if best else NO_SCORE
