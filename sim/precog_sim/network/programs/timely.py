"""TIMELY: `precog_models.rate.reference.timely`."""

from precog_models.rate.reference import timely
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (("table", "float", "", 0.0, "`timely.Param`", (PARAMS,)),)
STATE = (("table", "float", "`State`", (1, STATES)),)
BIT_RATES = True


def on_sample(p, s, e):
    """One step."""
    return timely.timely_step(s.table, 0, p.table, e.rtt_ps * 1e-6, e.now_ps * 1e-6, e.rate)
