"""DCQCN: `precog_models.rate.reference.dcqcn`, and its three timers."""

from precog_models.rate.reference import dcqcn
from precog_models.rate.reference.common import PARAMS, STATES

PARAMETERS = (
    ("table", "float", "", 0.0, "`dcqcn.Param`", (PARAMS,)),
    ("notified", "int", "", 0, "1: by packets, 0: by marked acknowledgements"),
)
STATE = (("table", "float", (1, STATES)),)
BIT_RATES = True

ALPHA, CUT, RATE = 0, 1, 2
ALPHA_US = int(dcqcn.Param.ALPHA_US)
CUT_US = int(dcqcn.Param.CUT_US)
RATE_US = int(dcqcn.Param.RATE_US)
BYTES = int(dcqcn.Param.BYTES)


def arm(s, p, e, timers):
    """(Re)start timers: 1 alpha, 2 cut, 4 rate."""
    if timers & 1:
        s.due[ALPHA] = e.now + 1e3 * p.table[ALPHA_US]
    if timers & 2:
        # 1 ns later than its period, so that the check comes after the alpha update
        s.due[CUT] = e.now + 1e3 * p.table[CUT_US] + 1
    if timers & 4:
        s.due[RATE] = e.now + 1e3 * p.table[RATE_US]


def notify(s, p, e):
    """A congestion notification has come."""
    s.rate, timers = dcqcn.dcqcn_notify(s.table, 0, p.table, s.rate)
    arm(s, p, e, timers)


def on_start(s, p, e):
    """Alpha is 1."""
    dcqcn.dcqcn_reset(s.table, 0, s.rate)


def on_ack(s, p, e):
    """A mark is a notification where there are no others."""
    if e.marked and not p.notified:
        notify(s, p, e)


def on_cnp(s, p, e):
    """A notification."""
    notify(s, p, e)


def on_timer(s, p, e):
    """Alpha decays; a cut is due; or the rate rises."""
    if e.timer == ALPHA:
        dcqcn.dcqcn_alpha_timer(s.table, 0, p.table)
        arm(s, p, e, 1)
    elif e.timer == CUT:
        s.due[CUT] = e.now + 1e3 * p.table[CUT_US]
        s.rate, cut = dcqcn.dcqcn_cut_timer(s.table, 0, p.table, s.rate)
        if cut:
            arm(s, p, e, 4)
    else:
        arm(s, p, e, 4)
        s.rate = dcqcn.dcqcn_rate_timer(s.table, 0, p.table, s.rate)


def on_send(s, p, e):
    """The byte counter."""
    if p.table[BYTES] != 0:
        s.rate = dcqcn.dcqcn_bytes(s.table, 0, p.table, e.bytes, s.rate)
