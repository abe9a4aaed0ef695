"""The law engine's instructions. Standard library only; `page` makes the reference from this.

An engine's core runs several events at once, each in a thread of its own, and gives the threads
turns: an instruction's result is there at the thread's next turn, whatever unit makes it. So there
are no stalls, no forwarding and no delay slots; an event's time is the sum of its turns.

A word has 48 bits, signed: a time stamp needs 40, the mean of TIMELY 37 and its sums 39, a rate 32.
The multiplier takes a word and a 26-bit operand, because factors have up to 25 bits; it keeps the
74-bit product until it has been shifted. An instruction has 32 bits, one block RAM's width.

Sums and copies are shifted on their way, to the right by up to 38 bits or to the left by up to 24:
their shift is 0 to 38, or 63 less what they go to the left. A mantissa of a table has its operand's
leading zeros above it: `MLZ` multiplies by the one and shifts by the others. Where `!` stands
behind an operation, its result goes to the row, too, to the word that has the last four bits of the
register's number.

An event sees its queue pair's row as it was when the event began. Stores are kept and take effect
together, at `END`; after a trap none does. Branches only go forward, so that every program ends.
"""

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "CODE_WORDS",
    "DIRECT_WORDS",
    "EVENT_AT",
    "FACTOR_BITS",
    "FIRST_EVENTS",
    "LEFT_MOST",
    "NORM_BITS",
    "NUMBER_BITS",
    "OPS",
    "PART_BITS",
    "REGISTERS",
    "RESULTS",
    "RIGHT_MOST",
    "ROW_WORDS",
    "SLOTS",
    "SLOT_WORDS",
    "SMALL_BITS",
    "THREADS",
    "WHOLE_BITS",
    "WORD",
    "ZEROS_AT",
    "ZEROS_BITS",
    "Form",
    "Instruction",
    "Op",
    "Shape",
    "Space",
]

WORD = 48
SMALL_BITS = 26  # of the multiplier's second operand
FACTOR_BITS = 24  # fraction bits of `FRC`'s quotient
PART_BITS = 40
WHOLE_BITS = 37
NORM_BITS = 32  # operand of `RCP`, `RSQ`, `CLZ`
ZEROS_AT = 26  # of a mantissa: from this bit on it has zeros of its operand
ZEROS_BITS = 6  # those that count
REGISTERS = 32
CODE_WORDS = 1024  # of a program slot
SLOT_WORDS = 512  # parameters, constants and tables of a program slot
DIRECT_WORDS = 128  # of them, those that an operand can name
ROW_WORDS = 16  # of a queue pair: rate, window, the law's state
RIGHT_MOST = 38  # of a sum's shift
LEFT_MOST = 24
SLOTS = 8
THREADS = 8  # events that a core runs at once: one instruction of each in as many cycles
EVENT_AT = 64  # of a `Space.ROW` operand: from here on words of the event
FIRST_EVENTS = 16  # words of the event that can be a first operand
NUMBER_BITS = 7  # of a number in an instruction


class Space(IntEnum):
    """Where an instruction's last operand comes from."""

    REGISTER = 0  # r0..r31
    NUMBER = 1  # 7 bits, signed
    SLOT = 2  # p[0..127]: the program's parameters and constants
    ROW = 3  # s[0..15]: the queue pair's row; e[0..]: words of the event, 64 above


class Shape(IntEnum):
    """Operands of an instruction, in the order of its text."""

    THREE = 0  # rd, ra, b
    TWO = 1  # rd, b
    PRODUCT = 2  # rd, ra, b, shift
    INDEX = 3  # rd, ra, p[base]
    STORE = 4  # s[word], ra
    BRANCH = 5  # ra, b, target
    JUMP = 6  # target
    NONE = 7
    SUM = 8  # rd, ra, b, and perhaps a shift
    COPY = 9  # rd, b, and perhaps a shift


class Op(IntEnum):
    """Operation codes."""

    END = 0
    ADD = 1
    SUB = 2
    RSB = 3
    AND = 4
    MIN = 5
    MAX = 6
    SHL = 7
    SHR = 8
    SLS = 9
    SEQ = 10
    SNE = 11
    SLT = 12
    SGE = 13
    MOV = 14
    ABS = 15
    MUL = 16
    MLR = 17
    FRC = 18
    RCP = 19
    RSQ = 20
    CLZ = 21
    LDX = 22
    ST = 23
    BEQ = 24
    BNE = 25
    BLT = 26
    BGE = 27
    JMP = 28
    MLZ = 29


@dataclass(frozen=True)
class Form:
    """How an instruction looks, how many turns of its thread it takes, and what it does."""

    shape: Shape
    turns: int
    meaning: str


OPS: dict[Op, Form] = {
    Op.ADD: Form(Shape.SUM, 1, "rd = ra + b, shifted"),
    Op.SUB: Form(Shape.SUM, 1, "rd = ra - b, shifted"),
    Op.RSB: Form(Shape.SUM, 1, "rd = b - ra, shifted"),
    Op.AND: Form(Shape.SUM, 1, "rd = ra & b, shifted"),
    Op.MIN: Form(Shape.THREE, 1, "rd = min(ra, b)"),
    Op.MAX: Form(Shape.THREE, 1, "rd = max(ra, b)"),
    Op.SHL: Form(Shape.THREE, 1, "rd = ra << b; of b the lowest 6 bits count"),
    Op.SHR: Form(Shape.THREE, 1, "rd = ra >> b, towards minus infinity; of b 6 bits count"),
    Op.SLS: Form(Shape.THREE, 1, "rd = ra << b, saturated; of b 6 bits count, up to 47"),
    Op.SEQ: Form(Shape.THREE, 1, "rd = 1 if ra == b, else 0"),
    Op.SNE: Form(Shape.THREE, 1, "rd = 1 if ra != b, else 0"),
    Op.SLT: Form(Shape.THREE, 1, "rd = 1 if ra < b, else 0"),
    Op.SGE: Form(Shape.THREE, 1, "rd = 1 if ra >= b, else 0"),
    Op.MOV: Form(Shape.COPY, 1, "rd = b, shifted"),
    Op.ABS: Form(Shape.COPY, 1, "rd = |b|, shifted"),
    Op.MUL: Form(Shape.PRODUCT, 1, "rd = (ra * b) >> shift; of b 26 bits count, signed"),
    Op.MLR: Form(Shape.PRODUCT, 1, "as MUL, rounded to nearest, ties up"),
    Op.MLZ: Form(Shape.PRODUCT, 1, "as MUL, its shift less b's bits 26..31, modulo 64"),
    Op.FRC: Form(
        Shape.THREE, 4, "rd = ra * 2**24 // b, or 2**24 if ra >= b; 40 and 37 bits, unsigned"
    ),
    Op.RCP: Form(Shape.TWO, 2, "rd = mantissa of 1 / b, z << 26 above; z: zeros of b"),
    Op.RSQ: Form(Shape.TWO, 2, "rd = mantissa of 1 / sqrt(b), (z >> 1) << 26 above"),
    Op.CLZ: Form(Shape.TWO, 1, "rd = leading zeros of b's lowest 32 bits, at most 31"),
    Op.LDX: Form(Shape.INDEX, 2, "rd = p[(base + ra) & 511]"),
    Op.ST: Form(Shape.STORE, 1, "s[word] = ra, from END on"),
    Op.BEQ: Form(Shape.BRANCH, 1, "go to target if ra == b"),
    Op.BNE: Form(Shape.BRANCH, 1, "go to target if ra != b"),
    Op.BLT: Form(Shape.BRANCH, 1, "go to target if ra < b"),
    Op.BGE: Form(Shape.BRANCH, 1, "go to target if ra >= b"),
    Op.JMP: Form(Shape.JUMP, 1, "go to target"),
    Op.END: Form(Shape.NONE, 1, "the event's stores take effect"),
}

#: Shapes of operations that have a result, in a register.
RESULTS = (Shape.THREE, Shape.TWO, Shape.PRODUCT, Shape.INDEX, Shape.SUM, Shape.COPY)
_STORES_AT = 31
_OP_AT = 26
_MEMORY_AT = 13
_B_MASK = (1 << NUMBER_BITS) - 1


@dataclass(frozen=True)
class Instruction:
    """One instruction; fields that its shape does not have are 0.

    ``stores[31] op[30:26] rd[25:21] ra[20:16] space[15:14] memory[13] b[12:6] c[5:0]``. With
    ``memory`` the first operand is word ``ra`` of the row, or, from 16 on, of the event. A branch's
    offset from the next instruction is ``rd`` above ``c``, 11 bits; a shift is ``c``; a table's
    base is ``c`` above ``b``, 9 bits.
    """

    op: Op
    rd: int = 0
    ra: int = 0
    space: Space = Space.REGISTER
    b: int = 0
    c: int = 0
    stores: bool = False
    memory: bool = False

    @property
    def offset(self) -> int:
        """Instructions that a branch passes over."""
        return self.rd << 6 | self.c

    @property
    def base(self) -> int:
        """First word of a table."""
        return self.c * DIRECT_WORDS + self.b

    def encoded(self) -> int:
        """The 32-bit word."""
        b = self.b & _B_MASK
        high = self.stores << _STORES_AT | self.op << _OP_AT | self.memory << _MEMORY_AT
        return high | self.rd << 21 | self.ra << 16 | self.space << 14 | b << 6 | self.c

    @classmethod
    def decoded(cls, word: int) -> "Instruction":
        """The instruction of a word.

        Raises
        ------
        ValueError
            There is no such operation.
        """
        code, stores = word >> _OP_AT & 0x1F, bool(word >> _STORES_AT & 1)
        if code not in {int(op) for op in Op}:
            raise ValueError(f"operation must be in 0..{max(Op)}, not {code} in {word:#010x}")
        if stores and OPS[Op(code)].shape not in RESULTS:
            raise ValueError(f"{Op(code).name} has no result that goes to a row, in {word:#010x}")
        space = Space(word >> 14 & 3)
        b = word >> 6 & _B_MASK
        if space is Space.NUMBER and b >= 1 << (NUMBER_BITS - 1):
            b -= 1 << NUMBER_BITS
        rd, ra, memory = word >> 21 & 0x1F, word >> 16 & 0x1F, bool(word >> _MEMORY_AT & 1)
        return cls(Op(code), rd, ra, space, b, word & 0x3F, stores, memory)
