"""``precog register``: a device's registers, and their map as documentation and code."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, group, table

__all__ = ["app", "draw_registers"]

app = group("Registers of a device.")


@app.command()
def show(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show every register of a device, decoded."""
    from precog_host import bug_report
    from precog_host.device import Device

    with Device.open(device) as opened:
        rows = bug_report.decoded(opened)
    emit(rows, lambda: draw_registers(rows), json_)


@app.command()
def export(
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
    from precog_models.durable import check_target, write_durably
    from precog_spec.registers.generate import GENERATORS
    from precog_spec.registers.precog import build_map

    if format_ not in GENERATORS:
        raise ValueError(f"format must be one of {', '.join(GENERATORS)}, not {format_!r}")
    if output is not None:
        check_target(output)
    with Device.open(device) as opened:
        regmap = build_map(opened.sizes, opened.identity)
    text = GENERATORS[format_](regmap)
    if output is not None:
        write_durably(output, text.encode())
        emit({"path": str(output), "format": format_}, lambda: typer.echo(str(output)), json_)
    else:
        emit({"format": format_, "text": text}, lambda: typer.echo(text, nl=False), json_)


def draw_registers(rows: list[dict[str, Any]]) -> None:
    """Registers as a table.

    Parameters
    ----------
    rows : list of dict
        As `bug_report.decoded` makes them.
    """
    lines = []
    for row in rows:
        text = " ".join(f"{name}={value}" for name, value in row["fields"].items())
        lines.append((f"{row['address']:#06x}", row["name"], f"{row['word']:#010x}", text))
    table(("address", "register", "word", "fields"), lines)
