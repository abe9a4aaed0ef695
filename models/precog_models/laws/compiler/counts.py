"""How often variables are written and read."""

from collections import Counter

from .ir import Function, Operand, Var

__all__ = ["definitions", "uses"]


def definitions(function: Function) -> Counter[Var]:
    """Steps that write each variable."""
    return Counter(step.out for step in function.steps() if step.out is not None)


def uses(function: Function) -> Counter[Operand]:
    """Steps and branches that read each operand."""
    found: Counter[Operand] = Counter()
    for block in function.blocks:
        for step in block.steps:
            found.update(step.operands())
        if block.branch is not None:
            found.update((block.branch.a, block.branch.b))
    return found
