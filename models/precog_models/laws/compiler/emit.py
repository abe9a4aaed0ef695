"""Steps become instructions: registers, slot memory, addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from precog_spec.engine.events import EVENT_FIELDS, ROW_OUTPUTS
from precog_spec.engine.isa import (
    CODE_WORDS,
    DIRECT_WORDS,
    EVENT_AT,
    REGISTERS,
    SLOT_WORDS,
    Instruction,
    Op,
    Space,
)

from .errors import LawError
from .ir import Block, Const, Function, Mem, Operand, Step, Var
from .load import Law

__all__ = ["Memory", "emit"]

_NUMBERS = range(-128, 128)
_EVENT_PLACES = {f"e.{name}": EVENT_AT + n for n, (name, _, _) in enumerate(EVENT_FIELDS)}
_OUT_PLACES = {f"out.{name}": n for n, (name, _) in enumerate(ROW_OUTPUTS)}
_FAR = 1 << 11


@dataclass
class Memory:
    """Slot memory: parameters and constants from its first word on, tables from its last one down.

    Attributes
    ----------
    places : dict of str to int
        Parameters and tables of parameters by ``p.name``.
    fixed : dict of int to int
        Words that parameters do not change, by place.
    """

    law: Law
    places: dict[str, int] = field(default_factory=dict)
    fixed: dict[int, int] = field(default_factory=dict)
    used: int = 0
    free: int = SLOT_WORDS

    def __post_init__(self) -> None:
        for one in self.law.parameters:
            self.places[f"p.{one.name}"] = self._high(one.length) if one.length else self._low()
        self._row = {f"s.{one.name}": len(_OUT_PLACES) + n for n, one in enumerate(self.law.state)}
        self._tables: dict[tuple[int, ...], int] = {}

    def _low(self) -> int:
        """A word that instructions can name."""
        place, self.used = self.used, self.used + 1
        return self._checked(place)

    def _high(self, words: int) -> int:
        """Words for a table."""
        self.free -= words
        return self._checked(self.free)

    def _checked(self, place: int) -> int:
        if self.used > min(self.free, DIRECT_WORDS):
            raise LawError(
                self.law.file,
                0,
                f"law must have {DIRECT_WORDS} parameters and constants at most, and with tables "
                f"{SLOT_WORDS} words, not {self.used} and {SLOT_WORDS - self.free + self.used}",
            )
        return place

    def constant(self, value: int) -> int:
        """Place of a constant; equal ones share it."""
        return self._fixed((value,))

    def table(self, table: Mem) -> int:
        """Place of a table; equal constant ones share it."""
        return self._fixed(table.values) if table.values else self.places[table.name]

    def _fixed(self, values: tuple[int, ...]) -> int:
        if values not in self._tables:
            place = self._low() if len(values) == 1 else self._high(len(values))
            self._tables[values] = place
            self.fixed.update(enumerate(values, place))
        return self._tables[values]

    def operand(self, operand: Operand) -> tuple[Space, int]:
        """Where an operand that is in no register stands."""
        if isinstance(operand, Const):
            if operand.value in _NUMBERS:
                return Space.NUMBER, operand.value
            return Space.SLOT, self.constant(operand.value)
        assert isinstance(operand, Mem)
        if operand.space is Space.SLOT:
            return Space.SLOT, self.places[operand.name]
        places: Mapping[str, int] = {**self._row, **_EVENT_PLACES, **_OUT_PLACES}
        return Space.ROW, places[operand.name]


def _lives(function: Function) -> dict[Var, tuple[int, int]]:
    """First and last place of each variable; control only goes forward, so it lives between."""
    lives: dict[Var, tuple[int, int]] = {}
    place = 0

    def note(operand: Operand | None) -> None:
        """Extend the life of a variable to this place."""
        if isinstance(operand, Var):
            first, _ = lives.get(operand, (place, place))
            lives[operand] = (first, place)

    for block in function.blocks:
        for step in block.steps:
            for operand in step.operands():
                note(operand)
            place += 1
            note(step.out)
        if block.branch is not None:
            note(block.branch.a)
            note(block.branch.b)
        place += 1
    return lives


def _registers(law: Law, function: Function) -> dict[Var, int]:
    """A register for each variable: the lowest one that is free for all of its life."""
    lives = _lives(function)
    copied = {step.out: step.a for step in function.steps() if step.op is Op.MOV}
    free_at = [-1] * REGISTERS
    given: dict[Var, int] = {}
    for var, (first, last) in sorted(lives.items(), key=lambda item: (item[1], item[0].name)):
        source = copied.get(var)
        like = given.get(source) if isinstance(source, Var) else None
        numbers = list(range(REGISTERS)) if like is None else [like, *range(REGISTERS)]
        for number in numbers:
            if free_at[number] < first:
                free_at[number] = last
                given[var] = number
                break
        else:
            step = next(one for one in function.steps() if one.out == var)
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: more than {REGISTERS} values are needed at once; compute some later",
            )
    return given


def _instruction(step: Step, given: Mapping[Var, int], memory: Memory) -> Instruction:
    rd = given[step.out] if step.out is not None else 0
    if step.op is Op.ST:
        assert isinstance(step.a, Var)
        assert step.b is not None
        return Instruction(Op.ST, 0, given[step.a], *memory.operand(step.b))
    if step.op is Op.LDX:
        assert isinstance(step.a, Var)
        assert isinstance(step.b, Mem)
        base = memory.table(step.b)
        low, high = base % DIRECT_WORDS, base // DIRECT_WORDS
        return Instruction(Op.LDX, rd, given[step.a], Space.SLOT, low, high)
    if step.b is None:
        last, ra = step.a, 0
    else:
        assert isinstance(step.a, Var)
        last, ra = step.b, given[step.a]
    place = (Space.REGISTER, given[last]) if isinstance(last, Var) else memory.operand(last)
    return Instruction(step.op, rd, ra, *place, step.c)


def emit(
    law: Law, function: Function, memory: Memory, base: int
) -> tuple[list[Instruction], dict[int, str]]:
    """Instructions of an optimised function, and notes of their lines by address.

    Parameters
    ----------
    base : int
        Address of the first one.

    Raises
    ------
    LawError
        Something does not fit: registers, slot memory, the program.
    """
    given = _registers(law, function)
    code: list[Instruction] = []
    notes: dict[int, str] = {}
    starts: dict[Block, int] = {}
    jumps: list[tuple[int, Block]] = []
    for block, after in zip(function.blocks, [*function.blocks[1:], None], strict=True):
        starts[block] = len(code)
        for step in block.steps:
            one = _instruction(step, given, memory)
            if one.op is Op.MOV and one.space is Space.REGISTER and one.rd == one.b:
                continue
            notes[base + len(code)] = f"{step.line}: {step.text.strip('`')}"
            code.append(one)
        if block.branch is not None:
            _branch(block, after, given, memory, code, notes, jumps, base)
        elif block.jump is None:
            code.append(Instruction(Op.END))
        elif block.jump is not after:
            jumps.append((len(code), block.jump))
            code.append(Instruction(Op.JMP))
    if base + len(code) > CODE_WORDS:
        raise LawError(
            law.file, 0, f"law must have {CODE_WORDS} instructions at most, not {base + len(code)}"
        )
    for place, target in jumps:
        offset = starts[target] - place - 1
        assert 0 <= offset < _FAR
        one = code[place]
        code[place] = Instruction(one.op, offset >> 6, one.ra, one.space, one.b, offset & 63)
    return code, notes


_OPPOSITE = {Op.BEQ: Op.BNE, Op.BNE: Op.BEQ, Op.BLT: Op.BGE, Op.BGE: Op.BLT}


def _branch(
    block: Block,
    after: Block | None,
    given: Mapping[Var, int],
    memory: Memory,
    code: list[Instruction],
    notes: dict[int, str],
    jumps: list[tuple[int, Block]],
    base: int,
) -> None:
    """A branch to the block that does not stand behind this one."""
    branch = block.branch
    assert branch is not None
    assert isinstance(branch.a, Var)
    op, to, other = branch.op, branch.yes, branch.no
    if to is after:
        op, to, other = _OPPOSITE[op], branch.no, branch.yes
    b = branch.b
    place = (Space.REGISTER, given[b]) if isinstance(b, Var) else memory.operand(b)
    notes[base + len(code)] = f"{branch.line}: {branch.text.strip('`')}"
    jumps.append((len(code), to))
    code.append(Instruction(op, 0, given[branch.a], *place))
    if other is not after:
        jumps.append((len(code), other))
        code.append(Instruction(Op.JMP))
