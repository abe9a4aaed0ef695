"""What commands print: JSON for machines, tables for people, errors on stderr, progress bars."""

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer

__all__ = [
    "NO_PAIR",
    "DeviceOption",
    "JsonOption",
    "SlotArgument",
    "SlotsArgument",
    "emit",
    "group",
    "pair_table",
    "parameters_given",
    "plain",
    "printable",
    "progress_bar",
    "refuse_ignored",
    "require_one",
    "table",
    "whole_numbers",
]

#: Said where queue pairs would be shown.
NO_PAIR = "no queue pair is enabled: precog qp add 0 enables slot 0"
_WIDE = 200  # columns of a file or a pipe

#: ``-j`` of every command.
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("-j", "--json", help="Print JSON instead of tables.")
]
#: ``-d`` of every command that talks to a device.
DeviceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "-d",
        "--device",
        help="Device URI: emu:, sim:, ...",
        metavar="URI",
        envvar="PRECOG_DEVICE",
        autocompletion=lambda incomplete: _transports(incomplete),
    ),
]
#: Queue pairs of a command that shows some or all, each once.
SlotsArgument: TypeAlias = Annotated[
    list[int] | None,
    typer.Argument(
        help="QP slots; all by default.", metavar="[SLOT]...", callback=lambda given: _once(given)
    ),
]
#: Queue pairs of a command that changes them, each once.
SlotArgument: TypeAlias = Annotated[
    list[int],
    typer.Argument(help="QP slots.", metavar="SLOT...", callback=lambda given: _once(given)),
]


def _once(numbers: list[int] | None) -> list[int] | None:
    return None if numbers is None else list(dict.fromkeys(numbers))


def _transports(incomplete: str) -> list[str]:
    from .opening import transport_names

    names = [f"{name}:" for name in transport_names()]
    return [name for name in names if name.startswith(incomplete)]


def group(text: str) -> typer.Typer:
    """A group of commands; its help text is `text`."""
    return typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)


def require_one(**options: object) -> None:
    """Refuse a command that would set nothing.

    Parameters
    ----------
    **options
        Values by the option's name, without its dashes; None is not given.

    Raises
    ------
    ValueError
        None of them is given.
    """
    if all(value is None for value in options.values()):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise ValueError(f"at least one option must be given: {names}")


def parameters_given(texts: Sequence[str]) -> dict[str, float]:
    """Values by name, of arguments ``name=number``.

    Raises
    ------
    ValueError
        An argument has another form, or a name stands twice.
    """
    values: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name in values:
            raise ValueError(f"parameter {name} must be given once, not again as {text!r}")
        try:
            values[name] = float(number)
        except ValueError:
            raise ValueError(f"parameter {text!r} must be <name>=<number>") from None
    return values


def whole_numbers(values: Mapping[str, float]) -> dict[str, int]:
    """What `parameters_given` found, where only whole numbers have a meaning.

    Raises
    ------
    ValueError
        A value is none, or not finite.
    """
    for name, value in values.items():
        if not float(value).is_integer():
            raise ValueError(f"{name} must be a whole number, not {value!r}")
    return {name: int(value) for name, value in values.items()}


def refuse_ignored(context: typer.Context, *parameters: str, why: str) -> None:
    """Refuse options that were given but would change nothing.

    Raises
    ------
    ValueError
        One of `parameters` stands on the command line.
    """
    for name in parameters:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = name.replace("_", "-")
            raise ValueError(f"option --{option} has no effect {why}: leave it out")


def printable(text: str) -> str:
    """`text` without characters that would steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def emit(data: Any, show: Callable[[], None], as_json: bool) -> None:
    """Print `data` as one line of sorted JSON, or call `show`."""
    if as_json:
        sys.stdout.write(json.dumps(plain(data), sort_keys=True, allow_nan=False) + "\n")
    else:
        show()


def plain(value: Any) -> Any:
    """JSON data: arrays as lists, what is not a finite number as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table; numbers stand to the right, None is a dash."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for index, name in enumerate(columns):
        numeric = any(_is_number(row[index]) for row in rows)
        drawn.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        drawn.add_row(*(Text(printable(_cell(value))) for value in row))
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    console.print(drawn)


def pair_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """As `table`; without a row, the command that makes one."""
    if rows:
        table(columns, rows)
    else:
        sys.stdout.write(f"{NO_PAIR}\n")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return " ".join(map(str, value)) or "–"
    return str(value)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[..., None]]:
    """A bar on a terminal's stderr; yields a function of (done, total) and perhaps a new label."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total, text=label: bar.update(
            task, completed=done, total=total, description=text
        )
