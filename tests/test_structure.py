"""Shape of the sources: one statement a line in gateware, short functions, short files."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PARTS = ("hw", "models", "sim", "sw", "tests")

_LONGEST_FUNCTION, _LONGEST_FILE = 100, 500  # lines


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
        assert [f"{path}:{line}" for line in packed(path.read_text())] == []


def test_packed_statements_are_found() -> None:
    text = "m.d.comb += [\n    *(a.eq(b), c.eq(d)),\n    *(x.eq(y) for x, y in z),\n    e.eq(f),\n]"
    assert list(packed(text)) == [2]


def lengths(text: str) -> Iterator[tuple[int, str]]:
    """Lines and name of each function, decorators and docstring included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(made.lineno for made in node.decorator_list)])
            yield (node.end_lineno or 0) - first + 1, node.name


def sources() -> Iterator[Path]:
    """Files of all packages and tests."""
    for part in _PARTS:
        yield from (_ROOT / part).rglob("*.py")


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(_ROOT)}: {name} has {size} lines"
        for path in sources()
        for size, name in lengths(path.read_text())
        if size > _LONGEST_FUNCTION
    ]
    assert long == []


def test_files_are_short() -> None:
    sizes = {path.relative_to(_ROOT): path.read_text().count("\n") for path in sources()}
    assert [f"{path}: {size}" for path, size in sizes.items() if size > _LONGEST_FILE] == []


def test_a_function_s_length_has_its_decorators() -> None:
    assert list(lengths("@one\n@two\ndef f():\n    return 1\n")) == [(4, "f")]
