"""QP lookup: from (direction, peer address, DestQP) of a packet to a slot.

Every slot has two keys: TX = (peer, remote QPN), RX = (peer, local QPN). DestQP alone is ambiguous:
in real captures both directions differ, and one number serves two hosts.

Cuckoo hashing with three ways, of whose cells at most 2/3 are taken (`table_rows`; the limit for
three ways and random keys is 0.91). A row comes of three CRCs of the key (XOR trees in gateware)
and a product of their bits (`mixed`): keys are seldom random, QPNs are given in order and addresses
are of a subnet, and a linear function alone sends some of such sets into half of the rows. The
lookup compares whole keys, so a collision never gives a wrong slot. The host places keys and moves
others away; writes come in an order in which no key is ever missing, so that traffic may run on.
"""

from collections import deque
from typing import NamedTuple

from precog_spec.frames.crc import remainder
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.qp_key import (
    ADDRESS_BITS,
    QPN_BITS,
    WAYS,
    mixed,
    table_rows,
    way_polynomials,
)

__all__ = ["WAYS", "Key", "QpTable", "Write", "keys_of"]


class Key(NamedTuple):
    """What a packet is looked up by."""

    direction: Direction
    remote: int
    qpn: int

    def pack(self) -> bytes:
        """Direction, address, QPN, most significant byte first: what the hashes run over."""
        return (
            bytes([self.direction])
            + self.remote.to_bytes(ADDRESS_BITS // 8, "big")
            + self.qpn.to_bytes(QPN_BITS // 8, "big")
        )


class Write(NamedTuple):
    """One write of the host into a cell; no key: the cell becomes free."""

    way: int
    row: int
    key: Key | None
    slot: int


def keys_of(remote: int, remote_qp: int, local_qp: int) -> tuple[Key, Key]:
    """A connection's keys: of packets to the peer, and from it; `ValueError` if one has none."""
    for name, value, bits in (
        ("remote address", remote, ADDRESS_BITS),
        ("remote QPN", remote_qp, QPN_BITS),
        ("local QPN", local_qp, QPN_BITS),
    ):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name} must be {bits} bits unsigned, not {value!r}")
    return Key(Direction.TX, remote, remote_qp), Key(Direction.RX, remote, local_qp)


class QpTable:
    """The table as the gateware holds it, and the host's placement.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two.

    Attributes
    ----------
    row_count : int
        Rows of each way.

    Raises
    ------
    ValueError
        `slots` is not a power of two, or too large.
    """

    def __init__(self, slots: int) -> None:
        self.slots, self.row_count = slots, table_rows(slots)
        self._polynomials = way_polynomials(slots)
        self._row_bits = self.row_count.bit_length() - 1
        self.remote_qp: list[int | None] = [None] * slots  # of the slot's TX key: where CNPs go
        self._cells: dict[tuple[int, int], tuple[Key, int]] = {}
        self._written: set[int] = set()  # slots that may have keys: others need no search

    def rows(self, key: Key) -> tuple[int, ...]:
        """The key's row in each way."""
        packed = key.pack()
        return mixed([remainder(packed, poly) for poly in self._polynomials], self._row_bits)

    def lookup(self, direction: Direction, remote: int, qpn: int) -> int | None:
        """Slot of a packet, None if no slot has the key."""
        key = Key(direction, remote, qpn)
        for cell in enumerate(self.rows(key)):
            found = self._cells.get(cell)
            if found is not None and found[0] == key:
                return found[1]
        return None

    def cell(self, way: int, row: int) -> tuple[Key, int] | None:
        """Key and slot in a cell, None if it is free."""
        return self._cells.get((way, row))

    def cells(self) -> dict[tuple[int, int], tuple[Key, int]]:
        """Key and slot by way and row, of cells that are not free."""
        return dict(self._cells)

    def entries(self) -> list[tuple[Key, int]]:
        """Every key and its slot, once also while it is being moved."""
        return sorted(set(self._cells.values()))

    def write(self, write: Write) -> None:
        """What one write of the host does."""
        cell = (write.way, write.row)
        if write.key is None:
            self._cells.pop(cell, None)
        else:
            self._cells[cell] = (write.key, write.slot)
            self._written.add(write.slot)

    def add(self, slot: int, remote: int, remote_qp: int, local_qp: int) -> list[Write]:
        """Give a slot its two keys; one of them may be there, of a host that was interrupted.

        Returns
        -------
        list of Write
            In the order in which they were done here and have to be done in the gateware.

        Raises
        ------
        ValueError
            A number does not fit, the slot is in use, a key belongs to a slot already, or no
            place was found (nothing has changed then).
        """
        if not 0 <= slot < self.slots:
            raise ValueError(f"slot must be 0..{self.slots - 1}, not {slot!r}")
        keys = keys_of(remote, remote_qp, local_qp)
        cells = self._cells.values() if slot in self._written else ()
        own = {key for key, owner in cells if owner == slot}
        if own and not own < set(keys):
            raise ValueError(f"slot must be free, not in use like {slot}; remove it first")
        for key in keys:
            owner = self.lookup(*key)
            if owner not in (None, slot):
                raise ValueError(
                    f"{key.direction.name} key must belong to one slot, not to {owner} and {slot}: "
                    f"QPN {key.qpn:#x}"
                )
        before = dict(self._cells)
        done: list[Write] = []
        try:
            for key in keys:
                if key not in own:
                    done += self._place(key, slot)
        except ValueError:
            self._cells = before
            raise
        self.remote_qp[slot] = remote_qp
        return done

    def remove(self, slot: int) -> list[Write]:
        """Take a slot's keys out; nothing if it has none."""
        cells = [cell for cell, (_, owner) in self._cells.items() if owner == slot]
        done = [Write(way, row, None, slot) for way, row in cells]
        for write in done:
            self.write(write)
        self._written.discard(slot)
        if 0 <= slot < self.slots:
            self.remote_qp[slot] = None
        return done

    def _place(self, key: Key, slot: int) -> list[Write]:
        """Shortest chain of moves to a free cell, done from its end: a key is copied, then
        overwritten."""
        came_from: dict[tuple[int, int], tuple[int, int] | None] = {}
        queue: deque[tuple[int, int]] = deque()
        for cell in enumerate(self.rows(key)):
            came_from[cell] = None
            queue.append(cell)
        while queue:
            cell = queue.popleft()
            if cell not in self._cells:
                break
            for other in enumerate(self.rows(self._cells[cell][0])):
                if other not in came_from:
                    came_from[other] = cell
                    queue.append(other)
        else:
            raise ValueError(
                f"QP table must have a free place for {key}, not {len(self._cells)} keys in the "
                "way; remove an unused slot"
            )
        done = []
        while (source := came_from[cell]) is not None:
            done.append(Write(*cell, *self._cells[source]))
            cell = source
        done.append(Write(*cell, key, slot))
        for write in done:
            self.write(write)
        return done
