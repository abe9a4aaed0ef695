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

    Latency: 3 cycles; `less` and `same` none. Throughput: 1 a cycle.

    Members
    -------
    op : In(6)
    a, b : In(signed(48))
    less, same : Out(1)
        Of `a` and `b`.
    o : Out(signed(48))
        Of `Op.SLS`, the end of the range that `a` is nearer to.
    """

    op: In(6)
    a: In(signed(WORD))
    b: In(signed(WORD))
    less: Out(1)
    same: Out(1)
    o: Out(signed(WORD))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, second = Signal(_First), Signal(_Second)
        carry, pick, flag = Signal(), Signal(), Signal()
        m.d.comb += [
            self.less.eq(self.a < self.b),
            self.same.eq(self.a == self.b),
            second.eq(_Second.B),
        ]
        with m.Switch(self.op):
            with m.Case(Op.ADD):
                m.d.comb += first.eq(_First.A)
            with m.Case(Op.SUB):
                m.d.comb += [first.eq(_First.A), second.eq(_Second.NOT_B), carry.eq(1)]
            with m.Case(Op.RSB):
                m.d.comb += [first.eq(_First.NOT_A), carry.eq(1)]
            with m.Case(Op.ABS), m.If(self.b[-1]):
                m.d.comb += [second.eq(_Second.NOT_B), carry.eq(1)]
            with m.Case(Op.AND):
                m.d.comb += [first.eq(_First.BOTH), second.eq(_Second.ZERO)]
            with m.Case(Op.SLS):
                m.d.comb += second.eq(Mux(self.a[-1], _Second.ZERO, _Second.ONES))
            with m.Case(Op.SEQ):
                m.d.comb += [second.eq(_Second.ZERO), flag.eq(self.same)]
            with m.Case(Op.SNE):
                m.d.comb += [second.eq(_Second.ZERO), flag.eq(~self.same)]
            with m.Case(Op.SLT):
                m.d.comb += [second.eq(_Second.ZERO), flag.eq(self.less)]
            with m.Case(Op.SGE):
                m.d.comb += [second.eq(_Second.ZERO), flag.eq(~self.less)]
            with m.Case(Op.MIN):
                m.d.comb += pick.eq(self.less)
            with m.Case(Op.MAX):
                m.d.comb += pick.eq(~self.less)
        x, y = Signal(WORD), Signal(WORD)
        with m.Switch(first):
            with m.Case(_First.A):
                m.d.comb += x.eq(self.a)
            with m.Case(_First.NOT_A):
                m.d.comb += x.eq(~self.a)
            with m.Case(_First.BOTH):
                m.d.comb += x.eq(self.a & self.b)
        with m.Switch(second):
            with m.Case(_Second.B):
                m.d.comb += y.eq(self.b)
            with m.Case(_Second.NOT_B):
                m.d.comb += y.eq(~self.b)
            with m.Case(_Second.ONES):
                m.d.comb += y.eq((1 << (WORD - 1)) - 1)
        with m.If(self.op == Op.SLS):
            m.d.comb += y[-1].eq(self.a[-1])
        # The carry comes from a place below: two additions would be two adders.
        total = Signal(WORD, reset_less=True)
        m.d.sync += total.eq((Cat(carry, x) + Cat(carry, y)) >> 1)
        a, pick = delayed(m, self.a, 1, "a"), delayed(m, pick, 1, "pick")
        flag = delayed(m, flag, 1, "flag")
        result = Signal(signed(WORD), reset_less=True)
        m.d.sync += result.eq(Mux(pick, a, total | flag))
        m.d.comb += self.o.eq(delayed(m, result, 1, "result"))
        return m
