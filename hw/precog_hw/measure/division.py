"""The quotient d / v, as soon as the divisor is there."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_hw.fixed import carry_save, widened
from precog_hw.measure.reciprocal import ALIGNED_BITS, DROP, ROUND_BITS, X_BITS, chord
from precog_hw.measure.split import HALF_BITS, SplitMultiplier
from precog_spec.contract import CHORD_GUARD_BITS, RECIPROCAL_BITS, Fmt, chord_table

__all__ = ["Division"]

#: Of what a chord falls at most, in the reciprocal's LSB.
_PART_BITS = (max(fall for _, fall in chord_table()) >> CHORD_GUARD_BITS).bit_length()
_LOW_BITS = HALF_BITS + _PART_BITS  # of the part's low product, which is never negative
_DROP = ROUND_BITS + HALF_BITS  # fraction bits of the products that the quotient has not
_SUM_BITS = _DROP + Fmt.X.width


class Division(wiring.Component):
    """d / v with 12 fraction bits: `precog_models.measure.reciprocal.quotient`.

    The mantissa of 1 / v is the chord's base less its fall, without fraction bits: a `whole` less a
    `part` less a borrow of their fractions. d times the whole does not wait for the part, nor does
    what is d less for the borrow::

        v ─► leading zeros ─► shift, table ─┬─► [x fall] ─► part ─► [* d] ─────────┐
                   │                        └─► whole ─► [* d] ─┬────► borrow? ──► - ─► o
                   └─────► d << n ────────────────┘             └► - d ─┘

    Latency: 5 cycles after `v`, if the caller registers `o`. Throughput: one per cycle.
    Cost: 5 multipliers, 128 x 35 bits of table in a block RAM.

    Parameters
    ----------
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    v : In(32)
        Divisor; 0 counts as 1.
    d : In(signed(33))
        Dividend, a cycle after `v`. |d / v| < 64, or the result is meaningless.
    o : Out(signed)
        The quotient 4 cycles after `v`, not registered: one sum of three numbers.
    """

    LATENCY = 4

    v: Signal
    d: Signal
    o: Signal

    def __init__(self, *, dsp: str = "generic") -> None:
        self._dsp = dsp
        super().__init__({"v": In(32), "d": In(signed(33)), "o": Out(signed(Fmt.X.width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, base, fall, x = chord(m, self.v)
        aligned = Signal(signed(ALIGNED_BITS - DROP))
        again = Signal.like(aligned)
        m.d.sync += [aligned.eq((self.d << n)[DROP:ALIGNED_BITS]), again.eq(aligned)]

        m.submodules.slope = slope = Multiplier(len(fall) + 1, len(x) + 1, dsp=self._dsp)
        m.submodules.whole = whole = SplitMultiplier(
            aligned.shape(), unsigned(RECIPROCAL_BITS), dsp=self._dsp
        )
        m.submodules.part = part = SplitMultiplier(
            aligned.shape(), unsigned(_PART_BITS), dsp=self._dsp
        )
        fraction = Signal(CHORD_GUARD_BITS)
        m.d.sync += fraction.eq(base[:CHORD_GUARD_BITS])
        fallen = slope.p[X_BITS:]
        m.d.comb += [
            slope.a.eq(fall),
            slope.b.eq(x),
            whole.a.eq(aligned),
            whole.b.eq(base[CHORD_GUARD_BITS:]),
            part.a.eq(again),
            part.b.eq(fallen[CHORD_GUARD_BITS:]),
        ]
        # -n is ~n + 1: the ones of all that is subtracted from the whole are added to it here.
        kept, less, borrow = Signal(_SUM_BITS), Signal(_SUM_BITS), Signal()
        words = (whole.low, _high(whole, 3), ~again)
        a, b = carry_save(*(widened(word[:_SUM_BITS], _SUM_BITS) for word in words))
        m.d.sync += [
            kept.eq(whole.low + _high(whole, 2)),
            less.eq(a + b),
            borrow.eq(fallen[:CHORD_GUARD_BITS] > fraction),
        ]
        # The low product ends below the rounding half, which its zeros take up.
        ones = _DROP - 1 - _LOW_BITS
        low = Cat(~part.low[:_LOW_BITS], Const((1 << ones) - 1, _SUM_BITS - _LOW_BITS))
        high = widened(~_high(part), _SUM_BITS)
        a, b = carry_save(Mux(borrow, less, kept), low, high)
        m.d.comb += self.o.eq((a + b)[_DROP:].as_signed())
        return m


def _high(product: SplitMultiplier, low: int = 0) -> Value:
    """The high product in its place, above a constant."""
    return Cat(Const(low, HALF_BITS), product.high).as_signed()
