"""Arithmetic units of a core, pipelined so that a result is there at its thread's next turn.

Cycles are counted from the operands' registers: a unit gets them in cycle 0. Its result stands in
cycle 3 of the instruction's last turn, the product's in cycle 5, the write-back's.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier
from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, RECIPROCAL_BITS, chord_table
from precog_spec.engine.isa import (
    FACTOR_BITS,
    NORM_BITS,
    PART_BITS,
    SMALL_BITS,
    THREADS,
    WHOLE_BITS,
    WORD,
    ZEROS_AT,
)
from precog_spec.engine.tables import rsqrt_table

__all__ = ["Mantissa", "Overflow", "Product", "Quotient", "delayed"]

_PART = 17  # bits of a factor's lower parts: what an 18-bit multiplier takes without a sign
_SPLIT = 3  # the shift of this bit, and those above it, are a cycle of their own
_RING = 7  # stages that find a bit of the quotient, of the cycles of a turn
_MOST = 63  # of a shift
_X_BITS = 13  # position inside of a chord
_BASE_BITS = RECIPROCAL_BITS + CHORD_GUARD_BITS
_FALL_BITS = 14


def delayed(m: Module, value: Value, cycles: int, name: str) -> Value:
    """Delay `value` by a number of cycles; its registers have no reset."""
    for n in range(cycles):
        after = Signal(value.shape(), name=f"{name}_{n}", reset_less=True)
        m.d.sync += after.eq(value)
        value = after
    return value


class Product(wiring.Component):
    """A word times a small number, shifted right: `Op.MUL`, `Op.MLR`, which rounds, and `Op.MLZ`.

    ::

        a, b ─► six products ─► two sums ─► 111 bits ─► shift by 8s ─► shift ─► + rounding ─► o
        x << 63, or x ──────────────────────┘                           └─ or `other`

    The shifter serves `Op.SHR`, `Op.SHL` and `Op.SLS`, where x is `a`, and sums, where x is `sum`.
    A shift to the left by n is one of ``x << 63`` to the right by 63 - n.

    Latency: 5 cycles. Throughput: 1 a cycle. Cost: six multipliers of 18 by 18 bits.

    Parameters
    ----------
    dsp : str
        As `Multiplier` has it.

    Members
    -------
    a, b : In
        Factors.
    left, plain : In(1)
        The shifter gets ``x << 63``, or x, not the product: a cycle after them.
    sums, sum : In(1), In(signed(48))
        x is `sum`, not `a`: a cycle after them, and 2.
    shift : In(6)
        2 cycles after them.
    half : In(1)
        Round to nearest, ties up: a cycle after them.
    other_stb, other : In(1), In(signed(48))
        4 cycles after them: the result of another unit, in place of this one's.
    o : Out(signed(48))
    """

    a: In(signed(WORD))
    b: In(signed(SMALL_BITS))
    left: In(1)
    plain: In(1)
    sums: In(1)
    sum: In(signed(WORD))
    shift: In(6)
    half: In(1)
    other_stb: In(1)
    other: In(signed(WORD))
    o: Out(signed(WORD))

    def __init__(self, dsp: str = "generic") -> None:
        self._dsp = dsp
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = [self.a[:_PART], self.a[_PART : 2 * _PART], self.a[2 * _PART :].as_signed()]
        low, high = self.b[:_PART], self.b[_PART:].as_signed()
        with_low = [self._multiplied(m, f"low{n}", part, low) for n, part in enumerate(parts)]
        with_high = [self._multiplied(m, f"high{n}", part, high) for n, part in enumerate(parts)]
        # Products that do not overlap are one term.
        width = signed(WORD + SMALL_BITS)
        one, two = Signal(width, reset_less=True), Signal(width, reset_less=True)
        even = Signal(width)
        odd = Signal(width)
        m.d.comb += [
            even.eq(Cat(with_low[0], with_low[2]).as_signed()),
            odd.eq(Cat(Const(0, _PART), with_low[1], with_high[2]).as_signed()),
        ]
        m.d.sync += [
            one.eq(even + odd),
            two.eq((with_high[0] + (with_high[1] << _PART)) << _PART),
        ]
        total = Signal(signed(WORD + _MOST), reset_less=True)
        x = Signal(signed(WORD))
        sums = delayed(m, self.sums, 1, "sums")
        m.d.comb += x.eq(Mux(sums, self.sum, delayed(m, self.a, 2, "a").as_signed()))
        left, plain = delayed(m, self.left, 1, "left"), delayed(m, self.plain, 1, "plain")
        product = Signal(width)
        m.d.comb += product.eq(one + two)
        m.d.sync += total.eq(Mux(plain, x, product))
        with m.If(left):
            m.d.sync += total.eq(Cat(Const(0, _MOST), x).as_signed())
        shift, half = delayed(m, self.shift, 1, "shift"), delayed(m, self.half, 3, "half")
        # One bit below the result tells how to round. Each step keeps what later ones may reach.
        wide: Value = Cat(Const(0, 1), total)
        for n in reversed(range(len(shift))):
            reach = WORD + (1 << n)
            after = Signal(reach, name=f"after{n}")
            m.d.comb += after.eq(Mux(shift[n], wide[1 << n :], wide))
            wide = after
            if n == _SPLIT:
                wide, shift = delayed(m, wide, 1, "wide"), delayed(m, shift, 1, "fine")
        value, dropped = Signal(signed(WORD), reset_less=True), Signal(reset_less=True)
        m.d.sync += [
            value.eq(Mux(self.other_stb, self.other, wide[1 : WORD + 1])),
            dropped.eq(half & wide[0] & ~self.other_stb),
        ]
        m.d.comb += self.o.eq(value + dropped)
        return m

    def _multiplied(self, m: Module, name: str, a: Value, b: Value) -> Value:
        """A product, a cycle later, in the registers of a multiplier's block."""
        full = (a * b).shape()
        bits = [len(x) + (not x.shape().signed) for x in (a, b)]
        m.submodules[name] = block = Multiplier(*bits, dsp=self._dsp)
        m.d.comb += [block.a.eq(a), block.b.eq(b)]
        product = Signal(full, name=f"product_{name}")
        m.d.comb += product.eq(block.p)
        return product


class Overflow(wiring.Component):
    """Whether a shift to the left changes a word's sign or loses bits that are not the sign.

    Latency: 3 cycles. Throughput: 1 a cycle.

    Members
    -------
    a : In(signed(48))
    amount : In(6)
        0 to 47.
    o : Out(1)
    """

    a: In(signed(WORD))
    amount: In(6)
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # From the bit below the sign on: those that differ from it, in groups of eight.
        differs = Signal(WORD, reset_less=True)
        m.d.sync += differs.eq(Cat(reversed(self.a[:-1])) ^ self.a[-1].replicate(WORD - 1))
        groups = [differs[n : n + 8] for n in range(0, WORD, 8)]
        amount = delayed(m, self.amount, 1, "amount")
        place, part = amount[3:], amount[:3]
        before = Signal(reset_less=True)
        ahead = Cat(group.any() & (place > n) for n, group in enumerate(groups))
        m.d.sync += before.eq(ahead.any())
        group = delayed(m, Array(groups)[place], 1, "group")
        part = delayed(m, part, 1, "part")
        among = Cat(group[n] & (part > n) for n in range(7)).any()
        m.d.comb += self.o.eq(delayed(m, before | among, 1, "found"))
        return m


class Quotient(wiring.Component):
    """`Op.FRC`: 24 fraction bits of a quotient: seven in each of three turns, three in the fourth.

    The remainder goes round with its thread: all threads may divide at once.

    Latency: 3 cycles in the fourth turn.

    Members
    -------
    first : In(1)
        The instruction's first turn.
    part, whole : In
        Operands, the same in every turn.
    o : Out(25)
    """

    first: In(1)
    part: In(unsigned(PART_BITS))
    whole: In(unsigned(WHOLE_BITS))
    o: Out(unsigned(FACTOR_BITS + 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rest, bits = Signal(WHOLE_BITS), Signal(FACTOR_BITS)
        kept_rest, kept_bits = Signal(WHOLE_BITS), Signal(FACTOR_BITS)
        over = self.part >= self.whole
        m.d.comb += [
            rest.eq(Mux(self.first, self.part, kept_rest)),
            bits.eq(Mux(self.first, 0, kept_bits)),
        ]
        whole: Value = self.whole
        stage_rest: Value = rest
        stage_bits: Value = bits
        found: Value = bits
        for n in range(_RING):
            stage_rest, stage_bits = self._bit(m, stage_rest, stage_bits, whole, str(n))
            stage_rest = delayed(m, stage_rest, 1, f"rest{n}")
            stage_bits = delayed(m, stage_bits, 1, f"bits{n}")
            whole = delayed(m, whole, 1, f"whole{n}")
            if n + 1 == FACTOR_BITS - 3 * _RING:
                found = stage_bits
                over = delayed(m, over, n + 1, "over")
        loop = THREADS - _RING
        m.d.comb += [
            kept_rest.eq(delayed(m, stage_rest, loop, "loop_rest")),
            kept_bits.eq(delayed(m, stage_bits, loop, "loop_bits")),
            self.o.eq(Mux(over, 1 << FACTOR_BITS, found)),
        ]
        return m

    def _bit(
        self, m: Module, rest: Value, bits: Value, whole: Value, name: str
    ) -> tuple[Value, Value]:
        """One bit of the quotient."""
        double, less = Signal(WHOLE_BITS + 1), Signal(signed(WHOLE_BITS + 2), name=f"less{name}")
        after = Signal(WHOLE_BITS, name=f"after{name}")
        m.d.comb += [
            double.eq(rest << 1),
            less.eq(double - whole),
            after.eq(Mux(less[-1], double, less)),
        ]
        return after, Cat(~less[-1], bits)[:FACTOR_BITS]


class Mantissa(wiring.Component):
    """`Op.RCP`, `Op.RSQ` and `Op.CLZ`: a chord of a table at the operand's leading bits.

    ::

        v ─► leading zeros, shift ─► table ─► fall * position ─► base - it ─► o
                           └─────────────────────────────────────────────────►

    Latency: `zeros` 3 cycles; `o` 3 cycles in the second turn. Throughput: 1 a cycle.

    Members
    -------
    v : In(32)
    root : In(1)
        1 / sqrt(v), not 1 / v.
    zeros : Out(5)
    o : Out(31)
        The mantissa; from bit 26 on `zeros`, of a root half of them.
    """

    v: In(unsigned(NORM_BITS))
    root: In(1)
    zeros: Out(5)
    o: Out(unsigned(ZEROS_AT + 5))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Which bytes are 0; the first one that is not, to the top; then the rest of the way.
        empty = Cat(self.v[n : n + 8] == 0 for n in range(0, NORM_BITS, 8))
        v, empty = delayed(m, self.v, 1, "v"), delayed(m, empty, 1, "empty")
        aligned, count = Signal(NORM_BITS), Signal(2)
        m.d.comb += [aligned.eq(v << 24), count.eq(3)]
        for n in range(1, NORM_BITS // 8):
            with m.If(~empty[n]):
                m.d.comb += [aligned.eq(v << (24 - 8 * n)), count.eq(3 - n)]
        zero = delayed(m, empty.all(), 1, "zero")
        none = delayed(m, aligned[NORM_BITS - 4 :] == 0, 1, "none4")
        aligned, counts = delayed(m, aligned, 1, "aligned"), [delayed(m, count, 1, "count8")]
        for bits in (4, 2, 1):
            if bits != 4:
                none = Signal(name=f"none{bits}")
                m.d.comb += none.eq(aligned[NORM_BITS - bits :] == 0)
            after = Signal(NORM_BITS, name=f"aligned{bits}")
            m.d.comb += after.eq(Mux(none, aligned << bits, aligned))
            counts.append(none)
            aligned = after
        # 0 counts as 1: both are 31 places from the top.
        count = Mux(zero, NORM_BITS - 1, Cat(*reversed(counts)))
        normal = Signal(NORM_BITS, reset_less=True)
        m.d.sync += normal.eq(Cat(aligned[:-1], aligned[-1] | zero))
        zeros = delayed(m, count, 1, "count")
        root = delayed(m, self.root, 3, "root")
        rows = [*chord_table(), *([(0, 0)] * CHORDS), *rsqrt_table()]
        m.submodules.table = table = Memory(
            shape=unsigned(_BASE_BITS + _FALL_BITS),
            depth=len(rows),
            init=[base | fall << _BASE_BITS for base, fall in rows],
            attrs={"ram_style": "block"},
        )
        read = table.read_port()
        chord = normal[NORM_BITS - 8 : NORM_BITS - 1]
        even = root & ~zeros[0]
        m.d.comb += read.addr.eq(Cat(chord, even, root))
        place = delayed(m, normal[NORM_BITS - 8 - _X_BITS : NORM_BITS - 8], 1, "place")
        row = delayed(m, read.data, 1, "row")  # the block RAM's own output register
        place = delayed(m, place, 1, "held_place")
        base, fall = row[:_BASE_BITS], row[_BASE_BITS:]
        drop = Signal(_FALL_BITS, reset_less=True)
        made = Signal(RECIPROCAL_BITS)
        m.d.sync += drop.eq((fall * place) >> _X_BITS)
        m.d.comb += made.eq((delayed(m, base, 1, "base") - drop) >> CHORD_GUARD_BITS)
        places = delayed(m, Mux(root, zeros >> 1, zeros), THREADS, "places")
        m.d.comb += [
            self.zeros.eq(zeros),
            self.o.eq(delayed(m, made, THREADS - 3, "made") | places << ZEROS_AT),
        ]
        return m
