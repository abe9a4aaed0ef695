"""The timing wheel: each queue pair that is filed leaves once, by its bucket; no other leaves.

`TimingWheel` and `Chains` as they are, with two queue pairs, four slots on each level and short
times, for ever: someone files any that are not in it, for any due time, or has one taken out and
filed anew as the pacer does (`hold`, `quiet`, `cut`); someone takes as he likes; the clock goes on
as it likes. A list of two queue pairs is its first and its last. Rows and queues are what their own
proofs and tests say of them (`Rows`, `Fifo`); links give anything where they are read and written
in one cycle.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_small import AnyRows, short_fields
from .pace_wheel_parts import BUCKET_LOG2, QPS, SLOTS, Fifo, Inside, Rows
from .pace_wheel_time import in_time
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_DEPTH, _SHOWN, _COVERED = 4, 14, 36


class WheelHarness(wiring.Component):
    """The wheel, and who is in it."""

    def __init__(self) -> None:
        self._links: list[AnyRows] = []
        self._fifos: list[Fifo] = []
        self._slots: list[Rows] = []

        def links(shape: Any, depth: int) -> AnyRows:
            self._links.append(AnyRows(shape, depth, free=False))
            return self._links[-1]

        def fifo(shape: Any, depth: int) -> Fifo:
            self._fifos.append(Fifo(shape, min(depth, 2)))
            return self._fifos[-1]

        def skid(shape: Any) -> Fifo:
            return fifo(shape, 1)

        def rows(shape: Any, depth: int) -> Rows:
            self._slots.append(Rows(shape, depth))
            return self._slots[-1]

        rows.CYCLES = Rows.CYCLES  # type: ignore[attr-defined]
        with (
            short_fields("chains", "wheel") as (_, chains, wheel),
            patch.multiple(chains, plain_memory=links, Queue=fifo, SkidBuffer=skid),
            patch.multiple(wheel, Queue=fifo, RowUpdate=rows, BUCKET_LOG2=BUCKET_LOG2),
        ):
            self._dut = wheel.TimingWheel(QPS, SLOTS)
            inner, chain = Opened(self._dut), chains.list_layout(QPS)
        self._inside = Inside(inner, chain, self._links, *self._fifos, *self._slots)
        super().__init__(
            {
                **{name: In(1) for name in ("files", "cuts", "hold", "takes")},
                **{"qp": In(range(QPS)), "due": In(len(self._dut.i.payload.due))},
                "now": In(len(self._dut.now)),
                **{f"garbage{n}": In(len(one.garbage)) for n, one in enumerate(self._links)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, past = self._dut, Past(m)
        m.submodules.dut = self._inside.inner.fragment
        inside = Signal(QPS)
        cutting, still = Signal(), Signal()  # one is being taken out; none comes since `hold`
        for n, links in enumerate(self._links):
            m.d.comb += links.garbage.eq(getattr(self, f"garbage{n}"))
        held = still | (self.hold & dut.quiet)
        m.d.sync += still.eq(self.hold & held)
        i, o = dut.i, dut.o
        mine = inside.bit_select(self.qp, 1)
        waited = past.known & past(self.files & ~i.ready, "waited")
        offered = Cat(self.qp, self.due, self.cuts)
        m.d.comb += [
            dut.now.eq(self.now),
            dut.hold.eq(self.hold),
            o.ready.eq(self.takes),
            i.valid.eq(self.files),
            i.payload.qp.eq(self.qp),
            i.payload.due.eq(self.due),
            i.payload.cut.eq(self.cuts),
            # What the pacer promises.
            Assume(~self.files | Mux(self.cuts, mine & held & self.hold & ~cutting, ~mine)),
            Assume(~waited | (self.files & (offered == past(offered, "offered")))),
            Assume(self.hold | ~(cutting | (waited & self.cuts))),
        ]
        filed, given = self.files & i.ready, o.valid & self.takes
        with m.If(given):
            m.d.sync += inside.bit_select(o.payload, 1).eq(0)
        with m.If(filed):
            m.d.sync += inside.bit_select(self.qp, 1).eq(1)
        m.d.sync += cutting.eq((cutting & ~dut.cut) | (filed & self.cuts))
        stood = past.known & past(o.valid & ~self.takes, "stood")
        m.d.comb += [
            Assert(~o.valid | inside.bit_select(o.payload, 1), "somebody who is in it"),
            Assert(~stood | (o.valid & (o.payload == past(o.payload, "payload"))), "and stays"),
            Assert(~dut.cut | cutting, "a cut is done for each that was asked for"),
            Assert(~(still & self.hold) | ~o.valid, "none comes while it is quiet"),
        ]
        self._places(m, inside)
        self._registers(m, inside, cutting, still)
        in_time(m, past, self._inside, self.now)
        m.d.comb += [
            Cover(dut.cut & inside.all()),
            Cover(given & inside.all() & ~self._inside["chains.far_turn"]),
            Cover(given & inside.all() & self._inside["chains.far_turn"]),
        ]
        return m

    def _places(self, m: Module, inside: Signal) -> None:
        """Each queue pair of the wheel is in one place of it, and no other is in any."""
        inner = self._inside
        commands, queued, slots = inner.commands, inner.queued, inner.slots
        op, found, near, far = inner.op, inner.found, inner.given("near"), inner.given("far")
        chained = [*slots.rows, near, far]
        cut_done = inner["cutting"]
        for q in range(QPS):
            at = [inner.stands(q, chain) for chain in chained]
            at += [there & inner.stands(q, one) for there, one in queued]
            for n, one in enumerate(commands.places):
                counts = ~one.cut | (cut_done if n == 0 else 0)
                at.append((commands.count > n) & (one.qp == q) & counts)
            at.append(found.valid & (found.qp == q))
            at.append(inner["placed"] & (inner["whose"] == q))
            at += [one.files & (one.qp == q) for one in op]
            m.d.comb += Assert(sum(at, start=Value.cast(0)) == inside[q], f"{q} is in one place")
        following, previous, _ = self._links
        for there, chain in [*((1, chain) for chain in chained), *queued]:
            two = there & chain.valid & (chain.first != chain.last)
            for q in range(QPS):
                leads = two & (chain.first == q)
                m.d.comb += [
                    Assert(~leads | (following[q] == chain.last)),
                    Assert(~leads | (previous[1 - q] == chain.first)),
                ]

    def _registers(self, m: Module, inside: Signal, cutting: Signal, still: Signal) -> None:
        """What the registers hold of that, part by part."""
        inner = self._inside
        commands, queued, slots = inner.commands, inner.queued, inner.slots
        op, near, far = inner.op, inner.given("near"), inner.given("far")
        taking, far_turn = inner["chains.taking"], inner["chains.far_turn"]
        following, _, where = self._links
        read = following.read_port().data

        # Operations on slots: one at a time, with its row; level 1 gives one list at a time.
        far_ops = sum((one.far for one in op), start=Value.cast(0))
        m.d.comb += [
            *(Assert(one.files + one.detaches + one.cuts <= 1) for one in op),
            *(Assert(~one.wipes & (~one.far | one.detaches)) for one in op),
            *(
                Assert(stage[0] == (one.files | one.detaches | one.cuts))
                for stage, one in zip(slots.stage, op[1:], strict=True)
            ),
            Assert(far_ops <= 1),
            Assert((far_ops == 0) | ~far.valid),
        ]
        # Chains that are given back.
        m.d.comb += [
            *(
                Assert(fifo.count <= len(fifo.places))
                for fifo in (commands, inner.waiting, inner.coming)
            ),
            *(Assert(~there | one.valid) for there, one in queued),
            Assert(~taking | Mux(far_turn, far.valid, near.valid)),
            Assert(~(taking & ~far_turn & (near.first != near.last)) | (read == near.last)),
            Assert(~(taking & far_turn & (far.first != far.last)) | (read == far.last)),
        ]
        # While it is quiet none is on the way out.
        detaching = Cat(one.detaches for one in op).any()
        calm = ~detaching & ~near.valid & ~Cat(there for there, _ in queued).any() & ~taking
        m.d.comb += [Assert(~(inner["quiet"] | still) | calm), Assert(~cutting | still)]

        # Commands, a cut among them at most; none is filed while one is under way.
        head, any_command = commands.places[0], commands.count != 0
        cuts = [(commands.count > n) & one.cut for n, one in enumerate(commands.places)]
        filing = [inner["found"][0], inner["placed"], *(one.files for one in op)]
        step, inside_cut = inner["cut_state"], inner["chains.cut_state"]
        idle, settle, cut, file = range(4)  # in the order in which they are written
        _, _, fetch, ask, wait = range(5)
        left, ready = inner["wait"], inner["ready"]
        m.d.comb += [
            Assert(sum(cuts, start=Value.cast(0)) == cutting),
            *(
                Assert(~it | inside.bit_select(one.qp, 1))
                for it, one in zip(cuts, commands.places, strict=True)
            ),
            *(
                Assert(~cuts[n] | (commands.count <= k) | (one.qp != commands.places[n].qp))
                for n in range(len(cuts))
                for k, one in enumerate(commands.places)
                if k > n
            ),
            Assert((step == idle) | (any_command & head.cut)),
            Assert(~ready | (any_command & (~head.cut | (step == file)))),
            Assert(inner["cutting"] == (step == file)),
            Assert(inner["chains.cutting"] == (inside_cut != 0)),
            Assert((step == cut) == (inside_cut != 0)),
            Assert(inside_cut <= wait),
            Assert((step != cut) | ~Cat(filing).any()),
            *(Assert((step != settle) | (left > 8 - n) | ~it) for n, it in enumerate(filing)),
        ]
        # What was read of whom is taken out.
        q, cut_slot = head.qp, inner["chains.cut_slot"]
        for name, link in zip(("next", "before", "slot"), self._links, strict=True):
            its = Array(link[n] for n in range(QPS))[q]
            m.d.comb += [
                Assert((inside_cut != fetch) | (link.read_port().data == its)),
                Assert((inside_cut < ask) | (inner[f"chains.cut_{name}"] == its)),
            ]
        m.d.comb += [
            Assert(sum((one.cuts for one in op), start=Value.cast(0)) == (inside_cut == wait)),
            *(
                Assert(~one.cuts | ((one.qp == q) & (row == cut_slot)))
                for one, row in zip(op, inner.rows, strict=True)
            ),
        ]
        for row, chain in enumerate(slots.rows):
            for qp in range(QPS):
                m.d.comb += Assert(~inner.stands(qp, chain) | (where[qp] == row))


PROOFS = (
    Proof(
        "pace.wheel",
        WheelHarness,
        Mode.INDUCTION,
        _DEPTH,
        "2 queue pairs, for ever: who goes in comes out, once, by its bucket",
        quick=False,
    ),
    Proof(
        "pace.wheel-reset",
        WheelHarness,
        Mode.BOUNDED,
        _SHOWN,
        "the same from reset, as far as its mutants need",
        quick=False,
    ),
    Proof(
        "pace.wheel-cover",
        WheelHarness,
        Mode.COVER,
        _COVERED,
        "each level gives back; one of two is taken out and filed anew",
        quick=False,
    ),
)

_WHEEL, _CHAINS = "precog_hw.pace.wheel", "precog_hw.pace.chains"
MUTANTS = (
    Mutant(
        "pace.wheel-reset",
        _WHEEL,
        "m.d.comb += [new.valid.eq(1), new.last.eq(about3.qp)]",
        "m.d.comb += [new.valid.eq(1), new.last.eq(about3.qp), new.first.eq(about3.qp)]",
        "who is filed behind another one replaces it",
    ),
    Mutant(
        "pace.wheel-reset",
        _WHEEL,
        "m.d.sync += slot.eq(Cat((near + 1)[:bits], Const(0, 1)))",
        "m.d.sync += slot.eq(Cat(near[:bits], Const(0, 1)))",
        "who is due already waits for the next turn",
    ),
    Mutant(
        "pace.wheel-reset",
        _WHEEL,
        "up = due[:TICK_FRAC_BITS].any() | ticks[:BUCKET_LOG2].any()",
        "up = ticks[:BUCKET_LOG2].any()",
        "a part of a tick is forgotten: too early",
    ),
    Mutant(
        "pace.wheel-reset",
        _WHEEL,
        "m.d.sync += slot.eq(Cat((far - 1)[:bits], Const(1, 1)))",
        "m.d.sync += slot.eq(Cat(far[:bits], Const(1, 1)))",
        "who is due beyond level 1 has its first slot",
    ),
    Mutant(
        "pace.wheel-reset",
        _WHEEL,
        "chains.near_stb.eq(op[3].detaches & ~op[3].far & old.valid)",
        "chains.near_stb.eq(op[3].detaches & ~op[3].far)",
        "empty lists are given back, too",
    ),
    Mutant(
        "pace.wheel-reset",
        _CHAINS,
        "next_in.en.eq(appends | (self.cut_stb & ~first))",
        "next_in.en.eq(self.cut_stb & ~first)",
        "who is filed behind another one is not linked",
    ),
    Mutant(
        "pace.wheel",
        _WHEEL,
        "chains.near_stb.eq(op[3].detaches & ~op[3].far & old.valid)",
        "chains.near_stb.eq(op[3].detaches & ~op[3].far)",
        "empty lists are given back, too",
        quick=True,
        cycles=_SHOWN,
    ),
)
