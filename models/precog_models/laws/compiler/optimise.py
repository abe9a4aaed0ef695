"""Fewer steps that do the same: copies, constants, common loads and dead results go.

Also brings every step into an instruction's form: its first operand is a variable.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import FIRST_EVENTS, Op

from .counts import definitions, uses
from .flow import merge, reached, shorten_ends, shortened
from .fuse import fuse
from .ir import Block, Branch, Const, Function, Mem, Operand, Step, Var
from .shared import share
from .simplify import folded, settled, turned
from .sink import sink

__all__ = ["optimise"]

_Defs = dict[Var, frozenset[int]]
_FIRST = {f"e.{name}" for name, _, _ in EVENT_FIELDS[:FIRST_EVENTS]}
_ONE_OPERAND = (Op.MOV, Op.ABS, Op.RCP, Op.RSQ, Op.CLZ)


def optimise(function: Function) -> None:
    """Rewrite a proved function in place."""
    function.blocks = reached(function)
    _simplify(function)
    shorten_ends(function)
    _simplify(function)
    sink(function)
    fuse(function)
    _eliminate(function)
    _load(function)
    _eliminate(function)
    function.blocks = reached(function)


def _simplify(function: Function) -> None:
    """Rewrite until nothing becomes shorter."""
    changed = True
    while changed:
        before = _size(function)
        _propagate(function)
        _follow(function)
        share(function)
        _coalesce(function)
        _settle(function)
        function.blocks = reached(function)
        merge(function)
        _eliminate(function)
        changed = shortened(function) or _size(function) < before


def _size(function: Function) -> int:
    return sum(len(block.steps) + 1 for block in function.blocks)


def _propagate(function: Function) -> None:
    """Replace variables by what they are a copy of: constants, words, variables set once."""
    by_id = {id(step): step for step in function.steps() if step.out is not None}
    counts = definitions(function)
    entered: dict[Block, _Defs] = {function.blocks[0]: {}}

    def source(operand: Operand, defs: _Defs) -> Operand:
        while isinstance(operand, Var):
            reaching = defs.get(operand, frozenset())
            if len(reaching) != 1:
                return operand
            step = by_id[next(iter(reaching))]
            if step.op is not Op.MOV or (isinstance(step.a, Var) and counts[step.a] != 1):
                return operand
            operand = step.a
        return operand

    for block in function.blocks:
        defs = entered[block]
        for step in block.steps:
            step.a = source(step.a, defs)
            if step.b is not None:
                step.b = source(step.b, defs)
            if step.out is not None:
                defs = {**defs, step.out: frozenset((id(step),))}
        if block.branch is not None:
            block.branch.a = source(block.branch.a, defs)
            block.branch.b = source(block.branch.b, defs)
        for after in block.successors():
            if after in entered:
                mine = entered[after]
                both = mine.keys() | defs.keys()
                none: frozenset[int] = frozenset()
                entered[after] = {v: mine.get(v, none) | defs.get(v, none) for v in both}
            else:
                entered[after] = dict(defs)


def _follow(function: Function) -> None:
    """Read what a copy is of, as long as neither changes, in its own block."""
    for block in function.blocks:
        copies: dict[Operand, Operand] = {}
        for step in block.steps:
            step.a = copies.get(step.a, step.a)
            if step.b is not None:
                step.b = copies.get(step.b, step.b)
            if step.out is None:
                continue
            copies = {x: y for x, y in copies.items() if step.out not in (x, y)}
            if step.op is Op.MOV and isinstance(step.a, Var) and step.a != step.out:
                copies[step.out] = step.a
        if block.branch is not None:
            block.branch.a = copies.get(block.branch.a, block.branch.a)
            block.branch.b = copies.get(block.branch.b, block.branch.b)


def _coalesce(function: Function) -> None:
    """``t = f(...); x = t`` becomes ``x = f(...)`` where t has no other use."""
    counts, used = definitions(function), uses(function)
    for block in function.blocks:
        made: dict[Var, int] = {}
        for at, step in enumerate(block.steps):
            if step.op is Op.MOV and isinstance(step.a, Var) and step.a in made:
                temporary, target = step.a, step.out
                between = block.steps[made[temporary] + 1 : at]
                touched = {one.out for one in between} | {x for o in between for x in o.operands()}
                if used[temporary] == 1 and counts[temporary] == 1 and target not in touched:
                    block.steps[made[temporary]].out = target
                    step.a, step.out = Const(0), temporary  # dead now
            if step.out is not None:
                made[step.out] = at


def _settle(function: Function) -> None:
    """Compute what is constant, and take the branches that are."""
    for block in function.blocks:
        for step in block.steps:
            folded(step)
        branch = block.branch
        if branch is not None:
            holds = settled(branch)
            if holds is not None:
                block.branch, block.jump = None, branch.yes if holds else branch.no


def _eliminate(function: Function) -> None:
    """Drop steps whose result is not read."""
    live_in: dict[Block, set[Operand]] = {}
    for block in reversed(function.blocks):
        live: set[Operand] = set()
        for after in block.successors():
            live |= live_in[after]
        if block.branch is not None:
            live |= {block.branch.a, block.branch.b}
        kept = []
        for step in reversed(block.steps):
            if step.out is not None and step.out not in live and step.store is None:
                continue
            if step.out is not None:
                live.discard(step.out)
            live.update(step.operands())
            kept.append(step)
        block.steps = kept[::-1]
        live_in[block] = live


@dataclass
class _Loads:
    """Words and constants that are in a register, and a block's steps as they become."""

    held: dict[Operand, Var]
    serials: Iterator[int]
    steps: list[Step] = field(default_factory=list)

    def append(self, step: Step) -> None:
        """Add a step; what its variable was does not count any more."""
        self.steps.append(step)
        if step.out is None:
            return
        self.held = {word: var for word, var in self.held.items() if var != step.out}
        if step.op is Op.MOV and step.c == 0 and not isinstance(step.a, Var):
            self.held.setdefault(step.a, step.out)

    def first(self, operand: Operand, near: Step | Branch) -> Operand:
        """The operand as a first one: where it is, or in a register, which is loaded."""
        if isinstance(operand, Mem) and (operand.name in _FIRST or operand.name.startswith("s.")):
            return operand
        return self.register(operand, near)

    def register(self, operand: Operand, near: Step | Branch) -> Var:
        """The operand's register; it is loaded, unless it is there."""
        if isinstance(operand, Var):
            return operand
        if operand not in self.held:
            self.held[operand] = Var(f"%load{next(self.serials)}")
            place = (near.file, near.line, near.text)
            self.steps.append(Step(Op.MOV, self.held[operand], operand, None, 0, *place))
        return self.held[operand]


def _load(function: Function) -> None:
    """Give every step and branch a variable as its first operand, and load each word once."""
    entered: dict[Block, dict[Operand, Var]] = {function.blocks[0]: {}}
    serials = count(1)
    for block in function.blocks:
        loads = _Loads(dict(entered[block]), serials)
        for step in block.steps:
            if step.op in _ONE_OPERAND:
                if step.op is Op.MOV:
                    step.a = loads.held.get(step.a, step.a)
            else:
                ready = isinstance(step.b, Var) or step.b in loads.held
                if ready and not isinstance(step.a, Var):
                    turned(step)
                step.a = loads.first(step.a, step)
            loads.append(step)
        if block.branch is not None:
            if not isinstance(block.branch.a, Var):
                turned(block.branch)
            block.branch.a = loads.first(block.branch.a, block.branch)
        block.steps = loads.steps
        for after in block.successors():
            mine = entered.get(after, loads.held)
            entered[after] = {
                word: var for word, var in mine.items() if loads.held.get(word) == var
            }
