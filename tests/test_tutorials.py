"""The tutorials, done word for word in an empty folder: every file they show, every `$` line."""

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.object_cache import objcache

from precog_host import cli
from precog_models.train import presets
from precog_sim.rtl.verilate import BUILD_ROOT

_PAGES = Path(__file__).parents[1] / "docs/tutorials"
_FILE = re.compile(r"Save this as `([\w.]+)`.*?```python\n(.*?)```", re.S)
_BIN = Path(sys.executable).parent


def do(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a page's files and run its lines.

    Raises
    ------
    AssertionError
        A line failed.
    """
    monkeypatch.chdir(folder)
    page = (_PAGES / f"{name}.md").read_text(encoding="utf-8")
    for file, text in _FILE.findall(page):
        Path(file).write_text(text)
    lines = re.findall(r"^\$ (.*)$", page, re.M)
    assert lines
    for line in lines:
        words = shlex.split(line)
        if words[0] == "precog":
            with pytest.raises(SystemExit) as caught:
                cli.main(words[1:])
            assert not caught.value.code, line
        else:
            done = subprocess.run([_BIN / words[0], *words[1:]], capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_operate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do("operate", tmp_path, monkeypatch)


def test_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the page, but for the length of the training."""
    recipe = presets.RECIPES["precog"]
    short = replace(recipe, epochs=1, updates=5, batch=64, history_pairs=100)
    monkeypatch.setitem(presets.RECIPES, "precog", short)
    do("train", tmp_path, monkeypatch)
    assert (tmp_path / "repo/metadata/1.root.json").exists()


def test_corundum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do("corundum", tmp_path, monkeypatch)
    assert "module mqnic_app_block" in (tmp_path / "app/mqnic_app_block.v").read_text()


@pytest.mark.cosim
def test_simulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBJCACHE", objcache(BUILD_ROOT / "objects"))
    do("simulate", tmp_path, monkeypatch)


@pytest.mark.synth
def test_synthesize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, volume: int) -> None:
    if volume < 2:
        pytest.skip("a block is mapped for most of a minute: only with --volume 2")
    do("synthesize", tmp_path, monkeypatch)
    assert "TRELLIS_FF" in (tmp_path / "area.txt").read_text()


def test_a_line_that_fails_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.md").write_text("```console\n$ precog qp show -d nowhere:\n```\n")
    monkeypatch.setattr(f"{__name__}._PAGES", tmp_path)
    with pytest.raises(AssertionError, match="qp show"):
        do("bad", tmp_path, monkeypatch)
