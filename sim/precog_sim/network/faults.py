"""Packets that links lose: at random, or because the link is down."""

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.draws import at_port
from precog_sim.network.jit import outlined
from precog_sim.network.layout import FaultCol, Kind, OutageCol, PortCol, PrioCol, Rec
from precog_sim.network.net import Net
from precog_sim.network.pool import allocate, free
from precog_sim.network.port import tx_ps
from precog_sim.network.wheel import schedule

__all__ = ["link_changes", "schedule_outages", "wire_lost"]


@outlined
def wire_lost(net: Net, row: int, now: int) -> bool:
    """Whether the packet in `row`, which arrives now, has been lost on its way; it is gone then.

    It has if the link was down at any time since its first bit. PFC frames are never lost at
    random: the timers that would mend that are not modelled.
    """
    p = net.rec[row, Rec.PORT]
    kind = net.rec[row, Rec.KIND] & 7
    began = now - net.port[p, PortCol.DELAY] - tx_ps(net, p, net.rec[row, Rec.SIZE])
    if net.fault[p, FaultCol.DOWN] != 0 or began < net.fault[p, FaultCol.UP_AT]:
        if kind < Kind.PAUSE:
            net.ctl[Ctl.CUT] += 1
    elif net.wire_loss[p] > 0 and kind < Kind.PAUSE and at_port(net, p) < net.wire_loss[p]:
        net.ctl[Ctl.LOST] += 1
    else:
        return False
    if kind == Kind.DATA:
        net.ctl[Ctl.DATA_DROPPED] += 1
    free(net, row)
    return True


@outlined
def schedule_outages(net: Net) -> None:
    """Let every change of a link's end here, and every change of routes, have its event."""
    for k in range(net.outages.shape[0]):
        kind, p = net.outages[k, OutageCol.KIND], net.outages[k, OutageCol.PORT]
        if kind != Kind.ROUTES and net.parts[p] != net.ctl[Ctl.PART]:
            continue
        row = allocate(net)
        if row < 0:
            return
        net.rec[row, Rec.KIND] = kind
        net.rec[row, Rec.OWNER] = p
        schedule(net, row, net.outages[k, OutageCol.TIME])


@outlined
def link_changes(net: Net, p: int, down: bool, now: int) -> None:
    """The link at port `p` goes down or comes up; each of its ends has an event of its own."""
    net.fault[p, FaultCol.DOWN] = 1 if down else 0
    if not down:
        net.fault[p, FaultCol.UP_AT] = now
        return
    count = net.cfg[Cfg.PRIORITIES]
    for q in range(p * count, (p + 1) * count):
        if net.prio[q, PrioCol.PAUSED] != 0:
            net.prio[q, PrioCol.PAUSED] = 0
            net.prio[q, PrioCol.PAUSED_PS] += now - net.prio[q, PrioCol.PAUSED_AT]
        net.prio[q, PrioCol.PAUSING] = 0
