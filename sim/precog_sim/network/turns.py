"""Which priority of a port goes next: the first that is ready, or by deficit round robin."""

from precog_sim.network.control import Cfg
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, PortCol, PrioCol
from precog_sim.network.net import Net

__all__ = ["next_priority", "priority_of"]


@inlined
def priority_of(net: Net, p: int, f: int) -> int:
    """Row of flow `f`'s priority at port `p` in the table of priorities."""
    count = net.cfg[Cfg.PRIORITIES]
    if count == 1:
        return p
    return int(p * count + net.flow[f, FlowCol.PRIORITY])


@outlined
def next_priority(net: Net, p: int) -> int:
    """The priority of port `p` whose packet goes next; -1: there is none.

    ``ready[c]`` is the size of the packet that priority `c` would send, 0 if it may not send.
    """
    count = net.cfg[Cfg.PRIORITIES]
    first = -1
    for c in range(count - 1, -1, -1):
        if net.ready[c] > 0:
            first = c
    if first < 0 or net.cfg[Cfg.DRR] == 0:
        return first
    c = net.port[p, PortCol.TURN]
    while True:
        q = p * count + c
        if net.ready[c] == 0:
            net.prio[q, PrioCol.DEFICIT] = 0
        else:
            if net.port[p, PortCol.GIVEN] == 0:
                net.port[p, PortCol.GIVEN] = 1
                net.prio[q, PrioCol.DEFICIT] += net.quanta[c]
            if net.ready[c] <= net.prio[q, PrioCol.DEFICIT]:
                net.prio[q, PrioCol.DEFICIT] -= net.ready[c]
                return int(c)
        c = (c + 1) % count
        net.port[p, PortCol.TURN] = c
        net.port[p, PortCol.GIVEN] = 0
