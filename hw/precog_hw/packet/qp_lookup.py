"""QP lookup: from (direction, peer address, DestQP) of a packet to a slot.

Cuckoo hashing with three ways, as `precog_models.packet.qp_table` has it; the host places the keys.
Throughput: two requests per cycle, one at each port. Latency: 8 cycles.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import sliced_memory
from precog_spec.frames.crc import remainder
from precog_spec.frames.qp_key import (
    ADDRESS_BITS,
    DIRECTION_BITS,
    KEY_BYTES,
    QPN_BITS,
    TURNS,
    WAYS,
    table_rows,
    way_polynomials,
)

from .linear import xor_network

__all__ = [
    "KEY",
    "WAYS",
    "QpLookup",
    "cell_layout",
    "lookup_members",
    "mixed_rows",
    "table_access_layout",
]

_PIECE_BITS = 10  # of a key, compared in one cycle: three levels of LUT4
_PARTS = 5  # of a key, hashed in one cycle

#: A packed key, as a number: the golden's bytes but for the seven zeros above the direction.
KEY = data.StructLayout(
    {
        "qpn": unsigned(QPN_BITS),
        "remote": unsigned(ADDRESS_BITS),
        "direction": unsigned(DIRECTION_BITS),
    }
)


def cell_layout(slots: int) -> data.StructLayout:
    """One row of a way."""
    return data.StructLayout(
        {"slot": unsigned((slots - 1).bit_length()), "key": KEY, "valid": unsigned(1)}
    )


def table_access_layout(slots: int) -> data.StructLayout:
    """The host writes a cell, which is free if it is not valid, or reads one."""
    return data.StructLayout(
        {
            "way": unsigned((WAYS - 1).bit_length()),
            "row": unsigned((table_rows(slots) - 1).bit_length()),
            "cell": cell_layout(slots),
            "read": unsigned(1),
        }
    )


def lookup_members(slots: int) -> dict[str, Any]:
    """Both ports and the host's, see `QpLookup`.

    Raises
    ------
    ValueError
        `slots` is not a power of two, or smaller than 2.
    """
    if slots < 2 or slots & (slots - 1):
        raise ValueError(f"slots must be a power of two, 2 or more, not {slots!r}")
    members: dict[str, Any] = {}
    for port in ("tx", "rx"):
        members |= {
            f"{port}_stb": In(1),
            f"{port}_key": In(KEY),
            f"{port}_done": Out(1),
            f"{port}_found": Out(1),
            f"{port}_slot": Out(range(slots)),
        }
    return members | {
        "i_access": In(stream.Signature(table_access_layout(slots))),
        "read_stb": Out(1),
        "read_cell": Out(cell_layout(slots)),
    }


def mixed_rows(remainders: Sequence[Value]) -> list[Value]:
    """`qp_key.mixed`: the ways' rows from their remainders."""
    others = ([remainders[(way + n) % WAYS] for n in range(WAYS)] for way in range(WAYS))
    return [a ^ (b.rotate_left(TURNS[0]) & c.rotate_left(TURNS[1])) for a, b, c in others]


@cache
def _rest_of(poly: int) -> Callable[[int], int]:
    """The golden's remainder of a packed key; one function object for each."""

    def rest(packed: int) -> int:
        return remainder(packed.to_bytes(KEY_BYTES, "big"), poly)

    return rest


class QpLookup(wiring.Component):
    """Three ways of `table_rows(slots)` rows; whole keys are compared, so a slot is never wrong.

    ::

        key ─► parts of 3 CRCs ─► CRCs, rows ─► (a write?) ─► RAM ─► registers ─► pieces compared ─►
         0           1               2              3          4         5               6
                                                                              hits ─► slot
                                                                               7       8

    Both directions share the ways, and each row is held once: the RAM's first port reads for
    `tx` and serves the host, its second one reads for `rx`. So an access of the host waits for a
    cycle without a request of `tx`, and while `rx` reads the very row. It waits for ever only if
    `tx` has a request in every cycle, which a wire cannot ask for: its shortest packets are 84 byte
    times apart, more than a cycle at any rate that the data path has.

    A request sees exactly the writes that were taken up to the second cycle after it. Host software
    writes moves in the golden's order (copy, then overwrite), so a key is never missing.

    Latency: 8 cycles. Throughput: one request per cycle and port. Cost at 1024 slots (ECP5):
    30 DP16KD, 2450 LUT4, 2600 flip-flops; a second copy of the table, for writes at any time, would
    be 30 DP16KD more.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more, `qp_key.MAX_SLOTS` at most.

    Members
    -------
    tx_stb, rx_stb : In(1)
        Look up `tx_key`, `rx_key`.
    tx_key, rx_key : In(KEY)
    tx_done, rx_done : Out(1)
        The strobe, 8 cycles later.
    tx_found, rx_found : Out(1)
        With `done`: the key is in the table.
    tx_slot, rx_slot : Out(range(slots))
        Where it is found, otherwise 0.
    i_access : In(stream.Signature(table_access_layout(slots)))
        The host's accesses. A way beyond the last one is taken; it writes nothing and reads a free
        cell.
    read_stb, read_cell : Out(1), Out(cell_layout(slots))
        What an access reads, 4 cycles after it was offered if nothing holds it up.

    Raises
    ------
    ValueError
        `slots` is not a power of two, or smaller than 2.
    """

    LATENCY = 8

    tx_stb: Signal
    tx_key: data.View
    tx_done: Signal
    tx_found: Signal
    tx_slot: Signal
    rx_stb: Signal
    rx_key: data.View
    rx_done: Signal
    rx_found: Signal
    rx_slot: Signal
    i_access: stream.Interface
    read_stb: Signal
    read_cell: data.View

    def __init__(self, slots: int) -> None:
        self._slots = slots
        super().__init__(lookup_members(slots))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        access = self.i_access.payload
        tx, rx = (_Request(m, name, self._slots) for name in ("tx", "rx"))
        tx.hash(self.tx_stb, self.tx_key)
        rx.hash(self.rx_stb, self.rx_key)

        # Decided in the cycle before the RAM's, and in no two cycles that follow each other: the
        # second would judge a write that has been taken.
        ways = [rx.valid & (row == access.row) for row in rx.rows]
        meets = Array([*ways, *[Const(0)] * ((1 << len(access.way)) - WAYS)])
        go = self.i_access.ready
        m.d.sync += go.eq(self.i_access.valid & ~go & ~tx.valid & ~meets[access.way])
        for way in range(WAYS):
            # Never read where it is written: synthesis need not keep the old word.
            ram = sliced_memory(cell_layout(self._slots), table_rows(self._slots))
            m.submodules[f"way{way}"] = ram
            port, first, second = ram.write_port(), ram.read_port(), ram.read_port()
            m.d.comb += [
                port.en.eq(go & ~access.read & (access.way == way)),
                port.data.eq(access.cell),
                # One address, so that both fit one port of the RAM.
                port.addr.eq(Mux(go, access.row, tx.late_rows[way])),
                first.addr.eq(port.addr),
                first.en.eq(~port.en),
                second.addr.eq(rx.late_rows[way]),
            ]
            tx.read(first.data)
            rx.read(second.data)
        self._answer(m, tx.cells)
        tx.compare(self.tx_done, self.tx_found, self.tx_slot)
        rx.compare(self.rx_done, self.rx_found, self.rx_slot)
        return m

    def _answer(self, m: Module, cells: list[data.View]) -> None:
        """What the host reads: a request's cells in the cycle after the RAM's."""
        access = self.i_access.payload
        reads = [Signal(name=f"reads{n}") for n in range(2)]
        asked = [Signal.like(access.way, name=f"asked{n}") for n in range(2)]
        m.d.sync += [
            reads[0].eq(self.i_access.ready & access.read),
            reads[1].eq(reads[0]),
            asked[0].eq(access.way),
            asked[1].eq(asked[0]),
            self.read_stb.eq(reads[1]),
            self.read_cell.eq(0),
        ]
        for way, cell in enumerate(cells):
            with m.If(asked[1] == way):
                m.d.sync += self.read_cell.eq(cell)


class _Request:
    """One request port's pipeline around the RAMs."""

    def __init__(self, m: Module, name: str, slots: int) -> None:
        self._m, self._name, self._slots = m, name, slots
        self.valid = Signal(name=f"{name}_valid")  # in cycle 2, with `rows`
        rows = range(table_rows(slots))
        self._sums = [Signal(rows, name=f"{name}_sum{way}") for way in range(WAYS)]
        self.rows = [Signal(rows, name=f"{name}_row{way}") for way in range(WAYS)]
        m.d.comb += [
            row.eq(mixed) for row, mixed in zip(self.rows, mixed_rows(self._sums), strict=True)
        ]
        self.late_rows = [Signal.like(row, name=f"{row.name}_late") for row in self.rows]
        m.d.sync += [late.eq(row) for late, row in zip(self.late_rows, self.rows, strict=True)]
        self._key = Signal(KEY, name=f"{name}_key2", reset_less=True)
        self.cells: list[data.View] = []

    def hash(self, stb: Value, key: data.View) -> None:
        """Cycles 0 and 1."""
        m, name, packed = self._m, self._name, key.as_value()
        valid = Signal(name=f"{name}_valid1")
        key1 = Signal(KEY, name=f"{name}_key1", reset_less=True)
        m.d.sync += [valid.eq(stb), self.valid.eq(valid), key1.eq(key), self._key.eq(key1)]
        size = -(-len(packed) // _PARTS)
        for way, (poly, result) in enumerate(
            zip(way_polynomials(self._slots), self._sums, strict=True)
        ):
            total: Value = Const(0, len(result))
            for low in range(0, len(packed), size):
                part = Signal.like(result, name=f"{name}_part{way}_{low}", reset_less=True)
                alone = Cat(Const(0, low), packed[low : low + size])
                hashed = xor_network(_rest_of(poly), alone, len(result))
                m.d.sync += part.eq(hashed)
                total ^= part
            m.d.sync += result.eq(total)

    def read(self, word: data.View) -> None:
        """Cycle 4: a block RAM's output is late; it gets a register of its own."""
        cell = Signal(
            cell_layout(self._slots),
            name=f"{self._name}_cell{len(self.cells)}",
            reset_less=True,
        )
        self._m.d.sync += cell.eq(word)
        self.cells.append(cell)

    def compare(self, done: Value, found: Value, slot: Value) -> None:
        """Cycles 5 to 7."""
        m, name = self._m, self._name
        key = self._key
        for stage in (3, 4, 5):
            late = Signal(KEY, name=f"{name}_key{stage}", reset_less=True)
            m.d.sync += late.eq(key)
            key = late
        hits, slots = [], []
        for way, cell in enumerate(self.cells):
            equal = []
            for low in range(0, len(key.as_value()), _PIECE_BITS):
                piece = slice(low, low + _PIECE_BITS)
                equal.append(cell.key.as_value()[piece] == key.as_value()[piece])
            pieces = Signal(len(equal) + 1, name=f"{name}_pieces{way}")
            hit = Signal(name=f"{name}_hit{way}")
            slot6, slot7 = (Signal.like(slot, name=f"{name}_slot{way}_{n}") for n in (6, 7))
            m.d.sync += [
                pieces.eq(Cat(*equal, cell.valid)),
                hit.eq(pieces.all()),
                slot6.eq(cell.slot),
                slot7.eq(slot6),
            ]
            hits.append(hit)
            slots.append(slot7)
        m.d.sync += [found.eq(Cat(hits).any()), slot.eq(0)]
        for hit, number in reversed(list(zip(hits, slots, strict=True))):
            with m.If(hit):
                m.d.sync += slot.eq(number)
        stages = Signal(QpLookup.LATENCY - 2, name=f"{name}_stages")
        m.d.sync += stages.eq(Cat(self.valid, stages))
        m.d.comb += done.eq(stages[-1])
