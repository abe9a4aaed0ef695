"""All shortest paths towards every host, once for each switch that hosts are at.

From any other node the next hops to a host are those to its switch. Breadth first over the
switches, O(switches with hosts · links between switches), then one pass over the table of nodes and
hosts: 2,048 hosts in some 0.1 s.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from precog_models.jit import njit

__all__ = ["Ends", "all_routes"]

_Table = NDArray[np.int64]


class Ends(NamedTuple):
    """Links as arrays, and how many nodes there are.

    Attributes
    ----------
    a, b : ndarray of int64, shape (links,)
        Nodes at the ends; port 2 k is at a[k], port 2 k + 1 at b[k].
    hosts, switches : int
    """

    a: _Table
    b: _Table
    hosts: int
    switches: int


@njit
def _attachments(ends: Ends) -> tuple[_Table, _Table, _Table]:
    """Of each host: the node at the other end of its link, its port, and the port back."""
    to = np.zeros(ends.hosts, dtype=np.int64)
    up = np.zeros(ends.hosts, dtype=np.int64)
    down = np.zeros(ends.hosts, dtype=np.int64)
    for k in range(ends.a.size):
        if ends.a[k] < ends.hosts:
            to[ends.a[k]], up[ends.a[k]], down[ends.a[k]] = ends.b[k], 2 * k, 2 * k + 1
        if ends.b[k] < ends.hosts:
            to[ends.b[k]], up[ends.b[k]], down[ends.b[k]] = ends.a[k], 2 * k + 1, 2 * k
    return to, up, down


@njit
def _adjacency(ends: Ends) -> tuple[_Table, _Table]:
    """Ports between switches, by switch and in the order of links: first one of each, and all."""
    first = np.zeros(ends.switches + 1, dtype=np.int64)
    for k in range(ends.a.size):
        if ends.a[k] >= ends.hosts and ends.b[k] >= ends.hosts:
            first[ends.a[k] - ends.hosts + 1] += 1
            first[ends.b[k] - ends.hosts + 1] += 1
    first = np.cumsum(first)
    ports = np.zeros(first[-1], dtype=np.int64)
    filled = first[:-1].copy()
    for k in range(ends.a.size):
        if ends.a[k] >= ends.hosts and ends.b[k] >= ends.hosts:
            for node, port in ((ends.a[k], 2 * k), (ends.b[k], 2 * k + 1)):
                ports[filled[node - ends.hosts]] = port
                filled[node - ends.hosts] += 1
    return first, ports


@njit
def _peer(ends: Ends, port: int) -> int:
    """The switch, counted from 0, at the other end of a port between switches."""
    k = port // 2
    return int((ends.b[k] if port % 2 == 0 else ends.a[k]) - ends.hosts)


@njit
def _distances(ends: Ends, first: _Table, ports: _Table, root: int) -> _Table:
    """Links from every switch to switch `root`; -1: there is no way."""
    far = np.full(ends.switches, -1, dtype=np.int64)
    queue = np.zeros(ends.switches, dtype=np.int64)
    far[root] = 0
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        here = queue[head]
        head += 1
        for n in range(first[here], first[here + 1]):
            there = _peer(ends, ports[n])
            if far[there] < 0:
                far[there] = far[here] + 1
                queue[tail] = there
                tail += 1
    return far


@njit
def all_routes(ends: Ends) -> tuple[_Table, _Table, _Table, _Table]:
    """Start, count, ports and hops, as `topology.Routes` has them.

    The list of ports begins with each host's own and the one that leads to it.
    """
    hosts, switches = ends.hosts, ends.switches
    to, up, down = _attachments(ends)
    first, between = _adjacency(ends)
    roots = np.full(switches, -1, dtype=np.int64)  # number of a switch among those with hosts
    count_roots = 0
    for h in range(hosts):
        if to[h] >= hosts and roots[to[h] - hosts] < 0:
            roots[to[h] - hosts] = count_roots
            count_roots += 1
    far = np.full((max(count_roots, 1), switches), -1, dtype=np.int64)
    begin = np.zeros((max(count_roots, 1), switches), dtype=np.int64)
    number = np.zeros((max(count_roots, 1), switches), dtype=np.int64)
    ports = np.zeros(2 * hosts + count_roots * between.size + 1, dtype=np.int64)
    ports[:hosts] = up
    ports[hosts : 2 * hosts] = down
    used = 2 * hosts
    for s in range(switches):
        root = roots[s]
        if root < 0:
            continue
        far[root] = _distances(ends, first, between, s)
        for here in range(switches):
            begin[root, here] = used
            for n in range(first[here], first[here + 1]):
                nearer = far[root, _peer(ends, between[n])] == far[root, here] - 1
                if far[root, here] > 0 and nearer:
                    ports[used] = between[n]
                    used += 1
            number[root, here] = used - begin[root, here]
    nodes = hosts + switches
    start = np.zeros((nodes, hosts), dtype=np.int64)
    count = np.zeros((nodes, hosts), dtype=np.int64)
    hops = np.full((nodes, hosts), -1, dtype=np.int64)
    for node in range(nodes):
        for h in range(hosts):
            if node == h:
                hops[node, h] = 0
            elif to[h] < hosts or (node < hosts and to[node] < hosts):
                if node == to[h]:  # two hosts on one cable
                    start[node, h], count[node, h], hops[node, h] = node, 1, 1
            elif node < hosts:
                away = far[roots[to[h] - hosts], to[node] - hosts]
                if away >= 0:
                    start[node, h], count[node, h], hops[node, h] = node, 1, away + 2
            elif node == to[h]:
                start[node, h], count[node, h], hops[node, h] = hosts + h, 1, 1
            else:
                root, here = roots[to[h] - hosts], node - hosts
                if far[root, here] >= 0:
                    start[node, h] = begin[root, here]
                    count[node, h] = number[root, here]
                    hops[node, h] = far[root, here] + 1
    return start, count, ports[: max(used, 1)].copy(), hops
