"""``precog dump``: a bug report of a device, and a look at one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, printable, table

from .register import draw_registers

__all__ = ["app"]

app = group("Bug reports: all that a device says, in a file.")

_FileArgument = Annotated[Path, typer.Argument(help="File of the report, JSON.", metavar="FILE")]


@app.command()
def save(path: _FileArgument, device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Write a bug report: registers, models, queue pairs, counters, peers."""
    from precog_host import bug_report
    from precog_host.device import Device
    from precog_models.durable import check_target

    check_target(path)
    with Device.open(device) as opened:
        report = bug_report.collect(opened, device)
    bug_report.save(report, path)
    failed = [n for n, part in report.items() if isinstance(part, dict) and "error" in part]
    done = {"path": str(path), "bytes": path.stat().st_size, "failed": failed}

    def say() -> None:
        typer.echo(f"{path}: {done['bytes']} bytes; it has the addresses of peers")
        for name in failed:
            typer.echo(f"  {name} could not be read: {report[name]['error']}")

    emit(done, say, json_)


@app.command()
def show(path: _FileArgument, json_: JsonOption = False) -> None:
    """Show a bug report."""
    from precog_host import bug_report

    report = bug_report.load(path)
    emit(report, lambda: _draw(report), json_)


def _draw(report: dict[str, Any]) -> None:
    """Each part as a table; numbers by name as two columns, rows as they are."""
    for name, part in report.items():
        if name == "registers" and isinstance(part, list):
            draw_registers(part)
        elif isinstance(part, dict):
            table((name, ""), [(key, _flat(value)) for key, value in part.items()])
        elif isinstance(part, list):
            rows = [row for row in part if isinstance(row, dict)]
            columns = list(rows[0]) if rows else []
            if columns:
                table(columns, [[_flat(row.get(c)) for c in columns] for row in rows], title=name)
        else:
            typer.echo(printable(f"{name}: {part}"))


def _flat(value: Any) -> Any:
    """A cell: what is nested, as text."""
    if isinstance(value, dict):
        return " ".join(f"{key}={_flat(one)}" for key, one in value.items() if one)
    return value
