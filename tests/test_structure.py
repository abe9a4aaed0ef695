"""Shape of the sources: one statement a line in gateware."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PARTS = ("hw", "models", "sim", "sw", "tests")
#: Still packed: the law engine.
_PACKED = {"hw/precog_hw/rate/engine"}


def packed(text: str) -> Iterator[int]:
    """Lines with several assignments in one starred tuple: ``*(a.eq(b), c.eq(d))``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
            for made in node.value.elts:
                call = made.func if isinstance(made, ast.Call) else None
                if isinstance(call, ast.Attribute) and call.attr == "eq":
                    yield node.lineno
                    break


@pytest.mark.parametrize("part", _PARTS)
def test_one_statement_a_line(part: str) -> None:
    for path in sorted((_ROOT / part).rglob("*.py")):
        if path.parent.relative_to(_ROOT).as_posix() not in _PACKED:
            assert [f"{path}:{line}" for line in packed(path.read_text())] == []


def test_packed_statements_are_found() -> None:
    text = "m.d.comb += [\n    *(a.eq(b), c.eq(d)),\n    *(x.eq(y) for x, y in z),\n    e.eq(f),\n]"
    assert list(packed(text)) == [2]
