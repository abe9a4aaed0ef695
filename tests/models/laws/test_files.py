"""Laws in files of the user's own: relative imports find neighbours, and Precog's language."""

import re
from pathlib import Path

import pytest

import precog_models.laws
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.errors import LawError
from precog_models.laws.compiler.load import law_names, load
from precog_spec.engine.isa import THREADS

_EVIDENCE = Path(__file__).parents[3] / "docs/evidence/exactness.md"
_HOME = Path(str(precog_models.laws.__file__)).parent
_LAW = """
from .language import Field, Fmt, clamp
from .shared import twice
PARAMETERS = ()
STATE = (Field("last", Fmt.RTT),)
WINDOWED = False
def on_ack(p, s, e):
    s.last = e.rtt
    return clamp(twice(e.rtt), e.min_rate, e.max_rate)
"""
_SHARED = "def twice(v: int) -> int:\n    return {factor} * v\n"


@pytest.mark.parametrize("name", law_names())
def test_a_copy_of_each_law_makes_the_same_program(name: str, tmp_path: Path) -> None:
    copy = tmp_path / f"{name}.py"
    copy.write_text((_HOME / copy.name).read_text())
    assert compile_law(load(copy)).program == compile_law(load(name)).program


@pytest.mark.parametrize("name", law_names())
def test_the_page_has_the_longest_path_of_each_law(name: str) -> None:
    program = compile_law(load(name)).program
    turns = max(program.turns.values())
    cells = f" {len(program.code)} | {turns} | {turns * THREADS} |"
    rows = re.findall(rf"^\| {name} \| [0-9.]+ \| [0-9.]+ \|(.*)$", _EVIDENCE.read_text(), re.M)
    assert rows == [cells]


@pytest.mark.parametrize("package", [False, True])
def test_relative_imports_find_neighbours(package: bool, tmp_path: Path) -> None:
    folder = tmp_path / f"laws_of_{package}" / "inner"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(_LAW)
    (folder / "shared.py").write_text(_SHARED.format(factor=2))
    if package:
        for one in (folder, folder.parent):
            (one / "__init__.py").touch()
        # In a package every file is its own.
        (folder / "language.py").write_text("from precog_models.laws.language import *\n")
    first = compile_law(load(folder / "mine.py")).program
    assert set(first.entries) == {"on_ack"}
    if not package:  # a package's modules are imported once
        (folder / "shared.py").write_text(_SHARED.format(factor=30))
        assert compile_law(load(folder / "mine.py")).program.code != first.code
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_package_whose_name_is_taken_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "json"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "mine.py").write_text(_LAW)
    (folder / "shared.py").write_text(_SHARED.format(factor=2))
    assert load(folder / "mine.py").name == "mine"


def test_a_neighbour_that_is_missing_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(_LAW)
    with pytest.raises(LawError, match=r"mine.py:3: file must run: .*No module named '.*\.shared'"):
        load(path)


@pytest.mark.parametrize(
    ("mark", "encoding"), [("", "utf-8-sig"), ("# coding: latin-1", "latin-1")]
)
def test_a_file_may_have_any_encoding_that_python_reads(
    mark: str, encoding: str, tmp_path: Path
) -> None:
    text = f"{mark}\n# \xe4{_LAW}".replace(".shared", "shared").replace("\n", "\r\n")
    text = text.replace("from shared import twice", "def twice(v):\r\n    return v")
    path = tmp_path / "mine.py"
    path.write_bytes(text.encode(encoding))
    assert set(compile_law(load(path)).program.entries) == {"on_ack"}
