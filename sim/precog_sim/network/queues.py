"""Lists of packets at ports, linked through the records."""

from precog_sim.network.jit import inlined
from precog_sim.network.layout import PortCol, PrioCol, Rec
from precog_sim.network.net import Net, Table
from precog_sim.network.turns import priority_of

__all__ = ["first", "push", "push_answer", "push_high", "take"]


@inlined
def _append(rec: Table, table: Table, at: int, head: int, row: int) -> None:
    """Append a packet to the queue in columns `head` and the next one."""
    rec[row, Rec.NEXT] = -1
    tail = table[at, head + 1]
    if tail < 0:
        table[at, head] = row
    else:
        rec[tail, Rec.NEXT] = row
    table[at, head + 1] = row


@inlined
def first(rec: Table, table: Table, at: int, head: int) -> int:
    """Remove the first packet of a queue that is not empty."""
    row = table[at, head]
    table[at, head] = rec[row, Rec.NEXT]
    if table[at, head] < 0:
        table[at, head + 1] = -1
    return int(row)


@inlined
def push(net: Net, q: int, row: int) -> None:
    """Append a packet to a priority's queue."""
    _append(net.rec, net.prio, q, PrioCol.HEAD, row)


@inlined
def take(net: Net, q: int) -> int:
    """Remove the first packet of a priority's queue, which is not empty."""
    return first(net.rec, net.prio, q, PrioCol.HEAD)


@inlined
def push_answer(net: Net, row: int) -> None:
    """Append the answer in `row` to the queue of the host that it was made in."""
    push(net, priority_of(net, net.rec[row, Rec.PORT], net.rec[row, Rec.OWNER]), row)


@inlined
def push_high(net: Net, p: int, row: int) -> None:
    """Append a packet to what goes before all priorities."""
    net.port[p, PortCol.HIGH_BYTES] += net.rec[row, Rec.SIZE]
    _append(net.rec, net.port, p, PortCol.HIGH_HEAD, row)
