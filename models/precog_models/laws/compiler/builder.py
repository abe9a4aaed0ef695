"""Makes blocks, and knows what the names of the function under way stand for."""

import ast
from dataclasses import dataclass, field
from functools import cache
from typing import NoReturn

from precog_spec.contract import Q
from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import CODE_WORDS, Op, Space

from .errors import LawError, shown
from .ir import Block, Branch, Const, Function, Mem, Operand, Step, Var
from .load import Law, Source

__all__ = ["Builder", "Exit", "Scope", "assigned"]

#: Of a function with its calls written out. Functions that call functions twice each grow fast.
_MOST_STEPS = 4 * CODE_WORDS
_CONSTANT_BITS = 63  # and a sign; numba computes in as many


@cache
def assigned(tree: ast.FunctionDef) -> frozenset[str]:
    """Names that a function assigns: they are its own from its first line on."""
    names = (one for one in ast.walk(tree) if isinstance(one, ast.Name))
    return frozenset(one.id for one in names if isinstance(one.ctx, ast.Store))


@dataclass
class Exit:
    """Where a function's returns go: the block behind it, and variables for what they return."""

    block: Block
    wanted: Var | None = None  # where a single number is to go
    results: list[Var] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


@dataclass
class Scope:
    """A function that is being lowered."""

    source: Source
    prefix: str
    known: dict[str, Operand]  # names that have a value on some path
    kinds: dict[str, str]  # "int" or "bool"
    records: dict[str, str]  # names that are records: which of p, s, e
    exit: Exit | None


class Builder:
    """Steps go to the end of the block under way.

    Parameters
    ----------
    law : Law
    """

    def __init__(self, law: Law) -> None:
        self.law = law
        self.parameters = {one.name: one for one in law.parameters}
        self.state = {one.name: one for one in law.state}
        self.words = {name: form for name, form, _ in EVENT_FIELDS}
        self.block = Block()
        self.blocks = [self.block]
        self.scopes: list[Scope] = []
        self._fresh = 0
        self._instances = 0
        self._steps = 0

    @property
    def scope(self) -> Scope:
        """The function under way."""
        return self.scopes[-1]

    def refuse(self, node: ast.AST, problem: str) -> NoReturn:
        """Stop: `problem` says what must be written instead."""
        line = getattr(node, "lineno", 0)
        raise LawError(self.scope.source.file, line, f"{shown(node)}: {problem}")

    def fresh(self) -> Var:
        """A new temporary."""
        self._fresh += 1
        return Var(f"%{self._fresh}")

    def prefix(self, name: str) -> str:
        """Prefix of an inlined function's names."""
        self._instances += 1
        return f"{name}%{self._instances}."  # f's 11th call is not f1's first one

    def step(
        self,
        node: ast.AST,
        op: Op,
        a: Operand,
        b: Operand | None = None,
        c: int = 0,
        out: Var | None = None,
    ) -> Var:
        """Append a step; its result."""
        out = out or self.fresh()
        place = self._place(node)
        self.block.steps.append(Step(op, out, a, b, c, *place, shown(node)))
        return out

    def _place(self, node: ast.AST) -> tuple[str, int]:
        """File and line of one more step."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            self.refuse(
                node,
                f"an event must take {_MOST_STEPS} steps at most, with its calls written out; a "
                f"program has {CODE_WORDS} instructions",
            )
        return self.scope.source.file, getattr(node, "lineno", 0)

    def store(self, node: ast.AST, word: Mem, value: Operand) -> None:
        """Append a store to the row."""
        place = self._place(node)
        self.block.steps.append(Step(Op.ST, None, value, word, 0, *place, shown(node)))

    def start(self, block: Block) -> None:
        """Go on in `block`."""
        self.block = block
        self.blocks.append(block)

    def jump(self, to: Block) -> None:
        """End the block under way by a jump."""
        self.block.jump = to

    def compare(self, node: ast.AST, op: Op, a: Operand, b: Operand, yes: Block, no: Block) -> None:
        """End the block under way by a comparison."""
        place = self._place(node)
        self.block.branch = Branch(op, a, b, yes, no, *place, shown(node))

    def word(self, space: str, name: str, form: Q) -> Mem:
        """A scalar word by its record and name."""
        memory = Space.SLOT if space == "p" else Space.ROW
        return Mem(memory, f"{space}.{name}", form.min, form.max)

    def finished(self, name: str) -> Function:
        """The function, its blocks in an order in which control only goes forward."""
        order: list[Block] = []
        seen: set[Block] = set()
        stack: list[tuple[Block, int]] = [(self.blocks[0], 0)]
        seen.add(self.blocks[0])
        while stack:
            block, at = stack.pop()
            after = block.successors()
            if at == len(after):
                order.append(block)
                continue
            stack.append((block, at + 1))
            # The first successor is visited last, so that it stands right behind its block.
            following = after[len(after) - 1 - at]
            if following not in seen:
                seen.add(following)
                stack.append((following, 0))
        return Function(name, order[::-1])

    def number(self, node: ast.AST, value: object) -> Const:
        """A constant of the language."""
        if isinstance(value, bool) or not isinstance(value, int):
            if isinstance(value, float):
                self.refuse(node, "floats are not in the language; write an integer in LSB")
            self.refuse(node, f"a constant must be an integer, not {type(value).__name__}")
        if abs(value) >= 1 << _CONSTANT_BITS:
            self.refuse(node, f"a constant must have {_CONSTANT_BITS} bits at most, also under way")
        return Const(int(value))
