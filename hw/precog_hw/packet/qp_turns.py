"""QP lookup for one packet at a time in each direction: the ways are asked one after the other.

The same keys, rows and cells as in `qp_lookup`; TX and RX take turns, TX first.
"""

from collections.abc import Callable
from functools import cache

from amaranth.hdl import Array, Assert, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring

from precog_hw.rows import plain_memory
from precog_spec.frames.crc import remainder
from precog_spec.frames.qp_key import (
    DIRECTION_BITS,
    IPV4_MAPPED,
    KEY_BYTES,
    QPN_BITS,
    WAYS,
    table_rows,
    way_polynomials,
)

from .linear import xor_network
from .qp_lookup import KEY, QpLookup, lookup_members, mixed_rows

__all__ = ["QpTurns", "qp_lookup"]

_IPV4_BITS = 32  # of an address, below `IPV4_MAPPED`


@cache
def _remainders_of(slots: int) -> Callable[[int], int]:
    """All ways' remainders of a packed key, side by side; one function object for each size."""
    bits = table_rows(slots).bit_length() - 1
    polynomials = way_polynomials(slots)

    def remainders(packed: int) -> int:
        word = packed.to_bytes(KEY_BYTES, "big")
        return sum(remainder(word, poly) << bits * way for way, poly in enumerate(polynomials))

    return remainders


class QpTurns(wiring.Component):
    """`QpLookup` with one row read per cycle; whole keys are compared, so a slot is never wrong.

    ::

        tx_key ─┬─► rows ─► [RAM: way, row] ─► equal? ─► found, slot
        rx_key ─┘  step 0    step 0 .. 2      1 .. 3

    A request of `tx` begins at once: one of `rx` under way begins again behind it. The host's
    accesses wait for cycles without a request, so that a request sees exactly the writes that were
    taken up to its own cycle.

    Latency: `LATENCY` = 5 cycles, `rx` up to 12 if it meets a request of `tx`. Throughput: one
    request of each port in 12 cycles. Cost: two DP16KD for IPv4 and up to 128 slots.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more, `qp_key.MAX_SLOTS` at most.
    ipv6 : bool
        Otherwise all addresses are IPv4: only their 32 bits are looked at and kept.

    Members
    -------
    tx_stb, rx_stb : In(1)
        Look up `tx_key`, `rx_key`. Not before `done` of the port's request before, and `tx` not
        twice in 12 cycles.
    tx_key, rx_key : In(KEY)
        Stay until `done`.
    tx_done, rx_done : Out(1)
    tx_found, rx_found, tx_slot, rx_slot : Out
        As in `QpLookup`, with `done`.
    i_access : In(stream.Signature(table_access_layout(slots)))
        The host's accesses, as in `QpLookup`.
    read_stb, read_cell : Out(1), Out(cell_layout(slots))
        What an access reads, in the cycle after it was taken.

    Raises
    ------
    ValueError
        `slots` is not a power of two, or smaller than 2.
    """

    LATENCY = WAYS + 2

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

    def __init__(self, slots: int, *, ipv6: bool = True) -> None:
        self._slots = slots
        self._address_bits = KEY["remote"].shape.width if ipv6 else _IPV4_BITS
        super().__init__(lookup_members(slots))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        access, answer = self.i_access.payload, self.read_cell
        row_bits = len(access.row)
        stored = data.StructLayout(
            {
                "slot": answer.slot.shape(),
                "qpn": unsigned(QPN_BITS),
                "remote": unsigned(self._address_bits),
                "direction": unsigned(DIRECTION_BITS),
                "valid": unsigned(1),
            }
        )
        # Read in no cycle in which it is written.
        m.submodules.cells = cells = plain_memory(stored, (WAYS + 1) << row_bits, block=True)
        write, read = cells.write_port(), cells.read_port()

        # `step` is the way that is read; the cell of the step before has come.
        sends, receives, step = Signal(), Signal(), Signal(range(WAYS + 1))
        last = step == WAYS
        m.d.sync += [
            sends.eq(self.tx_stb | (sends & ~last)),
            receives.eq(self.rx_stb | (receives & (sends | ~last))),
            step.eq(Mux(self.tx_stb | ~(sends | receives), 0, step + 1)),
            self.tx_done.eq(sends & last),
            self.rx_done.eq(receives & ~sends & last),
            Assert(~self.tx_stb | ~sends, "one request of tx at a time"),
            Assert(~self.rx_stb | ~receives | (last & ~sends), "one request of rx at a time"),
        ]
        key, found, slot = Signal(KEY), Signal(), Signal.like(self.tx_slot)
        shown, whole = Signal(KEY), Const(IPV4_MAPPED, len(key.remote))
        m.d.comb += shown.eq(Mux(sends, self.tx_key, self.rx_key))
        for name in ("qpn", "direction"):
            m.d.comb += key[name].eq(shown[name])
        m.d.comb += key.remote.eq(
            Cat(shown.remote[: self._address_bits], whole[self._address_bits :])
        )
        # A signal: every reader of an expression would get a network of its own.
        remainders = Signal(WAYS * row_bits)
        m.d.comb += remainders.eq(
            xor_network(_remainders_of(self._slots), key.as_value(), WAYS * row_bits, fold=True)
        )
        rows = mixed_rows([remainders.word_select(way, row_bits) for way in range(WAYS)])
        m.d.comb += [
            self.i_access.ready.eq(~sends & ~receives),
            read.en.eq(1),
            read.addr.eq(
                Mux(
                    self.i_access.ready,
                    Cat(access.row, access.way),
                    Cat(Array(rows)[step], step),
                )
            ),
            write.en.eq(
                self.i_access.valid
                & self.i_access.ready
                & ~access.read
                & (access.way != WAYS)  # which is free for ever
            ),
            write.addr.eq(Cat(access.row, access.way)),
            *(write.data[name].eq(access.cell[name]) for name in ("slot", "valid")),
            *(
                write.data[name].eq(access.cell.key[name])
                for name in ("qpn", "remote", "direction")
            ),
        ]

        # The first way that has the key counts.
        cell = read.data
        hit = cell.valid & (
            Cat(cell.qpn, cell.remote, cell.direction)
            == Cat(key.qpn, key.remote[: self._address_bits], key.direction)
        )
        with m.If(step == 0):
            m.d.sync += [found.eq(0), slot.eq(0)]
        with m.Elif(hit & ~found):
            m.d.sync += [found.eq(1), slot.eq(cell.slot)]
        m.d.sync += self.read_stb.eq(self.i_access.valid & self.i_access.ready & access.read)
        m.d.comb += [
            self.tx_found.eq(found),
            self.rx_found.eq(found),
            self.tx_slot.eq(slot),
            self.rx_slot.eq(slot),
            *(answer[name].eq(cell[name]) for name in ("slot", "valid")),
            *(answer.key[name].eq(cell[name]) for name in ("qpn", "direction")),
            answer.key.remote.eq(Cat(cell.remote, whole[self._address_bits :])),
        ]
        return m


def qp_lookup(slots: int, *, relaxed: bool, ipv6: bool = True) -> QpLookup | QpTurns:
    """The table; `relaxed`: for one packet at a time in each direction."""
    return QpTurns(slots, ipv6=ipv6) if relaxed else QpLookup(slots)
