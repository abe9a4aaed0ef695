"""What is left of a gap when the rate changes, one bit per cycle."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_spec.contract import PACE_MANTISSA_BITS, Fmt

from .layouts import GAP_BITS, RECIPROCAL

__all__ = ["Rescaler"]

_RATE_BITS, _RATE_FRAC_BITS = Fmt.RATE.width, Fmt.RATE.frac_bits
_MANTISSA = PACE_MANTISSA_BITS + 1
_DEBT_BITS = 32  # bytes with 16 fraction bits: a gap stands for a packet, far below 2**16 bytes
#: The product of debt and mantissa stands in the upper bits of the multiplier's registers, and has
#: 16 + 9 fraction bits less than the exponent (`precog_models.pace.reciprocal`).
_SHIFT = (_RATE_BITS - _MANTISSA) + 16 + 9
_COARSE = 8


class Rescaler(wiring.Component):
    """pending * old_rate is what is owed; that at the new rate is what is left.

    ::

        pending x old rate ─► round up ─► x mantissa ─► shift by the exponent ─► round up ─► left

    One adder does both products, a bit of the multiplier per cycle.

    Latency: 56 cycles and a shift by up to 40, 8 and then 1 a cycle: at most 68 from `stb` to
    `done`. Throughput: one per latency. Cost: an adder of 49 bits, 200 flip-flops.

    With `relaxed` the shift is the product's, of a factor of 0: 1 a cycle, at most 94 cycles.

    Parameters
    ----------
    relaxed : bool, optional
        The smaller form.

    Members
    -------
    stb : In(1)
        The inputs are new; they hold until `done`.
    pending : In(48)
        Ticks with 16 fraction bits.
    old_rate : In(32)
        Not 0.
    reciprocal : In(RECIPROCAL)
        Of the new rate.
    done : Out(1)
        `left` is there; it stays.
    left : Out(48)
    sooner : Out(1)
        It is less than `pending`.
    """

    CYCLES, RELAXED_CYCLES = 68, 94

    stb: In(1)
    pending: In(GAP_BITS)
    old_rate: In(_RATE_BITS)
    reciprocal: In(RECIPROCAL)
    done: Out(1)
    left: Out(GAP_BITS)
    sooner: Out(1)

    def __init__(self, *, relaxed: bool = False) -> None:
        self._relaxed = relaxed
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        factor = Signal(GAP_BITS)
        high = Signal(GAP_BITS + 1)
        low = Signal(_RATE_BITS)  # bits of the multiplier, then of the product
        steps = Signal(range(_RATE_BITS + 1))
        shift = Signal(range(_SHIFT + 1))
        rest = Signal()  # something was shifted out
        total = Signal(GAP_BITS + 2)
        m.d.comb += total.eq(high + Mux(low[0], factor, 0))
        m.d.sync += self.done.eq(0)
        multiplied = [
            Cat(low, high).eq(Cat(low[1:], total)),
            steps.eq(steps - 1),
        ]
        with m.FSM(name="rescale"):
            with m.State("IDLE"):
                m.d.sync += [
                    factor.eq(self.pending),
                    low.eq(self.old_rate),
                    high.eq(0),
                    steps.eq(_RATE_BITS - 1),
                ]
                with m.If(self.stb):
                    m.next = "DEBT"
            with m.State("DEBT"):
                m.d.sync += multiplied
                with m.If(steps == 0):
                    m.next = "ROUND"
            with m.State("ROUND"):
                product = Cat(low, high)
                debt = product[_RATE_FRAC_BITS : _RATE_FRAC_BITS + _DEBT_BITS]
                m.d.sync += [
                    factor.eq(debt + product[:_RATE_FRAC_BITS].any()),
                    low.eq(Cat(self.reciprocal.mantissa, Const(1, 1))),
                    high.eq(0),
                    steps.eq(_MANTISSA - 1),
                    shift.eq(_SHIFT - self.reciprocal.exponent),
                    rest.eq(0),
                ]
                m.next = "GAP"
            with m.State("GAP"):
                m.d.sync += multiplied
                with m.If(steps == 0):
                    if self._relaxed:
                        m.d.sync += factor.eq(0)
                    m.next = "SHIFT"
            with m.State("SHIFT"):
                if self._relaxed:
                    right, fine = Cat(low[1:], total), m.If
                else:
                    with m.If(shift >= _COARSE):
                        m.d.sync += [
                            Cat(low, high).eq(Cat(low, high) >> _COARSE),
                            rest.eq(rest | low[:_COARSE].any()),
                            shift.eq(shift - _COARSE),
                        ]
                    right, fine = Cat(low, high) >> 1, m.Elif
                with fine(shift != 0):
                    m.d.sync += [
                        Cat(low, high).eq(right),
                        rest.eq(rest | low[0]),
                        shift.eq(shift - 1),
                    ]
                with m.Else():
                    m.next = "LEFT"
            with m.State("LEFT"):
                value = Signal(GAP_BITS + 1)
                m.d.comb += value.eq(Cat(low, high)[:GAP_BITS] + rest)
                beyond = value[-1] | Cat(low, high)[GAP_BITS:].any()
                m.d.sync += self.left.eq(Mux(beyond, (1 << GAP_BITS) - 1, value))
                m.next = "COMPARE"
            with m.State("COMPARE"):
                m.d.sync += [self.sooner.eq(self.left < self.pending), self.done.eq(1)]
                m.next = "IDLE"
        return m
