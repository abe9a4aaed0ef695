"""Products with a table's mantissa are one instruction; first operands in memory need no load."""

import random
from pathlib import Path

import pytest
from tests.models.laws.law_bench import ThreeWays

from precog_models.laws.compiler.compile import Compiled, compile_law
from precog_models.laws.compiler.load import load
from precog_spec.engine.events import Kind
from precog_spec.engine.isa import Instruction, Op

_HEAD = """
from precog_models.laws.language import *
PARAMETERS = ()
STATE = (Field("a", Q(24, 0, signed=False)), Field("b", Q(24, 0, signed=False)))
WINDOWED = False
def on_ack(p, s, e):
"""
_SCALED = "((e.rtt * y) >> {before}) >> ({most} - {zeros})"
_RESULT = "clamp({value}, 0, 1 << 30)"
_PLAIN = f"    return {_RESULT}\n"
#: What else a mantissa is for, if it is a factor.
_USES = {
    "result": f"    s.a = y\n    return {_RESULT}\n",
    "condition": f"    z = {_RESULT}\n    if y > 70000:\n        return z\n    return 7\n",
    "first": f"    s.a = wrap(y * wrap(e.bytes, 25), 24)\n    return {_RESULT}\n",
    "times a number": f"    s.a = wrap(5 * y, 24)\n    return {_RESULT}\n",
    "square": f"    s.a = wrap((y * y) >> 8, 24)\n    return {_RESULT}\n",
}
#: A table, shifts of its product, the zeros that lessen them, and whether all are joined.
_ZEROS = {
    "reciprocal": ("reciprocal", 16, 47, "zeros(e.bytes)", True),
    "root": ("rsqrt", 0, 16, "(zeros(e.bytes) >> 1)", True),
    "all zeros of a root": ("rsqrt", 0, 32, "zeros(e.bytes)", False),
    "half of a reciprocal's": ("reciprocal", 0, 32, "(zeros(e.bytes) >> 1)", False),
    "a quarter": ("rsqrt", 0, 16, "(zeros(e.bytes) >> 2)", False),
    "another word's": ("reciprocal", 0, 32, "zeros(e.seq)", False),
    "a shift too long": ("reciprocal", 17, 47, "zeros(e.bytes)", False),
}


def _made(tmp_path: Path, body: str) -> Compiled:
    path = tmp_path / "law.py"
    path.write_text(_HEAD + body)
    return compile_law(load(path))


def _ops(made: Compiled) -> list[Op]:
    return [Instruction.decoded(word).op for word in made.program.code]


def _agree(made: Compiled, seed: int) -> None:
    """Python, the golden law and the engine's interpreter."""
    rng, bench = random.Random(seed), ThreeWays(made, {})
    for size in (0, 1, (1 << 32) - 1, *(rng.getrandbits(rng.randrange(1, 33)) for _ in range(60))):
        words = {"seq": rng.getrandbits(24), "rtt": rng.randrange(1, 1 << 24), "bytes": size}
        bench.event(Kind.ACK, next=rng.getrandbits(24), **words)


@pytest.mark.parametrize(
    ("table", "before", "most", "zeros", "joined"), _ZEROS.values(), ids=_ZEROS
)
def test_a_product_shifted_by_zeros(
    tmp_path: Path, table: str, before: int, most: int, zeros: str, joined: bool, seed: int
) -> None:
    value = _SCALED.format(before=before, most=most, zeros=zeros)
    made = _made(tmp_path, f"    y = {table}(e.bytes)\n" + _PLAIN.format(value=value))
    ops = _ops(made)
    assert (Op.MLZ in ops, Op.CLZ in ops) == (joined, not joined)
    _agree(made, seed)


@pytest.mark.parametrize("uses", _USES.values(), ids=_USES)
@pytest.mark.parametrize("table", ["reciprocal", "rsqrt"])
def test_a_mantissa_with_other_uses(tmp_path: Path, table: str, uses: str, seed: int) -> None:
    """They see no zeros above it; the product is one instruction nevertheless."""
    _, before, most, zeros, _ = _ZEROS["reciprocal" if table == "reciprocal" else "root"]
    value = _SCALED.format(before=before, most=most, zeros=zeros)
    made = _made(tmp_path, f"    y = {table}(e.bytes)\n" + uses.format(value=value))
    assert Op.MLZ in _ops(made)
    _agree(made, seed)


@pytest.mark.parametrize(
    "value",
    ["(reciprocal(e.bytes) * e.mtu) >> 20", "(1000 * y) >> (32 - zeros(e.bytes))"]
    + [f"({product}) >> (32 - zeros(e.bytes))" for product in ("y * e.rtt", "e.rtt * y")],
)
def test_a_second_factor_needs_no_mask(tmp_path: Path, value: str, seed: int) -> None:
    body = "    y = reciprocal(e.bytes)\n" + _PLAIN.format(value=value)
    made = _made(tmp_path, body)
    ops = _ops(made)
    assert Op.AND not in ops
    assert (Op.MLZ in ops) == ("zeros" in value)
    _agree(made, seed)


def test_a_product_with_another_use_stays(tmp_path: Path, seed: int) -> None:
    body = """    product = wrap(e.rtt, 20) * reciprocal(e.bytes)
    s.a = wrap(product, 24)
    return clamp(product >> (32 - zeros(e.bytes)), 0, 1 << 30)
"""
    made = _made(tmp_path, body)
    assert Op.MLZ not in _ops(made)
    _agree(made, seed)


def test_a_first_operand_in_memory_needs_no_load(tmp_path: Path, seed: int) -> None:
    """The row's words and the first ones of the event; `e.mtu` is one, `e.held` is not."""
    body = """    s.a = wrap(e.seq - e.next, 24)
    if s.b > e.rtt:
        return clamp(e.{first} - e.bytes, 0, 1 << 30)
    return s.b + 9
"""
    near, far = (_made(tmp_path, body.format(first=one)) for one in ("mtu", "held"))
    assert Op.MOV not in _ops(near)
    assert _ops(far).count(Op.MOV) == 1
    for made in (near, far):
        _agree(made, seed)
