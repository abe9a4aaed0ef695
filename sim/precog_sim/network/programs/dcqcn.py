"""DCQCN: `precog_models.rate.reference.dcqcn`, and its three timers."""

from precog_models.rate.reference import dcqcn
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (
    ("table", "float", "", 0.0, "`dcqcn.Param`", (PARAMS,)),
    ("notified", "int", "", 0, "1: by packets, 0: by marked acknowledgements"),
)
STATE = (("table", "float", "`State`", (1, STATES)),)
BIT_RATES = True

ALPHA, CUT, RATE = 0, 1, 2
ALPHA_US = int(dcqcn.Param.ALPHA_US)
CUT_US = int(dcqcn.Param.CUT_US)
RATE_US = int(dcqcn.Param.RATE_US)
BYTES = int(dcqcn.Param.BYTES)


def arm(p, e, timers):
    """(Re)start timers: 1 alpha, 2 cut, 4 rate."""
    if timers & 1:
        e.due[ALPHA] = e.now + 1e3 * p.table[ALPHA_US]
    if timers & 2:
        # 1 ns later than its period, so that the check comes after the alpha update
        e.due[CUT] = e.now + 1e3 * p.table[CUT_US] + 1
    if timers & 4:
        e.due[RATE] = e.now + 1e3 * p.table[RATE_US]


def on_start(p, s, e):
    """Alpha is 1."""
    dcqcn.dcqcn_reset(s.table, 0, e.rate)
    return e.rate


def on_cnp(p, s, e):
    """A notification."""
    rate, timers = dcqcn.dcqcn_notify(s.table, 0, p.table, e.rate)
    arm(p, e, timers)
    return rate


def on_ack(p, s, e):
    """A mark is a notification where there are no others."""
    return on_cnp(p, s, e) if e.marked and not p.notified else e.rate


def on_timer(p, s, e):
    """Alpha decays; a cut is due; or the rate rises."""
    if e.timer == ALPHA:
        dcqcn.dcqcn_alpha_timer(s.table, 0, p.table)
        arm(p, e, 1)
        return e.rate
    if e.timer == CUT:
        e.due[CUT] = e.now + 1e3 * p.table[CUT_US]
        rate, cut = dcqcn.dcqcn_cut_timer(s.table, 0, p.table, e.rate)
        if cut:
            arm(p, e, 4)
        return rate
    arm(p, e, 4)
    return dcqcn.dcqcn_rate_timer(s.table, 0, p.table, e.rate)


def on_send(p, s, e):
    """The byte counter."""
    if p.table[BYTES] == 0:
        return e.rate
    return dcqcn.dcqcn_bytes(s.table, 0, p.table, e.bytes, e.rate)
