"""PINT's telemetry for HPCC (SIGCOMM 2020): a port's utilisation, as a logarithm of one byte.

A port's U is an EWMA over the largest base RTT T: with dt since the last packet, at most T,
U = U (1 - dt/T) + (q / T + last packet / dt) / b * dt/T. A packet carries the largest of its way,
log_1.05 (1000 U), rounded at random so that its mean is right. As the HPCC authors' simulator,
commit 9f4be2a ``switch-node.cc`` and ``pint.cc``, with exact products in place of its logarithms'.
"""

from math import ceil, floor, log

from precog_sim.network.control import FCfg
from precog_sim.network.jit import outlined
from precog_sim.network.layout import PortCol, PrioCol, Rec
from precog_sim.network.net import Net

__all__ = ["BASE", "UNIT", "note_load"]

BASE = 1.05  #: of the logarithm
UNIT = 1000  #: a utilisation of 1
_LOG_BASE = log(BASE)


@outlined
def note_load(net: Net, p: int, q: int, row: int, now: int, draw: float) -> None:
    """A data packet leaves priority `q` of switch port `p`: the port's U with that queue, and the
    packet's telemetry. `draw` in [0, 1)."""
    period = net.fcfg[FCfg.BASE_NS]
    capacity = net.port[p, PortCol.MBPS] / 8e3 * period  # bytes in T
    dt = min(now * 1e-3 - net.load[p, 1], period)
    queue = net.prio[q, PrioCol.BYTES] + net.port[p, PortCol.HIGH_BYTES]
    load = net.load[p, 0] * (1 - dt / period)
    load += (queue * dt / period + net.load[p, 2]) / capacity
    net.load[p, 0] = load
    net.load[p, 1] = now * 1e-3
    net.load[p, 2] = net.rec[row, Rec.SIZE]
    units = max(ceil(load * UNIT), 1)
    power = log(units) / _LOG_BASE
    low = floor(power)
    least, most = BASE**low, BASE ** (low + 1)
    code = low + (1 if draw < (units - least) / (most - least) else 0)
    net.telemetry[row, 0] = 1
    net.telemetry[row, 1] = max(net.telemetry[row, 1], code)
