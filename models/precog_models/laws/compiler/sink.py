"""Loads where they are wanted: paths without a use of a word do not load it.

A word of the row, of the event or of slot memory stays the same during an event, so that its load
may be later. It moves forward to the first use, or to the edge behind which some other path brings
another value.
"""

from collections import defaultdict
from dataclasses import replace

from precog_spec.engine.isa import Op

from .ir import Block, Function, Operand, Step, Var

__all__ = ["sink"]

_Loads = dict[Var, Step]


def sink(function: Function) -> None:
    """Rewrite an optimised function in place."""
    wanted = _wanted(function)
    left: dict[Block, _Loads] = {}  # at the end of each block, loads that are still to be made
    before: defaultdict[Block, list[Block]] = defaultdict(list)
    order: list[Block] = []
    for block in function.blocks:
        entered = _entered(before[block], left, block, wanted[block], order)
        left[block] = _moved(block, entered)
        order.append(block)
        for after in block.successors():
            before[after].append(block)
    function.blocks = order


def _wanted(function: Function) -> dict[Block, set[Operand]]:
    """Of each block, what it or a later one reads before it is written."""
    wanted: dict[Block, set[Operand]] = {}
    for block in reversed(function.blocks):
        live: set[Operand] = set()
        for after in block.successors():
            live |= wanted[after]
        if block.branch is not None:
            live |= {block.branch.a, block.branch.b}
        for step in reversed(block.steps):
            live.discard(step.out) if step.out is not None else None
            live |= set(step.operands())
        wanted[block] = live
    return wanted


def _is_load(step: Step) -> bool:
    plain = step.op is Op.MOV and step.c == 0 and step.store is None
    return plain and not isinstance(step.a, Var)


def _moved(block: Block, loads: _Loads) -> _Loads:
    """Make a block's loads before their uses; those that are left at its end."""
    steps: list[Step] = []

    def use(*operands: Operand) -> None:
        for operand in operands:
            if isinstance(operand, Var) and operand in loads:
                steps.append(loads.pop(operand))

    for step in block.steps:
        use(*step.operands())
        if step.out is not None:
            loads.pop(step.out, None)
        if step.out is not None and _is_load(step):
            loads[step.out] = step
        else:
            steps.append(step)
    if block.branch is not None:
        use(block.branch.a, block.branch.b)
    block.steps = steps
    return loads


def _entered(
    before: list[Block],
    left: dict[Block, _Loads],
    block: Block,
    wanted: set[Operand],
    order: list[Block],
) -> _Loads:
    """Loads that every way into a block leaves to it; the others are made on their way."""
    if not before:
        return {}
    first = left[before[0]]
    common = {
        var: replace(step)
        for var, step in first.items()
        if all(var in left[one] and left[one][var].a == step.a for one in before)
    }
    for one in before:
        rest = [replace(s) for v, s in left[one].items() if v in wanted and v not in common]
        if one.branch is None or order[-1] is not one:
            one.steps += rest  # a block between them would have a jump
        elif rest:
            _between(one, block, rest, order)
    return common


def _between(block: Block, after: Block, steps: list[Step], order: list[Block]) -> None:
    """A block of its own on the way from one to another."""
    assert block.branch is not None
    between = Block(steps=steps, jump=after)
    if block.branch.yes is after:
        block.branch.yes = between
    else:
        block.branch.no = between
    order.append(between)
