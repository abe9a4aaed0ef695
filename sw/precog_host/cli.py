"""The entry point of ``precog``: an interrupt is one line and status 130, from the imports on."""

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]

_INTERRUPTED = 130  # as a shell says it: 128 and the signal's number


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; exits."""
    try:
        from .application import run  # imports take most of a short command's time

        run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.stderr.write("error: command was interrupted\n")
        sys.exit(_INTERRUPTED)
