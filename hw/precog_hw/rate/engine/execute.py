"""An instruction's fields, the registers that it reads, and the units that make its result."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from precog_spec.engine.isa import (
    OPS,
    REGISTERS,
    RIGHT_MOST,
    SMALL_BITS,
    WORD,
    ZEROS_AT,
    ZEROS_BITS,
    Op,
    Shape,
)

from .simple import Simple
from .threads import THREAD_BITS
from .units import Mantissa, Overflow, Product, Quotient, delayed

__all__ = ["BLOCK_RAM", "Word", "registers", "result"]

_SHIFT_BITS = 6
_SUMS = tuple(op for op in Op if OPS[op].shape in (Shape.SUM, Shape.COPY))
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}


class Word:
    """Fields of an instruction, `isa.Instruction`."""

    def __init__(self, word: Value) -> None:
        self.stores = word[31]
        self.op = word[26:31]
        self.rd = word[21:26]
        self.ra = word[16:21]
        self.space = word[14:16]
        self.memory = word[13]
        self.b = word[6:13]
        self.c = word[:6]


def registers(
    m: Module, word: Word, thread: Value
) -> tuple[Value, Value, list[wiring.PureInterface]]:
    """Two copies of the registers, read one cycle later at two places, and how to write both.

    Parameters
    ----------
    m : Module
    word : Word
        The instruction, in stage 3.
    thread : Value
        Whose registers.
    """
    reads, writes = [], []
    for name, number in (("a", word.ra), ("b", word.b[:5])):
        m.submodules[f"registers_{name}"] = memory = Memory(
            shape=signed(WORD), depth=REGISTERS << THREAD_BITS, init=[], attrs=BLOCK_RAM
        )
        read = memory.read_port()
        m.d.comb += read.addr.eq(Cat(number, thread))
        reads.append(read.data)
        writes.append(memory.write_port())
    return reads[0], reads[1], writes


def result(
    m: Module, words: dict[int, Word], first: Value, a: Value, b: Value, simple: Simple, dsp: str
) -> Value:
    """An instruction's result, in stage 10.

    Parameters
    ----------
    m : Module
    words : dict of int to Word
        The instruction in each stage.
    first : Value
        It is its first turn, in stage 5.
    a, b : Value
        Its operands, in stage 5.
    simple : Simple
        Its sum is shifted; its other results are there in stage 8.
    dsp : str
        As `Multiplier` has it.
    """
    m.submodules.product = product = Product(dsp)
    m.submodules.quotient = quotient = Quotient()
    m.submodules.mantissa = mantissa = Mantissa()
    m.submodules.overflow = overflow = Overflow()
    amount, limited = b[:_SHIFT_BITS], Signal(_SHIFT_BITS)
    right, left, limits = (
        delayed(m, words[5].op == op, 1, op.name.lower()) for op in (Op.SHR, Op.SHL, Op.SLS)
    )
    sums = delayed(m, Cat(words[5].op == op for op in _SUMS).any(), 1, "sums")
    goes_left = delayed(m, words[5].c > RIGHT_MOST, 1, "goes_left")
    m.d.comb += [
        limited.eq(Mux(amount > WORD - 1, WORD - 1, amount)),
        overflow.a.eq(a),
        overflow.amount.eq(limited),
        product.a.eq(a),
        product.b.eq(b[:SMALL_BITS]),
        product.half.eq(delayed(m, words[5].op == Op.MLR, 1, "half")),
        product.plain.eq(right | (sums & ~goes_left)),
        product.left.eq(left | limits | (sums & goes_left)),
        product.sums.eq(sums),
        product.sum.eq(simple.sum),
        quotient.first.eq(first),
        quotient.part.eq(a),
        quotient.whole.eq(b),
        mantissa.v.eq(b),
        mantissa.root.eq(words[5].op == Op.RSQ),
    ]
    amount, limited = delayed(m, amount, 1, "amount"), delayed(m, limited, 1, "limited")
    # What a factor says of its zeros counts for `Op.MLZ` alone.
    zeros = b[ZEROS_AT : ZEROS_AT + ZEROS_BITS] & (words[5].op == Op.MLZ).replicate(ZEROS_BITS)
    less = delayed(m, (words[5].c - zeros)[:_SHIFT_BITS], 1, "less")
    shift = Signal(_SHIFT_BITS, name="shift")
    m.d.comb += shift.eq(Mux(right, amount, less))
    with m.If(left):
        m.d.comb += shift.eq(~amount)
    with m.If(limits):
        m.d.comb += shift.eq(~limited)
    # In stage 8, but for products; an operation's word is decoded a stage before.
    other, shifts = Signal(signed(WORD), name="other"), Signal(name="shifts")
    op = words[7].op
    uses = {
        "product": Cat(op == one for one in (Op.MUL, Op.MLR, Op.MLZ, Op.SHL, Op.SHR, *_SUMS)).any(),
        "saturates": op == Op.SLS,
        "quotient": op == Op.FRC,
        "mantissa": (op == Op.RCP) | (op == Op.RSQ),
        "zeros": op == Op.CLZ,
    }
    use = {name: delayed(m, value, 1, f"use_{name}") for name, value in uses.items()}
    m.d.comb += other.eq(simple.o)
    for name, value in (
        ("quotient", quotient.o),
        ("mantissa", mantissa.o),
        ("zeros", mantissa.zeros),
    ):
        with m.If(use[name]):
            m.d.comb += other.eq(value)
    m.d.comb += [
        shifts.eq(use["product"] | (use["saturates"] & ~overflow.o)),
        product.shift.eq(delayed(m, shift, 1, "shift")),
        product.other.eq(delayed(m, other, 1, "other")),
        product.other_stb.eq(delayed(m, ~shifts, 1, "stays")),
    ]
    return product.o
