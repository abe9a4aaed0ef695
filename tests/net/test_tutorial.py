"""The tutorial page "your law in ten minutes", done word for word."""

import json
import re
import shlex
from pathlib import Path

import pytest

from precog_host import cli

_PAGE = (Path(__file__).parents[2] / "docs/tutorials/law.md").read_text()
_CODE = re.findall(r"```python\n(.*?)```", _PAGE, re.S)
_COMMANDS = re.findall(r"^\$ precog (.*)$", _PAGE, re.M)


def test_the_page_s_law_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(_CODE) == 1
    Path("aimd.py").write_text(_CODE[0])
    found = []
    for command in _COMMANDS:
        with pytest.raises(SystemExit) as caught:
            cli.main([*shlex.split(command), "--jobs", "1"])
        assert not caught.value.code, capsys.readouterr().err
        found.append(json.loads(Path("build/fabric/fabric.json").read_text())["results"])
    first, tuned, mixed = found
    assert list(first) == ["aimd.py", "hpcc", "swift:preset=scaled"]
    for result in (*first.values(), *tuned.values(), *mixed.values()):
        assert result["finished"] == result["flows"] > 16
    # The page's law keeps a queue of at least 2 us, 25 KB, and shares the link like the others.
    plain, hpcc = first["aimd.py"], first["hpcc"]
    assert 0.7 < plain["all"]["p50"] / hpcc["all"]["p50"] < 1.4
    (other,) = tuned.values()
    assert other["all"] != plain["all"]
    (together,) = mixed.values()
    assert set(together["laws"]) == {"hpcc", "aimd.py"}
    assert together["laws"]["aimd.py"]["n"] == together["classes"]["incast"]["n"]
