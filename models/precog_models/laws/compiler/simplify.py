"""Algebra of single steps: constants, neutral operands, and operands that change places."""

from precog_spec.engine.isa import SMALL_BITS, WORD, Op

from ...rate.engine.arithmetic import align, fraction, reciprocal, rsqrt, zeros
from .ir import Branch, Const, Operand, Step, Var

__all__ = ["evaluate", "folded", "holds", "settled", "turned"]

_SWAPS = {Op.ADD: Op.ADD, Op.AND: Op.AND, Op.MIN: Op.MIN, Op.MAX: Op.MAX}
_SWAPS |= {Op.SEQ: Op.SEQ, Op.SNE: Op.SNE, Op.SUB: Op.RSB, Op.RSB: Op.SUB}
_POWERS = {1 << n for n in range(1, SMALL_BITS)}
_SMALL = 1 << (SMALL_BITS - 1)
_WORD_MOST = (1 << (WORD - 1)) - 1


def evaluate(op: Op, a: int, b: int, c: int) -> int:
    """A step's result, exactly; its operands are such as were proved."""
    half = 1 << (c - 1) if c else 0
    table = {
        Op.MOV: lambda: a,
        Op.ADD: lambda: a + b,
        Op.SUB: lambda: a - b,
        Op.RSB: lambda: b - a,
        Op.AND: lambda: a & b,
        Op.MIN: lambda: min(a, b),
        Op.MAX: lambda: max(a, b),
        Op.SHL: lambda: a << b,
        Op.SHR: lambda: a >> b,
        Op.SLS: lambda: align(a, b),
        Op.SEQ: lambda: int(a == b),
        Op.SNE: lambda: int(a != b),
        Op.SLT: lambda: int(a < b),
        Op.SGE: lambda: int(a >= b),
        Op.ABS: lambda: abs(a),
        Op.MUL: lambda: (a * b) >> c,
        Op.MLR: lambda: (a * b + half) >> c,
        Op.FRC: lambda: fraction(a, b),
        Op.RCP: lambda: reciprocal(a),
        Op.RSQ: lambda: rsqrt(a),
        Op.CLZ: lambda: zeros(a),
    }
    return int(table[op]())


def holds(op: Op, a: int, b: int) -> bool:
    """Whether a branch is taken."""
    return {Op.BEQ: a == b, Op.BNE: a != b, Op.BLT: a < b, Op.BGE: a >= b}[op]


def folded(step: Step) -> None:
    """Make a step that has a constant result a copy of it, and a neutral one a copy."""
    if step.op in (Op.ST, Op.LDX, Op.MOV):
        return
    a, b = step.a, step.b
    if isinstance(a, Const) and (b is None or isinstance(b, Const)):
        _copy(step, Const(evaluate(step.op, a.value, b.value if b is not None else 0, step.c)))
    elif _neutral(step.op, b, step.c):
        _copy(step, a)
    elif step.op is Op.ADD and a == Const(0) and b is not None:
        _copy(step, b)
    elif step.op is Op.MUL and step.c == 0 and isinstance(b, Const) and b.value in _POWERS:
        step.op, step.b = Op.SHL, Const(b.value.bit_length() - 1)
    elif step.op in (Op.MIN, Op.MAX) and a == b:
        _copy(step, a)


def _neutral(op: Op, b: Operand | None, c: int) -> bool:
    if op in (Op.ADD, Op.SUB, Op.SHL, Op.SHR, Op.SLS):
        return b == Const(0)
    return op in (Op.MUL, Op.MLR) and c == 0 and b == Const(1)


def _copy(step: Step, a: Operand) -> None:
    step.op, step.a, step.b, step.c = Op.MOV, a, None, 0


def settled(branch: Branch) -> bool | None:
    """Whether a branch is always or never taken; None: it depends."""
    if isinstance(branch.a, Const) and isinstance(branch.b, Const):
        return holds(branch.op, branch.a.value, branch.b.value)
    return None


def _small(a: Operand) -> bool:
    return isinstance(a, Const) and -_SMALL <= a.value < _SMALL


def turned(one: Step | Branch) -> None:
    """Exchange the operands, where an operation exists that does the same then."""
    a, b = one.a, one.b
    assert b is not None
    if isinstance(one, Step):
        if one.op in _SWAPS:
            one.op, one.a, one.b = _SWAPS[one.op], b, a
        elif one.op in (Op.SLT, Op.SGE) and isinstance(a, Const) and a.value < _WORD_MOST:
            # a < b is b >= a + 1, and a >= b is b < a + 1, of integers
            other = Op.SGE if one.op is Op.SLT else Op.SLT
            one.op, one.a, one.b = other, b, Const(a.value + 1)
        elif one.op in (Op.MUL, Op.MLR) and (one.swaps or _small(a)):
            one.a, one.b = b, a
    elif isinstance(b, Var):
        if one.op in (Op.BEQ, Op.BNE):
            one.a, one.b = b, a
        elif isinstance(a, Const) and a.value < _WORD_MOST:
            one.op, one.a, one.b = _flipped(one.op), b, Const(a.value + 1)


def _flipped(op: Op) -> Op:
    return Op.BGE if op is Op.BLT else Op.BLT
