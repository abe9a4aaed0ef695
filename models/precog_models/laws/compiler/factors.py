"""Products with a table's mantissa, and the shifts behind them.

The engine's `RCP` and `RSQ` give a mantissa that has leading zeros above it. A product does not see
those, as its second factor has `SMALL_BITS`; every other step must not either.
"""

from collections.abc import Iterator, Mapping
from itertools import count

from precog_spec.engine.isa import ZEROS_AT, Op

from .counts import uses
from .ir import Block, Const, Function, Operand, Step, Var
from .makers import makers

__all__ = ["join_products", "mask_mantissas"]

_TABLES = (Op.RCP, Op.RSQ)
_PRODUCTS = (Op.MUL, Op.MLR, Op.MLZ)
_MOST = 63  # of a product's shift
_MASK = Const((1 << ZEROS_AT) - 1)
_Made = Mapping[Var, Step]


def join_products(function: Function) -> None:
    """``(x * reciprocal(v)) >> (n - zeros(v))`` becomes one `MLZ`; so does `rsqrt`'s product."""
    used = uses(function)
    for block in function.blocks:
        for step, made in makers(block):
            joined = _counted(step, made) if step.op is Op.SHR else None
            if joined is None:
                continue
            product, x, y, most = joined
            assert product.out is not None
            if used[product.out] == 1:
                step.op, step.a, step.b, step.c = Op.MLZ, x, y, most


def _maker(operand: Operand | None, made: _Made, *ops: Op) -> Step | None:
    """The step that made an operand, if it is one of `ops`."""
    maker = made.get(operand) if isinstance(operand, Var) else None
    return maker if maker is not None and maker.op in ops else None


def _counted(step: Step, made: _Made) -> tuple[Step, Operand, Operand, int] | None:
    """The product of ``(x * y) >> (n - zeros)``, x, y and n, if the zeros are y's."""
    product = _maker(step.a, made, Op.MUL)
    rest = _maker(step.b, made, Op.SUB)
    if product is None or rest is None or product.b is None:
        return None
    most, zeros = rest.a, rest.b
    if not isinstance(most, Const) or product.c + most.value > _MOST:
        return None
    for x, y in ((product.a, product.b), (product.b, product.a)):
        table = _maker(y, made, *_TABLES)
        if table is not None and _zeros_of(table, zeros, made):
            return product, x, y, product.c + most.value
    return None


def _zeros_of(table: Step, operand: Operand | None, made: _Made) -> bool:
    """Whether an operand is the zeros that a table's step has above its mantissa."""
    if table.op is Op.RSQ:
        half = _maker(operand, made, Op.SHR)
        if half is None or half.b != Const(1):
            return False
        operand = half.a
    zeros = _maker(operand, made, Op.CLZ)
    return zeros is not None and zeros.a == table.a


def mask_mantissas(function: Function) -> None:
    """Take the zeros away where a mantissa is no second factor."""
    tables = {step.out for step in function.steps() if step.op in _TABLES}
    for step in function.steps():
        if step.op not in _PRODUCTS:
            continue
        if step.a in tables and step.swaps:
            assert step.b is not None
            step.a, step.b = step.b, step.a
        if step.b in tables:
            step.swaps = False  # it stays there
    seen = {operand for step in function.steps() for operand in _words(step)}
    for block in function.blocks:
        if block.branch is not None:
            seen |= {block.branch.a, block.branch.b}
    serials = count(1)
    for block in function.blocks:
        block.steps = list(_masked(block, seen, serials))


def _words(step: Step) -> tuple[Operand, ...]:
    """Operands that a step sees all bits of.

    A product with a constant is among them: the constant will be the second factor, since loading
    it would take a turn.
    """
    factors = step.op in _PRODUCTS and not isinstance(step.a, Const)
    return (step.a,) if factors else step.operands()


def _masked(block: Block, seen: set[Operand], serials: Iterator[int]) -> Iterator[Step]:
    whole: dict[Operand, Var] = {}  # mantissas with their zeros
    for step in block.steps:
        if step.op is Op.MLZ and step.b in whole:
            step.b = whole[step.b]
        out = step.out
        if step.op not in _TABLES or out not in seen:
            yield step
            continue
        assert out is not None
        step.out = whole[out] = Var(f"%mantissa{next(serials)}")
        yield step
        place = (step.file, step.line, step.text)
        yield Step(Op.AND, out, step.out, _MASK, 0, *place)
