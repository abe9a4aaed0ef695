"""Topologies by name: what ``--topology`` takes.

========================  =====================================================================
``fat320``                three levels, 320 hosts: HPCC's evaluation (SIGCOMM 2019, section 5.1)
``fattree:k=8``           k-ary fat tree: k³/4 hosts, all links alike (Al-Fares, SIGCOMM 2008)
``fattree:pods=32``       three levels by numbers; what is not given is that of ``fat320``: 4
                          ``tors`` and 4 ``aggs`` in each of 5 ``pods``, 16 ``hosts`` at a ToR,
                          16 ``cores``, rates ``gbps``, ``fabric_gbps`` and ``core_gbps``
``leafspine:leaves=4``    two levels; ``oversubscription=2`` halves the uplinks' rates
``dumbbell:pairs=4``      pairs of hosts across one link
``parkinglot:hops=3``     a chain of switches; one host at each, two at its ends
``star:hosts=33``         one switch
a file                    `topology_file`
========================  =====================================================================

Delays are those of a link, in microseconds; rates are in Gb/s.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from precog_net.specs import options, split_name
from precog_net.topology_file import read_topology
from precog_sim.network.topology import Link, Topology, fat_tree, star

__all__ = ["NAMES", "dumbbell", "k_ary_fat_tree", "leaf_spine", "parking_lot", "topology"]

_MOST_HOSTS = 4096  # a table of routes has a row a node and a column a host
_MOST_LINKS = 1 << 17
#: Of a fat tree by numbers, those of ``fat320``; hosts are at each ToR.
_LEVELS = {"pods": 5.0, "tors": 4.0, "aggs": 4.0, "cores": 16.0, "hosts": 16.0}


def k_ary_fat_tree(k: int, *, gbps: float = 100.0, delay_ps: int = 1_000_000) -> Topology:
    """The fat tree of k-port switches.

    Raises
    ------
    ValueError
        `k` is odd or below 2.
    """
    if k < 2 or k % 2:
        raise ValueError(f"fattree k must be even and at least 2, not {k!r}")
    half = k // 2
    _check_hosts(k * half * half)
    return fat_tree(
        pods=k,
        tors=half,
        aggs=half,
        cores=half * half,
        hosts_per_tor=half,
        host_gbps=gbps,
        fabric_gbps=gbps,
        delay_ps=delay_ps,
    )


def leaf_spine(
    leaves: int = 4,
    spines: int = 4,
    hosts: int = 16,
    *,
    gbps: float = 100.0,
    oversubscription: float = 1.0,
    delay_ps: int = 1_000_000,
) -> Topology:
    """Every leaf reaches every spine; `hosts` of them at each leaf.

    Parameters
    ----------
    oversubscription : float
        Rate of a leaf's hosts over that of its uplinks.
    """
    count = leaves * hosts
    _check_hosts(count)
    if leaves * spines > _MOST_LINKS:
        raise ValueError(
            f"leafspine must have at most {_MOST_LINKS} uplinks, not {leaves * spines}"
        )
    uplink = gbps * hosts / (spines * oversubscription)
    links = [Link(h, count + h // hosts, gbps, delay_ps) for h in range(count)]
    links += [
        Link(count + leaf, count + leaves + spine, uplink, delay_ps)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    return Topology(count, leaves + spines, tuple(links))


def dumbbell(
    pairs: int = 2, *, gbps: float = 100.0, bottleneck: float = 100.0, delay_ps: int = 1_000_000
) -> Topology:
    """Hosts 0 … pairs - 1 at one switch, the others at a second one, one link between both."""
    links = [Link(h, 2 * pairs + h // pairs, gbps, delay_ps) for h in range(2 * pairs)]
    links.append(Link(2 * pairs, 2 * pairs + 1, bottleneck, delay_ps))
    return Topology(2 * pairs, 2, tuple(links))


def parking_lot(hops: int = 3, *, gbps: float = 100.0, delay_ps: int = 1_000_000) -> Topology:
    """A chain of `hops` + 1 switches with a host at each, and one more at both ends.

    Host k is at switch k; the last two hosts are at the first and the last switch, so the flow
    between them crosses every link of the chain.
    """
    switches = hops + 1
    hosts = switches + 2
    at = [*range(switches), 0, hops]
    links = [Link(h, hosts + switch, gbps, delay_ps) for h, switch in enumerate(at)]
    links += [Link(hosts + n, hosts + n + 1, gbps, delay_ps) for n in range(hops)]
    return Topology(hosts, switches, tuple(links))


def _check_hosts(hosts: int) -> None:
    """Refuse a network that is no network, or too large; before it is made."""
    if not 2 <= hosts <= _MOST_HOSTS:
        raise ValueError(f"topology must have 2..{_MOST_HOSTS} hosts, not {hosts}")


def _delay(values: dict[str, float]) -> int:
    return round(values["delay_us"] * 1e6)


def _fat(text: str) -> Topology:
    """By k, or by numbers of each level; 0 is what the text does not give."""
    rates = dict.fromkeys(("fabric_gbps", "core_gbps"), 0.0)
    numbers = dict.fromkeys(_LEVELS, 0.0)
    known = {"k": 0.0, "gbps": 100.0, "delay_us": 1.0, **numbers, **rates}
    v = options(text, known, "fattree")
    by_numbers = [name for name in (*numbers, *rates) if v[name]]
    if not by_numbers:
        v["k"] = v["k"] or 8.0
        return k_ary_fat_tree(_whole(v, "k"), gbps=v["gbps"], delay_ps=_delay(v))
    if v["k"]:
        raise ValueError(f"fattree must have k or {by_numbers[0]}, not both")
    v = {name: value or _LEVELS.get(name, 0.0) for name, value in v.items()}
    pods, tors, aggs, cores, hosts = (_whole(v, name) for name in _LEVELS)
    _check_hosts(pods * tors * hosts)
    uplinks = pods * (tors * aggs + cores)
    if uplinks > _MOST_LINKS:
        raise ValueError(f"fattree must have at most {_MOST_LINKS} uplinks, not {uplinks}")
    fabric = v["fabric_gbps"] or 400.0
    return fat_tree(
        pods=pods,
        tors=tors,
        aggs=aggs,
        cores=cores,
        hosts_per_tor=hosts,
        host_gbps=v["gbps"],
        fabric_gbps=fabric,
        core_gbps=v["core_gbps"] or fabric,
        delay_ps=_delay(v),
    )


def _fat320(text: str) -> Topology:
    v = options(text, {"delay_us": 1.0}, "fat320")
    return fat_tree(delay_ps=_delay(v))


def _leaf_spine(text: str) -> Topology:
    known = {"leaves": 4.0, "spines": 4.0, "hosts": 16.0}
    known |= {"gbps": 100.0, "oversubscription": 1.0, "delay_us": 1.0}
    v = options(text, known, "leafspine")
    return leaf_spine(
        _whole(v, "leaves"),
        _whole(v, "spines"),
        _whole(v, "hosts"),
        gbps=v["gbps"],
        oversubscription=v["oversubscription"],
        delay_ps=_delay(v),
    )


def _dumbbell(text: str) -> Topology:
    known = {"pairs": 2.0, "gbps": 100.0, "bottleneck": 100.0, "delay_us": 1.0}
    v = options(text, known, "dumbbell")
    return dumbbell(
        _whole(v, "pairs"), gbps=v["gbps"], bottleneck=v["bottleneck"], delay_ps=_delay(v)
    )


def _parking_lot(text: str) -> Topology:
    v = options(text, {"hops": 3.0, "gbps": 100.0, "delay_us": 1.0}, "parkinglot")
    return parking_lot(_whole(v, "hops"), gbps=v["gbps"], delay_ps=_delay(v))


def _star(text: str) -> Topology:
    v = options(text, {"hosts": 21.0, "gbps": 100.0, "delay_us": 1.0}, "star")
    return star(_whole(v, "hosts"), gbps=v["gbps"], delay_ps=_delay(v))


def _whole(values: dict[str, float], name: str) -> int:
    value = values[name]
    if value != int(value) or value > _MOST_HOSTS:
        raise ValueError(f"{name} must be a whole number in 1..{_MOST_HOSTS}, not {value:g}")
    return int(value)


#: What makes a topology of the text after its name.
NAMES: dict[str, Callable[[str], Topology]] = {
    "fat320": _fat320,
    "fattree": _fat,
    "leafspine": _leaf_spine,
    "dumbbell": _dumbbell,
    "parkinglot": _parking_lot,
    "star": _star,
}


def topology(text: str) -> Topology:
    """The topology that `text` names, or the one in a file.

    Raises
    ------
    ValueError
        There is no such name or file, an option is wrong, the network is too large, or a host
        cannot be reached from another.
    """
    name, rest = split_name(text)
    if name in NAMES:
        made = NAMES[name](rest)
    elif Path(text).is_file():
        made = read_topology(Path(text))
    else:
        raise ValueError(f"topology must be one of {', '.join(NAMES)}, or a file, not {text!r}")
    _check_hosts(made.hosts)
    if not made.switches:
        raise ValueError("topology must have at least one switch, not none")
    cut_off = np.argwhere(made.routes.hops[: made.hosts] < 0)
    if len(cut_off):
        src, dst = cut_off[0].tolist()
        raise ValueError(f"hosts must be connected: there is no path from {src} to {dst}")
    return made
