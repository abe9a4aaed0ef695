"""``precog export``: the NIC, or a part of its packet path, as Verilog."""

import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, refuse_ignored

__all__ = ["export", "is_keyword"]

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


_BLOCKS = ("nic", "cps-tx", "cps-rx", "packet", "pace-wire")
_NIC_ONLY = ("preset", "qps", "sets", "dsp", "grants", "profile")
_PACKET_ONLY = ("slots",)
_WIDTH = 64  # of a part of the packet path


def export(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", help="Verilog file to write.")],
    block: Annotated[str, typer.Option(help="nic, cps-tx, cps-rx, packet or pace-wire.")] = "nic",
    preset: Annotated[
        str,
        typer.Option(help="nic: configuration preset: tiny, lanes16, lanes64, lanes128, grants."),
    ] = "lanes64",
    qps: Annotated[int | None, typer.Option(help="nic: queue pairs.")] = None,
    sets: Annotated[int | None, typer.Option(help="nic: model sets.")] = None,
    dsp: Annotated[str | None, typer.Option(help="nic: generic or ecp5 multipliers.")] = None,
    grants: Annotated[bool | None, typer.Option(help="nic: with the pacer.")] = None,
    profile: Annotated[bool | None, typer.Option(help="nic: with the queue profiler.")] = None,
    width: Annotated[
        int | None,
        typer.Option(
            help="Bits in a beat: 8, 64, 128, 256, 512. By default 64; nic: none, no packets."
        ),
    ] = None,
    slots: Annotated[int, typer.Option(help="All but nic: QP slots.")] = 1024,
    name: Annotated[
        str | None, typer.Option(help="Name of the top module; precog_ and the block by default.")
    ] = None,
    tick_ps: Annotated[int, typer.Option(help="nic, packet: length of a tick, ps.")] = 1000,
    json_: JsonOption = False,
) -> None:
    """Write the Verilog of the NIC, or of a part of its packet path, with stable port names."""
    from precog_hw.export import packet_verilog, write

    if block not in _BLOCKS:
        raise ValueError(f"block must be one of {', '.join(_BLOCKS)}, not {block!r}")
    ignored: tuple[str, ...] = _PACKET_ONLY if block == "nic" else _NIC_ONLY
    if block in ("cps-tx", "cps-rx", "pace-wire"):
        ignored += ("tick_ps",)
    refuse_ignored(context, *ignored, why=f"with --block {block}")
    if name is not None:
        _check_name(name)
    if output.is_dir():
        raise ValueError(f"output must be a file, {output} is a folder")
    config: dict[str, Any]
    if block == "nic":
        text, config = _nic(preset, qps, sets, dsp, grants, profile, width or 0, name, tick_ps)
    else:
        width = _WIDTH if width is None else width
        text = packet_verilog(block, width, slots, name=name, tick_ps=tick_ps)
        config = {"width": width, "slots": slots}
    path = write(text, output)
    data = {"path": str(path), "bytes": path.stat().st_size, "block": block, "config": config}
    emit(data, lambda: typer.echo(f"{path}: {data['bytes']} bytes"), json_)


def _nic(
    preset: str,
    qps: int | None,
    sets: int | None,
    dsp: str | None,
    grants: bool | None,
    profile: bool | None,
    width: int,
    name: str | None,
    tick_ps: int,
) -> tuple[str, dict[str, Any]]:
    """The NIC's Verilog and its configuration."""
    from precog_hw.config import PRESETS
    from precog_hw.export import nic_verilog

    if preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise ValueError(f"configuration preset must be one of {known}, not {preset!r}")
    base = PRESETS[preset]
    config = dataclasses.replace(
        base,
        qps=base.qps if qps is None else qps,
        sets=base.sets if sets is None else sets,
        dsp=base.dsp if dsp is None else dsp,
        grants=base.grants if grants is None else int(grants),
        profile=base.profile if profile is None else int(profile),
        width=width,
    )
    return nic_verilog(config, name=name or "precog_nic", tick_ps=tick_ps), dataclasses.asdict(
        config
    )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"module name must be a letter or _, then letters, digits, _ or $, not {name!r}"
        )
    if is_keyword(name):
        raise ValueError(f"module name must not be a keyword of Verilog: {name!r}")


def is_keyword(name: str) -> bool:
    """Whether `name` is reserved in Verilog."""
    return name in _KEYWORDS.split()
