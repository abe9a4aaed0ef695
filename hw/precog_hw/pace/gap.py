"""The gap behind a packet, and when its queue pair is due again."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.dsp import Multiplier
from precog_spec.contract import PACE_MANTISSA_BITS, TICK_FRAC_BITS, Fmt

from .layouts import DUE_BITS, GAP_BITS, RECIPROCAL, SIZE_BITS

__all__ = ["GAP_DROP", "GapUnit", "due_layout", "gap_layout"]

GAP_DROP = 9  # precog_models.pace.reciprocal: 2**40 / R = mantissa * 2**(exponent - 9)
_MOST_SHIFT = 32


def gap_layout(qps: int) -> data.StructLayout:
    """A packet that was granted."""
    return data.StructLayout(
        {
            "qp": exact_log2(qps),
            "size": SIZE_BITS + 1,  # bytes on the wire
            "reciprocal": RECIPROCAL,
            "ahead": DUE_BITS,  # due time less `t`: 0, or negative without a sign
            "t": Fmt.TIME.width,
        }
    )


def due_layout(qps: int) -> data.StructLayout:
    """When a queue pair is due."""
    return data.StructLayout({"qp": exact_log2(qps), "due": DUE_BITS})


class GapUnit(wiring.Component):
    """due + size / rate, but not before `t`.

    ::

        size x mantissa ─► + size ─► shift ─► shift ─► round, ─► - lateness ─► + t ─► o
                                                       saturate   at least 0

    Latency: 8 cycles. Throughput: one per cycle. Cost: 1 multiplier, a shift by up to 32 in
    two steps, two adders of 56 bits; about 500 LUT4 and 600 flip-flops.

    Parameters
    ----------
    qps : int
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    i : In(stream.Signature(gap_layout(qps), always_ready=True))
    o : Out(stream.Signature(due_layout(qps), always_ready=True))
    """

    LATENCY = 8

    i: stream.Interface
    o: stream.Interface

    def __init__(self, qps: int, *, dsp: str = "generic") -> None:
        self._layout = gap_layout(qps)
        self._product = Multiplier(PACE_MANTISSA_BITS + 1, SIZE_BITS + 2, dsp=dsp)
        super().__init__(
            {
                "i": In(stream.Signature(self._layout, always_ready=True)),
                "o": Out(stream.Signature(due_layout(qps), always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        job, valid = [self.i.payload], [self.i.valid]
        for n in range(1, self.LATENCY):
            job.append(Signal(self._layout, name=f"job{n}"))
            valid.append(Signal(name=f"valid{n}"))
            m.d.sync += [job[n].eq(job[n - 1]), valid[n].eq(valid[n - 1])]

        m.submodules.multiplier = product = self._product
        m.d.comb += [product.a.eq(job[1].reciprocal.mantissa), product.b.eq(job[1].size)]
        total = Signal(PACE_MANTISSA_BITS + 1 + SIZE_BITS + 1)  # cycle 3
        m.d.sync += total.eq(product.p + (job[2].size << PACE_MANTISSA_BITS))

        coarse = Signal(len(total) + _MOST_SHIFT)  # cycle 4
        fine = Signal(len(total) + _MOST_SHIFT)  # cycle 5
        exponent3, exponent4 = job[3].reciprocal.exponent, job[4].reciprocal.exponent
        with m.Switch(exponent3[3:]):
            for n in range(_MOST_SHIFT // 8 + 1):
                with m.Case(n):
                    m.d.sync += coarse.eq(total << 8 * n)
        m.d.sync += fine.eq(coarse << exponent4[:3])

        rounded = Signal(GAP_BITS + 1)  # cycle 6
        beyond = Signal()
        m.d.sync += [
            rounded.eq(fine[GAP_DROP : GAP_DROP + GAP_BITS] + fine[:GAP_DROP].any()),
            beyond.eq(fine[GAP_DROP + GAP_BITS :].any()),
        ]
        late = Signal()  # cycle 7
        behind = Signal(DUE_BITS + 1)
        saturated = Mux(beyond | rounded[-1], (1 << GAP_BITS) - 1, rounded[:GAP_BITS])
        m.d.sync += [behind.eq(saturated + job[6].ahead), late.eq(job[6].ahead != 0)]
        # A negative `ahead` is 2**56 too large: with it, only a carry means that something is left.
        left = Mux(late & ~behind[-1], 0, behind[:DUE_BITS])
        ticks = left[TICK_FRAC_BITS:] + job[7].t  # cycle 8
        m.d.sync += [
            self.o.valid.eq(valid[7]),
            self.o.payload.qp.eq(job[7].qp),
            self.o.payload.due.eq(Cat(left[:TICK_FRAC_BITS], ticks[: Fmt.TIME.width])),
        ]
        return m
