"""``precog dump`` and ``precog registers``: what a device says, and what its registers mean."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import (
    DeviceOption,
    JsonOption,
    emit,
    printable,
    refuse_ignored,
    table,
)

__all__ = ["add_to", "dump", "registers"]


def dump(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write a bug report (JSON): registers, models, queue pairs, counters, peers.",
        ),
    ] = None,
    show: Annotated[
        Path | None, typer.Option("--show", help="Show such a file instead of a device.")
    ] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Show every register of a device, decoded; or write all that it says, or show that."""
    from precog_host import bug_report
    from precog_host.device import Device

    if show is not None:
        refuse_ignored(context, "output", "device", why="with --show")
        report = bug_report.load(show)
        emit(report, lambda: _show_report(report), json_)
        return
    with Device.open(device) as opened:
        if output is None:
            rows = bug_report.decoded(opened)
            emit(rows, lambda: _show_registers(rows), json_)
            return
        report = bug_report.collect(opened, device)
    bug_report.save(report, output)
    failed = [n for n, part in report.items() if isinstance(part, dict) and "error" in part]
    done = {"path": str(output), "bytes": output.stat().st_size, "failed": failed}

    def say() -> None:
        typer.echo(f"{output}: {done['bytes']} bytes; it has the addresses of peers")
        for name in failed:
            typer.echo(f"  {name} could not be read: {report[name]['error']}")

    emit(done, say, json_)


def _show_registers(rows: list[dict[str, Any]]) -> None:
    lines = []
    for row in rows:
        text = " ".join(f"{name}={value}" for name, value in row["fields"].items())
        lines.append((f"{row['address']:#06x}", row["name"], f"{row['word']:#010x}", text))
    table(("address", "register", "word", "fields"), lines)


def _show_report(report: dict[str, Any]) -> None:
    """Each part as a table; numbers by name as two columns, rows as they are."""
    for name, part in report.items():
        if name == "registers" and isinstance(part, list):
            _show_registers(part)
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


def registers(
    format_: Annotated[
        str,
        typer.Option(
            "-f",
            "--format",
            help="md, html, rdl (SystemRDL), ipxact (IEEE 1685-2014), c or py (accessors).",
        ),
    ] = "md",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Write the register map of a device as documentation, hardware description or software."""
    from precog_host.device import Device
    from precog_hw.regmap.generate import GENERATORS
    from precog_hw.regmap.precog import build_map

    if format_ not in GENERATORS:
        raise ValueError(f"format must be one of {', '.join(GENERATORS)}, not {format_!r}")
    with Device.open(device) as opened:
        regmap = build_map(opened.sizes, opened.identity)
    text = GENERATORS[format_](regmap)
    if output is not None:
        output.write_text(text)
        emit({"path": str(output), "format": format_}, lambda: typer.echo(str(output)), json_)
    else:
        emit({"format": format_, "text": text}, lambda: typer.echo(text, nl=False), json_)


def add_to(app: typer.Typer) -> None:
    """Register both commands."""
    app.command("dump")(dump)
    app.command("registers")(registers)
