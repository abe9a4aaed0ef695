"""The reciprocal of a rate, one bit per cycle: it is needed once per rate update."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
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

    With `relaxed` leading zeros are shifted out one by one: the exponent's cycles more, no shift by
    up to 31.

    Parameters
    ----------
    relaxed : bool, optional
        The smaller form.

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

    def __init__(self, *, relaxed: bool = False) -> None:
        self._relaxed = relaxed
        super().__init__()

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
        m.d.sync += [ends.eq(steps == 1), self.done.eq(ends)]
        if self._relaxed:
            moves = Signal()
            m.d.comb += begins.eq(moves & divisor[-1])
            with m.If(self.stb):
                m.d.sync += [divisor.eq(self.rate), zeros.eq(0), moves.eq(1)]
            with m.Elif(begins):
                m.d.sync += moves.eq(0)
            with m.Elif(moves):
                m.d.sync += [divisor.eq(divisor << 1), zeros.eq(zeros + 1)]
        else:
            m.d.sync += begins.eq(self.stb)
            with m.If(self.stb):
                m.d.sync += zeros.eq(leading_zeros(self.rate))
        # 2**49 / divisor: the first bits of the dividend are 2**31, which is at most the divisor.
        with m.If(begins):
            if not self._relaxed:
                m.d.sync += divisor.eq(self.rate << zeros)
            m.d.sync += [
                rest.eq(1 << (bits - 1)),
                quotient.eq(0),
                steps.eq(_STEPS),
            ]
        doubled = Signal(bits + 1)
        fits = Signal()
        difference: Value = doubled - divisor
        enough: Value = doubled >= divisor
        if self._relaxed:  # one carry chain
            kept = Signal(bits + 2, name="difference")
            m.d.comb += kept.eq(difference)
            difference, enough = kept, ~kept[-1]
        m.d.comb += [doubled.eq(rest << 1), fits.eq(enough)]
        with m.If(steps != 0):
            m.d.sync += [
                rest.eq(Mux(fits, difference, doubled)),
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
