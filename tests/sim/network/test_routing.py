"""Compiled routes against a plain search from every host."""

import random
from collections import deque

import pytest

from precog_sim.network import Link, Topology, fat_tree


def plain(topology: Topology) -> dict[tuple[int, int], tuple[int, list[int]]]:
    """Hops and next ports, in the order of links, from every node to every host."""
    nodes = topology.hosts + topology.switches
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for k, link in enumerate(topology.links):
        neighbours[link.a].append((link.b, 2 * k))
        neighbours[link.b].append((link.a, 2 * k + 1))
    found = {}
    for host in range(topology.hosts):
        far = {host: 0}
        queue = deque([host])
        while queue:
            here = queue.popleft()
            for there, _ in neighbours[here]:
                if there not in far:
                    far[there] = far[here] + 1
                    if there >= topology.hosts:  # no packet passes through a host
                        queue.append(there)
        for node in range(nodes):
            ports = [
                port
                for there, port in neighbours[node]
                if node != host
                and far.get(there, -2) == far.get(node, -9) - 1
                and (there >= topology.hosts or there == host)
            ]
            found[node, host] = far.get(node, -1), ports
    return found


def compiled(topology: Topology) -> dict[tuple[int, int], tuple[int, list[int]]]:
    routes = topology.routes
    found = {}
    for node in range(topology.hosts + topology.switches):
        for host in range(topology.hosts):
            start, count = int(routes.start[node, host]), int(routes.count[node, host])
            ports = routes.ports[start : start + count].tolist()
            found[node, host] = int(routes.hops[node, host]), ports
    return found


@pytest.mark.parametrize("round_", range(5))
def test_random_networks(seed: int, round_: int) -> None:
    """Connected and torn ones, switches with no host, several links between two switches."""
    rng = random.Random(seed + round_)
    hosts, switches = rng.randrange(2, 9), rng.randrange(1, 8)
    links = []
    for host in range(hosts):
        ends = [host, hosts + rng.randrange(switches)]
        rng.shuffle(ends)
        links.append(Link(*ends))
    for _ in range(rng.randrange(2 * switches)):
        a, b = rng.randrange(switches), rng.randrange(switches)
        if a != b:
            links.append(Link(hosts + a, hosts + b))
    rng.shuffle(links)
    topology = Topology(hosts, switches, tuple(links))
    assert compiled(topology) == plain(topology)


def test_a_fat_tree() -> None:
    topology = fat_tree(pods=3, tors=2, aggs=2, cores=4, hosts_per_tor=3)
    assert compiled(topology) == plain(topology)


def test_two_hosts_on_one_cable() -> None:
    topology = Topology(3, 1, (Link(1, 0), Link(2, 3)))
    assert compiled(topology) == plain(topology)
