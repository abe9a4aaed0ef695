"""Flows of a run as columns, with the class that results are told apart by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.flow import Flow

__all__ = ["Traffic", "merged"]

_PORT, _INCAST_PORT = 100, 200  # the HPCC authors' destination ports: ns-3's hash sees them
_Ints = NDArray[np.int64]
_COLUMNS = ("start_ps", "src", "dst", "size")


@dataclass(frozen=True, eq=False)
class Traffic:
    """Flows, in any order.

    Parameters
    ----------
    start_ps, src, dst, size : ndarray of int64, shape (n,)
        When each starts at the earliest, between which hosts, and how many bytes. A flow that waits
        for others starts `start_ps` after the last of them has arrived.
    kind : tuple of str
        The class of each.
    after : tuple of tuple of int, optional
        The flows, by their place here, that each waits for; by default none waits.
    law : tuple of str, optional
        The law of each, where one is given; others have that of their class.
    """

    start_ps: _Ints
    src: _Ints
    dst: _Ints
    size: _Ints
    kind: tuple[str, ...]
    after: tuple[tuple[int, ...], ...] = ()
    law: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.size)

    @property
    def waits(self) -> tuple[tuple[int, ...], ...]:
        """`after` of every flow."""
        return self.after or ((),) * len(self)

    @property
    def laws(self) -> tuple[str, ...]:
        """`law` of every flow."""
        return self.law or ("",) * len(self)

    def flows(self) -> tuple[Flow, ...]:
        """As the simulator takes them.

        Raises
        ------
        ValueError
            One is of no bytes, or from a host to itself.
        """
        columns = (getattr(self, name).tolist() for name in _COLUMNS)
        rows = zip(*columns, self.kind, self.waits, strict=True)
        return tuple(
            Flow(
                src,
                dst,
                size,
                start,
                dst_port=_INCAST_PORT if kind == "incast" else _PORT,
                after=after,
            )
            for start, src, dst, size, kind, after in rows
        )


def merged(parts: Sequence[Traffic]) -> Traffic:
    """All flows of `parts` by their start."""
    start = np.concatenate([part.start_ps for part in parts])
    order = np.argsort(start, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    kinds = [kind for part in parts for kind in part.kind]
    laws = [law for part in parts for law in part.laws]
    waits: list[tuple[int, ...]] = []
    for part in parts:
        base = len(waits)
        waits += [tuple(place[base + f] for f in after) for after in part.waits]
    src, dst, size = (
        np.concatenate([getattr(part, name) for part in parts])[order] for name in _COLUMNS[1:]
    )
    return Traffic(
        start[order],
        src,
        dst,
        size,
        tuple(kinds[n] for n in order.tolist()),
        tuple(waits[n] for n in order.tolist()),
        tuple(laws[n] for n in order.tolist()),
    )
