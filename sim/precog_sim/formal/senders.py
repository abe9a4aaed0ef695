"""The count of senders: it is the number of rows that sent, and its level grows with it.

And what a card with flows of its own makes of a receiver's level.

The block is the gateware as it is, with four slots, but for `RowUpdate`, in whose place rows
without a pipeline's hazards stand (`pace_wheel_parts.Rows`); ``rows.update`` proves that these are
the same. Packets, resets, time and registers are free in every cycle. By induction, hence for ever:
rows that are older than two epochs are those that are still to be visited.

Levels are those of any two numbers up to 65536. Shims, resets and registers are free where a level
meets the card's own flows.
"""

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .pace_wheel_parts import Rows
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_SOURCE = "precog_hw.packet.senders"
_EPOCHS = "precog_hw.packet.epochs"
_TOLD = "precog_hw.packet.senders_told"
SLOTS = 4
_COUNT_BITS = 17
_SHIM = ("heed", "hold", "heard_stb", "heard", "asks")
_TIED = ("i_reset", "first_reset", "count", "level", "joined")


def _with_plain_rows(source: str, name: str) -> tuple[Any, Opened, Rows, int]:
    """A block with `Rows` for its `RowUpdate`: block, its inside, rows, cycles of an update."""
    made: list[Rows] = []

    def rows(shape: Any, depth: int, *, relaxed: bool) -> Rows:
        made.append(Rows(shape, depth))
        return made[-1]

    module: Any
    with reimported(source) as module:
        cycles: int = module.RowUpdate.CYCLES
        rows.CYCLES = cycles  # type: ignore[attr-defined]
        module.RowUpdate = rows
        dut = getattr(module, name)(SLOTS)
        inner = Opened(dut)
    (only,) = made
    return dut, inner, only, cycles


class CountHarness(wiring.Component):
    """`Senders`, any packets, resets, time and registers."""

    def __init__(self) -> None:
        self._dut, self._inner, self._rows, _ = _with_plain_rows(_SOURCE, "Senders")
        free = {
            name: In(member.shape)
            for name, member in self._dut.signature.members.items()
            if name not in _TIED
        }
        super().__init__({**free, "resets": In(1), "reset": In(range(SLOTS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, inner, rows = self._dut, self._inner, self._rows
        m.submodules.dut = inner.fragment
        m.d.comb += [
            dut.i_reset.valid.eq(self.resets),
            dut.i_reset.payload.eq(self.reset),
            *(
                getattr(dut, name).eq(getattr(self, name))
                for name in self.signature.members
                if name not in ("resets", "reset")
            ),
        ]
        tag, visits, visited, drains = (inner[n] for n in ("tag", "visits", "visited", "drains"))
        fresh, recent = Signal(SLOTS), Signal(SLOTS)
        for n in range(SLOTS):
            row, age = rows.rows[n], Signal(2, name=f"age{n}")
            looks = [drains[k] & (stage[1:] == n) for k, stage in enumerate(rows.stage)]
            m.d.comb += [
                age.eq(tag - row.tag),
                fresh[n].eq(row.valid & (age == 0)),
                recent[n].eq(row.valid & (age == 1)),
                Assert(
                    ~row.valid | (age < 2) | (visits & (visited <= n)) | Cat(looks).any(),
                    "a row that is old is still to be visited",
                ),
            ]
        m.d.comb += [
            Assert(inner["sent_now"] == sum(fresh), "who sent in this epoch"),
            Assert(inner["sent_before"] == sum(recent), "who sent in the last one, and not since"),
            Assert(visits | (visited == 0)),
            *(Assert(~drains[k] | stage[0]) for k, stage in enumerate(rows.stage)),
            Assert(dut.count <= SLOTS, "no more than there are"),
        ]
        was = Signal()
        with m.If(dut.count == SLOTS):
            m.d.sync += was.eq(1)
        m.d.comb += Cover(was & (dut.count == 0) & fresh.any())
        return m


class LevelHarness(wiring.Component):
    """`level_of` of any two numbers."""

    few: In(_COUNT_BITS)
    many: In(_COUNT_BITS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        module: Any
        with reimported(_SOURCE) as module:
            low, high = (
                module.level_of(m, count, name)
                for count, name in ((self.few, "low"), (self.many, "high"))
            )
        m.d.comb += [
            Assume(self.many <= 1 << 16),
            Assert((self.few > self.many) | (low <= high), "it grows with the number"),
            Assert((high == 15) | ((1 << high) >= self.many), "2**level are as many"),
            Assert((high == 0) | ((1 << (high - 1)[:4]) < self.many), "and half of that less"),
            Assert((self.many <= 1 << 15) | (high == 15), "15 from there on"),
        ]
        return m


class ToldHarness(wiring.Component):
    """`SendersTold`, any shims, scores, beliefs and resets; any number of own flows."""

    def __init__(self) -> None:
        self._dut, self._inner, self._rows, self._cycles = _with_plain_rows(_TOLD, "SendersTold")
        super().__init__(
            {
                **{name: In(self._dut.signature.members[name].shape) for name in _SHIM},
                "resets": In(1),
                "reset": In(range(SLOTS)),
                "looks": In(1),
                "look": In(range(SLOTS)),
                "believes": In(1),
                "belief": In(self._dut.i_belief.payload.shape()),
                "shows": In(1),
                "show": In(range(SLOTS)),
                "flows": In(_COUNT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        module: Any
        with reimported(_SOURCE) as module:
            own = module.level_of(m, self.flows, "own")
        dut = self._dut
        m.submodules.dut = self._inner.fragment
        m.d.comb += [
            Assume(self.flows <= 1 << 16),
            dut.own.eq(own),
            dut.i_reset.valid.eq(self.resets),
            dut.i_reset.payload.eq(self.reset),
            dut.i_look.valid.eq(self.looks),
            dut.i_look.payload.eq(self.look),
            dut.i_belief.valid.eq(self.believes),
            dut.i_belief.payload.eq(self.belief),
            dut.i_show.valid.eq(self.shows),
            dut.i_show.payload.eq(self.show),
            *(getattr(dut, name).eq(getattr(self, name)) for name in _SHIM),
        ]
        level, fewer = Signal.like(self.heard.level), Signal()
        m.d.comb += level.eq(Mux(self.heard_stb & self.heed, self.heard.level, self.belief.level))
        m.d.comb += fewer.eq((level != 0) & ((1 << level) < 2 * self.flows))
        for _ in range(self._cycles):
            was, old = Signal.like(level), Signal()
            m.d.sync += [was.eq(level), old.eq(fewer)]
            level, fewer = was, old
        counts = Mux(fewer, 0, level)
        believed = Cat(row.believed for row in self._rows.rows).bit_select(dut.told.slot, 1)
        m.d.comb += [
            Assert(~dut.heeded | (dut.outnumbered == fewer), "who has more than half as many"),
            Assert(~dut.told_stb | (dut.told.level == counts), "hears of none"),
            Assert(
                ~dut.shown_stb | ~(dut.heeded | dut.known_stb | dut.told_stb), "a read is silent"
            ),
            Assert(~dut.heeded | ~believed | (dut.told.level == counts), "a word ends a belief"),
        ]
        return m


PROOFS = (
    Proof(
        "senders.count",
        CountHarness,
        Mode.INDUCTION,
        5,
        "4 slots, for ever, any packets, resets, time and registers: the count is the number of "
        "rows that sent in this epoch or the last one",
    ),
    Proof("senders.cover", CountHarness, Mode.COVER, 24, "all sent, and then one", quick=False),
    Proof(
        "senders.level",
        LevelHarness,
        Mode.INDUCTION,
        1,
        "up to 65536 queue pairs: the level is the binary logarithm, rounded up, 15 at most, and "
        "grows with their number",
    ),
    Proof(
        "senders.told",
        ToldHarness,
        Mode.INDUCTION,
        5,
        "4 slots, any shims, scores, beliefs, resets and registers, up to 65536 own flows n: a "
        "level with 2**level < 2 n is told as 0, and any other as it is; a shim's replaces one "
        "that is believed; a law hears nothing of what the host reads",
    ),
)
MUTANTS = (
    Mutant(
        "senders.count",
        _SOURCE,
        "before - ((counts | forgets) & recent)",
        "before - (counts & recent)",
        "a queue pair that is forgotten still counts",
        quick=True,
        step=True,
    ),
    Mutant(
        "senders.count",
        _SOURCE,
        "now + (counts & ~fresh) - (forgets & fresh)",
        "now + counts - (forgets & fresh)",
        "each packet counts",
        step=True,
    ),
    Mutant(
        "senders.count",
        _EPOCHS,
        "free = owes & ~visits & ~drains.any()",
        "free = owes & ~visits",
        "an epoch begins before the last visit has come to its row",
        step=True,
    ),
    Mutant(
        "senders.count",
        _SOURCE,
        "before.eq(Mux(far, 0, next_now))",
        "before.eq(Mux(far, 0, now))",
        "a packet at the end of an epoch is lost",
        step=True,
    ),
    Mutant(
        "senders.count",
        _SOURCE,
        "tag.eq(tag + 1 + far)",
        "tag.eq(tag + 1)",
        "those of two epochs ago still count",
        step=True,
    ),
    Mutant(
        "senders.level",
        _SOURCE,
        "min(bit + 1, LEVEL_MAX)",
        "min(bit, LEVEL_MAX)",
        "it is rounded down",
        quick=True,
    ),
    Mutant(
        "senders.level",
        _SOURCE,
        "less[bit] & (count != 0)",
        "less[bit]",
        "none counts as many",
    ),
    Mutant(
        "senders.told",
        _TOLD,
        "self.own >= level",
        "self.own > level",
        "a level counts although more than half as many flows are the card's own",
        quick=True,
    ),
    Mutant(
        "senders.told",
        _TOLD,
        "waits.i.level.eq(Mux(outnumbered, 0, level))",
        "waits.i.level.eq(level)",
        "it is noted, and counts all the same",
    ),
    Mutant(
        "senders.told",
        _TOLD,
        "(old.believed | of.believes",
        "(of.believes",
        "a belief outlives a lower word",
    ),
    Mutant(
        "senders.told",
        _TOLD,
        "(heeds & ~shims) | looks | shows",
        "(heeds & ~shims) | looks",
        "a row that the host reads is a word of its receiver",
    ),
)
