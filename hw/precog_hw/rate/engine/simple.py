"""Adder and comparisons of a core: what most instructions need."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import WORD, Op

from .units import delayed

__all__ = ["Simple"]


class _First(enum.Enum, shape=2):  # type: ignore[call-arg]
    """First term of the adder."""

    ZERO = 0
    A = 1
    NOT_A = 2
    BOTH = 3  # a & b


class _Second(enum.Enum, shape=2):  # type: ignore[call-arg]
    """Second term of the adder."""

    ZERO = 0
    B = 1
    NOT_B = 2
    ONES = 3


class Simple(wiring.Component):
    """Sums, the smaller and the greater of two, comparisons, copies; where `Op.SLS` saturates.

    ::

        a, b ─► terms ─► one adder ─► or a, or a comparison ─► o

    All results but the greater one's go through the adder, so that each bit has few choices.

    Latency: 3 cycles; `sum` 2; `less` and `same` 1. Throughput: 1 a cycle.

    Members
    -------
    op : In(5)
        A cycle before its operands: it is decoded first.
    a, b : In(signed(48))
    less, same : Out(1)
        Of `a` and `b`.
    sum : Out(signed(48))
        Result of the adder.
    o : Out(signed(48))
        Of `Op.SLS`, the end of the range that `a` is nearer to.
    """

    op: In(5)
    a: In(signed(WORD))
    b: In(signed(WORD))
    less: Out(1)
    same: Out(1)
    sum: Out(signed(WORD))
    o: Out(signed(WORD))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, second, carry = Signal(_First), Signal(_Second), Signal()
        # Of what `less` and `same` say: the result's last bit, or `a` in place of the sum.
        by_less, by_same, inverts, picks = (Signal() for _ in range(4))
        absolute, saturates = Signal(), Signal()
        m.d.sync += [
            first.eq(_First.ZERO),
            *(one.eq(0) for one in (carry, by_less, by_same, inverts, picks)),
            absolute.eq(self.op == Op.ABS),
            saturates.eq(self.op == Op.SLS),
            second.eq(_Second.B),
        ]
        with m.Switch(self.op):
            with m.Case(Op.ADD):
                m.d.sync += first.eq(_First.A)
            with m.Case(Op.SUB):
                m.d.sync += [first.eq(_First.A), second.eq(_Second.NOT_B), carry.eq(1)]
            with m.Case(Op.RSB):
                m.d.sync += [first.eq(_First.NOT_A), carry.eq(1)]
            with m.Case(Op.AND):
                m.d.sync += [first.eq(_First.BOTH), second.eq(_Second.ZERO)]
            with m.Case(Op.ST):
                m.d.sync += [first.eq(_First.A), second.eq(_Second.ZERO)]
            with m.Case(Op.SLS):
                m.d.sync += second.eq(_Second.ONES)
            with m.Case(Op.SEQ, Op.SNE):
                m.d.sync += [second.eq(_Second.ZERO), by_same.eq(1)]
            with m.Case(Op.SLT, Op.SGE):
                m.d.sync += [second.eq(_Second.ZERO), by_less.eq(1)]
            with m.Case(Op.MIN, Op.MAX):
                m.d.sync += [by_less.eq(1), picks.eq(1)]
        with m.If((self.op == Op.SNE) | (self.op == Op.SGE) | (self.op == Op.MAX)):
            m.d.sync += inverts.eq(1)
        x, y = Signal(WORD), Signal(WORD)
        negates = absolute & self.b[-1]
        with m.Switch(first):
            with m.Case(_First.A):
                m.d.comb += x.eq(self.a)
            with m.Case(_First.NOT_A):
                m.d.comb += x.eq(~self.a)
            with m.Case(_First.BOTH):
                m.d.comb += x.eq(self.a & self.b)
        with m.Switch(second):
            with m.Case(_Second.B):
                m.d.comb += y.eq(self.b ^ negates.replicate(WORD))
            with m.Case(_Second.NOT_B):
                m.d.comb += y.eq(~self.b)
            with m.Case(_Second.ONES):
                m.d.comb += y.eq((~self.a[-1]).replicate(WORD - 1))
        with m.If(saturates):
            m.d.comb += y[-1].eq(self.a[-1])
        m.d.sync += [self.less.eq(self.a < self.b), self.same.eq(self.a == self.b)]
        x, y = delayed(m, x, 1, "x"), delayed(m, y, 1, "y")
        carry = delayed(m, carry | negates, 1, "carry")
        # The carry comes from a place below: two additions would be two adders.
        total = Signal(WORD, reset_less=True)
        m.d.sync += total.eq((Cat(carry, x) + Cat(carry, y)) >> 1)
        by_less, by_same = delayed(m, by_less, 1, "less"), delayed(m, by_same, 1, "same")
        inverts, picks = delayed(m, inverts, 1, "inverts"), delayed(m, picks, 1, "picks")
        found = ((by_less & self.less) | (by_same & self.same)) ^ inverts
        a = delayed(m, self.a, 2, "a")
        pick, flag = delayed(m, found & picks, 1, "pick"), delayed(m, found & ~picks, 1, "flag")
        result = Signal(signed(WORD), reset_less=True)
        m.d.sync += result.eq(Mux(pick, a, total | flag))
        m.d.comb += [self.sum.eq(total), self.o.eq(result)]
        return m
