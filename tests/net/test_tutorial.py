"""The tutorial page "your law in ten minutes", done word for word."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.command_line import ran

from precog_host import cli
from precog_sim.rtl.verilate import BUILD_ROOT

_PAGE = (Path(__file__).parents[2] / "docs/tutorials/law.md").read_text()
_FILES = dict(re.findall(r"`(\w+\.py)`:\s+```python\n(.*?)```", _PAGE, re.S))
_COMMANDS = re.findall(r"^\$ precog (.*)$", _PAGE, re.M)


def test_the_page_s_law_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(_FILES) == {"aimd.py", "aimd_card.py"}
    for name, text in _FILES.items():
        Path(name).write_text(text)
    found = []
    for words in map(shlex.split, _COMMANDS):
        if words[:2] == ["sim", "law"]:  # below
            continue
        fabric = words[:2] == ["sim", "fabric"]
        with pytest.raises(SystemExit) as caught:
            cli.main([*words, *(("--jobs", "1") if fabric else ())])
        assert not caught.value.code, capsys.readouterr().err
        if fabric:
            found.append(json.loads(Path("build/fabric/fabric.json").read_text())["results"])
    first, tuned, mixed, integer = found
    assert list(first) == ["aimd.py", "hpcc", "swift:preset=scaled"]
    for result in (*first.values(), *tuned.values(), *mixed.values(), *integer.values()):
        assert result["finished"] == result["flows"] > 16
    # The page's law keeps a queue of at least 2 us, 25 KB, and shares the link like the others.
    plain, hpcc = first["aimd.py"], first["hpcc"]
    assert 0.7 < plain["all"]["p50"] / hpcc["all"]["p50"] < 1.4
    (other,) = tuned.values()
    assert other["all"] != plain["all"]
    (together,) = mixed.values()
    assert set(together["laws"]) == {"hpcc", "aimd.py"}
    assert together["laws"]["aimd.py"]["n"] == together["classes"]["incast"]["n"]
    (card,) = integer.values()
    assert 0.8 < card["all"]["p50"] / plain["all"]["p50"] < 1.2


@pytest.mark.cosim
@pytest.mark.xdist_group("law_engine")
def test_the_page_s_law_in_the_rtl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built = BUILD_ROOT.resolve()
    monkeypatch.chdir(tmp_path)
    built.mkdir(parents=True, exist_ok=True)
    BUILD_ROOT.parent.mkdir()
    BUILD_ROOT.symlink_to(built)  # the library is that of other tests
    Path("aimd_card.py").write_text(_FILES["aimd_card.py"])
    (command,) = (one for one in _COMMANDS if one.startswith("sim law"))
    done = ran(capsys, *shlex.split(command), "-j")
    assert not done.status, done.err
    record = json.loads(done.out)
    assert (record["mismatches"], record["finished"]) == (0, True)
    assert record["decisions"] == record["counters"]["events"] > 180
