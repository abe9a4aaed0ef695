"""All commands of ``precog``, and what becomes of their results and errors.

Commands that need the simulator, the trainer or the gateware come from other packages: an entry
point of the group ``precog.cli`` is called ``<command>`` or ``<group>.<command>`` and is a function
or a `typer.Typer`. A package whose import fails leaves a command that says what is missing.

Exit status: 0 done, 1 the work failed (it says why), 2 a bad argument, file or device, 130
interrupted, 141 the output is not read any more.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any, NoReturn

import typer

from .commands import (
    cc,
    device,
    dump,
    ecc,
    interrupt,
    law,
    model,
    monitor,
    packet,
    qp,
    register,
    serve,
    trace,
)
from .extras import advice
from .output import group, printable
from .transport import DeviceError

__all__ = ["ENTRY_POINT_GROUP", "application", "command_line", "run"]

ENTRY_POINT_GROUP = "precog.cli"
_GROUPS = {"sim": "Network simulator.", "pid": "Gains of the PID law."}  # that plug-ins fill
_FAILED = 1
_USAGE = 2
_INTERRUPTED = 130  # as a shell says it: 128 and the signal's number
_UNREAD = 141
_DEBUG = "PRECOG_DEBUG"  # environment variable: any text but none shows tracebacks
_LONG_WORD = re.compile(r"\S{257,}")  # longer than any file's name
_HEAD, _TAIL = 160, 80  # characters of such a word that are said
_MOST_SAID = 8192  # characters of an error
_EPILOG = (
    "Results go to standard output, as one line of JSON with -j. Errors are one line of plain text "
    "on standard error, with -j too. Exit status: 0 done, 1 the work failed, 2 a bad argument, "
    "file or device, 130 interrupted."
)

# Typer carries click inside itself or depends on it, by version; its public error class tells.
_ClickError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def application() -> typer.Typer:
    """All commands of this installation."""
    app = typer.Typer(
        name="precog",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog=_EPILOG,
    )
    groups = {
        "model": model.app,
        "qp": qp.app,
        "cc": cc.app,
        "law": law.app,
        "packet": packet.app,
        "ecc": ecc.app,
        "trace": trace.app,
        "interrupt": interrupt.app,
        "device": device.app,
        "register": register.app,
        "dump": dump.app,
    }
    groups = {name: _copy(one) for name, one in groups.items()}  # plug-ins are added to these
    app.command("serve")(serve.serve)
    app.command("monitor")(monitor.monitor)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        name, _, command = point.name.rpartition(".")
        parent = app
        if name:
            if name not in groups:
                groups[name] = group(_GROUPS.get(name, ""))
            parent = groups[name]
        _add(parent, command, point)
    for name, child in groups.items():
        app.add_typer(child, name=name)
    app.callback()(_root)
    return app


@cache
def command_line() -> Any:
    """The `application` as click runs it; made once, since it takes longer than most commands."""
    return typer.main.get_command(application())


def _copy(group: typer.Typer) -> typer.Typer:
    """A group to which commands can be added, while its module's stays as it is."""
    made = copy(group)
    made.registered_commands = list(group.registered_commands)
    made.registered_groups = list(group.registered_groups)
    return made


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"precog {version('precog')}")
        raise typer.Exit


def _root(
    debug: Annotated[
        bool, typer.Option("--debug", help=f"Show tracebacks of errors, as {_DEBUG}=1 does.")
    ] = False,
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """An RDMA NIC datapath that sees congestion coming."""


def _add(parent: typer.Typer, name: str, point: EntryPoint) -> None:
    try:
        command = point.load()
    except (ImportError, AttributeError) as error:  # the latter: of an older installation
        reason = advice(error) or f"{error}: install precog again, pip install -e . in its checkout"
        # It takes whatever the command that is missing would take.
        anything = {"ignore_unknown_options": True}
        parent.command(name, context_settings=anything)(_missing(point, reason))
        return
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)


def _missing(point: EntryPoint, reason: str) -> Callable[..., None]:
    def command(
        words: Annotated[list[str] | None, typer.Argument(hidden=True, metavar="")] = None,
    ) -> None:
        raise DeviceError(f"command {point.name.replace('.', ' ')} is not available: {reason}")

    command.__doc__ = f"(not available: {reason})"
    return command


def run(arguments: Sequence[str]) -> NoReturn:
    """Run one command; exits. A KeyboardInterrupt is the caller's."""
    given = list(arguments)
    debug = "--debug" in given or bool(os.environ.get(_DEBUG))
    given = [argument for argument in given if argument != "--debug"]  # it may stand anywhere
    try:
        if sys.stdout is None:
            raise OSError("standard output must be open")
        status = command_line()(given, prog_name="precog", standalone_mode=False)
        sys.stdout.flush()
        if status == _INTERRUPTED:  # how Typer's newer versions say it
            raise KeyboardInterrupt
    except _ClickError as error:
        _fail(_click_message(error))
    except typer.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        _drop_output()
        sys.exit(_UNREAD)
    except Exception as error:
        if debug:
            raise
        _drop_output()  # perhaps it was the output that failed
        _fail(_message(error), _status(error))
    sys.exit(status if isinstance(status, int) else 0)


def _status(error: Exception) -> int:
    """Whether the arguments or the work failed."""
    bad = isinstance(error, DeviceError | ValueError | OSError)
    return _USAGE if bad and not isinstance(error, RuntimeError) else _FAILED


def _message(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f"file {error.filename}: " if error.filename is not None else ""
        return where + (error.strerror or str(error))
    if isinstance(error, MemoryError):
        return "memory is exhausted: give smaller sizes"
    text = advice(error) or str(error) or type(error).__name__
    if advice(error) or isinstance(error, DeviceError | ValueError | RuntimeError):
        return text
    return f"internal error, {type(error).__name__}: {text}; --debug shows where"


def _click_message(error: Exception) -> str:
    text = str(error.format_message()).strip()  # type: ignore[attr-defined]
    # Typer's newer versions convert by pydantic, whose messages leave the value out.
    details = getattr(error.__cause__, "errors", None)
    if callable(details):
        text += f", not {details()[0]['input']!r}"
    if text.startswith("Usage:"):
        return text
    context = getattr(error, "ctx", None)
    if context is not None:
        text = f"{text.rstrip('.')}; {context.command_path} --help shows the usage"
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def _drop_output() -> None:
    """Let what standard output cannot take go nowhere, or it would fail again at the exit."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bounded(message: str) -> str:
    """A message without the middle of long words, such as a number of thousands of digits."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:_HEAD]}…{word[0][-_TAIL:]}", message)
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…"


def _fail(message: str, status: int = _USAGE) -> NoReturn:
    if message.startswith("Usage:"):  # a group without a command: its help is the message
        sys.stderr.write(f"{message}\n")
        sys.exit(status)
    text = "\n".join(printable(line) for line in _bounded(message.strip()).splitlines())
    sys.stderr.write(f"error: {text}\n")
    sys.exit(status)
