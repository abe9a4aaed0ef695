"""tanh and sigmoid by one table of 64 segments; golden model `precog_models.predict.activation`."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.contract import TANH_SEGMENTS, tanh_table

from ..dsp import FabricMultiplier, Multiplier
from .pipeline import Delays

__all__ = ["Tanh", "folded", "table_latency"]

_SEGMENT_BITS = (TANH_SEGMENTS - 1).bit_length()
_SEGMENT_FRAC = 4  # segments are 2**-4 wide
_BASE_BITS = 15
_SLOPE_BITS = 11


def folded(value: Value) -> Value:
    """A signed value's sign above its size: the bits below are inverted where it is negative."""
    sign = value[-1]
    return Cat(value[:-1] ^ sign.replicate(len(value) - 1), sign)


def table_latency(*, fabric: bool, block: bool) -> int:
    """Cycles of a `Tanh` from its argument to its value."""
    return 4 if fabric else 3 if block else 2


class Tanh(wiring.Component):
    """Hyperbolic tangent, or the logistic function of twice the argument.

    ::

        arg ─► table ─► slope × position ─► ± base ± product ─► t
                                       (1)                 (2)

    Latency: 2 cycles, 3 with the table in block RAM, 4 with a fabric multiplier: both have a
    register behind the table. Throughput: 1 a cycle.
    Cost: 1 multiplier block (or 120 LUTs) and about 160 LUTs.

    Parameters
    ----------
    width : int
        Bits of the argument.
    frac_bits : int
        Its fraction bits, 5..16.
    sigmoid : bool, optional
        Give (1 + tanh(arg)) / 2 instead; None: as each argument says.
    dsp : str
        ``"generic"`` or ``"ecp5"``.
    fabric : bool
        Multiply with adders instead of a block.
    block : bool
        The table in block RAM, for clocks up to some 70 MHz on ECP5.

    Members
    -------
    arg : In(width)
        The argument, `folded`: before the caller's register, so that the table follows that.
    sigmoid : In(1)
        If None is given above.
    t : Out(signed(16)) or Out(unsigned(16))
        H's format; the sigmoid is unsigned with 16 fraction bits, also where the shape says signed.

    Usage
    -----
    ::

        m.submodules.table = table = Tanh(26, 11, sigmoid=False, dsp="ecp5")
        argument = Signal(26)
        m.d.sync += argument.eq(folded(word[:26]))
        m.d.comb += table.arg.eq(argument)  # table.t: table.latency cycles later
    """

    latency: int

    def __init__(
        self,
        width: int,
        frac_bits: int,
        *,
        sigmoid: bool | None,
        dsp: str,
        fabric: bool = False,
        block: bool = False,
    ) -> None:
        self._position_bits = frac_bits - _SEGMENT_FRAC
        if width <= self._position_bits + _SEGMENT_BITS + 1:
            raise ValueError(f"the argument must be wider than the table's range, not {width!r}")
        self._sigmoid = sigmoid
        self._dsp = dsp
        self._fabric, self._block = fabric, block
        self.latency = table_latency(fabric=fabric, block=block)
        super().__init__(
            {"arg": In(width), "t": Out(unsigned(16) if sigmoid else signed(16))}
            | ({"sigmoid": In(1)} if sigmoid is None else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        delay = Delays(m)
        bits = self._position_bits

        size, negative = self.arg[:-1], self.arg[-1]
        table = [base | slope << _BASE_BITS for base, slope in tanh_table()]
        segment = size[bits : bits + _SEGMENT_BITS]
        # In block RAM a word is that of the cycle before.
        if self._block:
            m.submodules.table = rom = Memory(
                shape=_BASE_BITS + _SLOPE_BITS,
                depth=TANH_SEGMENTS,
                init=table,
                attrs={"ram_style": "block"},
            )
            registered_read = rom.read_port()
            m.d.comb += registered_read.addr.eq(segment)
            word = registered_read.data
        elif self._dsp == "ecp5":
            from ..boards.ecp5_rom import rom64

            word = rom64(m, "table", segment, table, _BASE_BITS + _SLOPE_BITS)
        else:
            m.submodules.table = rom = Memory(
                shape=_BASE_BITS + _SLOPE_BITS, depth=TANH_SEGMENTS, init=table
            )
            port = rom.read_port(domain="comb")
            m.d.comb += port.addr.eq(segment)
            word = port.data
        base = Signal(_BASE_BITS, reset_less=True)
        over = Signal(reset_less=True)
        sign = Signal(reset_less=True)
        fetch = m.d.comb if self._block else m.d.sync
        fetch += base.eq(word[:_BASE_BITS])
        m.d.sync += [
            over.eq(size[bits + _SEGMENT_BITS :].any()),
            sign.eq(negative),
        ]
        slope, position = word[_BASE_BITS:], size[:bits]
        if self._fabric:
            registered = Signal.like(slope, reset_less=True), Signal.like(position, reset_less=True)
            m.d.sync += [registered[0].eq(slope), registered[1].eq(position)]
            slope, position = registered
            m.submodules.mult = mult = FabricMultiplier(_SLOPE_BITS, bits)
            product_at: int = mult.latency  # counted from the table's register
        elif self._block:
            at = Signal.like(position, reset_less=True)
            m.d.sync += at.eq(position)
            position = at
            m.submodules.mult = mult = Multiplier(_SLOPE_BITS + 1, bits + 1, dsp=self._dsp)
            product_at = mult.latency
        else:
            m.submodules.mult = mult = Multiplier(_SLOPE_BITS + 1, bits + 1, dsp=self._dsp)
            product_at = mult.latency - 1
        m.d.comb += [mult.a.eq(slope), mult.b.eq(position)]
        base_over = delay(base | over.replicate(_BASE_BITS), product_at)
        over = delay(over, product_at)
        sign = delay(sign, product_at)

        # ~(base + rise) = ~base + ~rise + 1: the one's complement costs no second adder, the
        # rounding bit enters as the carry, and flipping the top bit adds one half for the sigmoid.
        rise = Mux(over, 0, mult.p[bits : bits + _SLOPE_BITS])
        up = ~over & mult.p[bits - 1]
        top = ~sign if self._sigmoid else sign
        if self._sigmoid is None:
            halved = Signal(reset_less=True)
            m.d.sync += halved.eq(self.sigmoid)
            top = sign ^ delay(halved, product_at)
        low = Cat(Const(1, 1), base_over ^ sign.replicate(_BASE_BITS), top)
        high = Cat(up ^ sign, rise ^ sign.replicate(_SLOPE_BITS), sign.replicate(16 - _SLOPE_BITS))
        total = Signal(17, reset_less=True)
        m.d.sync += total.eq(low + high)
        m.d.comb += self.t.eq(total[1:])
        return m
