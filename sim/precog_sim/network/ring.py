"""Rings of a host's active flows, one a priority."""

from precog_sim.network.jit import outlined
from precog_sim.network.layout import FlowCol, PrioCol
from precog_sim.network.net import Net
from precog_sim.network.turns import priority_of

__all__ = ["add_flow", "remove_flow"]


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


@outlined
def remove_flow(net: Net, f: int) -> None:
    """Take the finished flow `f` out of its ring."""
    q = priority_of(net, net.flow[f, FlowCol.PORT], f)
    after = net.flow[f, FlowCol.RING_NEXT]
    before = net.flow[f, FlowCol.RING_PREVIOUS]
    if after == f:
        net.prio[q, PrioCol.RING] = -1
        net.prio[q, PrioCol.LAST] = -1
        return
    net.flow[before, FlowCol.RING_NEXT] = after
    net.flow[after, FlowCol.RING_PREVIOUS] = before
    if net.prio[q, PrioCol.RING] == f:
        net.prio[q, PrioCol.RING] = after
    if net.prio[q, PrioCol.LAST] == f:
        net.prio[q, PrioCol.LAST] = before
