"""Compiled code is never older than its sources, and is kept where that is possible."""

import gc
from pathlib import Path

import pytest
from numba.core import event
from numba.core.errors import TypingError
from tests.source_tree import SourceTree

from precog_models.jit import KEPT, njit

#: A function of one file that calls one of another: a value that rounding decides, and how often
#: the machine code was found.
CALL = """
import numpy as np
from precog_models.predict.cps import calibrated
value = calibrated(np.arange(65), 256)
print(value, sum(calibrated.stats.cache_hits.values()))
"""
CALLEE = "precog_models/fixed.py"
NEAREST = "((value >> (shift - 1)) + 1) >> 1"
FLOOR = "value >> shift"


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    return SourceTree(tmp_path / "tree", "models/precog_models")


def test_an_edit_of_a_callee_is_seen(tree: SourceTree) -> None:
    assert tree.run(CALL) == "1 0"
    assert tree.run(CALL) == "1 1"
    tree.edit(CALLEE, NEAREST, FLOOR)
    assert tree.run(CALL) == "0 0"
    tree.edit(CALLEE, FLOOR, NEAREST)
    assert tree.run(CALL) == "1 1"


def test_an_edit_while_a_process_runs_leaves_nothing_stale(tree: SourceTree) -> None:
    """The process has the new callee, though its sources were the old ones when it began."""
    edit = f"""
import precog_models.rate.window
from pathlib import Path
callee = Path({str(tree.root / CALLEE)!r})
old = callee.read_text()
callee.write_text(old.replace({NEAREST!r}, {FLOOR!r}))
"""
    assert tree.run(f"{edit}{CALL}callee.write_text(old)") == "0 0"
    assert tree.run(CALL) == "1 0"


def test_a_read_only_installation_is_cached_for_the_user(tree: SourceTree, tmp_path: Path) -> None:
    (tree.root / "precog_models/__pycache__").touch()  # not even root can make a folder of it
    user = {"XDG_CACHE_HOME": str(tmp_path / "user")}
    assert tree.run(CALL, **user) == "1 0"
    assert tree.run(CALL, **user) == "1 1"
    tree.edit(CALLEE, NEAREST, FLOOR)
    assert tree.run(CALL, **user) == "0 0"


def test_without_a_place_every_process_compiles(tree: SourceTree, tmp_path: Path) -> None:
    (tree.root / "precog_models/__pycache__").touch()
    (tmp_path / "user").touch()
    for _ in range(2):
        assert tree.run(CALL, XDG_CACHE_HOME=str(tmp_path / "user")) == "1 0"


def test_the_place_can_be_chosen(tree: SourceTree, tmp_path: Path) -> None:
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    assert [tree.run(CALL, **chosen) for _ in range(2)] == ["1 0", "1 1"]
    assert not (tree.root / "precog_models/__pycache__/compiled").exists()


def test_old_folders_are_removed(tree: SourceTree) -> None:
    compiled = tree.root / "precog_models/__pycache__/compiled"
    seen = []
    for n in range(KEPT + 2):
        tree.edit(CALLEE, "import numpy as np", f"import numpy as np  # {n}")
        tree.run("import precog_models.fixed")
        seen += [path for path in compiled.iterdir() if path not in seen]
    assert sorted(compiled.iterdir()) == sorted(seen[-KEPT:])


def test_processes_may_begin_at_once(tree: SourceTree) -> None:
    processes = [tree.start(CALL) for _ in range(4)]
    assert {process.communicate()[0].split()[0] for process in processes} == {"1"}
    assert [process.wait() for process in processes] == [0] * 4
    assert tree.run(CALL) == "1 1"


def test_whoever_waits_for_the_compiler_is_told_so_once(tree: SourceTree, tmp_path: Path) -> None:
    told = "compiling the golden models, about 20 s, kept for the next time"
    assert tree.says(CALL) == ("1 0", told)
    assert tree.says(CALL) == ("1 1", "")
    (tmp_path / "none").touch()
    nowhere = {"NUMBA_CACHE_DIR": str(tmp_path / "none")}
    assert tree.says(CALL, **nowhere)[1] == told.replace(
        "kept for the next time", "for this process only"
    )


@pytest.mark.parametrize(("usual", "meanwhile"), [(700, 50_000), (90_000, 90_000), (0, 0)])
def test_cycles_are_looked_for_less_often_meanwhile(usual: int, meanwhile: int) -> None:
    """After a compilation, failed or not, the thresholds are as before; 0 is never."""
    seen: set[int] = set()

    class Seeing(event.Listener):
        def on_start(self, _: event.Event) -> None:
            seen.add(gc.get_threshold()[0])

        def on_end(self, _: event.Event) -> None:
            seen.add(gc.get_threshold()[0])

    before = gc.get_threshold()
    gc.set_threshold(usual, *before[1:])
    try:
        with event.install_listener("numba:run_pass", Seeing()):
            njit(lambda x: x + 1, kept=False)(1)
        assert seen == {meanwhile}
        assert gc.get_threshold() == (usual, *before[1:])
        with pytest.raises(TypingError):
            njit(lambda x: x.nothing, kept=False)(1)
        assert gc.get_threshold() == (usual, *before[1:])
    finally:
        gc.set_threshold(*before)
