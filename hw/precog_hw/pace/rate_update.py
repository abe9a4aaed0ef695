"""A new rate: its reciprocal, and the pending gap at the new rate."""

from contextlib import nullcontext

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_spec.contract import TICK_FRAC_BITS, Fmt

from .layouts import DUE_BITS, GAP_BITS, EventKind, event_layout, rate_layout
from .reciprocal import RateReciprocal
from .rescale import Rescaler

__all__ = ["RateUpdate"]


class RateUpdate(wiring.Component):
    """One rate at a time: divide, tell the row, rescale what the row says is pending, tell it.

    ::

        i ─► reciprocal ─► o: RATE ─► answer: pending? ─► rescale ─► [hold] ─► o: RETIME
        └► [rates] old one ──────────────────────────────────┘

    A row that is between a grant and its gap refuses the rate, and is asked again. A gap that gets
    shorter is taken out of the wheel, which must hold still for that (`TimingWheel.hold`).

    Latency: 23 cycles and the pipeline's until the rate counts; the pending gap ends anew at most
    77 cycles later, 20 more if it gets shorter and the wheel has nothing to give back. Throughput:
    one at a time. Cost at 1024 queue pairs: 2 DP16KD and those of its parts.

    With `relaxed` a rate counts after the cycles of its exponent more, and the pending gap ends
    anew at most 105 cycles later.

    Parameters
    ----------
    qps : int
        Power of two.
    relaxed : bool, optional
        The smaller form.

    Members
    -------
    i : In(stream.Signature(rate_layout(qps)))
    wipes : In(1)
        The rate of queue pair `wiped` is that of a row of zeros; nothing is taken.
    wiped : In(range(qps))
    o : Out(stream.Signature(event_layout(qps)))
    answer_stb : In(1)
        A RATE or RETIME took effect, with the pipeline's other outputs:
    refused, changed : In(1)
    ahead : In(56)
    t : In(40)
    files : In(1)
        The queue pair is filed anew.
    hold : Out(1)
        The wheel shall hold still.
    quiet : In(1)
        It does.
    cut : In(1)
        It has filed anew.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, qps: int, *, relaxed: bool = False) -> None:
        self._qps, self._relaxed = qps, relaxed
        super().__init__(
            {
                "i": In(stream.Signature(rate_layout(qps))),
                "wipes": In(1),
                "wiped": In(range(qps)),
                "o": Out(stream.Signature(event_layout(qps))),
                **{n: In(1) for n in ("answer_stb", "refused", "changed", "files")},
                "ahead": In(DUE_BITS),
                "t": In(Fmt.TIME.width),
                "hold": Out(1),
                "quiet": In(1),
                "cut": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reciprocal = reciprocal = RateReciprocal(relaxed=self._relaxed)
        m.submodules.rescale = rescale = Rescaler(relaxed=self._relaxed)
        m.submodules.rates = rates = plain_memory(Fmt.RATE.width, self._qps, block=self._relaxed)
        write, read = rates.write_port(), rates.read_port()
        # What a row of zeros stands for, but for 2**-32.
        job = Signal.like(self.i.payload, init={"rate": Fmt.RATE.max} if self._relaxed else None)
        t = Signal(Fmt.TIME.width)
        m.d.comb += [
            reciprocal.rate.eq(job.rate),
            rescale.reciprocal.eq(reciprocal.o),
            read.addr.eq(job.qp),
            write.addr.eq(job.qp),
            write.data.eq(job.rate),
            self.o.payload.qp.eq(job.qp),
        ]
        with m.If(self.wipes):
            m.d.comb += [write.en.eq(1), write.addr.eq(self.wiped)]
            if not self._relaxed:
                m.d.comb += write.data.eq(Fmt.RATE.max)
        due = Signal(DUE_BITS)
        ticks = rescale.left[TICK_FRAC_BITS:] + t
        m.d.sync += due.eq(Cat(rescale.left[:TICK_FRAC_BITS], ticks[: Fmt.TIME.width]))

        begin = Signal()
        m.d.comb += reciprocal.stb.eq(begin)
        m.d.sync += begin.eq(0)
        with m.FSM(name="update"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(~self.wipes)
                with m.If(~self.wipes) if self._relaxed else nullcontext():
                    m.d.sync += [job.eq(self.i.payload), begin.eq(self.i.valid & ~self.wipes)]
                    with m.If(self.i.payload.rate == 0):
                        m.d.sync += job.rate.eq(1)
                with m.If(self.i.valid & ~self.wipes):
                    m.next = "RECIPROCAL"
            with m.State("RECIPROCAL"):
                m.d.sync += rescale.old_rate.eq(read.data)
                with m.If(reciprocal.done):
                    m.next = "RATE"
            with m.State("RATE"):
                m.d.comb += [
                    self.o.valid.eq(1),
                    self.o.payload.kind.eq(EventKind.RATE),
                    self.o.payload.argument.eq(reciprocal.o),
                ]
                with m.If(self.o.ready):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.sync += [rescale.pending.eq(self.ahead[:GAP_BITS]), t.eq(self.t)]
                with m.If(self.answer_stb):
                    m.d.comb += write.en.eq(~self.refused)
                    m.next = "IDLE"
                    with m.If(self.refused):
                        m.next = "RATE"
                    with m.Elif(self.changed):
                        m.next = "RESCALE"
            with m.State("RESCALE"):
                m.d.comb += rescale.stb.eq(1)
                m.next = "RESCALING"
            with m.State("RESCALING"), m.If(rescale.done):
                m.d.sync += self.hold.eq(rescale.sooner)
                m.next = "QUIET"
            with m.State("QUIET"), m.If(~self.hold | self.quiet):
                m.next = "RETIME"
            with m.State("RETIME"):
                m.d.comb += [
                    self.o.valid.eq(1),
                    self.o.payload.kind.eq(EventKind.RETIME),
                    self.o.payload.argument.eq(Cat(due, rescale.sooner)),
                ]
                with m.If(self.o.ready):
                    m.next = "RETIMED"
            with m.State("RETIMED"), m.If(self.answer_stb):
                m.next = "IDLE"
                with m.If(self.files):
                    m.next = "CUT"
                with m.Else():
                    m.d.sync += self.hold.eq(0)
            with m.State("CUT"), m.If(self.cut):
                m.d.sync += self.hold.eq(0)
                m.next = "IDLE"
        return m
