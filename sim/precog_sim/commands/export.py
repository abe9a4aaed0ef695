"""``precog export``: the NIC as Verilog."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

__all__ = ["export"]


def export(
    output: Annotated[Path, typer.Option("-o", "--output", help="Verilog file to write.")],
    preset: Annotated[str, typer.Option(help="Configuration preset.")] = "lanes64",
    qps: Annotated[int | None, typer.Option(help="Queue pairs.")] = None,
    sets: Annotated[int | None, typer.Option(help="Model sets.")] = None,
    dsp: Annotated[str | None, typer.Option(help="generic or ecp5 multipliers.")] = None,
    name: Annotated[str, typer.Option(help="Name of the top module.")] = "precog_nic",
    tick_ps: Annotated[int, typer.Option(help="Length of a tick, ps.")] = 1000,
    json_: JsonOption = False,
) -> None:
    """Write the NIC's Verilog with stable port names."""
    from precog_hw.config import PRESETS
    from precog_hw.export import export as write

    if preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise ValueError(f"configuration preset must be one of {known}, not {preset!r}")
    if not name.isidentifier():
        raise ValueError(f"module name must be an identifier, not {name!r}")
    base = PRESETS[preset]
    config = dataclasses.replace(
        base,
        qps=base.qps if qps is None else qps,
        sets=base.sets if sets is None else sets,
        dsp=base.dsp if dsp is None else dsp,
    )
    path = write(config, output, name=name, tick_ps=tick_ps)
    data = {"path": str(path), "bytes": path.stat().st_size, "config": dataclasses.asdict(config)}
    emit(data, lambda: typer.echo(f"{path}: {data['bytes']} bytes"), json_)
