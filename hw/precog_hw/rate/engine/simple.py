"""Adder, comparisons and shifters of a core: what most instructions need."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import WORD, Op

from .units import delayed

__all__ = ["Simple"]

_SHIFT_BITS = 6
_MAX = (1 << (WORD - 1)) - 1


class Simple(wiring.Component):
    """Sums, the smaller and the greater of two, comparisons, shifts, copies.

    Latency: 3 cycles; `less` and `same` none. Throughput: 1 a cycle.

    Members
    -------
    op : In(6)
    a, b : In(signed(48))
    less, same : Out(1)
        Of `a` and `b`.
    o : Out(signed(48))
    """

    op: In(6)
    a: In(signed(WORD))
    b: In(signed(WORD))
    less: Out(1)
    same: Out(1)
    o: Out(signed(WORD))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.less.eq(self.a < self.b), self.same.eq(self.a == self.b)]
        total = Signal(signed(WORD), reset_less=True)
        with m.Switch(self.op):
            with m.Case(Op.ADD):
                m.d.sync += total.eq(self.a + self.b)
            with m.Case(Op.SUB):
                m.d.sync += total.eq(self.a - self.b)
            with m.Case(Op.RSB):
                m.d.sync += total.eq(self.b - self.a)
            with m.Default():
                m.d.sync += total.eq(Mux(self.b[-1], -self.b, self.b))  # ABS
        op = delayed(m, self.op, 1, "op")
        a, b = delayed(m, self.a, 1, "a").as_signed(), delayed(m, self.b, 1, "b").as_signed()
        less, same = delayed(m, self.less, 1, "less"), delayed(m, self.same, 1, "same")

        amount = b[:_SHIFT_BITS]
        capped = Mux(amount > WORD - 1, WORD - 1, amount)
        limited = Signal(_SHIFT_BITS)
        left, back = Signal(signed(WORD)), Signal(signed(WORD))
        m.d.comb += [
            limited.eq(capped),
            left.eq(a << Mux(op == Op.SLS, limited, amount)),
            back.eq(left >> limited),
        ]
        result = Signal(signed(WORD), reset_less=True)
        with m.Switch(op):
            with m.Case(Op.AND):
                m.d.sync += result.eq(a & b)
            with m.Case(Op.MIN):
                m.d.sync += result.eq(Mux(less, a, b))
            with m.Case(Op.MAX):
                m.d.sync += result.eq(Mux(less, b, a))
            with m.Case(Op.SHL):
                m.d.sync += result.eq(left)
            with m.Case(Op.SHR):
                m.d.sync += result.eq(a >> amount)
            with m.Case(Op.SLS):
                end = Mux(a[-1], ~_MAX, _MAX)
                m.d.sync += result.eq(Mux(back == a, left, end))
            with m.Case(Op.SEQ):
                m.d.sync += result.eq(same)
            with m.Case(Op.SNE):
                m.d.sync += result.eq(~same)
            with m.Case(Op.SLT):
                m.d.sync += result.eq(less)
            with m.Case(Op.SGE):
                m.d.sync += result.eq(~less)
            with m.Case(Op.MOV, Op.LDX):
                m.d.sync += result.eq(b)
            with m.Default():
                m.d.sync += result.eq(total)
        m.d.comb += self.o.eq(delayed(m, result, 1, "result"))
        return m
