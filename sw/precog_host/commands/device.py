"""``precog dump`` and ``precog registers``: what a device says, and what its registers mean."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import DeviceOption, JsonOption, emit, table

__all__ = ["add_to", "dump", "registers"]


def dump(device: DeviceOption = "emu:", json_: JsonOption = False) -> None:
    """Show every register of a device, decoded."""
    from precog_host.device import Device

    with Device.open(device) as opened:
        found = opened.registers
        words = found.dump()
    rows: list[dict[str, Any]] = []
    for address, name, word in words:
        block, _, register = name.partition(".")
        try:
            fields = found.register(block, register).fields
        except KeyError:
            fields = ()
        decoded = {field.name: field.get(word) for field in fields}
        rows.append({"address": address, "name": name, "word": word, "fields": decoded})

    def show() -> None:
        lines = []
        for row in rows:
            text = " ".join(f"{name}={value}" for name, value in row["fields"].items())
            lines.append((f"{row['address']:#06x}", row["name"], f"{row['word']:#010x}", text))
        table(("address", "register", "word", "fields"), lines)

    emit(rows, show, json_)


def registers(
    format_: Annotated[
        str, typer.Option("-f", "--format", help="md, rdl (SystemRDL) or c (header).")
    ] = "md",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")] = None,
    device: DeviceOption = "emu:",
    json_: JsonOption = False,
) -> None:
    """Write the register map of a device as documentation, SystemRDL or a C header."""
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
