"""The live view in browsers: each gets a process of its own, which ends with its page."""

import shlex
import sys
from collections.abc import Sequence

__all__ = ["serve_view"]

_HOST = "127.0.0.1"
_PROGRAM = ("-c", "from precog_host.cli import main; main()", "monitor")


def serve_view(arguments: Sequence[str], port: int) -> None:
    """Serve ``precog monitor`` with `arguments` to browsers on this machine, until ^C.

    Raises
    ------
    OSError
        The port is taken.
    ModuleNotFoundError
        The extra ``monitor`` is not installed.
    """
    from textual_serve.server import Server

    command = shlex.join([sys.executable, *_PROGRAM, *arguments])
    Server(command, host=_HOST, port=port, title="precog monitor").serve()
