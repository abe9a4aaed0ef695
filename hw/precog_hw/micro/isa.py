"""Instructions of the processor, its words in memory, and the assembler.

One accumulator. An instruction has an operation, a kind of operand and an address::

    bit  0 .. A - 1   address, shift count, flag, port, where to jump, or what is waited for: its
                      number, and above its bits which register, if it is one
    bit  A, A + 1     `Kind` of the operand
    the 4 above       `Op`

A word's address in memory is the instruction's, or-ed with the queue pair's number (a word of its
row) or the index register (a word of a table): `WordMap` places rows and tables so that this adds.
"""

from collections.abc import Sequence
from enum import IntEnum

from precog_spec.contract import CHORDS, MEAN_SAMPLES, chord_table, inverse_table

__all__ = ["WORD_BITS", "Assembler", "Kind", "Op", "Operand", "Table", "WordMap", "wait_bits"]

#: Of accumulator and memory: a rate times a base RTT, with a sign.
WORD_BITS = 57


class Op(IntEnum):
    """What an instruction does; A is the accumulator, X the operand. Cycles in brackets."""

    LD = 0  # A = X [3]
    ADD = 1  # A = A + X [3]
    SUB = 2  # A = A - X [3]
    MUL = 3  # A = A * X: 35 and 18 bits with their signs [5]
    ST = 4  # the word = A [3]
    IDX = 5  # index = A's low 8 bits [3]
    SHL = 6  # A = A << address [2 + address]
    SHR = 7  # A = A >> address, with its sign [2 + address]
    SHLN = 8  # A = A << N [3, or 2 + N]
    NORM = 9  # A = A << N, N such that bit 31 is the highest one [3 + N]
    JMP = 10  # go on there [3]
    JN = 11  # if A < 0 [3]
    JNN = 12  # if A >= 0 [3]
    FLAG = 13  # set a flag of the decision [3]
    OUT = 14  # an output = A [3]
    WAIT = 15  # until what is waited for is there [3 and more]


class Kind(IntEnum):
    """Where an operand stands."""

    WORD = 0  # in memory
    ROW = 1  # in memory, in the queue pair's row
    TABLE = 2  # in memory, in a table, at the index
    PORT = 3  # at an input


class Operand(tuple[Kind, int]):
    """Kind and address."""

    __slots__ = ()

    def __new__(cls, kind: Kind, address: int) -> "Operand":
        return super().__new__(cls, (kind, address))


class Table(IntEnum):
    """First words of the tables. A chord's index, a mantissa's high byte, has its bit 7 set."""

    BASE = 0  # `chord_table`, index 128 .. 255
    FALL = 256
    INVERSE = 512  # `inverse_table`, index n - 1


_ROW_WORDS = 32
_WORDS = CHORDS  # below the first chord there is room for as many words
_ROWS = 768  # the first row, if eight are enough


class WordMap:
    """Places of words in memory: constants and variables, tables, a row for each queue pair.

    Parameters
    ----------
    qps : int
        A power of two.
    row : sequence of str
        Words of a row.

    Raises
    ------
    ValueError
        A row has more than 32 words, or there is no room for a variable or constant more.
    """

    def __init__(self, qps: int, row: Sequence[str]) -> None:
        if len(row) > _ROW_WORDS:
            raise ValueError(f"row must have at most {_ROW_WORDS} words, not {len(row)}")
        rows = qps * _ROW_WORDS
        self._first_row = _ROWS if rows <= 1024 - _ROWS else max(1024, rows)
        self._row = {name: self._first_row + n for n, name in enumerate(row)}
        self._words: dict[str, int] = {}
        self._constants: dict[int, str] = {}
        #: Width of a queue pair's number.
        self.qp_bits = max(1, (qps - 1).bit_length())
        #: Words of memory.
        self.depth = self._first_row + rows
        #: Bits that a queue pair's number is shifted by, to be or-ed into an address.
        self.row_shift = (_ROW_WORDS - 1).bit_length()

    def row(self, name: str) -> Operand:
        """A word of the queue pair's row."""
        return Operand(Kind.ROW, self._row[name])

    def word(self, name: str) -> Operand:
        """A variable, the same one for the same name."""
        if name not in self._words:
            if len(self._words) == _WORDS:
                raise ValueError(f"words must be at most {_WORDS}, {name!r} is one too many")
            self._words[name] = len(self._words)
        return Operand(Kind.WORD, self._words[name])

    def constant(self, value: int) -> Operand:
        """A word that is never written."""
        name = self._constants.setdefault(value, f"constant {value}")
        return self.word(name)

    @staticmethod
    def table(table: Table) -> Operand:
        """A table's word at the index."""
        return Operand(Kind.TABLE, int(table))

    def initial(self) -> list[int]:
        """What stands in memory at first: constants and tables, and zeros."""
        words = [0] * self.depth
        for value, name in self._constants.items():
            words[self._words[name]] = value
        for n, (base, fall) in enumerate(chord_table()):
            words[Table.BASE + CHORDS + n] = base
            words[Table.FALL + CHORDS + n] = fall
        words[Table.INVERSE : Table.INVERSE + MEAN_SAMPLES] = inverse_table()
        return words


def wait_bits(waits: Sequence[str]) -> int:
    """Bits of the number of what is waited for, above which a register's address stands."""
    return len(waits).bit_length()


class Assembler:
    """A program, instruction by instruction; jumps go to labels that may be placed later.

    Parameters
    ----------
    address_bits : int
        Of a word's address, and of an instruction's at least.
    """

    def __init__(self, address_bits: int) -> None:
        self._bits = address_bits
        self._code: list[tuple[Op, Kind, int | str]] = []
        self._labels: dict[str, int] = {}
        self._made = 0

    def op(self, op: Op, operand: Operand) -> None:
        """An instruction with an operand."""
        self._code.append((op, *operand))

    def number(self, op: Op, number: int) -> None:
        """An instruction with a number."""
        self._code.append((op, Kind.WORD, number))

    def jump(self, op: Op, label: str) -> None:
        """An instruction with the place of a label."""
        self._code.append((op, Kind.WORD, label))

    def label(self, name: str) -> None:
        """The next instruction's name."""
        if name in self._labels:
            raise ValueError(f"label must be new, not {name!r}")
        self._labels[name] = len(self._code)

    def new_label(self, stem: str) -> str:
        """A name that no other label has."""
        self._made += 1
        return f"{stem} {self._made}"

    def words(self) -> list[int]:
        """The program.

        Raises
        ------
        ValueError
            A label has no place, or an address is too large.
        """
        return [self._encoded(*instruction) for instruction in self._code]

    def _encoded(self, op: Op, kind: Kind, at: int | str) -> int:
        if isinstance(at, str):
            if at not in self._labels:
                raise ValueError(f"label must have a place, {at!r} has none")
            at = self._labels[at]
        if not 0 <= at < 1 << self._bits:
            raise ValueError(f"address must have {self._bits} bits, not {at!r}")
        return at | (kind | op << 2) << self._bits
