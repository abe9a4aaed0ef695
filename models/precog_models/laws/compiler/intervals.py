"""Proves that no intermediate leaves its word, whatever parameters, state and event are.

Ranges go forward through the blocks, from the formats of all words. A branch narrows what it
compares; ``a >= b`` is remembered until either changes, so that ``a - b`` is known not to be
negative there. Where paths meet, ranges join.
"""

from dataclasses import dataclass, field

from precog_spec.engine.isa import SMALL_BITS, Op

from .errors import LawError
from .ir import Block, Branch, Const, Function, Mem, Operand, Step, Var
from .ranges import WORD_RANGE, Range, fits_product, result_range

__all__ = ["Width", "prove"]

_Fact = tuple[Operand, Operand, int]  # a >= b + least


@dataclass
class _Known:
    """What holds at a place: ranges of words and variables, and which is above which."""

    ranges: dict[Operand, Range] = field(default_factory=dict)
    facts: set[_Fact] = field(default_factory=set)

    def copy(self) -> "_Known":
        return _Known(dict(self.ranges), set(self.facts))

    def join(self, other: "_Known") -> "_Known":
        """What holds on both paths; a variable that one of them lacks is unknown."""
        joined = _Known(facts=self.facts & other.facts)
        for operand in self.ranges.keys() | other.ranges.keys():
            mine, theirs = self.ranges.get(operand), other.ranges.get(operand)
            if mine is not None and theirs is not None:
                joined.ranges[operand] = mine.join(theirs)
        return joined

    def of(self, operand: Operand) -> Range | None:
        if isinstance(operand, Const):
            return Range(operand.value, operand.value)
        if operand in self.ranges:
            return self.ranges[operand]
        return Range(operand.low, operand.high) if isinstance(operand, Mem) else None

    def narrow(self, operand: Operand, low: int | None, high: int | None) -> bool:
        """Bound an operand; False: it cannot be."""
        before = self.of(operand)
        if before is None:
            return True
        after = before.meet(
            Range(before.low if low is None else low, before.high if high is None else high)
        )
        if after is None:
            return False
        if not isinstance(operand, Const):
            self.ranges[operand] = after
        return True

    def assign(self, out: Var, value: Range) -> None:
        self.ranges[out] = value
        self.facts = {fact for fact in self.facts if out not in fact[:2]}


@dataclass(frozen=True)
class Width:
    """A step's result: its place in the source, its range over all paths there."""

    file: str
    line: int
    text: str
    range: Range


def _taken(branch: Branch, known: _Known, holds: bool) -> _Known | None:
    """What is known behind a branch; None: no path leads there."""
    known = known.copy()
    a, b = known.of(branch.a), known.of(branch.b)
    if a is None or b is None:
        return known
    op = branch.op
    if not holds:
        op = {Op.BEQ: Op.BNE, Op.BNE: Op.BEQ, Op.BLT: Op.BGE, Op.BGE: Op.BLT}[op]
    possible = True
    if op is Op.BEQ:
        possible = known.narrow(branch.a, b.low, b.high) and known.narrow(branch.b, a.low, a.high)
    elif op is Op.BLT:
        possible = known.narrow(branch.a, None, b.high - 1)
        possible = possible and known.narrow(branch.b, a.low + 1, None)
        known.facts.add((branch.b, branch.a, 1))
    elif op is Op.BGE:
        possible = known.narrow(branch.a, b.low, None)
        possible = possible and known.narrow(branch.b, None, a.high)
        known.facts.add((branch.a, branch.b, 0))
    elif a.low == a.high:
        low = b.low + 1 if b.low == a.low else b.low
        high = b.high - 1 if b.high == a.low else b.high
        possible = low <= high and known.narrow(branch.b, low, high)
    elif b.low == b.high:
        low = a.low + 1 if a.low == b.low else a.low
        high = a.high - 1 if a.high == b.low else a.high
        possible = low <= high and known.narrow(branch.a, low, high)
    return known if possible else None


class _Prover:
    def __init__(self) -> None:
        self.widths: dict[int, Width] = {}
        self.copies: list[tuple[Step, Operand]] = []  # steps that ranges settle

    def read(self, known: _Known, operand: Operand, step: Step | Branch) -> Range:
        found = known.of(operand)
        if found is None:
            name = str(operand).rpartition(".")[2]
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: {name} may have no value here; assign it on every path before",
            )
        if isinstance(operand, Const) and not found.within(WORD_RANGE):
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: constant must be in {WORD_RANGE}, the engine's word, not "
                f"{operand.value}",
            )
        return found

    def step(self, known: _Known, step: Step) -> None:
        a = self.read(known, step.a, step)
        if step.op is Op.ST:
            self._store(step, a)
            return
        if step.op is Op.LDX:
            result = self._look_up(step, a)
        else:
            b = a if step.b is None else self.read(known, step.b, step)
            if step.op in (Op.MUL, Op.MLR):
                a, b = self._factors(step, a, b)
            try:
                result = result_range(step.op, a, b, step.c)
            except ValueError as error:
                raise LawError(step.file, step.line, f"{step.text}: {error}") from None
            result = self._known_order(known, step, result)
            self._note_copy(known, step, a, b)
        assert step.out is not None
        before = self.widths.get(id(step))
        joined = result if before is None else before.range.join(result)
        self.widths[id(step)] = Width(step.file, step.line, step.text, joined)
        known.assign(step.out, result)
        if step.op is Op.MOV:
            known.facts |= {
                (step.out if x == step.a else x, step.out if y == step.a else y, least)
                for x, y, least in known.facts
                if step.a in (x, y) and step.a != step.out
            }

    def _factors(self, step: Step, a: Range, b: Range) -> tuple[Range, Range]:
        """Puts the smaller factor last: the multiplier takes few bits of it."""
        assert step.b is not None
        if a.bits < b.bits:
            step.a, step.b = step.b, step.a
            a, b = b, a
        step.swaps = fits_product(a)
        if not fits_product(b):
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: one factor must have {SMALL_BITS} bits, sign included; they may be "
                f"{a} and {b}; shift one right first",
            )
        return a, b

    def _known_order(self, known: _Known, step: Step, result: Range) -> Range:
        if step.op is not Op.SUB:
            return result
        for x, y, least in known.facts:
            if (x, y) == (step.a, step.b):
                result = Range(max(result.low, least), max(result.high, least))
            elif (y, x) == (step.a, step.b):
                result = Range(min(result.low, -least), min(result.high, -least))
        return result

    def _note_copy(self, known: _Known, step: Step, a: Range, b: Range) -> None:
        """A limit that nothing passes, or a mask that loses nothing, is a copy."""
        least, most = step.a, step.b
        if step.op is Op.AND:
            for value, of, mask in ((step.a, a, b), (step.b, b, a)):
                whole = mask.low == mask.high and mask.low & (mask.low + 1) == 0
                if value is not None and whole and of.low >= 0 and of.high <= mask.low:
                    self.copies.append((step, value))
                    return
        if step.op not in (Op.MIN, Op.MAX) or most is None:
            return
        if a.low >= b.high or any((x, y) == (step.a, step.b) for x, y, n in known.facts if n >= 0):
            least, most = most, least
        elif a.high > b.low and not any(
            (x, y) == (step.b, step.a) for x, y, n in known.facts if n >= 0
        ):
            return
        self.copies.append((step, least if step.op is Op.MIN else most))

    def _look_up(self, step: Step, index: Range) -> Range:
        table = step.b
        assert isinstance(table, Mem)
        if not index.within(Range(0, table.length - 1)):
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: index may be {index}, beyond 0..{table.length - 1}; clamp it",
            )
        if table.values:
            part = table.values[index.low : index.high + 1]
            return Range(min(part), max(part))
        return Range(table.low, table.high)

    def _store(self, step: Step, value: Range) -> None:
        word = step.b
        assert isinstance(word, Mem)
        allowed = Range(word.low, word.high)
        if not value.within(allowed):
            name = word.name.rpartition(".")[2]
            what = "returned" if word.name.startswith("out.") else "stored"
            raise LawError(
                step.file,
                step.line,
                f"{step.text}: {name} may be {value} when it is {what}, beyond its format's "
                f"{allowed}; clamp it",
            )


def prove(function: Function) -> list[Width]:
    """Ranges of all results, or an error.

    A product's factors may change places: its second one is the multiplier's small operand. What
    the ranges settle changes, too: limits and masks without effect become copies, and a branch that
    always goes one way becomes a jump.

    Raises
    ------
    LawError
        A value may leave its word, its format or its table, or may not be there.
    """
    prover = _Prover()
    entered: dict[Block, _Known] = {function.blocks[0]: _Known()}
    settled: list[tuple[Block, Block]] = []
    for block in function.blocks:
        if block not in entered:
            continue  # no event gets there
        known = entered[block].copy()
        for step in block.steps:
            prover.step(known, step)
        ways: list[tuple[Block, _Known | None]] = []
        if block.branch is not None:
            prover.read(known, block.branch.a, block.branch)
            prover.read(known, block.branch.b, block.branch)
            ways.append((block.branch.yes, _taken(block.branch, known, True)))
            ways.append((block.branch.no, _taken(block.branch, known, False)))
            open_ways = [after for after, there in ways if there is not None]
            if len(open_ways) == 1:
                settled.append((block, open_ways[0]))
        elif block.jump is not None:
            ways.append((block.jump, known))
        for after, there in ways:
            if there is not None:
                before = entered.get(after)
                entered[after] = there if before is None else before.join(there)
    for step, value in prover.copies:
        step.op, step.a, step.b, step.c = Op.MOV, value, None, 0
    for block, way in settled:
        block.branch, block.jump = None, way
    return list(prover.widths.values())
