"""What the next events will touch, brought near while the present one is worked on.

The tables of a large network do not fit into a core's caches, and an event's record lies anywhere
in them: waiting for memory was half of the time of 320 hosts. A cursor goes through the wheel a few
buckets before the present, a record with each event. It reads the record that it asked for last
time, asks for what that names, and asks for the record behind it. It changes nothing: that it may
miss an event that is put between, or follow one that was taken back, costs only time.
"""

from precog_sim.network.jit import inlined
from precog_sim.network.layout import Cfg, Ctl, FlowCol, Kind, PortCol, PrioCol, Rec
from precog_sim.network.machine import prefetch, trailing_zeros
from precog_sim.network.net import Net

__all__ = ["SLOTS", "WORDS", "look_ahead", "next_bucket"]

SLOTS = 1 << 15
WORDS = SLOTS // 64
_MASK = SLOTS - 1
_LINE = 8  # words
_REC_WIDTH = 8


@inlined
def next_bucket(net: Net, bucket: int) -> int:
    """The first bucket from `bucket` on that is not empty; -1: the wheel is."""
    slot = bucket & _MASK
    at = slot >> 6
    word = net.bits[at] & (-1 << (slot & 63))
    left = WORDS
    while word == 0 and left > 0:
        at = (at + 1) & (WORDS - 1)
        word = net.bits[at]
        left -= 1
    if word == 0:
        return -1
    return int(bucket + ((at * 64 + trailing_zeros(word) - slot) & _MASK))


@inlined
def _ask(net: Net, row: int) -> None:
    """Ask for what the packet in `row` will touch where it arrives."""
    if net.rec[row, Rec.KIND] >= Kind.TX_DONE:
        return
    p = net.rec[row, Rec.PORT]
    f = net.rec[row, Rec.OWNER]
    port = p * PortCol.WIDTH
    prio = p * net.cfg[Cfg.PRIORITIES] * PrioCol.WIDTH
    flow = f * FlowCol.WIDTH
    for k in range(2):
        prefetch(net.port, port + k * _LINE)
        prefetch(net.prio, prio + k * _LINE)
    for k in range(4):
        prefetch(net.flow, flow + k * _LINE)
    if net.cfg[Cfg.TELEMETRY] != 0:
        told = row * net.telemetry.shape[1]
        for k in range(3):
            prefetch(net.telemetry, told + k * _LINE)


@inlined
def look_ahead(net: Net, bucket: int) -> None:
    """Move the cursor on by one record, if it is not far enough; `bucket` is the present one."""
    there = net.ctl[Ctl.AHEAD]
    if there <= bucket:
        there = bucket
        row = -1
    else:
        if there - bucket > net.cfg[Cfg.AHEAD]:
            return
        row = net.ctl[Ctl.AHEAD_ROW]
        _ask(net, row)
        row = net.rec[row, Rec.NEXT]
    if row < 0:
        there = next_bucket(net, there + 1)
        if there < 0:
            return
        net.ctl[Ctl.AHEAD] = there
        row = int(net.wheel[there & _MASK])
    net.ctl[Ctl.AHEAD_ROW] = row
    prefetch(net.rec, row * _REC_WIDTH)
