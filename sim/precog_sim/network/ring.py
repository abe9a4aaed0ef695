"""Rings of a host's active flows, one a priority.

ns-3 has an array of them instead: the turn is a place in it. A finished flow keeps its place until
a search passes it; the array then closes up, and the turn stays at its place, so that flows behind
the finished one lose a turn (`RdmaEgressQueue::GetNextQindex` of the HPCC authors' code).
"""

from precog_sim.network.control import Cfg
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, PrioCol
from precog_sim.network.net import Net
from precog_sim.network.turns import priority_of

__all__ = ["add_flow", "at_turn", "clear_finished", "note_turn", "remove_flow"]


@outlined
def add_flow(net: Net, f: int) -> None:
    """Put `f` at the end of the ring of active flows of its host and priority."""
    q = priority_of(net, net.flow[f, FlowCol.PORT], f)
    first = net.prio[q, PrioCol.RING]
    if first < 0:
        net.prio[q, PrioCol.RING] = f
        net.flow[f, FlowCol.RING_NEXT] = f
        net.flow[f, FlowCol.RING_PREVIOUS] = f
        return
    last = net.flow[first, FlowCol.RING_PREVIOUS]
    net.flow[f, FlowCol.RING_NEXT] = first
    net.flow[f, FlowCol.RING_PREVIOUS] = last
    net.flow[last, FlowCol.RING_NEXT] = f
    net.flow[first, FlowCol.RING_PREVIOUS] = f


@inlined
def remove_flow(net: Net, f: int) -> None:
    """`f` is finished: take it out of its ring. In ns3 timing `clear_finished` will."""
    if net.cfg[Cfg.NS3] == 0:
        _unlink(net, priority_of(net, net.flow[f, FlowCol.PORT], f), f)


@outlined
def _unlink(net: Net, q: int, f: int) -> None:
    """Take `f` out of ring `q`."""
    ns3 = net.cfg[Cfg.NS3] != 0
    after = net.flow[f, FlowCol.RING_NEXT]
    before = net.flow[f, FlowCol.RING_PREVIOUS]
    if after == f:
        net.prio[q, PrioCol.RING] = -1
        if not ns3:
            net.prio[q, PrioCol.LAST] = -1
        return
    net.flow[before, FlowCol.RING_NEXT] = after
    net.flow[after, FlowCol.RING_PREVIOUS] = before
    if net.prio[q, PrioCol.RING] == f:
        net.prio[q, PrioCol.RING] = after
    if not ns3 and net.prio[q, PrioCol.LAST] == f:
        net.prio[q, PrioCol.LAST] = before


@inlined
def note_turn(net: Net, q: int, f: int) -> None:
    """`f` of ring `q` sends: the next search begins behind it."""
    if net.cfg[Cfg.NS3] == 0:
        net.prio[q, PrioCol.LAST] = f
        return
    place = 0
    here = net.prio[q, PrioCol.RING]
    while here != f:
        place += 1
        here = net.flow[here, FlowCol.RING_NEXT]
    net.prio[q, PrioCol.LAST] = place


@inlined
def at_turn(net: Net, q: int) -> tuple[int, int]:
    """The flow of ring `q`, which is not empty, that a search begins with, and its place.

    Places are counted in ns3 timing alone.
    """
    first = net.prio[q, PrioCol.RING]
    last = net.prio[q, PrioCol.LAST]
    if net.cfg[Cfg.NS3] == 0:
        return first if last < 0 else net.flow[last, FlowCol.RING_NEXT], 0
    place = 0
    f = first
    for _ in range(max(last, 0) + 1):
        f = net.flow[f, FlowCol.RING_NEXT]
        place = 0 if f == first else place + 1
    return f, place


@outlined
def clear_finished(net: Net, q: int, least: int) -> None:
    """In ns3 timing, take all finished flows from place `least` on out of ring `q`."""
    place = 0
    f = net.prio[q, PrioCol.RING]
    last = net.flow[f, FlowCol.RING_PREVIOUS]
    while True:
        after = net.flow[f, FlowCol.RING_NEXT]
        if place >= least and net.flow[f, FlowCol.END] >= 0:
            _unlink(net, q, f)
        if f == last:
            break
        f = after
        place += 1
