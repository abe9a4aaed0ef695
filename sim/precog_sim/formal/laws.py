"""The stage before PSCHED: no decision is lost or changed, and each event makes one or is ignored.

`LawStage` is the gateware as it is, with two queue pairs. Decisions, events, commands and the
consumer are free in every cycle, within the rules of their streams; while a command waits there is
no decision, as `Core` has it.
"""

from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_spec.config import NicConfig
from precog_spec.contract import Flag
from precog_spec.law_fields import PSCHED_EVENTS, EventKind, ScoreCommand

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

STAGE = "precog_hw.rate.law_stage"
QPS = 2
CONFIG = NicConfig(qps=QPS, sets=2, lanes=16, columns=1, steps=1, law_cores=1)
DEPTH = 12
_COMMAND_AT, _COMMAND_BITS = 8, 2  # in a score's value


class StageHarness(wiring.Component):
    """`LawStage` with free inputs."""

    def __init__(self) -> None:
        from precog_hw.csr.layouts import DECISION
        from precog_hw.csr.qp import config_layout
        from precog_hw.rate.law_layouts import LAW_EVENT

        super().__init__(
            {
                "decision": In(DECISION),
                "psched": In(1),
                "decides": In(1),
                "event": In(LAW_EVENT),
                "happens": In(1),
                "command": In(config_layout(CONFIG)),
                "commands": In(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(STAGE) as module:
            dut = module.LawStage(CONFIG)
            m.submodules.dut = Opened(dut).fragment
        past = Past(m)
        self._inputs(m, dut, past)
        m.d.comb += dut.o.ready.eq(self.ready)
        held = past.known & past(dut.o.valid & ~dut.o.ready, "held")
        out = Value.cast(dut.o.payload)
        m.d.comb += [
            Assert(~held | dut.o.valid, "a decision is offered until it is taken"),
            Assert(~held | (out == past(out, "out")), "and stays what it is"),
        ]
        self._decisions(m, dut)
        self._events(m, dut)
        return m

    def _inputs(self, m: Module, dut: Any, past: Past) -> None:
        """Free, and what is offered stays."""
        streams = {
            "decision": (dut.i, Cat(self.decision, self.psched), self.decides),
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
            dut.i_raw.payload.psched.eq(self.psched),
            dut.i_raw.valid.eq(self.decides),
            dut.i_event.payload.eq(self.event),
            dut.command.payload.eq(self.command),
            Assume(~self.commands | ~self.decides),
            Assume(~self.decision.flags[Flag.EVENT]),
        ]

    def _decisions(self, m: Module, dut: Any) -> None:
        """One leaves as it comes."""
        enters = dut.i.valid & dut.i.ready
        leaves = dut.o.valid & dut.o.ready & ~dut.o.payload.flags[Flag.EVENT]
        m.d.comb += [
            Assert(enters == leaves, "one decision leaves for each that comes"),
            Assert(~leaves | (dut.o.payload.as_value() == self.decision.as_value()), "as it came"),
            Assert(enters == (dut.i_raw.valid & dut.i_raw.ready)),
            Assert(~leaves | (dut.about.sample & dut.about.rated & ~dut.about.score_stb)),
            Assert(~leaves | (dut.about.psched == self.psched)),
            Cover(leaves & dut.about.psched),
        ]

    def _events(self, m: Module, dut: Any) -> None:
        """Each is ignored, or makes one decision: that of its queue pair, without a rate."""
        askers = Array(Signal(name=f"asker{n}") for n in range(QPS))
        command = self.command
        with m.If(self.commands & dut.command.ready & command.apply):
            # The events of a queue pair whose law is a program come by the engine.
            m.d.sync += askers[command.qp].eq(
                command.config.enable & command.config.psched & ~command.config.algorithm[-1]
            )
        kind, exists, number = self.event.kind, self.event.qp < QPS, self.event.qp[0]
        right = exists & askers[number] & Cat(kind == one for one in PSCHED_EVENTS).any()
        heard = dut.i_event.valid & dut.i_event.ready
        answered = dut.o.valid & dut.o.ready & dut.o.payload.flags[Flag.EVENT]
        waits, told = Signal(), Signal.like(self.event)
        with m.If(heard & right):
            m.d.sync += [waits.eq(1), told.eq(self.event)]
        with m.Elif(answered):
            m.d.sync += waits.eq(0)
        payload, about = dut.o.payload, dut.about
        is_score = told.kind == EventKind.SCORE
        kept = told.value[_COMMAND_AT:][:_COMMAND_BITS] == ScoreCommand.KEEP
        m.d.comb += [
            Assert(dut.ignored == (heard & ~right), "ignored is what PSCHED does not take"),
            Assert(~answered | waits, "no decision without an event"),
            Assert(~(heard & right) | ~waits, "one at a time"),
            Assert(~answered | (payload.qp == told.qp), "its own"),
            Assert(~answered | ~about.rated, "without a rate"),
            Assert(~answered | (~about.sample & about.psched & (about.t == told.t))),
            Assert(~answered | (about.rtt == 0), "and no RTT"),
            Assert(~answered | (about.score_stb == (is_score & ~kept)), "a score as it came"),
            Assert(~answered | ~is_score | (Cat(about.score, about.command) == told.value[:10])),
            Cover(answered & about.score_stb),
            Cover(answered & ~is_score),
        ]


_CLAIM = "no decision is lost, changed or replaced while offered; an event makes one or is ignored"
PROOFS = (
    Proof(
        "laws.stage",
        StageHarness,
        Mode.BOUNDED,
        DEPTH,
        f"any times: {_CLAIM}",
        quick=False,
    ),
    Proof("laws.cover", StageHarness, Mode.COVER, DEPTH, "samples, events and commands meet"),
)
MUTANTS = (
    Mutant(
        "laws.stage",
        STAGE,
        'with m.State("PASS"), m.If(~passing | self.o.ready):',
        'with m.State("PASS"):',
        "a decision that is being offered gives way to an event's",
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "with m.If(~(exists & taken & _is_one(job.kind, PSCHED_EVENTS))):",
        "with m.If(~(exists & taken)):",
        "events of others make decisions",
        quick=True,
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "command.config.psched & ~programmed",
        "command.config.psched",
        "a program's queue pair is scheduled by what was let through before",
    ),
    Mutant(
        "laws.stage",
        STAGE,
        "self.o.ready & passing",
        "self.o.ready",
        "an event's decision takes a sample's away",
    ),
)
