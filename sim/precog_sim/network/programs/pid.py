"""PID on the measured RTT: `precog_models.rate.reference.pid`."""

from precog_models.rate.reference import pid
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (("table", "float", "", 0.0, "`pid.Param`", (PARAMS,)),)
STATE = (("table", "float", "`State`", (1, STATES)),)
BIT_RATES = True


def on_start(p, s, e):
    """No sample seen."""
    pid.pid_reset(s.table, 0, p.table)
    return e.rate


def on_sample(p, s, e):
    """One step."""
    rtt_us = e.rtt_ps * 1e-6
    new = pid.pid_step(s.table, 0, p.table, rtt_us, rtt_us, e.now_ps * 1e-6, e.rate)
    return min(max(new, e.min_rate), e.max_rate)
