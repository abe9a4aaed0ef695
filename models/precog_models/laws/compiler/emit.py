"""Steps become instructions: registers, slot memory, addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from precog_spec.engine.events import EVENT_FIELDS, ROW_OUTPUTS
from precog_spec.engine.isa import (
    CODE_WORDS,
    DIRECT_WORDS,
    EVENT_AT,
    NUMBER_BITS,
    ROW_WORDS,
    SLOT_WORDS,
    Instruction,
    Op,
    Space,
)

from .errors import LawError, placed
from .flow import shorten_ends, shorten_forks, shortened
from .ir import Block, Const, Function, Mem, Operand, Step, Var
from .load import Law
from .registers import allocate

__all__ = ["Memory", "emit"]

_NUMBERS = range(-1 << (NUMBER_BITS - 1), 1 << (NUMBER_BITS - 1))
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

    def first(self, operand: Operand, given: Mapping[Var, int]) -> tuple[bool, int]:
        """Whether a first operand stands in memory, and its number."""
        if isinstance(operand, Var):
            return False, given[operand]
        _, place = self.operand(operand)
        return True, place if place < EVENT_AT else ROW_WORDS + place - EVENT_AT


def _instruction(step: Step, given: Mapping[Var, int], memory: Memory) -> Instruction:
    rd = given[step.out] if step.out is not None else 0
    in_memory, ra = False, 0
    if step.b is not None:
        in_memory, ra = memory.first(step.a, given)
    if step.op is Op.ST:
        assert step.b is not None
        return Instruction(Op.ST, 0, ra, *memory.operand(step.b), memory=in_memory)
    stores = step.store is not None and _stored(step.store, memory, rd)
    if step.op is Op.LDX:
        assert isinstance(step.b, Mem)
        base = memory.table(step.b)
        low, high = base % DIRECT_WORDS, base // DIRECT_WORDS
        return Instruction(Op.LDX, rd, ra, Space.SLOT, low, high, stores, in_memory)
    last = step.a if step.b is None else step.b
    place = (Space.REGISTER, given[last]) if isinstance(last, Var) else memory.operand(last)
    return Instruction(step.op, rd, ra, *place, step.c, stores, in_memory)


def _nothing(step: Step, given: Mapping[Var, int]) -> bool:
    """Whether a step copies a register to itself."""
    if step.op is not Op.MOV or step.c or step.store is not None or step.out is None:
        return False
    return isinstance(step.a, Var) and given[step.a] == given[step.out]


def _stored(word: Mem, memory: Memory, register: int) -> bool:
    """Whether a register's number says where in the row its value goes."""
    return register % ROW_WORDS == memory.operand(word)[1]


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
    given = allocate(function, lambda word: memory.operand(word)[1])
    for block in function.blocks:
        block.steps = [step for step in block.steps if not _nothing(step, given)]
    shortened(function)
    shorten_ends(function)
    shorten_forks(function)
    code: list[Instruction] = []
    notes: dict[int, str] = {}
    starts: dict[Block, int] = {}
    places = {block: n for n, block in enumerate(function.blocks)}
    jumps: list[tuple[int, Block]] = []
    for block, after in zip(function.blocks, [*function.blocks[1:], None], strict=True):
        starts[block] = len(code)
        for step in block.steps:
            one = _instruction(step, given, memory)
            note = placed(law.file, step.file, step.line, step.text)
            notes[base + len(code)] = note
            code.append(one)
            if step.store is not None and not one.stores:
                notes[base + len(code)] = note
                code.append(Instruction(Op.ST, 0, one.rd, *memory.operand(step.store)))
        if block.branch is not None:
            _branch(block, places, given, memory, code, notes, jumps, base)
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
        code[place] = replace(one, rd=offset >> 6, c=offset & 63)
    return code, notes


_OPPOSITE = {Op.BEQ: Op.BNE, Op.BNE: Op.BEQ, Op.BLT: Op.BGE, Op.BGE: Op.BLT}


def _branch(
    block: Block,
    places: Mapping[Block, int],
    given: Mapping[Var, int],
    memory: Memory,
    code: list[Instruction],
    notes: dict[int, str],
    jumps: list[tuple[int, Block]],
    base: int,
) -> None:
    """A branch to the block that does not stand behind this one; of two, to the farther one."""
    branch = block.branch
    assert branch is not None
    op, to, other = branch.op, branch.yes, branch.no
    behind = places[block] + 1
    if places[other] != behind and (places[to] == behind or places[other] > places[to]):
        op, to, other = _OPPOSITE[op], branch.no, branch.yes
    b = branch.b
    place = (Space.REGISTER, given[b]) if isinstance(b, Var) else memory.operand(b)
    notes[base + len(code)] = placed(memory.law.file, branch.file, branch.line, branch.text)
    jumps.append((len(code), to))
    in_memory, ra = memory.first(branch.a, given)
    code.append(Instruction(op, 0, ra, *place, memory=in_memory))
    if places[other] != behind:
        jumps.append((len(code), other))
        code.append(Instruction(Op.JMP))
