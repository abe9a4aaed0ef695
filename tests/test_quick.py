"""The list of smoke tests names a test of every block, and each test that it names exists."""

import ast
from pathlib import Path

import pytest

from .quick import HARDWARE, MODELS, SOFTWARE, chosen

_ROOT = Path(__file__).parents[1]
_PARTS = ("hw", "models", "sim", "sw")


def blocks(package: Path) -> set[str]:
    """Folders of a package that hold Python."""
    return {folder.name for folder in package.iterdir() if list(folder.glob("*.py"))}


def test_every_block_has_a_smoke_test() -> None:
    assert blocks(_ROOT / "hw/precog_hw") - set(HARDWARE) == set()
    assert blocks(_ROOT / "models/precog_models") - set(MODELS) == set()
    packages = {path.name for part in _PARTS for path in (_ROOT / part).glob("precog_*")}
    assert packages - set(SOFTWARE) == {"precog_hw", "precog_models"}


def test_a_block_without_a_test_is_found(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new/x.py").touch()
    (tmp_path / "pictures").mkdir()
    assert blocks(tmp_path) == {"new"}


@pytest.mark.parametrize("place", chosen())
def test_a_chosen_test_exists(place: str) -> None:
    path, _, name = place.partition("::")
    tree = ast.parse((_ROOT / path).read_text())
    tests = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert [test for test in tests if test == name or (not name and test.startswith("test_"))]
