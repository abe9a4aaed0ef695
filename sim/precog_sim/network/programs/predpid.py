"""LSTM + PID: `precog_models.rate.reference.predictor` and `pid`."""

from precog_models.rate.reference import pid, predictor
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (
    ("table", "float", "", 0.0, "`pid.Param`", (PARAMS,)),
    ("weights", "float", "", 0.0, "`predictor.pack_weights`", (predictor.WEIGHTS,)),
)
STATE = (
    ("table", "float", "`State`", (1, STATES)),
    # Not a parameter: threads share those.
    ("work", "float", "scratch of the predictor", (predictor.WORK,)),
)
BIT_RATES = True


def on_start(p, s, e):
    """No sample seen."""
    pid.pid_reset(s.table, 0, p.table)
    return e.rate


def on_sample(p, s, e):
    """One step on the predicted RTT."""
    rtt_us = e.rtt_ps * 1e-6
    e.prediction = predictor.predict_step(s.table, 0, p.table, p.weights, s.work, rtt_us)
    new = pid.pid_step(s.table, 0, p.table, rtt_us, e.prediction, e.now_ps * 1e-6, e.rate)
    return min(max(new, e.min_rate), e.max_rate)
