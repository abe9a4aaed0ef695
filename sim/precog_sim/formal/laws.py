"""The stage of the laws: no decision is lost or changed, whatever the law does and when.

`LawStage` is the gateware as it is, with two queue pairs, with laws or as a law engine has it,
without them. In `LawUnit`'s place is one that takes an event at any time and answers with any rate
at any later one. Decisions, events, commands and the
consumer are free in every cycle, within the rules of their streams; while a command waits there is
no decision, as `Core` has it.
"""

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.law_fields import LAW_EVENTS, PSCHED_EVENTS, EventKind, ScoreCommand

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS", "STAGE", "StageHarness"]

STAGE = "precog_hw.rate.law_stage"
QPS = 2
CONFIG = NicConfig(qps=QPS, sets=2, lanes=16, columns=1, steps=1)
DEPTH = 12


def _any_law() -> type[wiring.Component]:
    from precog_hw.rate.law_layouts import DCQCN, TIMELY, event_layout, result_layout

    class AnyLaw(wiring.Component):
        """Takes an event when `takes`, answers with `rate` when `answers`."""

        i: stream.Interface
        o: stream.Interface

        def __init__(self, qps: int) -> None:
            super().__init__(
                {
                    "i": In(stream.Signature(event_layout(1))),
                    "o": Out(stream.Signature(result_layout(1))),
                    "timely": In(TIMELY),
                    "dcqcn": In(DCQCN),
                    "takes": In(1),
                    "answers": In(1),
                    "rate": In(Fmt.RATE.width),
                }
            )

        def elaborate(self, platform: object) -> Module:
            m = Module()
            busy = Signal()
            m.d.comb += self.i.ready.eq(~busy & self.takes)
            with m.If(self.i.valid & self.i.ready):
                m.d.sync += busy.eq(1)
            with m.If(busy & ~self.o.valid & self.answers):
                m.d.sync += [self.o.valid.eq(1), self.o.payload.rate.eq(self.rate)]
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += [self.o.valid.eq(0), busy.eq(0)]
            return m

    return AnyLaw


class StageHarness(wiring.Component):
    """`LawStage` with free inputs.

    Parameters
    ----------
    cores : int
        Of the law engine.
    """

    def __init__(self, *, cores: int = 0) -> None:
        self._config = replace(CONFIG, law_cores=cores)
        from precog_hw.csr.layouts import DECISION
        from precog_hw.csr.qp import config_layout
        from precog_hw.rate.law_layouts import LAW_EVENT

        super().__init__(
            {
                "decision": In(DECISION),
                "law": In(1),
                "psched": In(1),
                "decides": In(1),
                "event": In(LAW_EVENT),
                "happens": In(1),
                "command": In(config_layout(CONFIG)),
                "commands": In(1),
                "ready": In(1),
                "takes": In(1),
                "answers": In(1),
                "rate": In(Fmt.RATE.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        made: list[Any] = []

        def any_law(qps: int) -> wiring.Component:
            made.append(_any_law()(qps))
            law: wiring.Component = made[-1]
            return law

        with reimported(STAGE) as module, patch.object(module, "LawUnit", any_law):
            dut = module.LawStage(self._config)
            self.inner = Opened(dut)
        m.submodules.dut = self.inner.fragment
        if not made:  # one that is never asked
            made.append(_any_law()(QPS))
            m.submodules.unasked = made[-1]
        (law,) = made
        past = Past(m)
        self._inputs(m, dut, law, past)
        m.d.comb += dut.o.ready.eq(self.ready)
        self._claims(m, dut, law, past)
        return m

    def _claims(self, m: Module, dut: Any, law: Any, past: Past) -> None:
        held = past.known & past(dut.o.valid & ~dut.o.ready, "held")
        out = Value.cast(dut.o.payload)
        m.d.comb += [
            Assert(~held | dut.o.valid, "a decision is offered until it is taken"),
            Assert(~held | (out == past(out, "out")), "and stays what it is"),
        ]
        self._decisions(m, dut, law)
        self._events(m, dut, law)
        if self._config.fixed_laws:
            self._asked(m, dut, law)

    def _inputs(self, m: Module, dut: Any, law: Any, past: Past) -> None:
        """Free, and what is offered stays."""
        streams = {
            "decision": (dut.i, Cat(self.decision, self.law, self.psched), self.decides),
            "event": (dut.i_event, Value.cast(self.event), self.happens),
            "command": (dut.command, Value.cast(self.command), self.commands),
        }
        for name, (port, payload, valid) in streams.items():
            refused = past.known & past(valid & ~port.ready, f"{name}_refused")
            m.d.comb += [
                port.valid.eq(valid),
                Assume(~refused | valid),
                Assume(~refused | (payload == past(payload, name))),
            ]
        m.d.comb += [
            dut.i.payload.eq(self.decision),
            dut.i_raw.payload.law.eq(self.law),
            dut.i_raw.payload.psched.eq(self.psched),
            dut.i_raw.valid.eq(self.decides),
            dut.i_event.payload.eq(self.event),
            dut.command.payload.eq(self.command),
            Assume(~self.commands | ~self.decides),
            Assume(~self.decision.flags[Flag.EVENT]),
            Assume(~self.law | self._config.fixed_laws),
            law.takes.eq(self.takes),
            law.answers.eq(self.answers),
            law.rate.eq(self.rate),
        ]

    def _decisions(self, m: Module, dut: Any, law: Any) -> None:
        """One leaves when one comes, with its own fields; the rate is the law's where it runs."""
        enters = dut.i.valid & dut.i.ready
        leaves = dut.o.valid & dut.o.ready & ~dut.o.payload.flags[Flag.EVENT]
        told, rate = Signal(), Signal(Fmt.RATE.width)
        is_sample = Signal()
        with m.If(law.i.valid & law.i.ready):
            m.d.sync += [told.eq(0), is_sample.eq(law.i.payload.kind == EventKind.RTT)]
        with m.If(law.o.valid & law.o.ready):
            m.d.sync += [told.eq(is_sample), rate.eq(law.o.payload.rate)]
        with m.If(leaves & self.law):
            m.d.sync += told.eq(0)
        others = [
            dut.o.payload[name] == self.decision[name]
            for name in dut.o.payload.shape().members
            if name != "rate"
        ]
        m.d.comb += [
            Assert(enters == leaves, "one decision leaves for each that comes"),
            Assert(~leaves | Cat(others).all(), "with its own fields"),
            Assert(~leaves | self.law | (dut.o.payload.rate == self.decision.rate)),
            Assert(
                ~leaves | ~self.law | (told & (dut.o.payload.rate == rate)), "and the law's rate"
            ),
            Assert(enters == (dut.i_raw.valid & dut.i_raw.ready)),
            Assert(~leaves | (dut.about.sample & dut.about.rated & ~dut.about.score_stb)),
            Assert(~leaves | (dut.about.psched == self.psched)),
            Cover(leaves & self.law & (dut.o.payload.rate != self.decision.rate)),
        ]

    def _events(self, m: Module, dut: Any, law: Any) -> None:
        """Each is ignored, or makes one decision: that of its queue pair, with the law's rate.

        Of what only PSCHED takes it says so.
        """
        from precog_hw.rate.law_stage import takes_events

        takers = Array(Signal(name=f"taker{n}") for n in range(QPS))
        askers = Array(Signal(name=f"asker{n}") for n in range(QPS))
        command, programs = self.command, bool(self._config.law_cores)
        runs = command.config.algorithm[-1]
        with m.If(self.commands & dut.command.ready & command.apply):
            m.d.sync += [
                takers[command.qp].eq(
                    command.config.enable
                    & takes_events(command.config.algorithm)
                    & self._config.fixed_laws
                ),
                # Events of a queue pair whose law is a program are the engine's.
                askers[command.qp].eq(
                    command.config.enable & command.config.psched & ~(programs & runs)
                ),
            ]
        kind, exists, number = self.event.kind, self.event.qp < QPS, self.event.qp[0]
        to_law = exists & takers[number] & Cat(kind == one for one in LAW_EVENTS).any()
        to_psched = exists & askers[number] & Cat(kind == one for one in PSCHED_EVENTS).any()
        right = to_law | to_psched
        heard = dut.i_event.valid & dut.i_event.ready
        answered = dut.o.valid & dut.o.ready & dut.o.payload.flags[Flag.EVENT]
        waits, qp, rate = Signal(), Signal(1), Signal(Fmt.RATE.width)
        of_law, asks = Signal(), Signal()
        told = Signal.like(self.event)
        with m.If(heard & right):
            m.d.sync += [waits.eq(1), qp.eq(self.event.qp), told.eq(self.event)]
            m.d.sync += [of_law.eq(to_law), asks.eq(askers[number])]
        with m.Elif(answered):
            m.d.sync += waits.eq(0)
        with m.If(law.o.valid & law.o.ready):
            m.d.sync += rate.eq(law.o.payload.rate)
        payload, about = dut.o.payload, dut.about
        is_score = (told.kind == EventKind.SCORE) & (about.command != ScoreCommand.KEEP)
        m.d.comb += [
            Assert(dut.ignored == (heard & ~right), "ignored is what the law does not take"),
            Assert(~answered | waits, "no decision without an event"),
            Assert(~(heard & right) | ~waits, "one at a time"),
            Assert(~answered | (payload.qp == qp), "its own"),
            Assert(~answered | (about.rated == of_law), "a rate if there is a law's"),
            Assert(~answered | ~of_law | (payload.rate == rate), "the law's"),
            Assert(~answered | (~about.sample & (about.psched == asks) & (about.t == told.t))),
            Assert(~answered | (about.rtt == 0), "and no RTT"),
            Assert(~answered | (about.score_stb == is_score), "a score as it came"),
            Assert(~answered | (Cat(about.score, about.command) == told.value[:10])),
            Assert(~answered | ~about.above, "and no threshold"),
            *([Cover(answered & of_law)] if self._config.fixed_laws else []),
            Cover(answered & ~of_law),
        ]

    def _asked(self, m: Module, dut: Any, law: Any) -> None:
        """A command reaches the law as CONFIGURE, RESET or both; nothing else does so."""
        command = self.command
        configures, resets, qp = Signal(), Signal(), Signal(1)
        with m.If(self.commands & dut.command.ready):
            m.d.sync += [
                configures.eq(command.apply),
                resets.eq(command.clear | ~command.apply),
                qp.eq(command.qp),
            ]
            m.d.comb += Assert(~configures & ~resets, "the one before has been done")
        asks, kind = law.i.valid & law.i.ready, law.i.payload.kind
        with m.If(asks):
            m.d.comb += [
                Assert((kind == EventKind.CONFIGURE) == configures),
                Assert((kind == EventKind.RESET) == (resets & ~configures)),
                Assert(~(configures | resets) | (law.i.payload.qp == qp)),
            ]
            with m.If(configures):
                m.d.sync += configures.eq(0)
            with m.Else():
                m.d.sync += resets.eq(0)
        m.d.comb += Cover(asks & resets & ~configures)


_CLAIM = "no decision is lost, changed or replaced while offered; an event makes one or is ignored"
PROOFS = (
    Proof(
        "laws.stage",
        StageHarness,
        Mode.BOUNDED,
        DEPTH,
        f"any law, any times: {_CLAIM}",
        quick=False,
    ),
    Proof(
        "laws.engine",
        partial(StageHarness, cores=1),
        Mode.BOUNDED,
        DEPTH,
        f"without laws, before a law engine: {_CLAIM}",
    ),
    Proof("laws.cover", StageHarness, Mode.COVER, DEPTH, "samples, events, commands meet the law"),
)
MUTANTS = (
    Mutant(
        "laws.engine",
        STAGE,
        'with m.State("PASS"), m.If(~at.passing | self.o.ready):',
        'with m.State("PASS"):',
        "a decision that is being offered gives way to an event's",
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "laws.o.ready.eq(~at.answers | ~at.passing | self.o.ready)",
        "laws.o.ready.eq(1)",
        "a decision that is being offered gives way to the law's",
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "with m.If(to_law):",
        "with m.If(1):",
        "events of others reach the law",
        quick=True,
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "again.eq(command.apply & command.clear)",
        "again.eq(0)",
        "a queue pair that is configured anew keeps its state",
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "self.o.ready & (at.passing | (at.offers & ~at.of_event))",
        "self.o.ready & (at.passing | at.offers)",
        "an event's decision takes a sample's away",
    ),
)
