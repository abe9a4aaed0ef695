"""The stage of the laws lets nobody starve: a sample and an event that wait take turns.

Of the stage as `laws` has it, with any law at any times. A law's time has no bound, so waiting is
counted in jobs: while an event waits, at most one sample goes to the law, and while a sample waits
for the law, at most one event is taken. By induction, hence for ever. Commands come first: the host
gives them.
"""

from typing import Any

from amaranth.hdl import Assert, Cover, Module, Signal

from precog_spec.law_fields import EventKind

from .engine import Mode, Proof
from .laws import STAGE, StageHarness
from .mutate import Mutant
from .past import Past

__all__ = ["MUTANTS", "PROOFS"]

_DEPTH = 12  # cycles in which its mutants show


class TurnsHarness(StageHarness):
    """Counts who is passed by whom."""

    def _claims(self, m: Module, dut: Any, law: Any, past: Past) -> None:
        job, turn = law.i, self.inner["turn"]
        of_sample = job.valid & (job.payload.kind == EventKind.RTT)
        event_waits = dut.i_event.valid & ~dut.i_event.ready
        sample_waits = dut.i.valid & dut.i_raw.payload.law & ~dut.i.ready
        heard = dut.i_event.valid & dut.i_event.ready
        samples, events = Signal(2), Signal(2)  # that have passed the other
        with m.If(~event_waits):
            m.d.sync += samples.eq(0)
        with m.Elif(of_sample & job.ready & (samples != 3)):
            m.d.sync += samples.eq(samples + 1)
        with m.If(~sample_waits | (of_sample & job.ready)):
            m.d.sync += events.eq(0)
        with m.Elif(heard & (events != 3)):
            m.d.sync += events.eq(events + 1)
        m.d.comb += [
            Assert(samples <= 1, "one sample passes an event"),
            Assert(events <= 1, "one event passes a sample"),
            Cover((samples == 1) & heard),
            Cover((events == 1) & of_sample),
            # For the induction.
            Assert((samples == 0) | heard | (turn & ~of_sample)),
            Assert(~of_sample | turn),
            Assert((events == 0) | ~turn | of_sample),
        ]


PROOFS = (
    Proof(
        "laws.turns",
        TurnsHarness,
        Mode.INDUCTION,
        _DEPTH,
        "for ever, any law, any times: of a sample and an event that wait neither is passed twice",
    ),
    Proof("laws.turns.cover", TurnsHarness, Mode.COVER, _DEPTH, "both are passed once"),
)
MUTANTS = (
    Mutant(
        "laws.turns",
        STAGE,
        "with m.Elif(sample & ~(turn & self.i_event.valid)):",
        "with m.Elif(sample):",
        "events starve behind samples",
        quick=True,
    ),
    Mutant(
        "laws.turns",
        STAGE,
        "m.d.sync += [turn.eq(0), at.of_event.eq(1)]",
        "m.d.sync += [turn.eq(1), at.of_event.eq(1)]",
        "samples starve behind events",
    ),
)
