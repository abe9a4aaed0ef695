"""Decisions of the golden NIC on samples of the round-trip time."""

from typing import NamedTuple

import numpy as np

from precog_spec.contract import CALIBRATION_KNOTS, MAX_STEPS, Algorithm, Flag
from precog_spec.trial_fields import TRIAL_KINDS

from ..jit import njit
from ..measure.base_rtt import base_step
from ..measure.feature import feature_step
from ..predict.forecast import rtt_told
from ..predict.rtt_head import rtt_pred
from ..rate.trials import trial_arm, trial_count
from ..rate.unit import rate_step
from .events import SAMPLE_KIND
from .inference import model_at, run_lstm
from .laws import (
    EVENT_WORDS,
    W_BASE,
    W_NOW,
    W_PREDICTED,
    W_PREDICTION,
    W_RTT,
    advice_held,
    is_programmed,
    run_program,
    schedule,
)
from .layout import (
    BASE_WINDOW,
    DROPPED,
    FORECAST,
    FORECASTING,
    KNOTS_RTT,
    LATE,
    LOGGED,
    OUTPUTS,
    PSCHED,
    Q_ALGORITHM,
    Q_BASE,
    Q_ENABLE,
    Q_FEATURE,
    Q_FORECAST_CONFIG,
    Q_HISTORY,
    Q_MODEL_ENABLE,
    Q_MODEL_SLOT,
    Q_PSCHED,
    Q_RATE,
    Q_SCORES,
    QP_SIZE,
    QP_TABLE,
    QPS,
    RATE_AT,
    RTT_KIND,
    RTT_TRIAL,
    SCORE_TRIAL,
    SET_SIZE,
    SIGMA,
    SLA,
    TRIALS,
    Ints,
)

__all__ = ["Decision", "decide", "decide_many"]

_UNSKILLED = 1 << Flag.UNSKILLED
_PREDPID = int(Algorithm.PREDPID)
_RTT = TRIAL_KINDS.index("rtt")


class Decision(NamedTuple):
    """`contract.DECISION_FIELDS` by name."""

    qp: int
    rate: int
    window: int
    rtt_pred: int
    target: int
    base: int
    srtt: int
    flags: int


@njit
def decide(block: Ints, sample: Ints, decision: Ints) -> int:
    """Take a sample and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    sample : ndarray of int64, shape (3,)
        `contract.SAMPLE_FIELDS`.
    decision : ndarray of int64, shape (8,)
        Receives `contract.DECISION_FIELDS`.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, and nothing has changed.
    """
    qp, rtt, t = sample[0], sample[1], sample[2]
    if not 0 <= qp < block[QPS]:
        return DROPPED
    at = QP_TABLE + qp * QP_SIZE
    q = block[at : at + QP_SIZE]
    if not q[Q_ENABLE]:
        return DROPPED

    k = feature_step(q[Q_FEATURE:Q_BASE], rtt, block[SIGMA])
    srtt = q[Q_FEATURE + 1]
    base = base_step(q[Q_BASE:Q_RATE], rtt, t, block[BASE_WINDOW])

    history = q[Q_HISTORY:Q_PSCHED]
    history[:-1] = history[1:]
    history[-1] = k

    predicted = False
    prediction = 0
    late = block[LOGGED] & LATE != 0
    at = model_at(block, q[Q_MODEL_ENABLE], q[Q_MODEL_SLOT], RTT_KIND)
    if at >= 0 and not late:
        predicted = True
        run_lstm(block, history.reshape(MAX_STEPS, 1), block[at : at + SET_SIZE])
        prediction = rtt_pred(srtt, block[OUTPUTS])

    held = advice_held(block)
    trial, parameters = block[RTT_TRIAL:SCORE_TRIAL], block[TRIALS:SLA]
    arm = trial_arm(trial, parameters, _RTT, qp, t)
    rate, window, target, flags = rate_step(
        q[Q_RATE:Q_HISTORY],
        q[:Q_FORECAST_CONFIG],
        block[RATE_AT:PSCHED],
        rtt,
        base,
        predicted,
        prediction,
        late,
        held,
        arm & 1 != 0,
    )
    if predicted and not held and q[Q_ALGORITHM] == _PREDPID:
        trial_count(trial, parameters, t, arm, rtt - base, rate)
    if block[FORECAST]:
        rtt_told(
            q[Q_FORECAST_CONFIG:Q_FEATURE],
            block[FORECASTING:QP_TABLE],
            block[KNOTS_RTT : KNOTS_RTT + CALIBRATION_KNOTS],
            q[Q_SCORES:QP_SIZE],
            prediction,
            base,
            flags & _UNSKILLED == 0,
        )
    decision[0] = qp
    decision[1] = rate
    decision[2] = window
    decision[3] = prediction
    decision[4] = target
    decision[5] = base
    decision[6] = srtt
    decision[7] = flags
    above = False
    if is_programmed(block, q):
        words = np.zeros(EVENT_WORDS, dtype=np.int64)
        words[0], words[W_NOW], words[W_RTT], words[W_BASE] = SAMPLE_KIND, t, rtt, base
        words[W_PREDICTED], words[W_PREDICTION] = prediction != 0, prediction
        above = run_program(block, qp, words, decision)
    schedule(block, q, t, srtt, rtt - base, above, decision)
    return 0


@njit
def decide_many(block: Ints, samples: Ints, decisions: Ints) -> int:
    made = 0
    for n in range(len(samples)):
        if decide(block, samples[n], decisions[made]) != DROPPED:
            made += 1
    return made
