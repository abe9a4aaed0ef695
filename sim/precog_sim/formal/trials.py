"""A trial holds nothing while it is off, and its sums have room for all that they add up.

`AdviceTrial` is the gateware as it is, of two queue pairs, with free decisions, outcomes and
registers, which stay while a decision is in flight. By induction, hence for ever.
"""

from functools import partial

from amaranth.hdl import Assert, Assume, Module, Mux, Value
from amaranth.lib import wiring

from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.trial_fields import FULL, TRIAL_KINDS, TRIAL_RATE_DROP

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import assert_stream
from .past import Past
from .peek import Opened
from .ports import any_inputs

__all__ = ["MUTANTS", "PROOFS"]

_SOURCE = "precog_hw.rate.trials"
# States, in the order in which the gateware's machine names them.
_OFFER, _OUTCOME, _FADE = 3, 10, 11


class TrialHarness(wiring.Component):
    """`AdviceTrial` of a kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_SOURCE) as module:
            dut = module.AdviceTrial(NicConfig(qps=2, trials=True), self._kind)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        any_inputs(m, dut)
        past = Past(m)
        assert_stream(m, past, dut.o, "o")
        registers, on = Value.cast(dut.parameters), dut.parameters[f"trial_{self._kind}"]
        told, tests, second = dut.i_outcome, inner["tests"], inner["second"]
        state, rests = inner["trial_state"], dut.i.ready
        fades = state == _FADE
        counts = told.valid & told.ready & told.payload.counts & tests & second
        counted, faded = past(counts, "counts"), past(fades, "fades")
        cleared = past(rests & dut.clearing, "clears")
        held = past(dut.o.payload, "held")
        job = module.tried_layout(NicConfig(qps=2, trials=True))(inner["job"])
        sample = {
            "count": (1, 0),
            "delay": (past(job.delay, "delay"), Fmt.RTT.width),
            "rate": (
                past(told.payload.rate >> TRIAL_RATE_DROP, "rate"),
                Fmt.RATE.width - TRIAL_RATE_DROP,
            ),
        }
        m.d.comb += [
            Assume(~past.known | past(rests, "rests") | (registers == past(registers, "told"))),
            Assert(on | ~dut.o.valid | ~dut.o.payload, "what is off holds nothing"),
            Assert(on | ~(dut.o.valid | told.ready) | ~tests, "and counts nothing"),
            Assert(on | (state <= _OFFER) | (state >= _OUTCOME), "nor has it rounds"),
            Assert(state <= _FADE),
        ]
        arms = dut.found.follow, dut.found.hold
        for arm, mine in zip(arms, (~held, held), strict=True):
            m.d.comb += Assert(fades | (arm.count < FULL), "an arm that is full is halved")
            for name, (part, bits) in sample.items():
                sum_, was = arm[name], past(arm[name], name)
                grown = was + Mux(counted & mine, part, 0)
                m.d.comb += [
                    Assert((sum_ >> bits) <= arm.count, "no sum is beyond its count of samples"),
                    Assert(
                        ~past.known | (sum_ == Mux(cleared, 0, Mux(faded, was >> 1, grown))),
                        "a sample joins the sums of its arm, and of no other, as a whole",
                    ),
                ]
        return m


PROOFS = tuple(
    Proof(
        f"trials.{kind}",
        partial(TrialHarness, kind),
        Mode.INDUCTION,
        2,
        "for ever, any decisions, outcomes and registers: what is off holds nothing, and counts "
        "nothing; a full arm is halved; each sample joins the sums of its arm alone, which never "
        "overflow",
    )
    for kind in TRIAL_KINDS
)
MUTANTS = (
    Mutant(
        "trials.rtt",
        _SOURCE,
        '    m.next = "OFFER"\n                with m.If(on):',
        '    m.next = "OFFER"\n                with m.If(1):',
        "a trial that is off holds advice",
        quick=True,
        step=True,
    ),
    Mutant(
        "trials.rtt",
        _SOURCE,
        "with m.If(new.count == FULL):",
        "with m.If(new.count > FULL):",
        "a full arm is not halved: its count begins anew",
        step=True,
    ),
    Mutant(
        "trials.scores",
        _SOURCE,
        "arm[name].eq(arm[name] >> 1) for name in _ARM.members",
        "arm.count.eq(arm.count >> 1)",
        "the sums of a full arm are not halved",
        step=True,
    ),
    Mutant(
        "trials.scores",
        _SOURCE,
        "on = par[TRIAL_PARAMETERS[self._kind][0]]",
        "on = par[TRIAL_PARAMETERS[0][0]]",
        "each trial has the switch of the first",
        step=True,
    ),
)
