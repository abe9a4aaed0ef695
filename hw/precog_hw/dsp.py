"""A signed multiplier with its own registers: one 18 x 18 block of the device.

Synthesis does not move fabric registers into the block, so the block's registers are part of this
component: behavioural for simulation and foreign devices, the vendor's cell for the device itself.
"""

from typing import Literal

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FabricMultiplier", "Multiplier"]

_BLOCK_BITS = 18


class Multiplier(wiring.Component):
    """Product of two signed numbers.

    Latency: 1 cycle, 2 with `input_register`. Throughput: 1 a cycle. Cost: 1 multiplier block.

    Parameters
    ----------
    a_bits, b_bits : int
        Operand widths, 1..18, the sign included.
    input_register : bool
        Also use the block's input registers.
    dsp : str
        ``"generic"`` or ``"ecp5"``.

    Members
    -------
    a, b : In(signed)
        Operands.
    p : Out(signed(a_bits + b_bits))
        Their product.

    Raises
    ------
    ValueError
        An operand is wider than the block.

    Usage
    -----
    ::

        m.submodules.multiplier = multiplier = Multiplier(18, 18, dsp="ecp5", input_register=True)
        m.d.comb += [
            multiplier.a.eq(word[:18]),
            multiplier.b.eq(word[14:]),  # multiplier.p: multiplier.latency cycles later
        ]
    """

    latency: int

    def __init__(
        self, a_bits: int, b_bits: int, *, dsp: str = "generic", input_register: bool = False
    ) -> None:
        for name, bits in (("a_bits", a_bits), ("b_bits", b_bits)):
            if not 1 <= bits <= _BLOCK_BITS:
                raise ValueError(f"{name} must be in 1..{_BLOCK_BITS}, not {bits!r}")
        self._dsp = dsp
        self._input_register = input_register
        self.latency = 2 if input_register else 1
        super().__init__(
            {"a": In(signed(a_bits)), "b": In(signed(b_bits)), "p": Out(signed(a_bits + b_bits))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._dsp == "ecp5":
            from .boards.ecp5_dsp import mult18x18d

            product = mult18x18d(m, self.a, self.b, input_register=self._input_register)
            m.d.comb += self.p.eq(product)
            return m
        a, b = self.a, self.b
        if self._input_register:
            a = Signal.like(self.a, reset_less=True)
            b = Signal.like(self.b, reset_less=True)
            m.d.sync += [a.eq(self.a), b.eq(self.b)]
        product = Signal.like(self.p, reset_less=True)
        m.d.sync += product.eq(a * b)
        m.d.comb += self.p.eq(product)
        return m


class FabricMultiplier(wiring.Component):
    """Product of two unsigned numbers from adders, where the blocks are all taken.

    Latency: 2 cycles. Throughput: 1 a cycle. Cost: about ``a_bits * b_bits`` LUTs.

    Parameters
    ----------
    a_bits, b_bits : int
        Operand widths; `b` is cut into digits of four bits, so at most 12 keeps the sum short.

    Members
    -------
    a, b : In(unsigned)
        Operands.
    p : Out(unsigned(a_bits + b_bits))
        Their product.
    """

    latency: Literal[2] = 2

    def __init__(self, a_bits: int, b_bits: int) -> None:
        super().__init__({"a": In(a_bits), "b": In(b_bits), "p": Out(a_bits + b_bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        partials = []
        for low in range(0, len(self.b), 4):
            digit = self.b[low : low + 4]
            # Adders, not `*`: synthesis would put a product into a block.
            terms = [(self.a & digit[n].replicate(len(self.a))) << n for n in range(len(digit))]
            while len(terms) > 1:
                pairs = [a + b for a, b in zip(terms[0::2], terms[1::2], strict=False)]
                terms = pairs + terms[2 * len(pairs) :]
            partial = Signal(len(self.a) + len(digit), name=f"partial{low}", reset_less=True)
            m.d.sync += partial.eq(terms[0])
            partials.append(partial << low)
        total = partials[0]
        for partial in partials[1:]:
            total = total + partial
        product = Signal.like(self.p, reset_less=True)
        m.d.sync += product.eq(total)
        m.d.comb += self.p.eq(product)
        return m
