"""The command line in a test's own process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from precog_host import cli

__all__ = ["Ran", "Run", "ran"]


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
