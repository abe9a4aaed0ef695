"""What the next events will touch, brought near while the present one is worked on.

The tables of a large network do not fit into a core's caches, and an event's record lies anywhere
in them: waiting for memory was half of the time of 320 hosts. A cursor goes through the wheel a few
buckets before the present, a record with each event. It reads the record that it asked for last
time, asks for what that names, and asks for the record behind it. It changes nothing: that it may
miss an event that is put between, or follow one that was taken back, costs only time.
"""

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.ecmp import way_word
from precog_sim.network.jit import inlined
from precog_sim.network.layout import FlowCol, Kind, PortCol, PrioCol, Rec
from precog_sim.network.machine import prefetch, trailing_zeros
from precog_sim.network.memory import LINE
from precog_sim.network.net import Net

__all__ = ["ask", "look_ahead", "next_bucket"]

_STATE_LINES = 4
_TOLD_LINES = 3
_CLOSE = 6  # buckets


@inlined
def next_bucket(net: Net, bucket: int) -> int:
    """The first bucket from `bucket` on that is not empty; -1: the wheel is."""
    mask = net.cfg[Cfg.SLOT_MASK]
    words = (mask + 1) >> 6
    slot = bucket & mask
    at = slot >> 6
    word = net.bits[at] & (-1 << (slot & 63))
    left = words
    while word == 0 and left > 0:
        at = (at + 1) & (words - 1)
        word = net.bits[at]
        left -= 1
    if word == 0:
        return -1
    return int(bucket + ((at * 64 + trailing_zeros(word) - slot) & mask))


@inlined
def ask(net: Net, row: int) -> None:
    """Ask for what the event in `row` will touch."""
    kind = net.rec[row, Rec.KIND]
    if kind >= Kind.TX_DONE:
        if kind <= Kind.WAKE:
            p = net.rec[row, Rec.OWNER]
            prefetch(net.port, p * PortCol.WIDTH)
            prefetch(net.prio, p * net.cfg[Cfg.PRIORITIES] * PrioCol.WIDTH)
        return
    p = net.rec[row, Rec.PORT]
    flow = net.rec[row, Rec.OWNER] * FlowCol.WIDTH
    told = row * net.telemetry.shape[1]
    prefetch(net.port, p * PortCol.WIDTH)
    node = net.port[p, PortCol.NODE]
    if node >= net.cfg[Cfg.HOSTS]:
        if net.cfg[Cfg.WAYS] != 0:
            answer = kind & 7 != Kind.DATA
            prefetch(net.ways, way_word(net, node, net.rec[row, Rec.OWNER], answer))
        else:
            prefetch(net.flow, flow)
        prefetch(net.port, p * PortCol.WIDTH + LINE)
        prefetch(net.prio, p * net.cfg[Cfg.PRIORITIES] * PrioCol.WIDTH + LINE)
        if net.cfg[Cfg.TELEMETRY] != 0:
            prefetch(net.telemetry, told)
        return
    prefetch(net.prio, p * net.cfg[Cfg.PRIORITIES] * PrioCol.WIDTH)
    prefetch(net.flow, flow)
    prefetch(net.flow, flow + LINE)
    if kind & 7 == Kind.DATA:
        return
    prefetch(net.flow, flow + 2 * LINE)
    prefetch(net.flow, flow + 3 * LINE)
    state = net.rec[row, Rec.OWNER] * net.state.shape[1]
    for k in range(_STATE_LINES):
        prefetch(net.words, state + k * LINE)
    if net.cfg[Cfg.TELEMETRY] != 0:
        for k in range(_TOLD_LINES):
            prefetch(net.telemetry, told + k * LINE)


@inlined
def look_ahead(net: Net, bucket: int) -> None:
    """Move the cursor on by one record, if it is not far enough; `bucket` is the present one."""
    there = net.ctl[Ctl.AHEAD]
    row = -1
    if there <= bucket:
        there = bucket
    else:
        if there - bucket > net.cfg[Cfg.AHEAD]:
            return
        row = net.ctl[Ctl.AHEAD_ROW]
        ask(net, row)
        row = net.rec[row, Rec.NEXT]
    if row < 0:
        there = next_bucket(net, there + 1)
        if there < 0:
            return
        row = int(net.wheel[there & net.cfg[Cfg.SLOT_MASK]])
        if there - bucket < _CLOSE:  # it is late for this one: on to the next bucket
            prefetch(net.rec, row * LINE)
            there = next_bucket(net, there + 1)
            row = int(net.wheel[there & net.cfg[Cfg.SLOT_MASK]])
        net.ctl[Ctl.AHEAD] = there
    net.ctl[Ctl.AHEAD_ROW] = row
    prefetch(net.rec, row * LINE)
