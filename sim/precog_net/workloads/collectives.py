"""Collectives of distributed training: flows that wait for what they need.

A step of a host begins when all that it needs has arrived there. What is measured is the job
completion time, from the first flow's start to the last one's end.

* ``ring``: all-reduce of n chunks round a ring, n - 1 steps that add up and n - 1 that hand out
  (Patarasuk and Yuan, 2009; NCCL's ring).
* ``tree``: all-reduce up a binary tree and down again, in 16 chunks that follow each other.
* ``alltoall``: every host sends an equal part to each other one.
* ``moe``: a layer of experts, an all-to-all there and, from each host as soon as it has all of its
  parts, one back.
* ``pipeline``: 16 microbatches through hosts in a row, each after the one before it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .arrivals import Place, check_count
from .traffic import Traffic

__all__ = ["SHAPES", "Collective"]

_CHUNKS = 16  # of trees and pipelines


@dataclass
class _Steps:
    """Flows as they are added: source, destination, bytes, and those waited for."""

    rows: list[tuple[int, int, int]]
    after: list[tuple[int, ...]]

    def add(self, src: int, dst: int, size: int, after: tuple[int, ...] = ()) -> int:
        """One more; its place."""
        self.rows.append((src, dst, size))
        self.after.append(after)
        return len(self.rows) - 1


def _parts(size: int, count: int) -> list[int]:
    """`size` bytes in `count` parts that differ by at most one, and have one at least."""
    return [max(size // count + (n < size % count), 1) for n in range(count)]


def _ring(steps: _Steps, hosts: int, size: int) -> None:
    """Steps of a ring all-reduce: each host sends a part on when its neighbour's has arrived."""
    chunks = _parts(size, hosts)
    before: list[int] = []
    for step in range(2 * (hosts - 1)):
        before = [
            steps.add(
                host,
                (host + 1) % hosts,
                chunks[(host - step) % hosts],
                (before[(host - 1) % hosts],) if before else (),
            )
            for host in range(hosts)
        ]


def _tree(steps: _Steps, hosts: int, size: int) -> None:
    """Host h's parent is (h - 1) // 2; chunk c of a host leaves after chunk c - 1 of it."""
    up: dict[tuple[int, int], int] = {}
    down: dict[tuple[int, int], int] = {}
    children = {h: [c for c in (2 * h + 1, 2 * h + 2) if c < hosts] for h in range(hosts)}
    for c, part in enumerate(_parts(size, _CHUNKS)):
        for host in range(hosts - 1, 0, -1):
            needed = [up[child, c] for child in children[host]]
            needed += [up[host, c - 1]] if c else []
            up[host, c] = steps.add(host, (host - 1) // 2, part, tuple(needed))
        for host in range(1, hosts):
            parent = (host - 1) // 2
            needed = [down[parent, c]] if parent else [up[child, c] for child in children[0]]
            needed += [down[host, c - 1]] if c else []
            down[host, c] = steps.add(parent, host, part, tuple(needed))


def _all_to_all(steps: _Steps, hosts: int, size: int) -> None:
    _exchange(steps, hosts, size, [()] * hosts)


def _experts(steps: _Steps, hosts: int, size: int) -> None:
    there = _exchange(steps, hosts, size, [()] * hosts)
    _exchange(steps, hosts, size, there)


def _exchange(
    steps: _Steps, hosts: int, size: int, after: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """An all-to-all; the flows that each host gets. Hosts begin with different peers."""
    parts = _parts(size, hosts - 1)
    arriving: list[list[int]] = [[] for _ in range(hosts)]
    for step in range(1, hosts):
        for host in range(hosts):
            to = (host + step) % hosts
            arriving[to].append(steps.add(host, to, parts[step - 1], after[host]))
    return [tuple(flows) for flows in arriving]


def _pipeline(steps: _Steps, hosts: int, size: int) -> None:
    before: list[int] = []
    for stage in range(hosts - 1):
        sent: list[int] = []
        for n, part in enumerate(_parts(size, _CHUNKS)):
            needed = ((before[n],) if before else ()) + ((sent[-1],) if sent else ())
            sent.append(steps.add(stage, stage + 1, part, needed))
        before = sent


#: Collectives by name: each adds its steps for a number of hosts, and bytes a host.
SHAPES: dict[str, Callable[[_Steps, int, int], None]] = {
    "ring": _ring,
    "tree": _tree,
    "alltoall": _all_to_all,
    "moe": _experts,
    "pipeline": _pipeline,
}


@dataclass(frozen=True)
class Collective:
    """One job.

    Parameters
    ----------
    shape : str
        One of `SHAPES`; the class of its flows.
    degree : int
        Hosts that take part.
    size : int
        Bytes that each of them contributes.
    spread : bool
        They are drawn at random from all hosts, instead of being the first ones.
    """

    shape: str
    degree: int
    size: int
    spread: bool = False

    def draw(self, place: Place, rng: np.random.Generator) -> Traffic:
        """Its flows.

        Raises
        ------
        ValueError
            There are not enough hosts, or the flows would be too many.
        """
        if not 2 <= self.degree <= place.hosts:
            raise ValueError(
                f"{self.shape} must have 2..{place.hosts} hosts here, not {self.degree}"
            )
        check_count(self.shape, 2.0 * self.degree * max(self.degree, _CHUNKS))
        steps = _Steps([], [])
        SHAPES[self.shape](steps, self.degree, self.size)
        hosts = rng.permutation(place.hosts) if self.spread else np.arange(place.hosts)
        src, dst, size = np.array(steps.rows, dtype=np.int64).T
        count = len(size)
        return Traffic(
            np.zeros(count, dtype=np.int64),
            hosts[src],
            hosts[dst],
            size,
            (self.shape,) * count,
            tuple(steps.after),
        )
