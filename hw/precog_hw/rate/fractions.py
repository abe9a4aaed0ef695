"""The laws' serial arithmetic: `scale`, `fraction` and `periods` of the model of that name."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from precog_spec.law_fields import DECAY_BITS, DECAY_LEVELS, FRACTION

__all__ = [
    "FRACTION_CALL",
    "PART_BITS",
    "SCALE_CALL",
    "VALUE_BITS",
    "WHOLE_BITS",
    "Divide",
    "Scale",
]

_BITS = FRACTION.frac_bits
_DIGITS = _BITS // 2
_PERIOD_BITS = DECAY_BITS * DECAY_LEVELS
VALUE_BITS = 38
PART_BITS = 40
WHOLE_BITS = 37

#: A use of `Scale`, seen from the user. `done` is a strobe; `p` holds until the next `stb`.
SCALE_CALL = wiring.Signature(
    {
        "stb": Out(1),
        "value": Out(VALUE_BITS),
        "factor": Out(FRACTION.width),  # at most 1
        "done": In(1),
        "p": In(VALUE_BITS),
    }
)

#: A use of `Divide`. `short`: twelve bits of quotient, for whole periods.
FRACTION_CALL = wiring.Signature(
    {
        "stb": Out(1),
        "part": Out(PART_BITS),
        "whole": Out(WHOLE_BITS),
        "short": Out(1),
        "done": In(1),
        "q": In(FRACTION.width),
        "rest": In(_BITS),
    }
)


def multiply(m: Module, call: wiring.PureInterface, value: Value, factor: Value, then: str) -> None:
    """In a state: begin a product, and wait for it in state `then`."""
    m.d.comb += [call.stb.eq(1), call.value.eq(value), call.factor.eq(factor)]
    m.next = then


def divide(
    m: Module,
    call: wiring.PureInterface,
    part: Value,
    whole: Value,
    then: str = "",
    *,
    short: bool = False,
) -> None:
    """In a state: begin a quotient, and wait for it in state `then`; without `then`, go on."""
    m.d.comb += [
        call.stb.eq(1),
        call.short.eq(short),
        call.part.eq(part[:PART_BITS]),
        call.whole.eq(whole),
    ]
    if then:
        m.next = then


class Scale(wiring.Component):
    """A number times a factor in [0, 1], rounded to nearest, ties up.

    Two bits of the factor per cycle, the lowest first: what is shifted out has its rounding in it
    from the start.

    Latency: 14 cycles from `stb` to `done`, 2 if the factor is 1. Throughput: one at a time.
    Cost on ECP5: 173 LUTs, 41 carry cells, 148 flip-flops.

    Members
    -------
    call : In(SCALE_CALL)
    """

    call: In(SCALE_CALL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        call = self.call
        value, thrice = Signal(VALUE_BITS), Signal(VALUE_BITS + 2)
        rest = Signal(_BITS)
        total = Signal(VALUE_BITS + 1)
        left = Signal(range(_DIGITS + 1))
        begin, one = Signal(), Signal()
        m.d.comb += call.p.eq(total)
        m.d.sync += [begin.eq(call.stb), call.done.eq((left == 1) | (begin & one))]
        with m.If(call.stb):
            m.d.sync += [value.eq(call.value), rest.eq(call.factor), one.eq(call.factor[_BITS])]
        with m.If(begin):
            m.d.sync += [
                thrice.eq(value + (value << 1)),
                total.eq(Mux(one, value, 1 << (_BITS - 1))),
                left.eq(Mux(one, 0, _DIGITS)),
            ]
        with m.Elif(left != 0):
            term = Array([0, value, value << 1, thrice])[rest[:2]]
            m.d.sync += [left.eq(left - 1), rest.eq(rest >> 2), total.eq((total + term) >> 2)]
        return m


class Divide(wiring.Component):
    """A quotient in [0, 1] with 24 fraction bits, rounded down; or whole periods and their rest.

    Two bits of the quotient per cycle: the remainder is compared with one, two and three times the
    divisor. With `short`, `whole` is the period times 2**12: the first twelve bits of the quotient
    are the number of periods, and the remainder's upper bits what is left. A quotient of 1 or more
    is 1, with nothing left.

    Latency: 14 cycles from `stb` to `done`; 8 with `short`; 2 if the quotient is 1.
    Throughput: one at a time. Cost on ECP5: 367 LUTs, 99 carry cells, 185 flip-flops.

    Members
    -------
    call : In(FRACTION_CALL)
    """

    LATENCY = 2 + _DIGITS
    call: In(FRACTION_CALL)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        call = self.call
        part, whole = Signal(PART_BITS), Signal(WHOLE_BITS)
        thrice, rest = Signal(WHOLE_BITS + 2), Signal(WHOLE_BITS)
        left = Signal(range(_DIGITS + 1))
        begin, short, over = Signal(), Signal(), Signal()
        m.d.comb += [over.eq(part >= whole), call.rest.eq(rest >> _PERIOD_BITS)]
        m.d.sync += [begin.eq(call.stb), call.done.eq((left == 1) | (begin & over))]
        with m.If(call.stb):
            m.d.sync += [part.eq(call.part), whole.eq(call.whole), short.eq(call.short)]
        with m.If(begin):
            m.d.sync += [
                thrice.eq(whole + (whole << 1)),
                rest.eq(Mux(over, 0, part)),
                call.q.eq(Mux(over, FRACTION.one, 0)),
                left.eq(Mux(over, 0, Mux(short, _PERIOD_BITS // 2, _DIGITS))),
            ]
        with m.Elif(left != 0):
            shifted = rest << 2
            less = [shifted - whole, shifted - (whole << 1), shifted - thrice]
            fits = [difference >= 0 for difference in less]
            m.d.sync += [
                left.eq(left - 1),
                call.q.eq(Cat(fits[2] | (fits[0] & ~fits[1]), fits[1], call.q)),
                rest.eq(
                    Mux(
                        fits[1],
                        Mux(fits[2], less[2], less[1]),
                        Mux(fits[0], less[0], shifted),
                    )
                ),
            ]
        return m
