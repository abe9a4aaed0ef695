"""Division by a tabled reciprocal: K_t of thesis (3) and e(t) of (14) are quotients d / v.

`Reciprocal` turns v into a shift n and a mantissa y, `Aligner` shifts d by n; a product of the two
is the quotient. `precog_hw.measure.division` is the quick form. Arithmetic, errors and table:
`precog_models.measure.reciprocal`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.measure.serial import SerialMultiplier
from precog_hw.measure.split import HALF_BITS
from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, RECIPROCAL_BITS, chord_table

__all__ = [
    "ALIGNED_BITS",
    "DROP",
    "ROUND_BITS",
    "X_BITS",
    "Aligner",
    "Reciprocal",
    "chord",
    "leading_zeros",
    "quotient",
]

X_BITS = 13  # position inside a chord
_BASE_BITS = max(base for base, _ in chord_table()).bit_length()
_FALL_BITS = max(fall for _, fall in chord_table()).bit_length()
DROP = 4  # low bits of the aligned dividend that do not reach the multipliers
ALIGNED_BITS = 39
ROUND_BITS = 15


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


def chord(m: Module, v: Value) -> tuple[Signal, Value, Value, Signal]:
    """The chord of 1 / v: n one cycle after `v`, the others 2 cycles after it.

    Returns
    -------
    n : Signal(5)
        Leading zeros of `v`.
    base : Value(21)
    fall : Value(14)
        Those of `chord_table`.
    x : Signal(13)
        Position on the chord: the mantissa of 1 / v is ``(base - (fall x >> 13)) >> 4``.
    """
    n, near = Signal(5), Signal(32)
    first = [v[8 * k : 8 * (k + 1)].any() for k in (3, 2, 1)]  # whole bytes go at once
    by_bytes = Mux(first[0], v, Mux(first[1], v << 8, Mux(first[2], v << 16, v << 24)))
    m.d.sync += [near.eq(by_bytes), n.eq(leading_zeros(v))]

    # Bit 31 of the shifted value is 1 (for v = 0 the bits below are 0, as for v = 1).
    mantissa = (near << n[:3])[:31]
    m.submodules.chords = chords = Memory(
        shape=_BASE_BITS + _FALL_BITS,
        depth=CHORDS,
        init=[base | fall << _BASE_BITS for base, fall in chord_table()],
        attrs={"ram_style": "block"},
    )
    read = chords.read_port()
    x = Signal(X_BITS)
    m.d.comb += read.addr.eq(mantissa[-(CHORDS - 1).bit_length() :])
    m.d.sync += x.eq(mantissa[24 - X_BITS : 24])
    return n, read.data[:_BASE_BITS], read.data[_BASE_BITS:], x


class Reciprocal(wiring.Component):
    """Shift and mantissa of 1 / v: a chord of 1/x, without a multiplier.

    ::

        v ─► leading zeros ─► shift, table ─► [x fall] ─► base - fall x ─► y
                 └► n

    Latency: `n` 1 cycle, `y` 12 cycles after `v`. Throughput: `v` must hold until `y` is there.
    Cost: 128 x 35 bits of table in a block RAM.

    Members
    -------
    stb : In(1)
        `v` is new.
    v : In(32)
        Divisor; 0 counts as 1.
    n : Out(5)
        Leading zeros of `v`.
    y : Out(17)
        About 2**48 / (v * 2**n).

    Usage
    -----
    ::

        m.submodules.reciprocal = reciprocal = Reciprocal()
        m.submodules.shifted = shifted = Aligner()
        m.submodules.product = product = SplitMultiplier(shifted.o.shape(), reciprocal.y.shape())
        m.d.comb += [
            reciprocal.stb.eq(word_stb),
            reciprocal.v.eq(word),
            shifted.d.eq(late.o),  # the dividend, when n of its divisor is there
            shifted.n.eq(reciprocal.n),
            product.a.eq(shifted.o),  # delayed until y is there
            product.b.eq(reciprocal.y),
        ]
        ratio = quotient(product.high, product.low)
    """

    stb: Signal
    v: Signal
    n: Signal
    y: Signal

    def __init__(self) -> None:
        self._slope = SerialMultiplier(_FALL_BITS, X_BITS)
        self.latency = 4 + self._slope.latency
        super().__init__({"stb": In(1), "v": In(32), "n": Out(5), "y": Out(RECIPROCAL_BITS)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, base, fall, x = chord(m, self.v)
        m.submodules.slope = slope = self._slope
        begin = Signal(3)
        m.d.sync += begin.eq(Cat(self.stb, begin))
        m.d.comb += [self.n.eq(n), slope.stb.eq(begin[-1]), slope.a.eq(fall), slope.b.eq(x)]
        m.d.sync += self.y.eq((base - (slope.p >> X_BITS)) >> CHORD_GUARD_BITS)
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
    o: Out(signed(ALIGNED_BITS - DROP))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coarse, fine = Signal(signed(ALIGNED_BITS)), Signal(3)
        m.d.sync += [coarse.eq(self.d << (self.n[3:] << 3)), fine.eq(self.n[:3])]
        m.d.comb += self.o.eq((coarse << fine)[DROP:ALIGNED_BITS])
        return m


def quotient(high: Value, low: Value, *, minus: int = 0) -> Value:
    """d / v with 12 fraction bits from the `SplitMultiplier` of the aligned d and y; less `minus`.

    One sum of two numbers and a constant.
    """
    constant = (1 << (ROUND_BITS - 1)) - (minus << ROUND_BITS)
    return (high + (low >> HALF_BITS) + constant) >> ROUND_BITS
