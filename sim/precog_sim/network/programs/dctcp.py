"""DCTCP: `precog_models.rate.reference.dctcp`."""

from precog_models.rate.reference import dctcp
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (("table", "float", "", 0.0, "`dctcp.Param`", (PARAMS,)),)
STATE = (("table", "float", "`State`", (1, STATES)),)
BIT_RATES = True


def on_start(p, s, e):
    """The first mark halves the rate."""
    dctcp.dctcp_reset(s.table, 0)
    return e.rate


def on_ack(p, s, e):
    """Count the mark; cut, or increase."""
    return dctcp.dctcp_ack(s.table, 0, p.table, e.marked != 0, e.sample != 0, e.seq, e.next, e.rate)
