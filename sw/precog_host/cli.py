"""The command line ``precog``.

Commands that need the simulator, the trainer or the gateware come from other packages: an entry
point of the group ``precog.cli`` is called ``<command>`` or ``<group>.<command>`` and is a function
or a `typer.Typer`. A package whose import fails leaves a command that says what is missing.

Exit status: 0 done, 1 the work failed (it says why), 2 a bad argument, file or device.
"""

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, NoReturn

import typer

from .commands import cc, device, model, qp
from .transport import DeviceError

__all__ = ["ENTRY_POINT_GROUP", "main"]

ENTRY_POINT_GROUP = "precog.cli"
_GROUPS = {"sim": "Network simulator.", "pid": "Gains of the PID law."}  # that plug-ins fill
_FAILED = 1
_USAGE = 2

# Typer carries click inside itself or depends on it, by version; its public error class tells.
_ClickError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def _application() -> typer.Typer:
    """All commands of this installation."""
    app = typer.Typer(
        name="precog", add_completion=False, no_args_is_help=True, rich_markup_mode=None
    )
    groups: dict[str, typer.Typer] = {
        "model": model.app,
        "qp": qp.app,
        "cc": cc.app,
    }
    device.add_to(app)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        group, _, command = point.name.rpartition(".")
        parent = app
        if group:
            if group not in groups:
                groups[group] = typer.Typer(
                    help=_GROUPS.get(group), no_args_is_help=True, rich_markup_mode=None
                )
            parent = groups[group]
        _add(parent, command, _load(point))
    for name, child in groups.items():
        app.add_typer(child, name=name)
    app.callback()(_root)
    return app


def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """An RDMA NIC datapath that sees congestion coming."""


def _add(parent: typer.Typer, name: str, command: Any) -> None:
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except ImportError as error:
        return _missing(point, str(error))


def _missing(point: EntryPoint, reason: str) -> Callable[..., None]:
    def command() -> None:
        raise DeviceError(f"command {point.name.replace('.', ' ')} is not available: {reason}")

    command.__doc__ = f"(not available: {reason})"
    return command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        command = typer.main.get_command(_application())
        status = command(given, prog_name="precog", standalone_mode=False)
    except _ClickError as error:
        _fail(error.format_message())  # type: ignore[attr-defined]
    except (typer.Abort, KeyboardInterrupt):
        _fail("command was interrupted", _FAILED)
    except (DeviceError, ValueError, OSError, RuntimeError) as error:
        if debug:
            raise
        _fail(_message(error), _FAILED if isinstance(error, RuntimeError) else _USAGE)
    sys.exit(status if isinstance(status, int) else 0)


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"file {error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _fail(message: str, status: int = _USAGE) -> NoReturn:
    text = message.strip()
    if text.startswith("Usage:"):  # a group without a command: its help is the message
        sys.stderr.write(f"{text}\n")
        sys.exit(status)
    if text[1:2].islower():  # click begins with a capital
        text = text[0].lower() + text[1:]
    sys.stderr.write(f"error: {text}\n")
    sys.exit(status)
