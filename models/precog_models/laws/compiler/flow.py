"""The order of control: blocks that go, that become one, or that stand in several places."""

from collections import Counter
from dataclasses import replace

from .ir import Block, Function

__all__ = ["merge", "reached", "shorten_ends", "shorten_forks", "shortened"]

_LONGEST_END = 4  # steps of an end that stands in several places


def reached(function: Function) -> list[Block]:
    """Blocks that control may get to."""
    found = {function.blocks[0]}
    for block in function.blocks:
        if block in found:
            found.update(block.successors())
    return [block for block in function.blocks if block in found]


def merge(function: Function) -> None:
    """Append to each block the one that only it jumps to."""
    entries = Counter(after for block in function.blocks for after in block.successors())
    merged: set[Block] = set()
    for block in function.blocks:
        while block not in merged and block.jump is not None and entries[block.jump] == 1:
            after = block.jump
            merged.add(after)
            block.steps = block.steps + after.steps
            block.branch, block.jump = after.branch, after.jump
    function.blocks = [block for block in function.blocks if block not in merged]


def shortened(function: Function) -> bool:
    """Let jumps to blocks that only jump go on to where those go; whether any did."""
    changed = False

    def end(block: Block) -> Block:
        while not block.steps and block.branch is None and block.jump is not None:
            block = block.jump
        return block

    for block in function.blocks:
        if block.branch is not None:
            yes, no = end(block.branch.yes), end(block.branch.no)
            changed |= (yes, no) != (block.branch.yes, block.branch.no)
            block.branch.yes, block.branch.no = yes, no
            if yes is no:
                block.branch, block.jump = None, yes
        elif block.jump is not None:
            target = end(block.jump)
            changed |= target is not block.jump
            block.jump = target
    if changed:
        function.blocks = reached(function)
    return changed


def shorten_ends(function: Function) -> None:
    """Put a copy of a short end wherever a jump goes there."""
    for block in function.blocks:
        end = block.jump
        if end is not None and not end.successors() and len(end.steps) <= _LONGEST_END:
            block.steps = block.steps + [replace(step) for step in end.steps]
            block.jump = None
    function.blocks = reached(function)


def shorten_forks(function: Function) -> None:
    """Branch at once where a jump goes to a branch; the one that follows stands behind it."""
    order: list[Block] = []
    for block, behind in zip(function.blocks, [*function.blocks[1:], None], strict=True):
        order.append(block)
        fork = block.jump
        if fork is None or fork is behind or fork.steps or fork.branch is None:
            continue
        block.branch, block.jump = replace(fork.branch), None
        for name in ("no", "yes"):
            after: Block = getattr(block.branch, name)
            if not after.steps and after.branch is not None:
                copy = Block(branch=replace(after.branch))
                setattr(block.branch, name, copy)
                order.append(copy)
                break
    function.blocks = order
    function.blocks = reached(function)
