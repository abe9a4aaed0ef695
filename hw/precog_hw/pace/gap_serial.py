"""The gap behind a packet, one packet at a time and one bit of the shift per cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_spec.contract import PACE_MANTISSA_BITS, TICK_FRAC_BITS, Fmt

from .gap import GAP_DROP, due_layout, gap_layout
from .layouts import DUE_BITS, GAP_BITS, SIZE_BITS

__all__ = ["SerialGap"]

_PRODUCT_BITS = PACE_MANTISSA_BITS + 1 + SIZE_BITS + 1


class SerialGap(wiring.Component):
    """`GapUnit` for a packet at a time, whose numbers stay where they are.

    ::

        size x mantissa ─► + size ─► shift register ─► round, ─► - lateness ─► + t ─► o
                                        exponent times  saturate   at least 0

    Latency: 7 cycles and as many as the rate's exponent (at most 32): 13 at 2 bytes per tick.
    Throughput: one per latency. Cost: 1 multiplier, three adders of up to 57 bits.

    Parameters
    ----------
    qps : int
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    i : In(stream.Signature(gap_layout(qps), always_ready=True))
        Not while `busy` is up; its payload stays until `busy` falls.
    busy : Out(1)
        From the cycle after `i` until `o` is there.
    o : Out(stream.Signature(due_layout(qps)))
        To be taken before the next one.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, qps: int, *, dsp: str = "generic") -> None:
        self._product = Multiplier(
            PACE_MANTISSA_BITS + 1, SIZE_BITS + 2, dsp=dsp, input_register=True
        )
        super().__init__(
            {
                "i": In(stream.Signature(gap_layout(qps), always_ready=True)),
                "busy": Out(1),
                "o": Out(stream.Signature(due_layout(qps))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job = self.i.payload
        m.submodules.multiplier = product = self._product
        m.d.comb += [product.a.eq(job.reciprocal.mantissa), product.b.eq(job.size)]

        value = Signal(GAP_DROP + GAP_BITS)
        beyond = Signal()  # bits of 1 were shifted out
        steps = Signal.like(job.reciprocal.exponent)
        rounded, saturated = Signal(GAP_BITS + 1), Signal(GAP_BITS)
        behind, late = Signal(DUE_BITS + 1), Signal()
        ticks = behind[TICK_FRAC_BITS:DUE_BITS] + job.t
        m.d.comb += saturated.eq(Mux(beyond | rounded[-1], (1 << GAP_BITS) - 1, rounded[:GAP_BITS]))
        m.d.sync += rounded.eq(value[GAP_DROP:] + value[:GAP_DROP].any())
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM(name="gap") as gap:
            with m.State("IDLE"), m.If(self.i.valid):
                m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.next = "ADD"
            with m.State("ADD"):
                m.d.sync += [
                    value.eq(product.p[:_PRODUCT_BITS] + (job.size << PACE_MANTISSA_BITS)),
                    beyond.eq(0),
                    steps.eq(job.reciprocal.exponent),
                ]
                m.next = "SHIFT"
            with m.State("SHIFT"):
                with m.If(steps == 0):
                    m.next = "BEHIND"
                with m.Else():
                    m.d.sync += [
                        value.eq(value << 1),
                        beyond.eq(beyond | value[-1]),
                        steps.eq(steps - 1),
                    ]
            with m.State("BEHIND"):
                m.d.sync += [behind.eq(saturated + job.ahead), late.eq(job.ahead != 0)]
                m.next = "LEFT"
            # A negative `ahead` is 2**56 too large: with it, only a carry means that something is
            # left.
            with m.State("LEFT"):
                with m.If(late & ~behind[-1]):
                    m.d.sync += behind.eq(0)
                m.next = "DUE"
            with m.State("DUE"):
                m.d.sync += [
                    self.o.valid.eq(1),
                    self.o.payload.qp.eq(job.qp),
                    self.o.payload.due.eq(Cat(behind[:TICK_FRAC_BITS], ticks[: Fmt.TIME.width])),
                ]
                m.next = "IDLE"
        m.d.comb += self.busy.eq(~gap.ongoing("IDLE"))
        return m
