"""Ranges of results that the compiler computes have every result in them."""

import random

import pytest

from precog_models.laws.compiler.ranges import Range, result_range
from precog_models.laws.compiler.simplify import evaluate
from precog_spec.engine.isa import OPS, RESULTS, Op, Shape

_FROM_RANGES = [op for op in Op if OPS[op].shape in RESULTS and op not in (Op.LDX, Op.MLZ)]
_ENDS = (0, 1, -1, 46, 47, -128, (1 << 47) - 1, -(1 << 47))


def _drawn(rng: random.Random, op: Op, last: bool) -> Range:
    """A range of numbers of any size; shifts are small."""
    if last and op in (Op.SHL, Op.SHR, Op.SLS):
        return Range(*sorted(rng.randrange(48) for _ in range(2)))
    bits = rng.randrange(1, 26 if last else 48)
    ends = [rng.choice((*_ENDS, rng.getrandbits(bits), -rng.getrandbits(bits))) for _ in range(2)]
    return Range(*sorted(ends))


@pytest.mark.parametrize("op", _FROM_RANGES)
def test_every_result_lies_in_its_range(op: Op, seed: int) -> None:
    rng, checked = random.Random(seed), 0
    for _ in range(3000):
        a, b = _drawn(rng, op, last=False), _drawn(rng, op, last=True)
        if OPS[op].shape in (Shape.TWO, Shape.COPY):
            b = a
        c = rng.randrange(40) if OPS[op].shape is Shape.PRODUCT else 0
        try:
            found = result_range(op, a, b, c)
        except ValueError:
            continue
        assert found.low <= found.high
        for _ in range(8):
            x, y = (rng.choice((r.low, r.high, rng.randint(r.low, r.high))) for r in (a, b))
            result = evaluate(op, x, y, c)
            assert found.low <= result <= found.high, (a, b, c, x, y)
            checked += 1
    assert checked > 500


def test_a_range_says_its_ends() -> None:
    assert str(Range(1, 1 << 30)) == "1..2**30"
    assert str(Range(0, (1 << 30) - 1)) == "0..2**30 - 1"
    assert str(Range(-(1 << 30), 1 - (1 << 30))) == "-2**30..-1073741823"
