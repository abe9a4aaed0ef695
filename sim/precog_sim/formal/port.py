"""The queue before the card's port: its sums are those of its rows, and no more leaves than came.

`PortQueue` is the gateware as it is, with two slots and short fields, but for `RowUpdate`, in
whose place rows without a pipeline's hazards stand; ``rows.update`` proves that these are the same.
Packets, resets, time, registers and the consumer are free in every cycle. Rows hold anything at
power-up. Assumed: `first_reset` falls once, when each slot has had such a reset. By induction,
hence for ever.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from .engine import Mode, Proof
from .mutate import Mutant, mutated, reimported
from .pace_wheel_parts import Rows
from .packets import assert_stream
from .past import Past
from .peek import Opened, free
from .ports import any_inputs

__all__ = ["MUTANTS", "PROOFS", "SLOTS", "SOURCE", "short_port"]

SOURCE = "precog_hw.packet.port"
_EPOCHS = "precog_hw.packet.epochs"
SLOTS = 2
_MOST_BITS, _PORT_BITS = 3, 6
_SHORT = Mutant(
    "port.sums",
    SOURCE,
    "_LENGTH_BITS, _PAYLOAD_BITS, _SIZE_BITS = 32, 16, 32",
    "_LENGTH_BITS, _PAYLOAD_BITS, _SIZE_BITS = 4, 3, 7",
    "short fields",
)
_PATIENCE = 64
_PACKET, _FIRST = 1, 3  # kinds of a change


class _AnyRows(Rows):
    """`Rows` that hold anything until they are written (`known`)."""

    def __init__(self, shape: Any, depth: int) -> None:
        super().__init__(shape, depth)
        self.known = Signal(depth)

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.stb):
            m.d.sync += self.known.bit_select(self.row, 1).eq(1)
        for n, row in enumerate(self.rows):
            with m.If(~self.known[n] & ~(self.stb & (self.row == n))):
                m.d.sync += row.eq(free(len(Value.cast(row))))
        return m


def short_port(*, claims: bool = True) -> tuple[Any, Opened, Any, Any]:
    """`PortQueue` with short fields and `_AnyRows`: block, its inside, rows, layout of a change.

    Without `claims`, what the block itself asserts is left out.
    """
    made: list[_AnyRows] = []

    def rows(shape: Any, depth: int, *, relaxed: bool) -> _AnyRows:
        made.append(_AnyRows(shape, depth))
        return made[-1]

    rows.CYCLES = Rows.CYCLES  # type: ignore[attr-defined]
    instead: dict[str, Any] = {"most_bits": lambda _: _MOST_BITS, "PORT_BITS": _PORT_BITS}
    if not claims:
        instead["Assert"] = lambda *_: []
    module: Any
    with (
        reimported(_EPOCHS),
        mutated(_SHORT) as module,
        patch.multiple(module, RowUpdate=rows, **instead),
    ):
        dut = module.PortQueue(SLOTS)
        inner = Opened(dut)
    return dut, inner, made[0], module._CHANGE


class SumsHarness(wiring.Component):
    """`PortQueue`, any packets, resets, time, registers and consumer."""

    def __init__(self) -> None:
        self._dut, self._inner, self._rows, self._change = short_port()
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        past = Past(m)
        m.submodules.dut = self._inner.fragment
        any_inputs(m, self._dut)
        assert_stream(m, past, self._dut.o, "o")
        self._first(m, past)
        self._sums(m)
        self._believed(m)
        self._visits(m)
        return m

    def _first(self, m: Module, past: Past) -> None:
        """Power-up: until all slots have had their first reset, nothing is there."""
        dut, inner, rows = self._dut, self._inner, self._rows
        done = Signal(SLOTS)
        with m.If(dut.i_reset.valid & dut.i_reset.ready & dut.first_reset):
            m.d.sync += done.bit_select(dut.i_reset.payload, 1).eq(1)
        changes = [inner[name][:2] == _FIRST for name in ("waits.stage0", "waits.o", "late")]
        firsts = Cat(stage[0] & change for stage, change in zip(rows.stage, changes, strict=True))
        others = Cat(stage[0] for stage in rows.stage) & ~firsts
        sums = (inner["came"], inner["went"], inner["arrives"], inner["departs"], dut.announced)
        m.d.comb += [
            Assume(dut.first_reset | done.all()),
            Assume(~dut.first_reset | ~past.known | past(dut.first_reset, "first")),
            Assume(dut.first_reset | past.known),
            Assert(
                ~(dut.first_reset | firsts.any()) | ~Cat(*sums, dut.o.valid, self._total()).any(),
                "what memory kept counts for nothing",
            ),
            Assert(~dut.first_reset | ~Cat(inner["visits"], inner["drains"], others).any()),
            *(Assert(~firsts[k] | ~others[k + 1 :].any()) for k in range(Rows.CYCLES - 1)),
            *(Assert(rows.known[n] | ~done[n] | self._comes(n, firsts)) for n in range(SLOTS)),
        ]

    def _total(self) -> Value:
        """The sum of all rests."""
        total: Value = sum(
            (Mux(self._rows.known[n], row.left, 0) for n, row in enumerate(self._rows.rows)),
            Const(0),
        )
        return total

    def _comes(self, slot: int, strobe: Value) -> Value:
        """One of the bits of `strobe` is set for a change of this slot on its way to its row."""
        return Cat(
            stage[0] & (stage[1:] == slot) & strobe.bit_select(k, 1)
            for k, stage in enumerate(self._rows.stage)
        ).any()

    def _sums(self, m: Module) -> None:
        """What is there, what is on its way, and what the consumer has heard of."""
        dut, inner = self._dut, self._inner
        there, event = Signal(34), dut.o.payload
        with m.If(dut.o.valid & dut.o.ready):
            m.d.sync += there.eq(Mux(event.departs, there - event.size, there + event.size))
        arrives = Mux(dut.o.valid & ~event.departs, event.size, 0)
        departs = Mux(dut.o.valid & event.departs, event.size, 0)
        departs += Mux(inner["follows"], inner["next_size"], 0)
        total = self._total()
        m.d.comb += [
            Assert(
                dut.announced + inner["arrives"] == total + inner["departs"],
                "the sum is that of all rows, and of what is on its way to it",
            ),
            Assert(
                there + arrives + inner["came"] == dut.announced + departs + inner["went"],
                "no byte is lost, and none is told twice",
            ),
            Assert(~event.departs | ~dut.o.valid | (event.size <= there), "no more than is there"),
            Assert(there + arrives >= departs),
            Assert(there + arrives - departs <= SLOTS * ((1 << len(dut.most)) - 1)),
            Assert(dut.announced <= SLOTS * ((1 << len(dut.most)) - 1)),
            Assert(~inner["follows"] | (dut.o.valid & ~event.departs)),
            Cover((there > 3) & (total == 0) & dut.o.valid & event.departs),
        ]

    def _believed(self, m: Module) -> None:
        """No row is left with more than `most` was when it was announced."""
        dut, inner, rows = self._dut, self._inner, self._rows
        most = Signal.like(dut.most, name="believed")
        m.d.sync += most.eq(dut.most)
        change = data.View(self._change, inner["late"])
        packet = Value.cast(change.kind) == _PACKET
        m.d.comb += Assert(change.length <= most)
        for n, row in enumerate(rows.rows):
            bound = Signal.like(dut.most, name=f"bound{n}")
            with m.If(rows.stb & (rows.row == n) & packet & change.announces):
                m.d.sync += bound.eq(most)
            m.d.comb += Assert(
                ~rows.known[n] | (row.left <= bound), "no row is believed more than `most`"
            )

    def _visits(self, m: Module) -> None:
        """Silent rows are visited, and no visit or reset waits for ever."""
        dut, inner, rows = self._dut, self._inner, self._rows
        visits, visited, drains = (inner[n] for n in ("visits", "visited", "drains"))
        packet = data.View(self._change, inner["late"]).kind.as_value() == _PACKET
        for n, row in enumerate(rows.rows):
            age, since = (inner["tag"] - row.tag)[:2], Signal(2, name=f"since{n}")
            data_came = rows.stb & (rows.row == n) & packet
            passed = Mux(data_came, 0, since) + Mux(inner["begins"], 1 + inner["far"], 0)
            m.d.sync += since.eq(Mux(passed > 3, 3, passed))
            waits = (visits & (visited <= n)) | self._comes(n, drains)
            m.d.comb += Assert(
                ~rows.known[n] | (row.left == 0) | ((age == since) & ((age < 2) | waits)),
                "an old rest is known to be old, and is still to be withdrawn",
            )
        m.d.comb += [
            Assert(visits | (visited == 0)),
            *(Assert(~drains[k] | stage[0]) for k, stage in enumerate(rows.stage)),
        ]
        waited, asks = Signal(range(_PATIENCE + 1)), dut.i_reset.valid | visits
        sends = dut.heard & inner["enabled"] & (dut.payload != 0)
        with m.If(~asks | (inner["turn"] & ~sends)):
            m.d.sync += waited.eq(0)
        with m.Elif(~sends):
            m.d.sync += waited.eq(waited + 1)
        m.d.comb += [
            Assert(waited < _PATIENCE, "it waits for 64 cycles at most, and those with packets"),
            Assert(waited <= inner["waited"]),
        ]


_CLAIM = (
    "2 slots, for ever, any packets, resets, time, registers and consumer: the sum is that of all "
    "rests, and of what has left; no byte is lost; no more departs than is there; none is believed "
    "more than `most`; old rests are withdrawn, and those of a slot that is reset"
)
PROOFS = (
    Proof("port.sums", SumsHarness, Mode.INDUCTION, 2, _CLAIM, quick=False),
    Proof("port.cover", SumsHarness, Mode.COVER, 24, "bytes come, and are withdrawn", quick=False),
)
MUTANTS = tuple(
    Mutant("port.sums", module, old, new, mistake, step=True)
    for module, old, new, mistake in (
        (
            SOURCE,
            "total.eq(Mux(loads, 0, kept) + part)",
            "total.eq(Mux(loads, 0, kept + part))",
            "bytes that come while an event is made are lost",
        ),
        (
            SOURCE,
            "both.eq(came[-1] & went[-1] & ~loads)",
            "both.eq(came[-1] & ~loads)",
            "many bytes that wait leave one sum alone",
        ),
        (SOURCE, "next_size.eq(went)", "next_size.eq(came)", "what departs is what arrived"),
        (
            SOURCE,
            "with m.If(late.kind == _Kind.FIRST):",
            "with m.If(0):",
            "what memory kept departs",
        ),
        (
            SOURCE,
            "~some | (turn & ~later)",
            "~some | turn",
            "packets in step put a reset off for ever",
        ),
        (
            _EPOCHS,
            "free = owes & ~visits & ~drains.any()",
            "free = owes & ~visits",
            "an epoch begins before the last visit has come to its row",
        ),
    )
)
