"""The RTT collector's pipeline: when it makes a sample, and of which event.

`RttPipeline` is the gateware as it is; events, the host's writes and time-outs are free in every
cycle. That the numbers are right is said by simulation against the golden model. By induction,
hence for ever.
"""

from amaranth.hdl import Assert, Cat, Cover, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_spec.contract import Outcome

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .packets import late
from .peek import free

__all__ = ["MUTANTS", "PIPELINE", "PROOFS", "SLOTS"]

PIPELINE = "precog_hw.measure.rtt_pipeline"
SLOTS = 2


class PipelineHarness(wiring.Component):
    """`RttPipeline`, any events and host."""

    def __init__(self) -> None:
        from precog_hw.measure.rtt_events import event_layout

        super().__init__({"event": In(event_layout(SLOTS)), "stb": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(PIPELINE) as module:
            dut = module.RttPipeline(SLOTS)
        m.submodules.dut = dut
        m.d.comb += [
            dut.i_stb.eq(self.stb),
            dut.i.eq(self.event),
            *(port.eq(free(len(port))) for port in (dut.mtu_stb, dut.mtu_slot, dut.mtu_log2)),
            dut.timeout.eq(free(len(dut.timeout))),
        ]
        commits, samples = dut.LATENCY, dut.SAMPLE_LATENCY
        completes = dut.commit.outcome[list(Outcome).index(Outcome.SAMPLE)]
        event = self.event
        committed = late(m, Cat(event.kind, event.slot, event.t), commits, "committed")
        sampled = late(m, Cat(event.slot, event.t), samples, "sampled")
        m.d.comb += [
            Assert(
                dut.commit_stb == late(m, self.stb, commits, "commit"),
                "each event takes effect when it is due",
            ),
            Assert(dut.commit_stb | (dut.commit.outcome == 0), "nothing else does"),
            Assert(
                ~dut.commit_stb | (Cat(dut.commit.kind, dut.commit.slot, dut.commit.t) == committed)
            ),
            Assert(
                dut.sample_stb == late(m, completes, samples - commits, "completes"),
                "a sample for each event that completes one",
            ),
            Assert(
                ~dut.sample_stb | (Cat(dut.sample_slot, dut.sample_t) == sampled),
                "of that event's slot and time",
            ),
            Cover(dut.sample_stb & (dut.sample_slot == 1)),
        ]
        return m


PROOFS = (
    Proof(
        "samples.pipeline",
        PipelineHarness,
        Mode.INDUCTION,
        10,
        "for ever, any events: samples of those that complete one, when they are due, no other",
    ),
    Proof("samples.pipeline.cover", PipelineHarness, Mode.COVER, 24, "an event completes a sample"),
)
MUTANTS = (
    Mutant(
        "samples.pipeline",
        PIPELINE,
        "outcome & valid[5].replicate(len(outcome))",
        "outcome",
        "what is no event makes a sample",
    ),
    Mutant(
        "samples.pipeline",
        PIPELINE,
        "self.sample_slot.eq(e[8].slot)",
        "self.sample_slot.eq(e[7].slot)",
        "a sample is the next event's queue pair's",
    ),
)
