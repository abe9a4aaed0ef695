"""What a program is written with: one method for an instruction, and what several of them make."""

from collections.abc import Mapping, Sequence

from precog_spec.contract import CHORD_GUARD_BITS, Fmt

from .isa import WORD_BITS, Assembler, Kind, Op, Operand, Table, WordMap, wait_bits
from .registers import Place

__all__ = ["Writer"]

_X_BITS = 13  # position inside a chord
_DROP = 4  # low bits of the aligned dividend that the product does without
_QUOTIENT_SHIFT = 32  # of the product of aligned dividend and reciprocal


class Writer:
    """An `Assembler` with names for ports, outputs, flags and what is waited for.

    Parameters
    ----------
    words : WordMap
    assembler : Assembler
    ports, outputs, waits : sequence of str
        Their numbers are their places.
    places : mapping of str to Place
        Of parameters.
    """

    def __init__(
        self,
        words: WordMap,
        assembler: Assembler,
        ports: Sequence[str],
        outputs: Sequence[str],
        waits: Sequence[str],
        places: Mapping[str, Place],
    ) -> None:
        self._words = words
        self._assembler = assembler
        self._ports, self._outputs, self._waits = list(ports), list(outputs), list(waits)
        self._places = places

    # Operands.

    def port(self, name: str) -> Operand:
        """An input."""
        return Operand(Kind.PORT, self._ports.index(name))

    def row(self, name: str) -> Operand:
        """A word of the queue pair's row."""
        return self._words.row(name)

    def word(self, name: str) -> Operand:
        """A variable."""
        return self._words.word(name)

    def constant(self, value: int) -> Operand:
        """A constant."""
        return self._words.constant(value)

    # Instructions.

    def ld(self, x: Operand | int) -> None:
        """A = X."""
        self._assembler.op(Op.LD, self._operand(x))

    def add(self, x: Operand | int) -> None:
        """A = A + X."""
        self._assembler.op(Op.ADD, self._operand(x))

    def sub(self, x: Operand | int) -> None:
        """A = A - X."""
        self._assembler.op(Op.SUB, self._operand(x))

    def mul(self, x: Operand) -> None:
        """A = A * X."""
        self._assembler.op(Op.MUL, x)

    def st(self, x: Operand) -> None:
        """The word = A."""
        self._assembler.op(Op.ST, x)

    def shl(self, places: int) -> None:
        """A = A << places."""
        self._assembler.number(Op.SHL, places)

    def shr(self, places: int) -> None:
        """A = A >> places."""
        self._assembler.number(Op.SHR, places)

    def jump(self, label: str) -> None:
        """Go on there."""
        self._assembler.jump(Op.JMP, label)

    def if_negative(self, label: str) -> None:
        """Go on there if A < 0."""
        self._assembler.jump(Op.JN, label)

    def if_not_negative(self, label: str) -> None:
        """Go on there if A >= 0."""
        self._assembler.jump(Op.JNN, label)

    def label(self, name: str) -> None:
        """The next instruction's name."""
        self._assembler.label(name)

    def new_label(self, stem: str) -> str:
        """A name that no other label has."""
        return self._assembler.new_label(stem)

    def flag(self, number: int) -> None:
        """Set a flag."""
        self._assembler.number(Op.FLAG, number)

    def out(self, name: str) -> None:
        """The output = A."""
        self._assembler.number(Op.OUT, self._outputs.index(name))

    def wait(self, name: str) -> None:
        """Until it is there."""
        self._assembler.number(Op.WAIT, self._waits.index(name))

    # Parameters, of which each register is read once in a sample.

    def parameter(self, name: str) -> None:
        """A = what its register has, of which it is the only field."""
        place = self._register(name)
        field = place.field
        assert (field.lsb, place.others) == (0, 0), name
        if field.signed:
            below, done, half = self.new_label("below"), self.new_label("done"), field.bits - 1
            self.sub(1 << half)
            self.if_not_negative(below)
            self.add(1 << half)
            self.jump(done)
            self.label(below)
            self.sub(1 << half)
            self.label(done)

    def bit(self, name: str) -> None:
        """A's sign = the field, of one bit."""
        field = self._register(name).field
        self.shl(WORD_BITS - 1 - field.lsb)

    def above(self, flag: str, number: str) -> None:
        """A = `number` if `flag`, the bit above it in their register, is set; else A < 0."""
        place, below = self._register(flag), self._places[number].field
        lsb = place.field.lsb
        assert (below.lsb, below.bits, place.others) == (0, lsb, below.mask), (flag, number)
        self.sub(1 << lsb)

    def _register(self, name: str) -> Place:
        """A = the register that the field is in."""
        place = self._places[name]
        wait = self._waits.index("register")
        self._assembler.number(Op.WAIT, place.word << wait_bits(self._waits) | wait)
        self.ld(self.port("register"))
        return place

    # What several instructions make.

    def keep(self, x: Operand | int, at: Operand) -> None:
        """The word `at` = `x`."""
        self.ld(x)
        self.st(at)

    def at_least(self, low: Operand, flag: int | None = None) -> None:
        """A, or `low` if that is greater; then the flag is set."""
        enough, done = self.new_label("enough"), self.new_label("done")
        self.sub(low)
        self.if_not_negative(enough)
        if flag is not None:
            self.flag(flag)
        self.ld(low)
        self.jump(done)
        self.label(enough)
        self.add(low)
        self.label(done)

    def at_most(self, high: Operand, flag: int | None = None) -> None:
        """A, or `high` if that is less; then the flag is set."""
        it, little, done = self.word("it"), self.new_label("little"), self.new_label("done")
        self.st(it)
        self.ld(high)
        self.sub(it)
        self.if_not_negative(little)
        if flag is not None:
            self.flag(flag)
        self.ld(high)
        self.jump(done)
        self.label(little)
        self.ld(it)
        self.label(done)

    def within(self, low: Operand, high: Operand, flag: int | None = None) -> None:
        """A, or the end of `low` to `high` that it lies beyond; if they cross, `high`."""
        self.at_least(low, flag)
        self.at_most(high, flag)

    def limited(self) -> None:
        """A >= 0 limited to SRTT's format."""
        self.at_most(self.constant(Fmt.SRTT.max))

    def size(self) -> None:
        """|A|."""
        done, it = self.new_label("done"), self.word("it")
        self.if_not_negative(done)
        self.st(it)
        self.ld(0)
        self.sub(it)
        self.label(done)

    def halved(self, places: int) -> None:
        """A >> places, rounded to nearest, ties up: `fixed.shift_half_up`."""
        self.add(1 << (places - 1))
        self.shr(places)

    def wrapped(self, bits: int, width: int) -> None:
        """A's low `bits` of `width`, with a sign."""
        self.shl(width - bits)
        self.shr(width - bits)

    def reciprocal(self, v: Operand) -> None:
        """N and the word `y`: `measure.reciprocal.reciprocal` of `v`."""
        some, high, m, x = (self.word(name) for name in ("held", "high", "m", "x"))
        go = self.new_label("some")
        self.ld(v)
        self.sub(1)
        self.if_not_negative(go)
        self.ld(0)
        self.label(go)
        self.add(1)
        self._assembler.number(Op.NORM, 0)
        self.st(m)
        self.shr(24)
        self._assembler.number(Op.IDX, 0)
        self.shl(_X_BITS)
        self.st(high)
        self.ld(m)
        self.shr(24 - _X_BITS)
        self.sub(high)
        self.st(x)
        self.ld(self._words.table(Table.FALL))
        self.mul(x)
        self.shr(_X_BITS)
        self.st(some)
        self.ld(self._words.table(Table.BASE))
        self.sub(some)
        self.shr(CHORD_GUARD_BITS)
        self.st(self.word("y"))

    def quotient(self, d: Operand) -> None:
        """A = `measure.reciprocal.quotient` of `d` by what N and `y` are the reciprocal of."""
        self.ld(d)
        self._assembler.number(Op.SHLN, 0)
        self.shr(_DROP)
        self.mul(self.word("y"))
        self.halved(_QUOTIENT_SHIFT)

    def indexed(self) -> None:
        """index = A."""
        self._assembler.number(Op.IDX, 0)

    def inverse(self) -> Operand:
        """1 / (index + 1)."""
        return self._words.table(Table.INVERSE)

    def _operand(self, x: Operand | int) -> Operand:
        return self.constant(x) if isinstance(x, int) else x
