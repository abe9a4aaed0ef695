"""Equal-cost paths: which of a switch's equal next hops a packet takes.

The simulator's own hash mixes the flow's number with the switch's. For comparison with figures of
the HPCC authors' ns-3 code there is its hash: MurmurHash3 (x86, 32 bit; Appleby, public domain) of
the addresses and ports, with the number of the switch as seed. Data and answers hash apart, for
the two ends of their headers are swapped.

A flow's packets all take one way, so a switch keeps the port that it found for the first of them,
for data and for answers (`Net.ways`): a look there costs less than routes and hash.

Sprayed packets choose each for itself, whatever their flow: at random, or the next hops take turns
at every switch, for each destination.
"""

from precog_sim.network.control import Cfg
from precog_sim.network.draws import at_port
from precog_sim.network.jit import compiled, inlined, outlined
from precog_sim.network.layout import FlowCol, Spray
from precog_sim.network.net import Net

__all__ = ["FIRST_PORT", "next_hop", "ns3_hash", "route", "way_word"]

FIRST_PORT = 10_000  # source port of the first flow between two hosts
_FIRST_ADDRESS = 0x0B00_0001
_M32 = 0xFFFF_FFFF


@inlined
def _absorb(h: int, k: int) -> int:
    """One word of MurmurHash3's input."""
    k = (k * 0xCC9E2D51) & _M32
    k = ((k << 15) | (k >> 17)) & _M32
    h ^= (k * 0x1B873593) & _M32
    h = ((h << 13) | (h >> 19)) & _M32
    return (h * 5 + 0xE6546B64) & _M32


@inlined
def _address(node: int) -> int:
    """IPv4 address of a node in the HPCC authors' programs."""
    return _FIRST_ADDRESS + node // 256 * 0x10000 + node % 256 * 0x100


@compiled
def ns3_hash(switch: int, source: int, destination: int, ports: int) -> int:
    """MurmurHash3 of the twelve bytes that ns-3 hashes of a packet.

    Parameters
    ----------
    switch : int
        Node number of the switch: the seed.
    source, destination : int
        Node numbers of the hosts.
    ports : int
        Source port + destination port x 65536.

    Returns
    -------
    int
        32 bits.
    """
    h = _absorb(switch, _address(source))
    h = _absorb(h, _address(destination))
    h = _absorb(h, ports) ^ 12  # bytes
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _M32
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _M32
    return int(h ^ (h >> 16))


@inlined
def route(net: Net, node: int, f: int, answer: bool) -> int:
    """Output port at `node` for the data of flow `f`, or for its answers, by hash; -1: none."""
    src, dst = net.flow[f, FlowCol.SRC], net.flow[f, FlowCol.DST]
    if answer:
        src, dst = dst, src
    s = node - net.cfg[Cfg.HOSTS]
    edge = net.flow[f, FlowCol.SRC_EDGE if answer else FlowCol.DST_EDGE]
    first = net.routes[s, edge, 0]
    n = net.routes[s, edge, 1]
    if n < 0:
        return int(net.last[dst])
    if n == 1:
        return int(net.route_ports[first])
    if n == 0:
        return -1
    if net.cfg[Cfg.NS3_ECMP] != 0:
        ports = net.flow[f, FlowCol.UDP_PORTS]
        if answer:
            ports = (ports >> 16) | (ports & 0xFFFF) << 16
        # ns-3 lists equal next hops in the opposite order
        return int(net.route_ports[first + n - 1 - ns3_hash(node, src, dst, ports) % n])
    key = 2 * f + (1 if answer else 0)
    x = (key * 0x9E3779B1 + node * 0x85EBCA77) & _M32
    x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & _M32
    x = ((x ^ (x >> 12)) * 0x297A2D39) & _M32
    x ^= x >> 15
    return int(net.route_ports[first + x % n])


@outlined
def _find_way(net: Net, node: int, f: int, answer: bool, at: int) -> int:
    """`route`, kept in word `at` of the table of ways."""
    out = route(net, node, f, answer)
    net.ways[at] = out + 1
    return int(out)


@inlined
def way_word(net: Net, node: int, f: int, answer: bool) -> int:
    """The word of `Net.ways` for switch `node` and the data of flow `f`, or its answers."""
    direction = 2 * f + (1 if answer else 0)
    return int(direction * net.cfg[Cfg.WAYS] + node - net.cfg[Cfg.HOSTS])


@inlined
def next_hop(net: Net, node: int, p: int, f: int, answer: bool) -> int:
    """Output port at `node` for one packet of flow `f`, or for one that answers it; -1: none.

    It came in at port `p`.
    """
    spray = net.cfg[Cfg.SPRAY]
    if net.cfg[Cfg.WAYS] != 0:
        at = way_word(net, node, f, answer)
        out = int(net.ways[at]) - 1
        return out if out >= 0 else _find_way(net, node, f, answer, at)
    if spray == Spray.NONE:
        return route(net, node, f, answer)
    dst = net.flow[f, FlowCol.SRC if answer else FlowCol.DST]
    s = node - net.cfg[Cfg.HOSTS]
    edge = net.flow[f, FlowCol.SRC_EDGE if answer else FlowCol.DST_EDGE]
    n = net.routes[s, edge, 1]
    if n < 0:
        return int(net.last[dst])
    if n == 0:
        return -1
    chosen = 0
    if n > 1:
        if spray == Spray.RANDOM:
            chosen = int(at_port(net, p) * n)
        else:
            turn = net.turns[s, dst]
            net.turns[s, dst] = turn + 1
            chosen = turn % n
    return int(net.route_ports[net.routes[s, edge, 0] + chosen])
