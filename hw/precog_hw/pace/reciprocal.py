"""The reciprocal of a rate, one bit per cycle: it is needed once per rate update."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.measure.reciprocal import leading_zeros
from precog_spec.contract import PACE_MANTISSA_BITS, Fmt

from .layouts import RECIPROCAL

__all__ = ["RateReciprocal"]

_STEPS = PACE_MANTISSA_BITS + 1


class RateReciprocal(wiring.Component):
    """Mantissa and exponent of 1 / rate, rounded up (`precog_models.pace.reciprocal`).

    Latency: 22 cycles from `stb` to `done`. Throughput: one per latency. Cost: a subtraction of
    33 bits, a shift by up to 31, 130 flip-flops.

    Members
    -------
    stb : In(1)
        `rate` is new, and holds for 2 cycles.
    rate : In(32)
        Not 0.
    done : Out(1)
        `o` is there; it stays.
    o : Out(RECIPROCAL)
    """

    CYCLES = _STEPS + 4

    stb: In(1)
    rate: In(Fmt.RATE.width)
    done: Out(1)
    o: Out(RECIPROCAL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = len(self.rate)
        zeros = Signal(range(bits))
        divisor = Signal(bits)
        rest = Signal(bits + 1)
        quotient = Signal(_STEPS + 1)
        steps = Signal(range(_STEPS + 1))
        begins = Signal()
        ends = Signal()
        m.d.sync += [ends.eq(steps == 1), self.done.eq(ends), begins.eq(self.stb)]
        with m.If(self.stb):
            m.d.sync += zeros.eq(leading_zeros(self.rate))
        # 2**49 / divisor: the first bits of the dividend are 2**31, which is at most the divisor.
        with m.If(begins):
            m.d.sync += [
                divisor.eq(self.rate << zeros),
                rest.eq(1 << (bits - 1)),
                quotient.eq(0),
                steps.eq(_STEPS),
            ]
        doubled = Signal(bits + 1)
        fits = Signal()
        m.d.comb += [doubled.eq(rest << 1), fits.eq(doubled >= divisor)]
        with m.If(steps != 0):
            m.d.sync += [
                rest.eq(Mux(fits, doubled - divisor, doubled)),
                quotient.eq(Cat(fits, quotient)),
                steps.eq(steps - 1),
            ]
        rounded = Signal(_STEPS + 1)
        # A power of two divides into 2**18, all ones as the restoring division writes it.
        m.d.comb += rounded.eq(quotient + (rest != 0))
        m.d.sync += [
            self.o.mantissa.eq(Mux(rounded[-1], 0, rounded[:PACE_MANTISSA_BITS])),
            self.o.exponent.eq(zeros + rounded[-1]),
        ]
        return m
