"""Levels that flows believe at their start: the truth, a prior, and false ones.

A level is the binary logarithm, rounded up, of the flows that share the receiver's link
(`precog_sim.network.hints`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_models.packet.senders import level_of
from precog_net.workloads import Traffic

__all__ = ["LEAST", "inverted", "prior", "scrambled", "tagged", "truth"]

#: A flow that has more bytes counts, as `Hints.least`.
LEAST = 30_000
_PS_PER_BYTE = 80.0  # at 100 Gb/s
_AHEAD_PS = 10_000_000
_MOST = 6


def _counted_until(starts: Sequence[int], sizes: Sequence[int]) -> list[float]:
    """When each flow ceases to count, if the receiver's link is shared evenly; ps.

    Starts ascend. A fluid model: it knows no window and no queue.
    """
    until = [float(start) for start in starts]
    left: dict[int, float] = {}
    now, coming = 0.0, 0
    while left or coming < len(starts):
        due = starts[coming] if coming < len(starts) else np.inf
        first = min(left, key=lambda k: left[k]) if left else -1
        ends = now + left[first] * len(left) * _PS_PER_BYTE if left else np.inf
        if due <= ends:
            served = (due - now) / _PS_PER_BYTE / len(left) if left else 0.0
            left = {k: size - served for k, size in left.items()}
            left[coming] = float(sizes[coming])
            now, coming = float(due), coming + 1
        else:
            served = left.pop(first)
            left = {k: size - served for k, size in left.items()}
            now = until[first] = ends
    return until


def truth(traffic: Traffic) -> tuple[int, ...]:
    """An oracle of demand: flows that will share the link 10 us after the flow's start, itself
    among them. Of flows that wait for others nothing is known."""
    by_receiver: dict[int, list[int]] = defaultdict(list)
    for f in np.argsort(traffic.start_ps, kind="stable").tolist():
        if not traffic.waits[f] and traffic.size[f] > LEAST:
            by_receiver[int(traffic.dst[f])].append(f)
    found = [0] * len(traffic)
    spans = {}
    for host, flows in by_receiver.items():
        starts = [int(traffic.start_ps[f]) for f in flows]
        until = _counted_until(starts, [int(traffic.size[f]) for f in flows])
        spans[host] = np.array(starts), np.array(until)
    for f in range(len(traffic)):
        if traffic.waits[f] or int(traffic.dst[f]) not in spans:
            continue
        starts_of, ends_of = spans[int(traffic.dst[f])]
        now = int(traffic.start_ps[f])
        found[f] = level_of(int(((starts_of <= now + _AHEAD_PS) & (ends_of > now)).sum()))
    return tuple(found)


def prior(drawn: Sequence[Traffic]) -> dict[str, int]:
    """What other runs teach of each class of flows: the median of their true levels."""
    levels: dict[str, list[int]] = defaultdict(list)
    for traffic in drawn:
        for kind, true, size in zip(traffic.kind, truth(traffic), traffic.size, strict=True):
            if size > LEAST:
                levels[kind].append(true)
    return {kind: int(np.median(found)) for kind, found in sorted(levels.items())}


def tagged(traffic: Traffic, known: Mapping[str, int]) -> tuple[int, ...]:
    """The prior of each flow's class."""
    return tuple(known.get(kind, 0) for kind in traffic.kind)


def inverted(levels: ArrayLike) -> NDArray[np.int64]:
    """Crowded where it is idle, idle where it is crowded: 6 less the level, 0 at least."""
    return np.maximum(_MOST - np.asarray(levels, dtype=np.int64), 0)


def scrambled(levels: Sequence[int], seed: int) -> tuple[int, ...]:
    """Drawn from 0..6, whatever is true."""
    drawn = np.random.default_rng((seed, 77)).integers(0, _MOST + 1, len(levels))
    return tuple(drawn.tolist())
