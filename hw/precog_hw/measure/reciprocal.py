"""Division by a tabled reciprocal: K_t of thesis (3) and e(t) of (14) are quotients d / v.

`Reciprocal` turns v into a shift n and a mantissa y, `Aligner` shifts d by n; a product of the two
is the quotient. Arithmetic, errors and table: `precog_models.measure.reciprocal`.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_hw.measure.split import HALF_BITS
from precog_models.contract import CHORD_GUARD_BITS, CHORDS, RECIPROCAL_BITS, chord_table

__all__ = ["Aligner", "Reciprocal", "leading_zeros", "quotient"]

_X_BITS = 13  # position inside a chord
_DROP = 4  # low bits of the aligned dividend that do not reach the multipliers
_ALIGNED_BITS = 39
_ROUND_BITS = 15


def leading_zeros(value: Value) -> Value:
    """Number of leading zeros in a value of 2**n bits; all bits zero count as one less.

    A tree of "which half, and how many in it": one level of 3-input logic per halving.
    """
    if len(value) == 1:
        return Const(0, 0)
    half = len(value) // 2
    lower, upper = value[:half], value[half:]
    some = upper.any()
    return Cat(Mux(some, leading_zeros(upper), leading_zeros(lower)), ~some)


class Reciprocal(wiring.Component):
    """Shift and mantissa of 1 / v: a chord of 1/x through one multiplier.

    ::

        v ─► leading zeros ─► shift ─► table ─► [x fall] ─► base - fall x ─► y
                 └► n

    Latency: `n` 1 cycle, `y` 5 cycles after `v`. Throughput: one per cycle.
    Cost: 1 multiplier, 128 x 35 bits of table in LUTs.

    Parameters
    ----------
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    v : In(32)
        Divisor; 0 counts as 1.
    n : Out(5)
        Leading zeros of `v`.
    y : Out(17)
        About 2**48 / (v * 2**n).
    """

    v: Signal
    n: Signal
    y: Signal

    def __init__(self, *, dsp: str = "generic") -> None:
        self._dsp = dsp
        super().__init__({"v": In(32), "n": Out(5), "y": Out(RECIPROCAL_BITS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        v = Signal(32)
        m.d.sync += [v.eq(self.v), self.n.eq(leading_zeros(self.v))]

        # Bit 31 of the shifted value is 1 (for v = 0 the bits below are 0, as for v = 1).
        mantissa = Signal(31)
        m.d.sync += mantissa.eq((v << self.n)[:31])

        rows = chord_table()
        base_bits = max(base for base, _ in rows).bit_length()
        fall_bits = max(fall for _, fall in rows).bit_length()
        base, fall, x = Signal(base_bits), Signal(fall_bits), Signal(_X_BITS)
        chord = mantissa[-(CHORDS - 1).bit_length() :]
        m.d.sync += [
            base.eq(Array(Const(value, base_bits) for value, _ in rows)[chord]),
            fall.eq(Array(Const(value, fall_bits) for _, value in rows)[chord]),
            x.eq(mantissa[24 - _X_BITS : 24]),
        ]

        m.submodules.slope = slope = Multiplier(fall_bits + 1, _X_BITS + 1, dsp=self._dsp)
        late = Signal.like(base)
        m.d.comb += [slope.a.eq(fall), slope.b.eq(x)]
        m.d.sync += [
            late.eq(base),
            self.y.eq((late - (slope.p >> _X_BITS)) >> CHORD_GUARD_BITS),
        ]
        return m


class Aligner(wiring.Component):
    """The dividend, shifted left by n: an operand of a `SplitMultiplier`, to be registered there.

    Latency: 1 cycle and the logic of a shift by up to 7. Throughput: one per cycle.
    Cost: a barrel shifter of 39 bits in two steps.

    Members
    -------
    d : In(signed(33))
        Dividend; |d / v| < 64, or the result is meaningless.
    n : In(5)
        Shift, `Reciprocal.n` of v.
    o : Out(signed(35))
        ``d << n`` without its low 4 bits.
    """

    d: In(signed(33))
    n: In(5)
    o: Out(signed(_ALIGNED_BITS - _DROP))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coarse, fine = Signal(signed(_ALIGNED_BITS)), Signal(3)
        m.d.sync += [coarse.eq(self.d << (self.n[3:] << 3)), fine.eq(self.n[:3])]
        m.d.comb += self.o.eq((coarse << fine)[_DROP:_ALIGNED_BITS])
        return m


def quotient(high: Value, low: Value, *, minus: int = 0) -> Value:
    """d / v with 12 fraction bits from the `SplitMultiplier` of the aligned d and y; less `minus`.

    One sum of two numbers and a constant.
    """
    constant = (1 << (_ROUND_BITS - 1)) - (minus << _ROUND_BITS)
    return (high + (low >> HALF_BITS) + constant) >> _ROUND_BITS
