"""Where laws with scores are compared with each alone.

incast
    20 senders towards one receiver through one switch, all from 10 Gb/s: flows of 20, 20, 15 MB and
    17 of 500 KB, all times the scale.
leaves
    Two tiers: four leaf switches of four hosts each under two spines, links as fast above as below,
    so that leaves are oversubscribed two to one. Two incasts of seven senders on hosts of different
    leaves, and every sender to one across, all at once and from 20 Gb/s; sizes as above, in turns.
messages
    An incast of 16 senders whose bytes come as messages, by turns at random and in bursts, together
    90 % of the receiver's link, for 2 ms times the scale.
duplex
    The two tiers and pairs of hosts of `leaves` as connections with messages both ways: towards the
    two receivers together 80 % of their links, half of that back, 20 Gb/s each way across.
"""

from dataclasses import replace

from precog_sim.network import (
    Bursts,
    Flow,
    Link,
    Messages,
    Poisson,
    Scenario,
    Topology,
    incast,
    star,
)

__all__ = ["NETWORKS", "START_GBPS", "leaves", "scenario"]

NETWORKS = ("incast", "leaves", "messages", "duplex")
START_GBPS = {"incast": 10.0, "leaves": 20.0, "messages": 20.0, "duplex": 20.0}
_SIZES = (20_000_000, 20_000_000, 15_000_000) + (500_000,) * 17
_LEAVES, _SPINES, _HOSTS = 4, 2, 4
_RECEIVERS = (0, _HOSTS)  # on two leaves
_JITTER_NS = 100.0
_HORIZON_US = 400_000.0
_GBPS = 100.0
_SENDERS, _LOAD = 16, 0.9
_DUPLEX_LOAD, _BACK, _ACROSS_GBPS = 0.8, 0.5, 20.0
_MESSAGES_US = 2000.0
_PS_A_US = 1_000_000
_MESSAGES_JITTER_NS = 5_000.0
_POISSON_BYTES, _POISSON_WEIGHTS = (2_048, 16_384, 131_072), (0.6, 0.3, 0.1)
_BURST_BYTES, _BURST_ON_US, _BURST_PEAK = 65_536, 50.0, 5.0


def leaves(gbps: float = _GBPS, delay_ps: int = 1_000_000) -> Topology:
    """Four leaves of four hosts, two spines."""
    hosts = _LEAVES * _HOSTS
    down = [Link(h, hosts + h // _HOSTS, gbps, delay_ps) for h in range(hosts)]
    up = [
        Link(hosts + leaf, hosts + _LEAVES + spine, gbps, delay_ps)
        for leaf in range(_LEAVES)
        for spine in range(_SPINES)
    ]
    return Topology(hosts, _LEAVES + _SPINES, (*down, *up))


def _pairs() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Of the two tiers: senders and receivers of the incasts; hosts across."""
    hosts = _LEAVES * _HOSTS
    senders = [h for h in range(hosts) if h not in _RECEIVERS]
    into = [(h, _RECEIVERS[k % 2]) for k, h in enumerate(senders)]
    return into, [(h, (h + 2 * _HOSTS + 1) % hosts) for h in senders]


def _two_tiers(scale: float) -> Scenario:
    into, across = _pairs()
    flows = tuple(
        Flow(src, dst, max(int(_SIZES[k % len(_SIZES)] * scale), 1))
        for k, (src, dst) in enumerate(into + across)
    )
    return Scenario("two tiers", leaves(), flows, jitter_ns=_JITTER_NS, horizon_us=_HORIZON_US)


def _talks(src: int, dst: int, gbps: float, scale: float, turn: int) -> Flow:
    """A flow whose bytes come as messages at a mean rate: at random, or in bursts."""
    come: Messages = Poisson(gbps, sizes=_POISSON_BYTES, weights=_POISSON_WEIGHTS)
    if turn % 2:
        off_us = _BURST_ON_US * (_BURST_PEAK - 1.0)
        come = Bursts(gbps * _BURST_PEAK, _BURST_ON_US, off_us, size=_BURST_BYTES)
    size = max(int(gbps * 125.0 * _MESSAGES_US * scale), 1)
    return Flow(src, dst, size, messages=come)


def _messages(scale: float) -> Scenario:
    each = _LOAD * _GBPS / _SENDERS
    flows = tuple(_talks(k + 1, 0, each, scale, k) for k in range(_SENDERS))
    return _with_messages("messages", star(_SENDERS + 1, gbps=_GBPS), flows)


def _duplex(scale: float) -> Scenario:
    into, across = _pairs()
    each = _DUPLEX_LOAD * _GBPS * len(_RECEIVERS) / len(into)
    rates = [(each, _BACK * each)] * len(into) + [(_ACROSS_GBPS, _ACROSS_GBPS)] * len(across)
    flows = []
    for turn, ((src, dst), (there, back)) in enumerate(zip(into + across, rates, strict=True)):
        flows += [
            _talks(src, dst, there, scale, turn // 2),
            _talks(dst, src, back, scale, turn // 2),
        ]
    return _with_messages("duplex", leaves(), tuple(flows))


def _with_messages(name: str, topology: Topology, flows: tuple[Flow, ...]) -> Scenario:
    return Scenario(
        name, topology, flows, jitter_ns=_MESSAGES_JITTER_NS, horizon_us=_HORIZON_US, min_gbps=0.1
    )


def scenario(network: str, scale: float = 1.0, *, delay_us: float | None = None) -> Scenario:
    """One of the `NETWORKS`, all sizes times `scale`.

    Parameters
    ----------
    delay_us : float, optional
        Of every link, instead of the network's own.

    Raises
    ------
    ValueError
        There is no such network, or no such delay.
    """
    if network not in NETWORKS:
        raise ValueError(f"network must be one of {', '.join(NETWORKS)}, not {network!r}")
    if network == "incast":
        made = incast("tenth", scale=scale)
    else:
        made = {"leaves": _two_tiers, "messages": _messages, "duplex": _duplex}[network](scale)
    if delay_us is None:
        return made
    if not 0 < delay_us <= 1000:
        raise ValueError(f"delay must be in 0..1000 us, not {delay_us!r}")
    delay_ps = round(delay_us * _PS_A_US)
    links = tuple(replace(link, delay_ps=delay_ps) for link in made.topology.links)
    return replace(made, topology=replace(made.topology, links=links))
