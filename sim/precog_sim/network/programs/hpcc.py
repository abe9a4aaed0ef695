"""HPCC: `precog_models.rate.reference.hpcc`."""

from precog_models.rate.reference import hpcc
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (("table", "float", "", 0.0, "`hpcc.Param`", (PARAMS,)),)
STATE = (("table", "float", "`State`", (1, STATES)),)
TELEMETRY = "int"
BIT_RATES = True


def on_start(p, s, e):
    """U = 1 at the start rate."""
    hpcc.hpcc_reset(s.table, 0, e.rate)
    return e.rate


def on_ack(p, s, e, t):
    """Utilisation of the most loaded hop, and the rate."""
    return hpcc.hpcc_ack(s.table, 0, p.table, t.words, 0, e.sample != 0, e.rate)
