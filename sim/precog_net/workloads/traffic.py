"""Flows of a run as columns, with the class that results are told apart by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.scenario import Flow

__all__ = ["Traffic", "merged"]

_PORT, _INCAST_PORT = 100, 200  # the HPCC authors' destination ports: ns-3's hash sees them

_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Flows, in any order.

    Parameters
    ----------
    start_ps, src, dst, size : ndarray of int64, shape (n,)
        When each starts at the earliest, between which hosts, and how many bytes.
    kind : str or sequence of str
        The class of all of them, or of each.
    """

    start_ps: _Ints
    src: _Ints
    dst: _Ints
    size: _Ints
    kind: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.size)

    def flows(self) -> tuple[Flow, ...]:
        """As the simulator takes them.

        Raises
        ------
        ValueError
            One is of no bytes, or from a host to itself.
        """
        columns = (self.src, self.dst, self.size, self.start_ps)
        rows = zip(*(column.tolist() for column in columns), self.kind, strict=True)
        return tuple(
            Flow(src, dst, size, start, dst_port=_INCAST_PORT if kind == "incast" else _PORT)
            for src, dst, size, start, kind in rows
        )


def merged(parts: Sequence[Traffic]) -> Traffic:
    """All flows of `parts` by their start."""
    start = np.concatenate([part.start_ps for part in parts])
    order = np.argsort(start, kind="stable")
    kinds = [kind for part in parts for kind in part.kind]
    src, dst, size = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("src", "dst", "size")
    )
    return Traffic(start[order], src, dst, size, tuple(kinds[n] for n in order.tolist()))
