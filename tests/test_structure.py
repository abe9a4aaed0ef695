"""Shape of the sources: one statement a line in gateware, short functions, short files."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import structure
from tests.structure import LONG_FUNCTION, PARTS, ROOT, Facts, facts

#: One worker reads all files once.
pytestmark = pytest.mark.xdist_group("structure")

_LONGEST_FILE = 500  # lines


def sources(*parts: str) -> Iterator[tuple[Path, Facts]]:
    """Files of packages and tests."""
    for part in parts or PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            yield path.relative_to(ROOT), facts(path.read_text())


@pytest.mark.parametrize("part", PARTS)
def test_one_statement_a_line(part: str) -> None:
    assert [f"{path}:{line}" for path, one in sources(part) for line in one.packed] == []


def test_packed_statements_are_found() -> None:
    text = "m.d.comb += [\n    *(a.eq(b), c.eq(d)),\n    *(x.eq(y) for x, y in z),\n    e.eq(f),\n]"
    assert facts(text).packed == (2,)


def test_functions_are_short() -> None:
    long = [
        f"{path}: {name} has {size} lines"
        for path, one in sources()
        for size, name in one.functions
        if size > LONG_FUNCTION
    ]
    assert long == []


def test_files_are_short() -> None:
    assert [f"{path}: {one.lines}" for path, one in sources() if one.lines > _LONGEST_FILE] == []


def test_a_function_s_length_has_its_decorators() -> None:
    assert facts("@one\n@two\ndef f():\n    return 1\n").functions == ((4, "f"),)


def test_widths_of_calls() -> None:
    one = facts("f(1, g(1, 2, a=3), *x)\nRecord(a=1, b=2, **c)\n")
    assert (one.by_place, one.by_name) == (3, 3)


def test_the_structure_is_shown(record_property: Callable[[str, object], None]) -> None:
    """`make test` prints it at its end (`tests/conftest.py`)."""
    text = structure.report()
    record_property("structure", text)
    assert "\n0 exceptions, 0 modules in a circle.\n" in text
    rows = [line.split(" | ") for line in text.splitlines()]
    shown = {cells[0].strip("| "): cells for cells in rows}
    assert int(shown["tests"][2]) > 50_000
    assert shown["precog_hw"][-1] == "spec |"


def test_another_checkout_is_compared(tmp_path: Path) -> None:
    old = tmp_path / "hw/precog_hw/one.py"
    old.parent.mkdir(parents=True)
    old.write_text("f(1, 2)\n")
    assert "Before: 1 lines, 0 functions over 100 lines, widest call 2 by place." in (
        structure.report(tmp_path)
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.structure", "--before", str(old)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"before must be a checkout of Precog, not {old}" in done.stderr
