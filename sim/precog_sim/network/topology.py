"""Networks as data: hosts, switches, links, and the routes that follow from them.

Nodes are numbered hosts first (0 ... hosts - 1), then switches. Every host has one link. A route is
the set of shortest paths; a flow's packets pick among equal next hops by hash (ECMP).
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.routing import Ends, all_routes

__all__ = ["MOST_GBPS", "Link", "Routes", "Topology", "fat_tree", "star"]

#: Of a link, and of what a law may decide.
MOST_GBPS = 1e6


@dataclass(frozen=True)
class Link:
    """A full-duplex cable between nodes `a` and `b`.

    Parameters
    ----------
    a, b : int
        Node numbers.
    gbps : float
        Rate of each direction, Gb/s, below a million.
    delay_ps : int
        Propagation delay, picoseconds.
    loss : float
        Probability that it loses a packet, in either direction; PFC's frames excepted.

    Raises
    ------
    ValueError
        The rate is out of range, the delay is negative, or the probability is not in [0, 1).
    """

    a: int
    b: int
    gbps: float = 100.0
    delay_ps: int = 1_000_000
    loss: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.gbps < MOST_GBPS:
            raise ValueError(
                f"link rate must be above 0 and below {MOST_GBPS:g} Gb/s, not {self.gbps!r}"
            )
        if self.delay_ps < 0:
            raise ValueError(f"link delay must be >= 0 ps, not {self.delay_ps!r}")
        if not 0 <= self.loss < 1:
            raise ValueError(f"link loss must be in [0, 1), not {self.loss!r}")


@dataclass(frozen=True)
class Routes:
    """Next hops: ``ports[start[n, h] : start[n, h] + count[n, h]]`` lead from node n to host h.

    `hops[n, h]` is the number of links on the way, -1 where there is none.
    """

    start: NDArray[np.int64]
    count: NDArray[np.int64]
    ports: NDArray[np.int64]
    hops: NDArray[np.int64]


@dataclass(frozen=True)
class Topology:
    """A network.

    Parameters
    ----------
    hosts, switches : int
        How many there are of each.
    links : tuple of Link
        Link k owns port 2 k (at its end `a`) and port 2 k + 1 (at its end `b`).

    Raises
    ------
    ValueError
        A link ends at a node that does not exist, or a host does not have exactly one link.
    """

    hosts: int
    switches: int
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        nodes = self.hosts + self.switches
        degree = [0] * nodes
        for link in self.links:
            for node in (link.a, link.b):
                if not 0 <= node < nodes:
                    raise ValueError(f"link end must be a node in 0..{nodes - 1}, not {node!r}")
                degree[node] += 1
        for host in range(self.hosts):
            if degree[host] != 1:
                raise ValueError(f"host {host} must have exactly one link, not {degree[host]}")

    @cached_property
    def routes(self) -> Routes:
        """All shortest paths towards every host."""
        a, b = (
            np.array([getattr(link, end) for link in self.links], dtype=np.int64) for end in "ab"
        )
        return Routes(*all_routes(Ends(a, b, self.hosts, self.switches)))

    def routes_without(self, down: Collection[int]) -> Routes:
        """All shortest paths that use none of the links `down`."""
        if not down:
            return self.routes
        a, b = (
            np.array([getattr(link, end) for link in self.links], dtype=np.int64) for end in "ab"
        )
        gone = sorted(down)
        # a loop at a switch that nothing else leads to
        cut_off = [node for node in (*a[gone].tolist(), *b[gone].tolist()) if node < self.hosts]
        a[gone] = b[gone] = self.hosts + self.switches
        start, count, ports, hops = all_routes(Ends(a, b, self.hosts, self.switches + 1))
        hops[cut_off, :] = hops[:, cut_off] = -1
        count[cut_off, :] = count[:, cut_off] = 0
        hops[cut_off, cut_off] = 0
        return Routes(start[:-1], count[:-1], ports, hops[:-1])

    def host_link(self, host: int) -> Link:
        """The one link of `host`."""
        return self.links[self._host_links[host]]

    @cached_property
    def neighbours(self) -> NDArray[np.int64]:
        """The node at the other end of each host's link."""
        links = [self.links[self._host_links[host]] for host in range(self.hosts)]
        return np.array([k.a + k.b - host for host, k in enumerate(links)], dtype=np.int64)

    @cached_property
    def _host_links(self) -> dict[int, int]:
        """The link of each host, by its place."""
        ends = ((node, k) for k, link in enumerate(self.links) for node in (link.a, link.b))
        return {node: k for node, k in ends if node < self.hosts}

    @cached_property
    def host_gbps(self) -> float:
        """Rate of the slowest host's link: what buffers' and marks' thresholds are given for."""
        return min(link.gbps for link in self.links if min(link.a, link.b) < self.hosts)

    def path(self, src: int, dst: int) -> tuple[Link, ...]:
        """The links of one shortest path from host `src` to host `dst`.

        Raises
        ------
        ValueError
            There is no path.
        """
        routes = self.routes
        links: list[Link] = []
        node = src
        while node != dst:
            if routes.count[node, dst] == 0:
                raise ValueError(f"hosts must be connected: there is no path from {src} to {dst}")
            port = int(routes.ports[routes.start[node, dst]])
            link = self.links[port // 2]
            links.append(link)
            node = link.b if port % 2 == 0 else link.a
        return tuple(links)

    def base_rtt_ps(self, src: int, dst: int, payload: int) -> int:
        """Twice the delay of the path plus one way's transmission of `payload` bytes per hop.

        This is the ns-3 codes' T, the round-trip time that HPCC and bandwidth-delay products use.
        """
        path = self.path(src, dst)
        return sum(2 * link.delay_ps + round(payload * 8000 / link.gbps) for link in path)


def star(hosts: int, *, gbps: float = 100.0, delay_ps: int = 1_000_000) -> Topology:
    """`hosts` hosts round one switch."""
    return Topology(hosts, 1, tuple(Link(h, hosts, gbps, delay_ps) for h in range(hosts)))


def fat_tree(
    *,
    pods: int = 5,
    tors: int = 4,
    aggs: int = 4,
    cores: int = 16,
    hosts_per_tor: int = 16,
    host_gbps: float = 100.0,
    fabric_gbps: float = 400.0,
    core_gbps: float | None = None,
    delay_ps: int = 1_000_000,
) -> Topology:
    """A three-level fat tree; the defaults are the 320 hosts of HPCC's evaluation.

    Aggregation switch a of every pod reaches the core switches of its group, cores / aggs of them,
    at `core_gbps` each, by default at `fabric_gbps`.

    Raises
    ------
    ValueError
        The core switches do not divide evenly among the aggregation switches of a pod.
    """
    if cores % aggs:
        raise ValueError(f"cores must be a multiple of aggs = {aggs}, not {cores!r}")
    hosts = pods * tors * hosts_per_tor
    first_agg = hosts + pods * tors
    first_core = first_agg + pods * aggs
    links: list[Link] = []
    for h in range(hosts):
        links.append(Link(h, hosts + h // hosts_per_tor, host_gbps, delay_ps))
    for pod in range(pods):
        for t in range(tors):
            for a in range(aggs):
                links.append(
                    Link(hosts + pod * tors + t, first_agg + pod * aggs + a, fabric_gbps, delay_ps)
                )
        for a in range(aggs):
            for c in range(cores // aggs):
                links.append(
                    Link(
                        first_agg + pod * aggs + a,
                        first_core + a * (cores // aggs) + c,
                        fabric_gbps if core_gbps is None else core_gbps,
                        delay_ps,
                    )
                )
    return Topology(hosts, pods * tors + pods * aggs + cores, tuple(links))
