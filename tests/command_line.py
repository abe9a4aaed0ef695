"""The command line in a test's own process."""

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from typing import NamedTuple

import pytest

from precog_host import application, cli

__all__ = ["Ran", "Run", "plug_in", "ran"]


class Ran(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


#: Runs the command line; some tests' begins with words of its own.
Run = Callable[..., Ran]


def ran(capsys: pytest.CaptureFixture[str], *words: object) -> Ran:
    """Run ``precog WORDS``."""
    capsys.readouterr()  # the seed's line is not the command's output
    with pytest.raises(SystemExit) as caught:
        cli.main([str(word) for word in words])
    said = capsys.readouterr()
    return Ran(int(caught.value.code or 0), said.out, said.err)


def plug_in(monkeypatch: pytest.MonkeyPatch, points: Iterable[EntryPoint]) -> None:
    """Let the command line have these plug-ins, and no others, until the test ends."""
    found = list(points)
    monkeypatch.setattr(application, "entry_points", lambda group: found)
    monkeypatch.setattr(application, "command_line", application.command_line.__wrapped__)
