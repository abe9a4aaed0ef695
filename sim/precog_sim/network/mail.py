"""Packets that cross to another partition: they are put down in one window, taken up in the next.

A packet is on its way for at least a window, so none is due before it is taken up. The order in
which they are taken up does not matter: events of one time have an order of their own.
"""

from precog_sim.network.control import Ctl, Err
from precog_sim.network.jit import inlined
from precog_sim.network.layout import Rec
from precog_sim.network.net import Net

__all__ = ["post"]


@inlined
def post(net: Net, row: int, to: int, t: int) -> None:
    """Put down the packet in `row`, which arrives in partition `to` at `t`."""
    n = net.posted[to]
    at = net.places[to] + n
    if at >= net.places[to + 1]:
        net.ctl[Ctl.ERROR] = Err.MAIL
        net.ctl[Ctl.ERROR_VALUE] = n
        return
    net.rec[row, Rec.TIME] = t
    net.outbox[at, 0] = t
    net.outbox[at, 1] = net.rec[row, Rec.PORT] << 32 | row
    net.posted[to] = n + 1
    if t < net.ctl[Ctl.SOONEST]:
        net.ctl[Ctl.SOONEST] = t
