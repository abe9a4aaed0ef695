"""A product of a wide and a narrow number, from two multipliers."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_hw.dsp import Multiplier

__all__ = ["HALF_BITS", "SplitMultiplier"]

HALF_BITS = 17  # magnitude bits of a multiplier's operand


class SplitMultiplier(wiring.Component):
    """a * b = low + high * 2**17, both parts are outputs; the caller adds them.

    Latency: 1 cycle. Throughput: one per cycle. Cost: 2 multipliers.

    Parameters
    ----------
    a_shape : ShapeLike
        Up to 34 bits and a sign.
    b_shape : ShapeLike
        Up to 17 bits and a sign.
    dsp : str
        `NicConfig.dsp`.

    Members
    -------
    a : In(a_shape)
    b : In(b_shape)
    low, high : Out(signed)
        Products of b with the low 17 bits of a, and with the rest.

    Raises
    ------
    ValueError
        An operand is too wide.

    Usage
    -----
    ::

        m.submodules.product = product = SplitMultiplier(unsigned(32), unsigned(6))
        m.d.comb += [product.a.eq(word), product.b.eq(row)]
        whole = product.low + (product.high << HALF_BITS)  # a cycle after both
    """

    a: Signal
    b: Signal
    low: Signal
    high: Signal

    def __init__(self, a_shape: ShapeLike, b_shape: ShapeLike, *, dsp: str = "generic") -> None:
        a, b = Shape.cast(a_shape), Shape.cast(b_shape)
        for name, shape, most in (("a", a, 2 * HALF_BITS), ("b", b, HALF_BITS)):
            if shape.width - shape.signed > most:
                raise ValueError(f"{name} must have at most {most} bits, not {shape!r}")
        b_bits = b.width + (not b.signed)
        self._low = Multiplier(HALF_BITS + 1, b_bits, dsp=dsp)
        self._high = Multiplier(a.width - HALF_BITS + (not a.signed), b_bits, dsp=dsp)
        super().__init__(
            {
                "a": In(a),
                "b": In(b),
                "low": Out(signed(HALF_BITS + 1 + b_bits)),
                "high": Out(signed(len(self._high.p))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.multiply_low = low = self._low
        m.submodules.multiply_high = high = self._high
        rest = self.a[HALF_BITS:]
        m.d.comb += [
            low.a.eq(self.a[:HALF_BITS]),
            high.a.eq(rest.as_signed() if self.a.shape().signed else rest),
            low.b.eq(self.b),
            high.b.eq(self.b),
            self.low.eq(low.p),
            self.high.eq(high.p),
        ]
        return m
