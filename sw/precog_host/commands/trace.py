"""``precog trace``: records of a device's decisions."""

import errno
import json
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, require_one, table

from .parts import open_part

if TYPE_CHECKING:
    from precog_host.driver.trace import TraceDriver, TraceState

__all__ = ["app"]

app = group("Records of a device's decisions.")
_COLUMNS = ("serial", "t_us", "kind", "qp", "score")  # what all kinds have


def _tracing(device: str) -> "AbstractContextManager[TraceDriver]":
    """The trace of the device that a URI names."""
    return open_part(
        device,
        lambda opened: opened.trace,
        f"device {device} has no trace FIFO: it was built without one; try emu:trace=1",
    )


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show what is recorded, and how many records wait."""
    with _tracing(device) as tracing:
        state = tracing.state()
    emit(state, lambda: _show(state), json_)


@app.command("set")
def set_(
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Record decision, receiver, forecast, program, or none; repeatable."),
    ] = None,
    qp: Annotated[int | None, typer.Option(help="Record only this QP slot.")] = None,
    all_qps: Annotated[bool, typer.Option("--all-qps", help="Record all QPs again.")] = False,
    every: Annotated[int | None, typer.Option(help="Record one of this many; 1: all.")] = None,
    threshold: Annotated[
        int | None, typer.Option(help="Level from which on the device says so; 0: never.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Set what is recorded."""
    require_one(kind=kind, qp=qp, all_qps=all_qps or None, every=every, threshold=threshold)
    kinds = None if kind is None else [name for name in kind if name != "none"]
    with _tracing(device) as tracing:
        tracing.configure(kinds=kinds, qp=qp, all_qps=all_qps, every=every, threshold=threshold)
        state = tracing.state()
    emit(state, lambda: _show(state), json_)


@app.command()
def read(
    limit: Annotated[int | None, typer.Option(help="Most records to take.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Append the records, a line of JSON each.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Take the records that wait out of a device, and show them."""
    if limit is not None and limit < 0:
        raise ValueError(f"limit must be 0 or more, not {limit!r}")
    with _tracing(device) as tracing, _appended(output) as file:
        rows = []
        for record in tracing.drain(limit):
            rows.append(tracing.presented(record))
            if file is not None:  # the device forgets the record only behind this
                _append(file, rows[-1])
        state = tracing.state()

    def draw() -> None:
        table(
            (*_COLUMNS, "what"), [(*(row[name] for name in _COLUMNS), _rest(row)) for row in rows]
        )
        _show(state)

    emit({"records": rows, "state": state}, draw, json_)


def _appended(output: Path | None) -> AbstractContextManager[FileIO | None]:
    return nullcontext() if output is None else output.open("ab", buffering=0)


def _append(file: FileIO, row: dict[str, Any]) -> None:
    """A line of JSON.

    Raises
    ------
    OSError
        It has no room, or not all of it.
    """
    line = (json.dumps(row, sort_keys=True) + "\n").encode()
    try:
        taken = file.write(line)
        if taken < len(line):
            with suppress(OSError):  # a pipe keeps the part of a line
                file.truncate(os.fstat(file.fileno()).st_size - taken)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file.name)) from error


def _show(state: "TraceState") -> None:
    counters = ", ".join(f"{count} {name}" for name, count in state.counters.items())
    kinds = ", ".join(state.kinds) or "nothing"
    of = "" if state.qp is None else f" of QP {state.qp}"
    typer.echo(f"recording {kinds}{of}, every {state.every}; {state.level} wait; {counters}")


def _rest(row: dict[str, Any]) -> str:
    parts = []
    for name, value in row.items():
        if name in _COLUMNS or value is None or value == ():
            continue
        shown = f"{value:.6g}" if isinstance(value, float) else value
        parts.append(f"{name}={','.join(value) if isinstance(value, tuple) else shown}")
    return " ".join(parts)
