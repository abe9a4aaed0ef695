"""Steps that one instruction does together.

A sum and its shift; a product and a shift that leading zeros lessen; a result and its store.
"""

from collections.abc import Iterator
from itertools import count

from precog_spec.engine.isa import LEFT_MOST, OPS, RESULTS, RIGHT_MOST, Op, Shape

from .counts import definitions, uses
from .factors import join_products, mask_mantissas
from .ir import Block, Const, Function, Mem, Operand, Step, Var
from .makers import makers

__all__ = ["fuse"]

_SUMS = (Shape.SUM, Shape.COPY)
_NO_SHIFT = 63  # to the left by nothing
_WORD_BITS = 47  # of a mask


def fuse(function: Function) -> None:
    """Rewrite an optimised function in place."""
    for block in function.blocks:
        _masks(block)
    join_products(function)
    _shifts(function)
    mask_mantissas(function)
    serials = count(1)
    for block in function.blocks:
        _stores(block, serials)


def _masks(block: Block) -> None:
    """``(x >> n) & mask`` becomes ``(x & (mask << n)) >> n``."""
    for step, made in makers(block):
        mask = step.b
        if step.op is not Op.AND or step.c or not isinstance(mask, Const) or mask.value < 0:
            continue
        maker = made.get(step.a) if isinstance(step.a, Var) else None
        if maker is None or maker.op is not Op.SHR or not isinstance(maker.b, Const):
            continue
        amount = maker.b.value
        if 0 < amount <= RIGHT_MOST and (mask.value << amount).bit_length() <= _WORD_BITS:
            step.a, step.b, step.c = maker.a, Const(mask.value << amount), amount


def _shift(step: Step) -> int | None:
    """A step's shift as sums have it; None: it is none."""
    if not isinstance(step.b, Const):
        return None
    if step.op is Op.SHR and 0 < step.b.value <= RIGHT_MOST:
        return step.b.value
    if step.op is Op.SHL and 0 < step.b.value <= LEFT_MOST:
        return _NO_SHIFT - step.b.value
    return None


def _shifts(function: Function) -> None:
    """A sum that is shifted, and has no other use, and a word of memory that is."""
    used, defined = uses(function), definitions(function)
    for block in function.blocks:
        for step, made in makers(block):
            shift = _shift(step)
            if shift is None:
                continue
            if isinstance(step.a, Mem):
                step.op, step.b, step.c = Op.MOV, None, shift
                continue
            maker = made.get(step.a) if isinstance(step.a, Var) else None
            if maker is None or maker.c or OPS[maker.op].shape not in _SUMS:
                continue
            assert maker.out is not None
            if used[maker.out] == 1 and defined[maker.out] == 1:
                step.op, step.a, step.b, step.c = maker.op, maker.a, maker.b, shift
                used.update(step.operands())


def _stores(block: Block, serials: Iterator[int]) -> None:
    """Let a result go to the row at once, if nothing else goes there in between."""
    kept: list[Step] = []
    made: dict[Operand, int] = {}
    for step in block.steps:
        if step.op is not Op.ST:
            if step.out is not None:
                before = made.get(step.out)
                made = {value: at for value, at in made.items() if at != before}
                copies = step.op is Op.MOV and not step.c
                # A copy's register is not needed if its maker stores.
                made[step.out] = made.get(step.a, len(kept)) if copies else len(kept)
                if copies and not isinstance(step.a, Var):
                    made[step.a] = len(kept)
            kept.append(step)
            continue
        word = step.b
        assert isinstance(word, Mem)
        at = made.get(step.a)
        if at is not None and kept[at].store is None and OPS[kept[at].op].shape in RESULTS:
            between = kept[at + 1 :]
            if not any(word in (one.b if one.op is Op.ST else None, one.store) for one in between):
                kept[at].store = word
                continue
        if not isinstance(step.a, Var):
            out = Var(f"%store{next(serials)}")
            step = Step(Op.MOV, out, step.a, None, 0, step.file, step.line, step.text, store=word)
        kept.append(step)
    block.steps = kept
