"""Golden packet store: queues of packets in cells, changed by events in the order of a log.

Untimed: the log says in which order packets came to their end and were granted, which cells they
lie in, and which of them found no free cell; the effect of each event is exact.

A queue has cells of its own up to its quota. A packet that takes more borrows the rest from
the cells that all queues share. If `limit` does not leave enough, it is dropped, or waits if it
may. What is borrowed is given back first.
"""

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

__all__ = ["Outcome", "Packet", "PacketStore", "Row"]


class Outcome(IntEnum):
    """What became of a packet."""

    STORED = 0
    WAITS = 1
    QUOTA = 2
    MEMORY = 3
    LONG = 4


class Packet(NamedTuple):
    """A packet in its queue: its first cell, its bytes, and what its request says of it."""

    cell: int
    size: int
    label: int = 0


@dataclass
class Row:
    """A queue.

    Attributes
    ----------
    packets : deque of Packet
    own, borrowed : int
        Cells within the quota, and beyond it.
    drops : int
        Packets; 32 bits, wraps.
    head, tail : Packet, int
        The first packet, and the first cell of the last one, as they were known last.
    """

    packets: deque[Packet] = field(default_factory=deque)
    own: int = 0
    borrowed: int = 0
    drops: int = 0
    head: Packet = field(default_factory=lambda: Packet(0, 0))
    tail: int = 0

    @property
    def queued(self) -> int:
        """Bytes."""
        return sum(packet.size for packet in self.packets)


class PacketStore:
    """All queues.

    Parameters
    ----------
    qps : int
    cell_bytes : int
    longest : int
        Bytes of the longest packet that is stored.

    Attributes
    ----------
    rows : list of Row
    shared : int
        Cells that are borrowed.
    """

    def __init__(self, qps: int, cell_bytes: int, longest: int) -> None:
        self.rows = [Row() for _ in range(qps)]
        self.shared = 0
        self._cell_bytes, self._longest = cell_bytes, longest
        self._first: set[int] = set()  # cells in which a packet begins

    def cells(self, size: int) -> int:
        """Cells of a packet."""
        return -(-size // self._cell_bytes)

    def append(
        self,
        qp: int,
        packet: Packet,
        *,
        quota: int,
        limit: int,
        may_wait: bool = False,
        memory: bool = True,
    ) -> Outcome:
        """A packet came to its end.

        Parameters
        ----------
        qp : int
        packet : Packet
        quota, limit : int
            Cells of this queue, and that all may borrow.
        may_wait : bool
            It is offered again rather than dropped for its quota, if it could ever be stored.
        memory : bool
            There was a free cell for each of its own, as far as it is not too long.

        Raises
        ------
        ValueError
            Its first cell is that of another packet.
        """
        row, need = self.rows[qp], self.cells(packet.size)
        if not memory or packet.size > self._longest:
            row.drops = (row.drops + 1) % (1 << 32)
            return Outcome.LONG if memory else Outcome.MEMORY
        taken = min(need, max(quota - row.own, 0))
        more = need - taken
        if more and self.shared + more > limit:
            if may_wait and need <= quota + limit:
                return Outcome.WAITS
            row.drops = (row.drops + 1) % (1 << 32)
            return Outcome.QUOTA
        if packet.cell in self._first:
            raise ValueError(f"cell {packet.cell} must be in one packet only")
        self._first.add(packet.cell)
        if not row.packets:
            row.head = packet
        row.packets.append(packet)
        row.tail = packet.cell
        row.own += taken
        row.borrowed += more
        self.shared += more
        return Outcome.STORED

    def pop(self, qp: int) -> Packet | None:
        """The first packet leaves; None: there is none."""
        row = self.rows[qp]
        if not row.packets:
            return None
        packet = row.packets.popleft()
        self._first.remove(packet.cell)
        back = min(row.borrowed, self.cells(packet.size))
        row.borrowed -= back
        row.own -= self.cells(packet.size) - back
        self.shared -= back
        return packet

    def advance(self, qp: int) -> Packet:
        """The packet behind the one that left is the first now: what is asked for."""
        row = self.rows[qp]
        row.head = row.packets[0]
        return row.head
