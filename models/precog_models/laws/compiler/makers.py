"""Which step of a block made a variable."""

from collections.abc import Iterator

from .ir import Block, Step, Var

__all__ = ["makers"]


def makers(block: Block) -> Iterator[tuple[Step, dict[Var, Step]]]:
    """Each step, and the steps before whose results and operands are still what they were."""
    made: dict[Var, Step] = {}
    for step in block.steps:
        yield step, made
        if step.out is not None:
            made = {v: one for v, one in made.items() if step.out not in (v, one.a, one.b)}
            if step.out not in (step.a, step.b):
                made[step.out] = step
