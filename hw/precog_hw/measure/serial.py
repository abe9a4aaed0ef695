"""A product made of additions, two bits a cycle, where time is cheaper than a multiplier."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SerialMultiplier"]


class SerialMultiplier(wiring.Component):
    """Product of two unsigned numbers.

    Latency: `latency` = 1 + ceil(b_bits / 2) cycles from `stb` to `p`, which then holds.
    Throughput: one per `latency` cycles. Cost: one adder of a_bits + b_bits, no multiplier.

    Parameters
    ----------
    a_bits, b_bits : int
        Widths of the operands.

    Members
    -------
    stb : In(1)
        Start.
    a : In(a_bits)
        First operand, to be held until the product is there.
    b : In(b_bits)
        Second operand, taken with `stb`.
    p : Out(a_bits + b_bits)

    Raises
    ------
    ValueError
        A width is not positive.
    """

    stb: Signal
    a: Signal
    b: Signal
    p: Signal

    def __init__(self, a_bits: int, b_bits: int) -> None:
        for name, bits in (("a_bits", a_bits), ("b_bits", b_bits)):
            if bits < 1:
                raise ValueError(f"{name} must be positive, not {bits!r}")
        self._digits = -(-b_bits // 2)
        self.latency = 1 + self._digits
        super().__init__(
            {"stb": In(1), "a": In(a_bits), "b": In(b_bits), "p": Out(a_bits + b_bits)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(range(self._digits + 1))
        rest = Signal(2 * self._digits)  # of b, the next digit on top
        thrice = Signal(len(self.a) + 2)
        with m.If(self.stb):
            m.d.sync += [
                left.eq(self._digits),
                rest.eq(self.b),
                thrice.eq(self.a + (self.a << 1)),
                self.p.eq(0),
            ]
        with m.Elif(left != 0):
            term = Array([0, self.a, self.a << 1, thrice])[rest[-2:]]
            m.d.sync += [
                left.eq(left - 1),
                rest.eq(rest << 2),
                self.p.eq((self.p << 2) + term),
            ]
        return m
