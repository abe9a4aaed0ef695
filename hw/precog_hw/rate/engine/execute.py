"""An instruction's fields, the registers that it reads, and the units that make its result."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from precog_spec.engine.isa import REGISTERS, WORD, Op

from .threads import THREAD_BITS
from .units import Mantissa, Overflow, Product, Quotient

__all__ = ["BLOCK_RAM", "Word", "registers", "result"]

_SHIFT_BITS = 6
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}


class Word:
    """Fields of an instruction, `isa.Instruction`."""

    def __init__(self, word: Value) -> None:
        self.op = word[26:32]
        self.rd = word[21:26]
        self.ra = word[16:21]
        self.space = word[14:16]
        self.b = word[6:14]
        self.c = word[:6]


def registers(
    m: Module, word: Word, thread: Value
) -> tuple[Value, Value, list[wiring.PureInterface]]:
    """Two copies of the registers, read one cycle later at two places, and how to write both.

    Parameters
    ----------
    m : Module
    word : Word
        The instruction, in stage 2.
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
    m: Module,
    word: Word,
    last: Word,
    phase: Value,
    a: Value,
    b: Value,
    factor: Value,
    simple: Value,
) -> Value:
    """An instruction's result, in stage 7.

    Parameters
    ----------
    m : Module
    word, last : Word
        The instruction in stage 4; the one in stage 7.
    phase : Value
        Turns that it has had, in stage 4.
    a, b : Value
        Its operands, in stage 4.
    factor : Value
        What the multiplier gets as `b`.
    simple : Value
        Result of the simple unit, in stage 7.
    """
    m.submodules.product = product = Product()
    m.submodules.quotient = quotient = Quotient()
    m.submodules.mantissa = mantissa = Mantissa()
    m.submodules.overflow = overflow = Overflow()
    amount, limited = b[:_SHIFT_BITS], Signal(_SHIFT_BITS)
    m.d.comb += limited.eq(Mux(amount > WORD - 1, WORD - 1, amount))
    with m.Switch(word.op):
        with m.Case(Op.SHR):
            m.d.comb += product.shift.eq(amount)
        with m.Case(Op.SHL):
            m.d.comb += [product.left.eq(1), product.shift.eq(~amount)]
        with m.Case(Op.SLS):
            m.d.comb += [product.left.eq(1), product.shift.eq(~limited)]
        with m.Default():
            m.d.comb += product.shift.eq(word.c)
    m.d.comb += [
        overflow.a.eq(a),
        overflow.amount.eq(limited),
        product.a.eq(a),
        product.b.eq(factor),
        product.half.eq(word.op == Op.MLR),
        quotient.first.eq(phase == 0),
        quotient.part.eq(a),
        quotient.whole.eq(b),
        mantissa.v.eq(b),
        mantissa.root.eq(word.op == Op.RSQ),
    ]
    found = Signal(signed(WORD), name="result")
    with m.Switch(last.op):
        with m.Case(Op.MUL, Op.MLR, Op.SHL, Op.SHR):
            m.d.comb += found.eq(product.o)
        with m.Case(Op.SLS):
            m.d.comb += found.eq(Mux(overflow.o, simple, product.o))
        with m.Case(Op.FRC):
            m.d.comb += found.eq(quotient.o)
        with m.Case(Op.RCP, Op.RSQ):
            m.d.comb += found.eq(mantissa.o)
        with m.Case(Op.CLZ):
            m.d.comb += found.eq(mantissa.zeros)
        with m.Default():
            m.d.comb += found.eq(simple)
    return found
