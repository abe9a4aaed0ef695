"""``precog study``: every study has a command, which passes its options on."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from precog_studies import commands


def test_every_study_has_a_command() -> None:
    folder = Path(commands.__file__).parent
    names = {path.parent.name.replace("_", "-") for path in folder.glob("*/__main__.py")}
    assert set(commands.STUDIES) == names
    said = CliRunner().invoke(commands.app, ["--help"]).output
    assert all(name in said for name in names)


def test_options_and_the_exit_status_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(commands, "run", lambda name, words: given.append((name, words)) or 3)
    done = CliRunner().invoke(commands.app, ["fleet-scale", "--agents", "1000", "200", "-x"])
    assert done.exit_code == 3
    assert given == [("fleet-scale", ["--agents", "1000", "200", "-x"])]


def test_a_study_refuses_what_it_cannot_do() -> None:
    with pytest.raises(SystemExit):
        commands.run("figure20", ["--seeds", "1"])
