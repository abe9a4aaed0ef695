"""Forecasts of the golden NIC from profiles of the send queues."""

from precog_spec.contract import CALIBRATION_KNOTS, MAX_OUTPUTS, MAX_STEPS

from ..jit import njit
from ..predict.forecast import P_AT, forecast_answer, forecast_none, forecast_scored, score_to_tell
from .inference import model_at, run_lstm, run_tree
from .layout import (
    DROPPED,
    FORECAST,
    FORECASTING,
    KNOTS,
    KNOTS_QUEUE,
    OUTPUTS,
    PROFILES,
    Q_ENABLE,
    Q_FEATURE,
    Q_FORECAST_CONFIG,
    Q_PROFILES,
    Q_QUEUE_ENABLE,
    Q_QUEUE_SLOT,
    Q_SCORES,
    QP_SIZE,
    QP_TABLE,
    QPS,
    QUEUE_KIND,
    S_OUTPUTS,
    S_VERSION,
    SET_SIZE,
    TREES,
    Ints,
)

__all__ = ["forecast", "take_score"]


@njit
def forecast(block: Ints, profile: Ints, answer: Ints) -> int:
    """Take a profile and make its forecast.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    profile : ndarray of int64, shape (6,)
        `contract.PROFILE_FIELDS`.
    answer : ndarray of int64, shape (20,)
        Receives `contract.FORECAST_FIELDS`.

    Returns
    -------
    int
        0, or `DROPPED`: the NIC makes no forecasts, or the slot does not exist or is not enabled;
        nothing has changed.
    """
    qp = profile[0]
    if not block[FORECAST] or not 0 <= qp < block[QPS]:
        return DROPPED
    at = QP_TABLE + qp * QP_SIZE
    q = block[at : at + QP_SIZE]
    if not q[Q_ENABLE]:
        return DROPPED
    history = q[Q_PROFILES:Q_SCORES].reshape(MAX_STEPS, PROFILES)
    history[:-1] = history[1:]
    history[-1] = profile[2:]

    answer[:2] = profile[:2]
    config, scores = q[Q_FORECAST_CONFIG:Q_FEATURE], q[Q_SCORES:QP_SIZE]
    at = model_at(block, q[Q_QUEUE_ENABLE], q[Q_QUEUE_SLOT], QUEUE_KIND)
    if at < 0:
        forecast_none(config, scores, answer)
        return 0
    shared = block[FORECASTING:QP_TABLE]
    knots = block[KNOTS_QUEUE : KNOTS_QUEUE + CALIBRATION_KNOTS]
    version = block[at + S_VERSION]
    if block[FORECAST] == TREES:
        run_tree(history, block[at : at + SET_SIZE], answer[P_AT : P_AT + MAX_OUTPUTS])
        forecast_scored(config, shared, knots, scores, version, answer)
        return 0
    run_lstm(block, history, block[at : at + SET_SIZE])
    outputs = block[at + S_OUTPUTS]
    forecast_answer(config, shared, knots, scores, block[OUTPUTS:KNOTS], outputs, version, answer)
    return 0


@njit
def take_score(block: Ints, qp: int) -> int:
    """What PSCHED of `qp` is to be told now, as the value of an `EventKind.SCORE`; -1: nothing.

    To be asked after `decide` and `forecast`; asking takes the news.
    """
    if not block[FORECAST]:
        return -1
    at = QP_TABLE + qp * QP_SIZE
    q = block[at : at + QP_SIZE]
    return int(score_to_tell(q[Q_FORECAST_CONFIG:Q_FEATURE], q[Q_SCORES:QP_SIZE]))
