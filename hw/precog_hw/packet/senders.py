"""How many queue pairs send to this card, in this epoch or the last one.

The gateware of `precog_models.packet.senders`.
"""

from amaranth.hdl import Assert, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate
from precog_hw.stream.delay import DelayLine
from precog_spec.contract import Fmt
from precog_spec.frames.cps import LEVEL_MAX
from precog_spec.frames.opcodes import ANNOUNCED, ANNOUNCES, UNTOLD, WHOLE

from .epochs import epochs

__all__ = ["LEVEL", "Senders", "level_of"]

LEVEL = unsigned(LEVEL_MAX.bit_length())
_LENGTH_BITS = 32

_ROW = data.StructLayout(
    {
        "valid": 1,  # it is counted
        "tag": 2,  # of the epoch in which it sent last
        "large": 1,  # a WRITE has begun that counts
    }
)


class _Kind(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What a change of a row is made for."""

    VISIT = 0  # it is looked at: an old row stops to be valid
    PACKET = 1
    RESET = 2
    FIRST = 3  # a reset of what memory kept


_CHANGE = data.StructLayout(
    {
        "kind": _Kind,
        **dict.fromkeys(("announces", "announced", "whole", "untold"), unsigned(1)),
        "length": unsigned(_LENGTH_BITS),
    }
)


def level_of(m: Module, count: Value, name: str) -> Signal:
    """Binary logarithm of a number of queue pairs, rounded up; 15 at most."""
    level = Signal(LEVEL, name=name)
    less = Signal(len(count), name=f"{name}_less")
    m.d.comb += less.eq(count - 1)
    for bit in range(min(len(count), LEVEL_MAX + 1)):
        with m.If(less[bit] & (count != 0)):
            m.d.comb += level.eq(min(bit + 1, LEVEL_MAX))
    return level


class Senders(wiring.Component):
    """A row for each queue pair says when it sent last, two counters how many did.

    ::

        packet ─┐
        reset ──┼─► row ─► old: of this epoch? of the last? ─► new, counters ─► count ─► level
        visit ──┘   0        3                                   3            4         5

    When an epoch ends, its count becomes that of the last one, and all rows are visited, in cycles
    without a packet: those that are older stop to be valid. So a row needs two bits of its epoch's
    number. The next epoch does not begin before the last visit: a count is never wrong, but may be
    late where packets leave no cycle free.

    Latency: 5 cycles from `heard` to `level`. Throughput: a packet in each cycle.
    Cost: `RowUpdate` of 4 bits; see `docs/guide/datapath.md`.

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
    epoch : In(4)
        An epoch has 256 << this many ticks; a change begins with a count of 0.
    least : In(32)
        Bytes of a message that counts.
    heard, slot, opcode, payload, dma_length : In
        A packet of a queue pair has come that may have an effect.
    i_reset : In(stream.Signature(range(slots)))
        Host: forget the slot. Waits for a cycle without a packet.
    first_reset : In(1)
        With it: what it finds is of before power-up.
    count, level : Out
        Now.
    joined : Out(1)
        Strobe: a queue pair is counted anew.
    """

    i_reset: stream.Interface

    def __init__(self, slots: int, *, relaxed: bool = False) -> None:
        self._slots, self._relaxed = slots, relaxed
        super().__init__(
            {
                "now": In(Fmt.TIME.width),
                "epoch": In(4),
                "least": In(_LENGTH_BITS),
                "heard": In(1),
                "slot": In(range(slots)),
                "opcode": In(8),
                "payload": In(16),
                "dma_length": In(_LENGTH_BITS),
                "i_reset": In(stream.Signature(range(slots))),
                "first_reset": In(1),
                "count": Out(range(slots + 1)),
                "level": Out(LEVEL),
                "joined": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = RowUpdate(_ROW, self._slots, relaxed=self._relaxed)
        m.submodules.waits = waits = DelayLine(_CHANGE, RowUpdate.CYCLES - 1)
        change = waits.i
        visits = Signal()
        visited = Signal(range(self._slots))
        sends = self.heard & (self.payload != 0)
        m.d.comb += [
            self.i_reset.ready.eq(~self.heard),
            change.kind.eq(_Kind.VISIT),
            rows.i_stb.eq(self.heard | self.i_reset.valid | visits),
            rows.i_row.eq(visited),
            change.length.eq(self.payload),
            *(
                change[name].eq(sends & self.opcode.matches(*opcodes))
                for name, opcodes in (
                    ("announces", ANNOUNCES),
                    ("announced", ANNOUNCED),
                    ("whole", WHOLE),
                    ("untold", UNTOLD),
                )
            ),
        ]
        with m.If(change.announces):
            m.d.comb += change.length.eq(self.dma_length)
        with m.If(self.heard):
            m.d.comb += [change.kind.eq(_Kind.PACKET), rows.i_row.eq(self.slot)]
        with m.Elif(self.i_reset.valid):
            m.d.comb += [
                change.kind.eq(Mux(self.first_reset, _Kind.FIRST, _Kind.RESET)),
                rows.i_row.eq(self.i_reset.payload),
            ]
        # The comparison has a cycle of its own.
        late = Signal(_CHANGE)
        large = Signal()
        m.d.sync += [late.eq(waits.o), large.eq(waits.o.length >= self.least)]
        taken = visits & ~self.heard & ~self.i_reset.valid
        begins, far = epochs(m, self.now, self.epoch, taken, visits, visited, self._slots)
        self._counts(m, rows, late, large, begins, far)
        return m

    def _counts(
        self, m: Module, rows: RowUpdate, late: data.View, large: Value, begins: Value, far: Value
    ) -> None:
        """The row's change, in its cycle, and the counters'."""
        now = Signal(range(self._slots + 1), name="sent_now")
        before = Signal(range(self._slots + 1), name="sent_before")
        tag = Signal(2)
        age = Signal(2)
        fresh = Signal()
        recent = Signal()
        counts = Signal()
        forgets = Signal()
        old, new = rows.old, rows.new
        packet = rows.stb & (late.kind == _Kind.PACKET)
        m.d.comb += [
            age.eq(tag - old.tag),
            fresh.eq(rows.stb & old.valid & (age == 0)),
            recent.eq(rows.stb & old.valid & (age == 1)),
            counts.eq(
                packet
                & (
                    late.untold
                    | (late.announced & old.large)
                    | ((late.announces | late.whole) & large)
                )
            ),
            forgets.eq(rows.stb & (late.kind == _Kind.RESET)),
            self.joined.eq(counts & ~fresh & ~recent),
            new.valid.eq(fresh | recent),
            new.tag.eq(old.tag),
            new.large.eq(old.large),
        ]
        with m.If(late.announces):
            m.d.comb += new.large.eq(large)
        with m.If(counts):
            m.d.comb += [new.valid.eq(1), new.tag.eq(tag)]
        with m.Elif((late.kind == _Kind.RESET) | (late.kind == _Kind.FIRST)):
            m.d.comb += [new.valid.eq(0), new.large.eq(0)]
        next_now = Signal.like(now)
        next_before = Signal.like(before)
        m.d.comb += [
            next_now.eq(now + (counts & ~fresh) - (forgets & fresh)),
            next_before.eq(before - ((counts | forgets) & recent)),
        ]
        m.d.sync += [now.eq(next_now), before.eq(next_before)]
        with m.If(begins):
            m.d.sync += [
                tag.eq(tag + 1 + far),
                now.eq(0),
                before.eq(Mux(far, 0, next_now)),
            ]
        level = level_of(m, self.count, "level_now")
        m.d.sync += [
            self.count.eq(now + before),
            self.level.eq(level),
            Assert(now + before <= self._slots, "no more than there are"),
        ]
