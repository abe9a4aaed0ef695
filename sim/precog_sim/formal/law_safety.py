"""The law engine's safety: what leaves it is within bounds and in time, whatever programs say.

`Safety` is the gateware as it is, with free inputs: what a program said is among them. `Retirer` is
it, too; of the threads only what they promise is there: who runs what does not change until the
retirer has freed the thread. Core, programs and instructions do not occur, so that the claims hold
for all of them.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from precog_spec.contract import Fmt
from precog_spec.engine.isa import THREADS

from .engine import Mode, Proof
from .mutate import Mutant, reimported
from .past import Past
from .peek import Opened, free

__all__ = ["MUTANTS", "PROOFS"]

_SAFETY = "precog_hw.rate.engine.safety"
_RETIRER = "precog_hw.rate.engine.retirer"
_QP_BITS = 2


class SafetyHarness(wiring.Component):
    """`Safety` and a queue pair whose rate and window it decides on for ever.

    The inputs of an event stay for four cycles; what leaves in the last of them counts.
    """

    threshold: In(Fmt.RTT.width)
    rtt: In(Fmt.RTT.width)
    timed: In(1)
    happens: In(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_SAFETY) as module:
            dut = module.Safety()
        m.submodules.dut = dut
        past = Past(m)
        bounds, mtu = Signal.like(dut.bounds), Signal(16)
        rate, window = Signal(Fmt.RATE.width), Signal(Fmt.WINDOW.width)
        live, phase = Signal(), Signal(2)
        last = phase == 3
        above = self.timed & (self.rtt > self.threshold)
        m.d.comb += [
            bounds.eq(free(len(bounds.as_value()))),
            mtu.eq(free(16)),
            Assume(bounds.min_rate <= bounds.max_rate),
            dut.bounds.eq(bounds),
            dut.mtu.eq(mtu),
            dut.above.eq(above),
            dut.said.eq(free(len(dut.said.as_value()))),
            dut.kind.eq(free(3)),
            # The stage clamps what is in force to the bounds of now.
            dut.rate.eq(Mux(rate < bounds.min_rate, bounds.min_rate, rate)),
            dut.window.eq(window),
        ]
        with m.If(rate > bounds.max_rate):
            m.d.comb += dut.rate.eq(bounds.max_rate)
        for name in ("bounds", "mtu"):  # of one configuration: arbitrary, but the same
            value = Value.cast({"bounds": bounds, "mtu": mtu}[name])
            m.d.comb += Assume(~past.known | (value == past(value, name)))
        for name in ("said", "kind", "above"):
            value = Value.cast(getattr(dut, name))
            m.d.comb += Assume(~past.known | (phase == 0) | (value == past(value, name)))
        m.d.sync += phase.eq(phase + 1)
        with m.If(self.happens & last):
            m.d.sync += [rate.eq(dut.o_rate), window.eq(dut.o_window), live.eq(1)]
        rose = (window != 0) & ((dut.o_window == 0) | (dut.o_window > window))
        m.d.comb += [
            Assert(~last | (dut.o_rate >= bounds.min_rate), "not below the lowest rate"),
            Assert(~last | (dut.o_rate <= bounds.max_rate), "not above the highest rate"),
            Assert((window == 0) | (window >= mtu), "a window holds a packet"),
            Assert(~live | (rate >= bounds.min_rate), "what is in force, too"),
            Assert(~live | (rate <= bounds.max_rate)),
            Assert(~last | ~above | (dut.o_rate <= dut.rate), "no rate rises above the threshold"),
            Assert(~last | ~above | ~rose, "nor does a window"),
            Assert(
                ~last | ~dut.said.trapped | dut.said.safe | (dut.o_rate == dut.rate),
                "a trap holds",
            ),
            Cover(last & live & above & (dut.o_rate < dut.rate)),
            Cover(last & live & ~above & (dut.o_rate > dut.rate)),
        ]
        return m


class OwnerHarness(wiring.Component):
    """`Retirer`, and threads that keep what they run until it is told."""

    def __init__(self) -> None:
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with reimported(_RETIRER) as module:
            dut = module.Retirer(_QP_BITS)
            inner = Opened(dut)
        m.submodules.dut = inner.fragment
        past = Past(m)
        for name, member in dut.signature.members.items():
            port = getattr(dut, name)
            if member.flow is wiring.In:
                value = Value.cast(port)
                m.d.comb += value.eq(free(len(value)))
        freed = past(dut.free_stb, "freed") & past.known
        of = past(dut.thread, "of")
        for n in range(THREADS):
            about = Value.cast(dut.abouts[n])
            ended = dut.ended[n]
            was, ran = past(ended, f"ended{n}"), past(about, f"about{n}")
            gone = freed & (of == n)
            m.d.comb += [
                Assume(~past.known | ~was | gone | (ended & (about == ran))),
                Assume(~gone | ~ended),
            ]
        qps = Array(dut.abouts[n].qp for n in range(THREADS))
        done = Array(Value.cast(dut.abouts[n].status) == 0 for n in range(THREADS))
        ends = Array(dut.ended[n] for n in range(THREADS))
        # The thread may begin another event while the first one's stores are made.
        owner, well = Signal.like(dut.qp), Signal()
        with m.If(dut.free_stb):
            m.d.sync += [owner.eq(qps[dut.thread]), well.eq(done[dut.thread])]
        fsm_busy = inner["fsm_state"] != 0 if inner.every("fsm_state") else dut.write_stb
        m.d.comb += [
            Assert(~dut.free_stb | ends[dut.thread], "of an event that has ended"),
            Assert(~dut.write_stb | dut.busy, "of an event that still keeps its queue pair"),
            Assert(~dut.write_stb | (dut.qp == owner), "a row of the event's own"),
            Assert(~dut.write_stb | well, "and not in a trap"),
            Cover(dut.write_stb & fsm_busy),
        ]
        return m


PROOFS = (
    Proof(
        "law.safety",
        SafetyHarness,
        Mode.INDUCTION,
        9,
        "whatever a program says: bounds, a window of a packet, no rise above the threshold",
        fresh=True,
    ),
    Proof(
        "law.owner",
        OwnerHarness,
        Mode.INDUCTION,
        7,
        "a row is written for the queue pair whose event has ended well, and for no other",
    ),
)
MUTANTS = (
    Mutant(
        "law.safety",
        _SAFETY,
        "inside.eq(within(wanted, bounds, out))",
        "inside.eq(wanted)",
        "a program's rate passes its bounds",
        quick=True,
    ),
    Mutant(
        "law.safety",
        _SAFETY,
        "Mux(holds_rate, self.rate, inside)",
        "inside",
        "a rate rises above the threshold",
        quick=True,
    ),
    Mutant(
        "law.safety",
        _SAFETY,
        "least = Mux(said.window < self.mtu, self.mtu, said.window)",
        "least = said.window",
        "a window below a packet",
        quick=True,
    ),
    Mutant(
        "law.safety",
        _SAFETY,
        "wider = (self.window != 0) & ((window == 0) | (window > self.window))",
        "wider = window > self.window",
        "a window is taken away above the threshold",
    ),
    Mutant(
        "law.owner",
        _RETIRER,
        "self.qp.eq(about.qp),\n        ]\n        for n, mask",
        "self.qp.eq(self.abouts[0].qp),\n        ]\n        for n, mask",
        "rows of the first thread's queue pair are written",
        quick=True,
    ),
    Mutant(
        "law.owner",
        _RETIRER,
        "m.d.sync += self.busy.eq(1)",
        "m.d.sync += self.busy.eq(0)",
        "the next event of a queue pair sees a row that is being written",
    ),
    Mutant(
        "law.owner",
        _RETIRER,
        "left.eq(Mux(done, Array(masks)[self.thread], 0)),",
        "left.eq(Array(masks)[self.thread]),",
        "a trapped event's stores are made",
        quick=True,
    ),
)
