"""Arithmetic units of a core, pipelined so that a result is there at its thread's next turn.

Stages are counted from the operands' registers: a unit gets them in stage 0, and its result stands
in stage 3, the write-back's, of the instruction's last turn.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, RECIPROCAL_BITS, chord_table
from precog_spec.engine.isa import (
    FACTOR_BITS,
    NORM_BITS,
    PART_BITS,
    SMALL_BITS,
    THREADS,
    WHOLE_BITS,
    WORD,
)
from precog_spec.engine.tables import rsqrt_table

__all__ = ["Mantissa", "Overflow", "Product", "Quotient", "delayed"]

_SPLIT = 24  # bits of the word's lower part
_STAGES = 3
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
    """A word times a small number, shifted right, perhaps rounded: `Op.MUL` and `Op.MLR`.

    ::

        a, b ─► two products ─► 74-bit sum ─┬─► shift ─► + the last bit dropped ─► o
        a << 63 ────────────────────────────┘

    The shifter serves `Op.SHR`, where `b` is 1, and `Op.SHL` and `Op.SLS`: a shift to the left by n
    is one of ``a << 63`` to the right by 63 - n.

    Latency: 3 cycles. Throughput: 1 a cycle. Cost: multipliers of 24 by 26 bits, twice.

    Members
    -------
    a, b : In
        Factors.
    left : In(1)
        The shifter gets ``a << 63``, not the product.
    shift : In(6)
    half : In(1)
        Round to nearest, ties up.
    o : Out(signed(48))
    """

    a: In(signed(WORD))
    b: In(signed(SMALL_BITS))
    left: In(1)
    shift: In(6)
    half: In(1)
    o: Out(signed(WORD))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = Signal(signed(_SPLIT + SMALL_BITS + 1), reset_less=True)
        high = Signal(signed(WORD - _SPLIT + SMALL_BITS), reset_less=True)
        total = Signal(signed(WORD + _MOST), reset_less=True)
        product = Signal(signed(WORD + SMALL_BITS))
        shifted, dropped = Signal(signed(WORD), reset_less=True), Signal(reset_less=True)
        left, a = delayed(m, self.left, 1, "left"), delayed(m, self.a, 1, "a")
        m.d.comb += product.eq((high << _SPLIT) + low)
        m.d.sync += [
            low.eq(Cat(self.a[:_SPLIT], Const(0, 1)).as_signed() * self.b),
            high.eq(self.a[_SPLIT:].as_signed() * self.b),
            total.eq(Mux(left, Cat(Const(0, _MOST), a).as_signed(), product)),
        ]
        shift = delayed(m, self.shift, 2, "shift")
        half = delayed(m, self.half, 2, "half")
        # One bit below the result tells how to round. Each step keeps what later ones may reach.
        wide: Value = Cat(Const(0, 1), total)
        for n in reversed(range(len(shift))):
            reach = WORD + (1 << n)
            after = Signal(reach, name=f"after{n}")
            m.d.comb += after.eq(Mux(shift[n], wide[1 << n :], wide))
            wide = after
        m.d.sync += [shifted.eq(wide[1 : WORD + 1]), dropped.eq(half & wide[0])]
        m.d.comb += self.o.eq(shifted + dropped)
        return m


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
        differs = Signal(WORD)
        m.d.comb += differs.eq(Cat(reversed(self.a[:-1])) ^ self.a[-1].replicate(WORD - 1))
        groups = [differs[n : n + 8] for n in range(0, WORD, 8)]
        place, part = self.amount[3:], self.amount[:3]
        before = Signal(reset_less=True)
        ahead = Cat(group.any() & (place > n) for n, group in enumerate(groups))
        m.d.sync += before.eq(ahead.any())
        group = delayed(m, Array(groups)[place], 1, "group")
        part = delayed(m, part, 1, "part")
        among = Cat(group[n] & (part > n) for n in range(7)).any()
        m.d.comb += self.o.eq(delayed(m, before | among, 2, "found"))
        return m


class Quotient(wiring.Component):
    """`Op.FRC`: 24 fraction bits of a quotient, six in each of four turns.

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
        for n in range(_STAGES):
            for k in range(FACTOR_BITS // (4 * _STAGES)):
                stage_rest, stage_bits = self._bit(m, stage_rest, stage_bits, whole, f"{n}{k}")
            stage_rest = delayed(m, stage_rest, 1, f"rest{n}")
            stage_bits = delayed(m, stage_bits, 1, f"bits{n}")
            whole = delayed(m, whole, 1, f"whole{n}")
        loop = THREADS - _STAGES
        m.d.comb += [
            kept_rest.eq(delayed(m, stage_rest, loop, "loop_rest")),
            kept_bits.eq(delayed(m, stage_bits, loop, "loop_bits")),
            self.o.eq(Mux(delayed(m, over, _STAGES, "over"), 1 << FACTOR_BITS, stage_bits)),
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

    Latency: `zeros` 3 cycles; `o` 3 cycles in the second turn.

    Members
    -------
    v : In(32)
    root : In(1)
        1 / sqrt(v), not 1 / v.
    zeros : Out(5)
    o : Out(17)
    """

    v: In(unsigned(NORM_BITS))
    root: In(1)
    zeros: Out(5)
    o: Out(unsigned(RECIPROCAL_BITS))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aligned: Value = self.v
        counts: list[Value] = []
        for bits in (16, 8, 4, 2, 1):
            none = Signal(name=f"none{bits}")
            after = Signal(NORM_BITS, name=f"aligned{bits}")
            m.d.comb += [
                none.eq(aligned[NORM_BITS - bits :] == 0),
                after.eq(Mux(none, aligned << bits, aligned)),
            ]
            counts.append(none)
            aligned = after
        # 0 counts as 1: both are 31 places from the top.
        zero = self.v == 0
        count = Mux(zero, NORM_BITS - 1, Cat(*reversed(counts)))
        normal = Signal(NORM_BITS, reset_less=True)
        m.d.sync += normal.eq(Cat(aligned[:-1], aligned[-1] | zero))
        zeros = delayed(m, count, 1, "count")
        root = delayed(m, self.root, 1, "root")
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
        m.d.comb += [
            self.zeros.eq(delayed(m, zeros, _STAGES - 1, "zeros")),
            self.o.eq(delayed(m, made, THREADS - 1, "made")),
        ]
        return m
