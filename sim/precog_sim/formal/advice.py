"""The deadline of predictions: a decision waits no longer, and never gets another sample's advice.

`AdviceDeadline` is the gateware as it is; advice and its taker are free in every cycle. By
induction, hence for ever.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

_DEADLINE = "precog_hw.rate.deadline"
FLYING = 3
DEPTH = 6


class DeadlineHarness(wiring.Component):
    """`AdviceDeadline` with free inputs."""

    def __init__(self) -> None:
        from precog_hw.rate.deadline import DEADLINE_BITS
        from precog_hw.rate.layouts import ADVICE

        super().__init__(
            {
                "advice": In(ADVICE),
                "comes": In(1),
                "takes": In(1),
                "cycles": In(DEADLINE_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_DEADLINE) as module:
            dut = module.AdviceDeadline(FLYING)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        ahead = Signal(range(FLYING + 1))  # decisions made, less advice that has come
        came, made = Signal(), Signal()
        m.d.comb += [
            dut.i.valid.eq(self.comes),
            dut.i.payload.eq(self.advice),
            dut.o.ready.eq(self.takes),
            dut.cycles.eq(self.cycles),
            Assume(~self.advice.late),
            Assume(~past.known | (self.cycles == past(self.cycles, "cycles"))),
            # A taker waits until it gets something, and at most `FLYING` samples are under way.
            Assume(~(past.known & past(self.takes & ~dut.o.valid, "waited")) | self.takes),
            Assume((ahead < FLYING) | ~self.takes),
            came.eq(dut.i.valid & dut.i.ready),
            made.eq(dut.o.valid & dut.o.ready),
        ]
        m.d.sync += ahead.eq(ahead + made - came)
        waited = Signal(len(self.cycles) + 1)
        with m.If(self.takes & ~dut.o.valid):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)
        late = dut.o.payload.late
        turn = inner["turn"]
        m.d.comb += [
            Assert((self.cycles == 0) | (waited <= self.cycles), "no decision waits longer"),
            Assert(~late | ~dut.o.valid | (waited == self.cycles), "nor is it denied sooner"),
            Assert(~made | late | (came & (ahead == 0)), "advice goes to its own sample"),
            Assert(~made | late | (dut.o.payload == self.advice), "as it came"),
            Assert(~made | ~late | ~dut.o.payload.valid, "late advice is none"),
            Assert(dut.owing == (ahead != 0)),
            # For the induction.
            Assert(inner["owed"] == ahead),
            Assert(~self.takes | (self.cycles == 0) | (turn == waited + 1)),
            Assert(self.takes | (turn == 1)),
            Assert((self.cycles != 0) | ~inner["late"]),
            Assert((self.cycles == 0) | (inner["late"] == (turn == self.cycles + 1))),
            Cover(made & late),
            Cover(came & (ahead == 2)),
        ]
        return m


PROOFS = (
    Proof(
        "advice.deadline",
        DeadlineHarness,
        Mode.INDUCTION,
        DEPTH,
        "for ever: a decision waits for its prediction until the deadline, no longer, and "
        "never gets another sample's",
    ),
    Proof("advice.cover", DeadlineHarness, Mode.COVER, 16, "advice comes in time, and too late"),
)
MUTANTS = (
    Mutant(
        "advice.deadline",
        _DEADLINE,
        "late.eq(turn >= self.cycles)",
        "late.eq(turn > self.cycles)",
        "a decision waits a cycle too long",
        quick=True,
    ),
    Mutant(
        "advice.deadline",
        _DEADLINE,
        "self.i.ready.eq(self.owing | (self.o.ready & ~late))",
        "self.i.ready.eq(self.owing | self.o.ready)",
        "advice that comes with its deadline is lost, and the next one thrown away",
    ),
    Mutant(
        "advice.deadline",
        _DEADLINE,
        "late | (self.i.valid & ~self.owing)",
        "late | self.i.valid",
        "the next decision gets the advice of the one before",
    ),
)
