"""``precog export``: the NIC as Verilog."""

import dataclasses
import re
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit

__all__ = ["export"]

# Reserved words of IEEE 1364-2005, annex B.
_KEYWORDS = """
always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign
default defparam design disable edge else end endcase endconfig endfunction endgenerate endmodule
endprimitive endspecify endtable endtask event for force forever fork function generate genvar
highz0 highz1 if ifnone incdir include initial inout input instance integer join large liblist
library localparam macromodule medium module nand negedge nmos nor noshowcancelled not notif0
notif1 or output parameter pmos posedge primitive pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran rtranif0 rtranif1
scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table task
time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand
weak0 weak1 while wire wor xnor xor
"""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def export(
    output: Annotated[Path, typer.Option("-o", "--output", help="Verilog file to write.")],
    preset: Annotated[
        str, typer.Option(help="Configuration preset: tiny, lanes16, lanes64, lanes128.")
    ] = "lanes64",
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
    _check_name(name)
    if output.is_dir():
        raise ValueError(f"output must be a file, {output} is a folder")
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


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"module name must be a letter or _, then letters, digits, _ or $, not {name!r}"
        )
    if name in _KEYWORDS.split():
        raise ValueError(f"module name must not be a keyword of Verilog: {name!r}")
