"""Registers for variables: one may have two that are never alive at once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from precog_spec.engine.isa import REGISTERS, ROW_WORDS, Op

from .errors import LawError
from .ir import Block, Function, Mem, Operand, Step, Var

__all__ = ["allocate"]

_Graph = defaultdict[Var, set[Var]]


def _variables(*operands: Operand) -> set[Var]:
    return {one for one in operands if isinstance(one, Var)}


def _copies(step: Step) -> bool:
    return step.op is Op.MOV and step.c == 0


def _interference(function: Function) -> _Graph:
    """Of each variable, those that are alive where it is written."""
    graph: _Graph = defaultdict(set)
    live_in: dict[Block, set[Var]] = {}
    for block in reversed(function.blocks):
        live: set[Var] = set()
        for after in block.successors():
            live |= live_in[after]
        if block.branch is not None:
            live |= _variables(block.branch.a, block.branch.b)
        for step in reversed(block.steps):
            if step.out is not None:
                live.discard(step.out)
                # A copy may share its register: both hold the same.
                others = live - _variables(step.a) if _copies(step) else live
                graph[step.out] |= others
                for other in others:
                    graph[other].add(step.out)
            live |= _variables(*step.operands())
        live_in[block] = live
    return graph


def allocate(function: Function, place: Callable[[Mem], int]) -> dict[Var, int]:
    """A register for each variable.

    Best is one whose number says to which word of the row its results go, then one of what it is a
    copy of, then the lowest one.

    Parameters
    ----------
    place : callable
        Of a word, its number in the row.

    Raises
    ------
    LawError
        There are too few.
    """
    graph = _interference(function)
    partners: defaultdict[Var, Counter[Var]] = defaultdict(Counter)
    stores: defaultdict[Var, Counter[int]] = defaultdict(Counter)
    for step in function.steps():
        if step.out is None:
            continue
        if _copies(step) and isinstance(step.a, Var):
            partners[step.out][step.a] += 1
            partners[step.a][step.out] += 1
        if step.store is not None:
            stores[step.out][place(step.store)] += 1
    steps = [step for step in function.steps() if step.out is not None]
    for wished in (True, False):
        wishes: Mapping[Var, Counter[int]] = stores if wished else {}
        given: dict[Var, int] = {}
        for step in sorted(steps, key=lambda step: step.out not in wishes):
            var = step.out
            if var is None or var in given:
                continue
            taken = {given[one] for one in graph[var] if one in given}
            near = wishes.get(var, Counter()).most_common()
            wanted = [n for at, _ in near for n in range(at, REGISTERS, ROW_WORDS)]
            wanted += [given[one] for one, _ in partners[var].most_common() if one in given]
            free = [one for one in (*wanted, *range(REGISTERS)) if one not in taken]
            if not free:
                break
            given[var] = free[0]
        else:
            return given
    raise LawError(
        step.file,
        step.line,
        f"{step.text}: more than {REGISTERS} values are needed at once; compute some later",
    )
