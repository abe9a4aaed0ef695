"""The queue before the card's own port: bytes announced to it that have not come yet.

The gateware of `precog_models.packet.port`.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.contract import Fmt
from precog_spec.frames.opcodes import ANNOUNCES
from precog_spec.registers.port import PORT_BITS, most_bits

from .epochs import epochs

__all__ = ["PORT_EVENT", "PortQueue"]

_LENGTH_BITS, _PAYLOAD_BITS, _SIZE_BITS = 32, 16, 32
_PATIENCE = 64  # cycles that a visit or a reset waits for events to leave

#: Bytes have arrived in the port's queue, or departed, at a time in ticks.
PORT_EVENT = data.StructLayout({"departs": 1, "size": _SIZE_BITS, "t": Fmt.TIME.width})


class _Kind(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What a change of a row is made for."""

    VISIT = 0  # it is looked at: an old rest is withdrawn
    PACKET = 1
    RESET = 2
    FIRST = 3  # a reset of what memory kept


_CHANGE = data.StructLayout(
    {"kind": _Kind, "announces": 1, "payload": _PAYLOAD_BITS, "length": _LENGTH_BITS}
)


class PortQueue(wiring.Component):
    """A row for each queue pair: bytes that it has announced, and the epoch of its last data.

    ::

        packet ─┐                                              ┌─► arrivals ─┐
        reset ──┼─► row ─► old? rest ─► announced, came, left ─┤             ├─► both at once ─► o
        visit ──┘   0        3                                 └─► departures┘         6

    Events that `o` does not take at once are added up, and never lost: what has arrived and what
    has departed leave together, the arrival first, so that no more departs than is there. Sums stay
    exact, as all rests fit 30 bits: if 2**31 bytes wait in both sums, they leave both. Visits and
    resets wait until nothing is on its way, 64 cycles at most: then each makes an event of its own.

    Latency: 6 cycles from `heard` to `o`. Throughput: a packet in each cycle.
    Cost: `RowUpdate` of up to 26 bits; see `docs/guide/datapath.md`.

    Parameters
    ----------
    slots : int
        Queue pairs, a power of two, 2 or more.
    relaxed : bool
        As `RowUpdate` has it.

    Members
    -------
    now : In(40)
        Ticks.
    enable : In(1)
        Bytes are counted; a change withdraws all.
    epoch : In(4)
        An epoch has 256 << this many ticks; a change withdraws all.
    most : In(most_bits(slots))
        Bytes that a queue pair can have announced.
    heard, slot, opcode, payload, dma_length, time : In
        A packet of a queue pair has come that may have an effect; when it began.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot. Waits for a cycle without a packet.
    first_reset : In(1)
        With it: what it finds is of before power-up. Meanwhile nothing is counted.
    announced : Out(30)
        The sum of all rests, bytes.
    o : Out(stream.Signature(PORT_EVENT))
        Events; `t` is the last packet's.
    """

    i_reset: stream.Interface
    o: stream.Interface

    def __init__(self, slots: int, *, relaxed: bool = False) -> None:
        self._slots, self._relaxed, self._bits = slots, relaxed, most_bits(slots)
        super().__init__(
            {
                "now": In(Fmt.TIME.width),
                "enable": In(1),
                "epoch": In(4),
                "most": In(self._bits),
                "heard": In(1),
                "slot": In(range(slots)),
                "opcode": In(8),
                "payload": In(_PAYLOAD_BITS),
                "dma_length": In(_LENGTH_BITS),
                "time": In(Fmt.TIME.width),
                "i_reset": In(stream.Signature(range(slots))),
                "first_reset": In(1),
                "announced": Out(PORT_BITS),
                "o": Out(stream.Signature(PORT_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = data.StructLayout({"left": unsigned(self._bits), "tag": 2})
        m.submodules.rows = rows = RowUpdate(row, self._slots, relaxed=self._relaxed)
        m.submodules.waits = waits = DelayLine(_CHANGE, RowUpdate.CYCLES - 1)
        change = waits.i
        visits = Signal()
        visited = Signal(range(self._slots))
        enabled = Signal()
        time = Signal(Fmt.TIME.width)
        turn = Signal()
        sends = self.heard & enabled & (self.payload != 0)
        m.d.sync += enabled.eq(self.enable & ~self.first_reset)
        m.d.comb += [
            self.i_reset.ready.eq(~sends & turn),
            change.kind.eq(_Kind.VISIT),
            change.announces.eq(self.opcode.matches(*ANNOUNCES)),
            change.payload.eq(self.payload),
            change.length.eq(self.dma_length),
            rows.i_stb.eq(sends | (turn & (self.i_reset.valid | visits))),
            rows.i_row.eq(visited),
        ]
        with m.If(sends):
            m.d.comb += [change.kind.eq(_Kind.PACKET), rows.i_row.eq(self.slot)]
            m.d.sync += time.eq(self.time)
        with m.Elif(self.i_reset.valid):
            m.d.comb += [
                change.kind.eq(Mux(self.first_reset, _Kind.FIRST, _Kind.RESET)),
                rows.i_row.eq(self.i_reset.payload),
            ]
        # The comparison has a cycle of its own.
        late = Signal(_CHANGE)
        m.d.sync += late.eq(waits.o)
        with m.If(waits.o.length > self.most):
            m.d.sync += late.length.eq(self.most)
        taken = turn & visits & ~sends & ~self.i_reset.valid
        begins, far = epochs(
            *(m, self.now, self.epoch, taken, visits, visited, self._slots),
            enable=enabled,
            may=~self.first_reset,
        )
        arrives, departs = self._change(m, rows, late, begins, far)
        leaving = self._leave(m, arrives, departs, time)
        self._turns(m, rows.i_stb, leaving, (self.i_reset.valid | visits, sends), turn)
        return m

    def _change(
        self, m: Module, rows: RowUpdate, late: data.View, begins: Value, far: Value
    ) -> tuple[Signal, Signal]:
        """The row's change; bytes that arrive and that depart, a cycle later."""
        tag = Signal(2)
        age = Signal(2)
        had = Signal(self._bits)
        base = Signal(self._bits)
        longer = Signal()
        beyond = Signal(_PAYLOAD_BITS)
        packet = late.kind == _Kind.PACKET
        announces = packet & late.announces
        old, new = rows.old, rows.new
        withdraws = announces | (late.kind == _Kind.RESET) | age[1]
        payload = Mux(packet, late.payload, 0)
        m.d.comb += [
            age.eq(tag - old.tag),
            had.eq(Mux(withdraws, old.left, 0)),
            base.eq(Mux(announces, late.length, Mux(withdraws, 0, old.left))),
            longer.eq(base > payload),
            beyond.eq(payload - base),
            new.left.eq(Mux(longer, base - payload, 0)),
            new.tag.eq(Mux(packet, tag, old.tag)),
        ]
        with m.If(late.kind == _Kind.FIRST):
            m.d.comb += [had.eq(0), base.eq(0)]
        width = max(self._bits, _PAYLOAD_BITS) + 1
        arrives = Signal(width)
        departs = Signal(width)
        m.d.sync += [arrives.eq(0), departs.eq(0)]
        with m.If(rows.stb):
            m.d.sync += [
                arrives.eq(Mux(announces, base, 0) + Mux(longer, 0, beyond)),
                departs.eq(had + payload),
            ]
        with m.If(begins):
            m.d.sync += tag.eq(tag + 1 + far)
        return arrives, departs

    def _leave(self, m: Module, arrives: Value, departs: Value, time: Value) -> Value:
        """Sums of bytes that wait, and the pair of events that leaves; whether there are any."""
        came, went = (Signal(_SIZE_BITS, name=name) for name in ("came", "went"))
        event, next_size = self.o.payload, Signal(_SIZE_BITS)
        follows = Signal()
        some = Signal()
        loads = Signal()
        both = Signal()
        m.d.comb += [
            some.eq((came != 0) | (went != 0)),
            loads.eq(some & ~self.o.valid),
            both.eq(came[-1] & went[-1] & ~loads),
        ]
        for total, part in ((came, arrives), (went, departs)):
            kept = Cat(total[:-1], total[-1] & ~both)
            m.d.sync += total.eq(Mux(loads, 0, kept) + part)
        m.d.sync += self.announced.eq(self.announced + arrives - departs)
        m.d.sync += Assert(self.announced + arrives >= departs, "no more leaves than is there")
        with m.If(loads):
            m.d.sync += [
                self.o.valid.eq(1),
                event.departs.eq(came == 0),
                event.size.eq(Mux(came == 0, went, came)),
                event.t.eq(time),
                next_size.eq(went),
                follows.eq((came != 0) & (went != 0)),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += [
                self.o.valid.eq(follows),
                event.departs.eq(1),
                event.size.eq(next_size),
                follows.eq(0),
            ]
        return some | self.o.valid | (arrives != 0) | (departs != 0)

    def _turns(
        self, m: Module, begins: Value, leaving: Value, waits: tuple[Value, Value], turn: Signal
    ) -> None:
        """A visit or a reset may begin: nothing is on its way, or it has waited for long.

        `waits`: there is one, and a packet goes first.
        """
        some, later = waits
        ahead = Signal(RowUpdate.CYCLES)
        waited = Signal(range(_PATIENCE))
        late = waited == _PATIENCE - 1
        m.d.comb += turn.eq((~ahead.any() & ~leaving) | late)
        m.d.sync += ahead.eq(Cat(begins, ahead))
        with m.If(~some | (turn & ~later)):
            m.d.sync += waited.eq(0)
        with m.Elif(~late):
            m.d.sync += waited.eq(waited + 1)
