"""Partitions of a network: hosts with their switch, and the switches above them dealt out.

Each has its own events; packets cross from one to another. A partition's tables fit into a core's
cache, so that even one thread is faster with them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.layout import NEVER
from precog_sim.network.topology import Topology

__all__ = ["Partition", "partition", "whole"]

_LEAST_PS = 200_000  # shorter links do not cross: their windows would hold too few events
_MOST = 32
_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Which part of a network every node is in.

    Parameters
    ----------
    count : int
    of : ndarray of int64, shape (nodes,)
    lookahead_ps : int
        The shortest delay of a link between two parts.
    """

    count: int
    of: _Ints
    lookahead_ps: int


def whole(topology: Topology) -> Partition:
    """Everything in one part."""
    return Partition(1, np.zeros(topology.hosts + topology.switches, dtype=np.int64), NEVER)


def partition(topology: Topology, most: int = _MOST) -> Partition:
    """Parts of equal weight, as far as there are switches with hosts; at most `most`."""
    nodes = topology.hosts + topology.switches
    near: list[list[int]] = [[] for _ in range(nodes)]
    for link in topology.links:
        near[link.a].append(link.b)
        near[link.b].append(link.a)
    group = _joined(topology)
    edges = sorted({int(group[near[host][0]]) for host in range(topology.hosts)})
    most = min(most, len(edges))
    part = np.full(nodes, -1, dtype=np.int64)  # of groups, by their first node
    load = [0.0] * most
    for place, root in enumerate(edges):
        part[root] = place * most // len(edges)
    for node in range(nodes):
        if part[group[node]] >= 0:
            load[part[group[node]]] += len(near[node])
    # Switches without hosts join a neighbour's part, the one with the least to do.
    waiting = [node for node in range(nodes) if part[group[node]] < 0]
    while waiting:
        left = []
        for node in waiting:
            if part[group[node]] >= 0:
                continue
            near_by = {int(part[group[other]]) for other in near[node]} - {-1}
            if not near_by:
                left.append(node)
                continue
            chosen = min(near_by, key=lambda k: (load[k], k))
            part[group[node]] = chosen
            load[chosen] += len(near[node])
        if len(left) == len(waiting):
            break  # nothing leads there
        waiting = left
    of = np.maximum(part[group], 0)
    delays = [link.delay_ps for link in topology.links if of[link.a] != of[link.b]]
    return Partition(most, of, min(delays)) if delays else whole(topology)


def _joined(topology: Topology) -> _Ints:
    """For each node the first of those that must be in its part: hosts are with their neighbour,
    and short links do not cross."""
    root = list(range(topology.hosts + topology.switches))

    def first(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for link in topology.links:
        if min(link.a, link.b) < topology.hosts or link.delay_ps < _LEAST_PS:
            a, b = sorted((first(link.a), first(link.b)))
            root[b] = a
    return np.array([first(node) for node in range(len(root))], dtype=np.int64)
