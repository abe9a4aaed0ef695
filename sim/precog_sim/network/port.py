"""Ports: their timers, times on the wire and between packets, and where a packet goes then."""

from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined
from precog_sim.network.layout import PortCol, Rec
from precog_sim.network.mail import post
from precog_sim.network.net import Net
from precog_sim.network.wheel import schedule

__all__ = ["gap_ps", "onto_wire", "tx_done_row", "tx_ps"]


@inlined
def tx_done_row(p: int) -> int:
    """Record of port `p`'s TX_DONE; its WAKE is `Cfg.PORTS` further on."""
    return p


@inlined
def gap_ps(net: Net, size: int, rate: float) -> int:
    """Pacing gap of `size` bytes at `rate` bit/s.

    In ns3 timing the seconds pass through a 64.64-bit fixed-point number and are then cut to
    nanoseconds, so that a gap that is a whole number of them may come out one less.
    """
    if net.cfg[Cfg.NS3] != 0:
        seconds = size * 8 / rate
        high = int(seconds * 4294967296.0)
        low = int((seconds * 4294967296.0 - high) * 4294967296.0)
        return ((high * 1_000_000_000 + ((low * 1_000_000_000) >> 32)) >> 32) * 1000
    return int(size * 8e12 / rate + 0.5)


@inlined
def tx_ps(net: Net, p: int, size: int) -> int:
    """Time on the wire of `size` bytes at port `p`; in ns3 timing cut as `gap_ps` is."""
    if net.cfg[Cfg.NS3] != 0:
        return gap_ps(net, size, net.port[p, PortCol.MBPS] * 1e6)
    return int(size * net.port_f[p] + 0.5)


@inlined
def onto_wire(net: Net, row: int, p: int, done: int) -> None:
    """The last bit of the packet in `row` leaves port `p` at `done`."""
    net.rec[row, Rec.PORT] = net.port[p, PortCol.PEER]
    t = done + net.port[p, PortCol.DELAY]
    if t < net.ctl[Ctl.UNTIL]:
        schedule(net, row, t)
    else:
        post(net, row, net.port[p, PortCol.BEYOND], t)
