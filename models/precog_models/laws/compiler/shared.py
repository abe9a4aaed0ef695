"""Results that are there already are not computed again.

What each variable holds goes forward through the blocks: an operation of operands that have not
changed since. Where paths meet, what all of them hold is left.
"""

from precog_spec.engine.isa import Op

from .ir import Block, Const, Function, Operand, Step, Var

__all__ = ["share"]

_Key = tuple[Op, Operand, Operand | None, int]
_EITHER_ORDER = (Op.ADD, Op.AND, Op.MIN, Op.MAX)


def _key(step: Step) -> _Key:
    a, b = step.a, step.b
    if step.op in _EITHER_ORDER and b is not None and str(b) < str(a):
        a, b = b, a
    return step.op, a, b, step.c


def _cleared(step: Step, held: dict[_Key, Var]) -> None:
    """``(x >> n) << n`` is a mask."""
    if step.op is not Op.SHL or not isinstance(step.b, Const):
        return
    for (op, x, amount, _), var in held.items():
        if var == step.a and op is Op.SHR and amount == step.b:
            step.op, step.a, step.b = Op.AND, x, Const(-(1 << step.b.value))
            return


def share(function: Function) -> None:
    """Make a step whose result a variable holds a copy of that variable."""
    entered: dict[Block, dict[_Key, Var]] = {function.blocks[0]: {}}
    for block in function.blocks:
        held = dict(entered[block])
        for step in block.steps:
            _cleared(step, held)
            if step.out is None:
                continue
            key, out = _key(step), step.out
            known = held.get(key) if step.op is not Op.MOV else None
            if known is not None:
                step.op, step.a, step.b, step.c = Op.MOV, known, None, 0
            if known == out:
                continue
            held = {
                one: var for one, var in held.items() if var != out and out not in (one[1], one[2])
            }
            if known is None and step.op is not Op.MOV and out not in step.operands():
                held[key] = out
        for after in block.successors():
            mine = entered.get(after, held)
            entered[after] = {one: var for one, var in mine.items() if held.get(one) == var}
