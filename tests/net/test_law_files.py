"""Laws in the cards' language that the simulator takes from a user's file or package."""

import importlib
import sys
from pathlib import Path

import pytest

from precog_models.laws.compiler.load import load
from precog_net.laws import law, law_sources

_HOME = Path(load("swift").file).parent


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    importlib.invalidate_caches()


def _copied(target: Path, *, relative: bool) -> None:
    """Swift in a file of the user's."""
    text = (_HOME / "swift.py").read_text()
    target.parent.mkdir(exist_ok=True)
    target.write_text(text if relative else text.replace("from .", "from precog_models.laws."))


def test_a_file_with_relative_imports() -> None:
    _copied(Path("copied.py"), relative=True)
    assert law("copied.py:preset=wide").label == "copied"


def test_a_module_of_a_package() -> None:
    _copied(Path("card_laws/copied.py"), relative=False)
    assert law("card_laws:copied").label == "copied"


def test_a_neighbour_that_changes_makes_results_void() -> None:
    _copied(Path("copied.py"), relative=True)
    Path("library.py").write_text((_HOME / "library.py").read_text())
    before = law_sources("copied.py")
    assert law_sources("copied.py") == before
    Path("library.py").write_text(Path("library.py").read_text() + "# changed\n")
    assert law_sources("copied.py") != before


def test_declarations_that_are_no_rows_are_named() -> None:
    Path("mine.py").write_text("PARAMETERS = 5\ndef on_ack(p, s, e): return e.rate\n")
    with pytest.raises(ValueError, match="mine PARAMETERS must be a tuple of rows"):
        law("mine.py")


def test_a_setting_is_given_once() -> None:
    with pytest.raises(ValueError, match="law swift ai must be given once, not again as 'ai=2'"):
        law("swift:ai=1,ai=2")
