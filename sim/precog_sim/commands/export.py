"""``precog export``: the NIC, a part of its packet path, or a block for Corundum, as Verilog.

With ``--wireshark`` it is a dissector of the shim instead.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

import typer

from precog_host.output import JsonOption, emit, refuse_ignored
from precog_sim.commands import export_options as options
from precog_spec.config import PRESETS, NicConfig
from precog_spec.frames.cps import SHIM_PORT

__all__ = ["export", "is_keyword"]

# Reserved words of IEEE 1800-2017, annex B: Verilator reads a .v file as SystemVerilog.
_KEYWORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually
expect export extends extern final first_match for force foreach forever fork forkjoin function
generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
import incdir include initial inout input inside instance int integer interconnect interface
intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive
priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on
release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually
s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran
tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor
"""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


_BLOCKS = ("nic", "cps-tx", "cps-rx", "packet", "pace-wire")
_NIC_ONLY = (
    *("preset", "qps", "sets", "dsp", "grants", "profile"),
    *("forecast", "tree", "receiver", "senders", "port", "trace", "trials", "wire"),
)
_PACKET_ONLY = ("slots",)
_NOT_CORUNDUM = (
    *("block", "name", "slots"),
    *("forecast", "tree", "receiver", "senders", "port", "trace", "trials", "wire"),
)
_WIDTH = 64  # of a part of the packet path
_TARGETS = ("verilog", "corundum")
_NOT_WIRESHARK = ("target", "block", *_NIC_ONLY, *_PACKET_ONLY, "width", "name", "tick_ps")
_APP_ONLY = ("ports", "app_id")
_APP_PRESET, _PRESET = "corundum-100g", "lanes64"
_APP_TICK_PS, _TICK_PS = 4000, 1000


def export(
    context: typer.Context,
    output: options.Output = None,
    target: options.Target = "verilog",
    block: options.Block = "nic",
    preset: options.Preset = None,
    qps: options.Qps = None,
    sets: options.Sets = None,
    dsp: options.Dsp = None,
    grants: options.Grants = None,
    profile: options.Profile = None,
    forecast: options.Forecast = False,
    tree: options.Tree = False,
    receiver: options.Receiver = False,
    senders: options.Senders = False,
    port: options.Port = False,
    trace: options.Trace = False,
    trials: options.Trials = False,
    wire: options.Wire = 0,
    width: options.Width = None,
    slots: options.Slots = 1024,
    name: options.Name = None,
    tick_ps: options.TickPs = None,
    ports: options.Ports = 1,
    app_id: options.AppId = None,
    wireshark: options.Wireshark = False,
    shim_port: options.ShimPort = SHIM_PORT,
    json_: JsonOption = False,
) -> None:
    """Write the Verilog of the NIC, or of a part of its packet path, with stable port names."""
    if wireshark:
        refuse_ignored(context, *_NOT_WIRESHARK, why="with --wireshark")
        _dissector(output, shim_port, json_)
        return
    refuse_ignored(context, "shim_port", why="without --wireshark")
    if target not in _TARGETS:
        raise ValueError(f"target must be one of {', '.join(_TARGETS)}, not {target!r}")
    if target == "corundum":
        refuse_ignored(context, *_NOT_CORUNDUM, why="with --target corundum")
        folder = output or Path("precog_corundum")
        sizes = (preset or _APP_PRESET, qps, sets, dsp, grants, profile)
        period = _APP_TICK_PS if tick_ps is None else tick_ps
        _corundum(folder, sizes, width, period, ports, app_id, json_)
        return
    refuse_ignored(context, *_APP_ONLY, why="without --target corundum")
    output = _checked(context, output, block, width, name)
    config: dict[str, Any]
    tick_ps = _TICK_PS if tick_ps is None else tick_ps
    from precog_hw import export as gateware

    if block == "nic":
        nic = _config(preset or _PRESET, qps, sets, dsp, grants, profile)
        nic = dataclasses.replace(
            nic,
            width=width[0] if width else nic.width,
            forecast=bool(forecast or nic.forecast),
            tree=bool(tree or nic.tree),
            receiver=bool(receiver or nic.receiver),
            senders=bool(senders or nic.senders),
            port=bool(port or nic.port),
            trace=bool(trace or nic.trace),
            trials=bool(trials or nic.trials),
            wire=wire,
        )
        text = gateware.nic_verilog(nic, name=name or "precog_nic", tick_ps=tick_ps)
        text = gateware.nic_fields(nic) + text
        config = dataclasses.asdict(nic)
    else:
        bits = width[0] if width else _WIDTH
        part = gateware.packet_block(block, bits, slots, tick_ps=tick_ps)
        text = gateware.block_verilog(part, name=name or gateware.PACKET_BLOCKS[block])
        text = gateware.port_fields(part.signature) + text
        config = {"width": bits, "slots": slots}
    _write(text, output)
    data = {"path": str(output), "bytes": len(text.encode()), "block": block, "config": config}
    emit(data, lambda: typer.echo(f"{output}: {data['bytes']} bytes"), json_)


def _checked(
    context: typer.Context,
    output: Path | None,
    block: str,
    width: list[int] | None,
    name: str | None,
) -> Path:
    """The file to write.

    Raises
    ------
    ValueError
        The options do not say one file, one width, a block and a name that Verilog can have.
    OSError
        No such file can be written.
    """
    from precog_models.durable import check_target

    if output is None:
        raise ValueError("output must be given: -o FILE")
    if width is not None and len(width) > 1:
        raise ValueError(f"width must be given once without --target corundum, not {width!r}")
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
    check_target(output, made=True)  # before seconds of elaboration
    return output


def _dissector(output: Path | None, port: int, json_: bool) -> None:
    """The Lua script, into a file or to standard output."""
    from precog_sim.wireshark import dissector

    text = dissector(port)
    if output is None:
        typer.echo(text, nl=False)
        return
    if output.is_dir():
        raise ValueError(f"output must be a file, {output} is a folder")
    _write(text, output)
    data = {"path": str(output), "bytes": len(text.encode()), "shim_port": port}
    emit(data, lambda: typer.echo(f"{output}: {data['bytes']} bytes"), json_)


def _config(
    preset: str,
    qps: int | None,
    sets: int | None,
    dsp: str | None,
    grants: bool | None,
    profile: bool | None,
) -> NicConfig:
    """A preset with what the command line changes in it."""
    if preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise ValueError(f"configuration preset must be one of {known}, not {preset!r}")
    base = PRESETS[preset]
    return dataclasses.replace(
        base,
        qps=base.qps if qps is None else qps,
        sets=base.sets if sets is None else sets,
        dsp=base.dsp if dsp is None else dsp,
        grants=base.grants if grants is None else grants,
        profile=base.profile if profile is None else profile,
    )


def _corundum(
    folder: Path,
    sizes: tuple[str, int | None, int | None, str | None, bool | None, bool | None],
    widths: list[int] | None,
    tick_ps: int,
    ports: int,
    app_id: str | None,
    json_: bool,
) -> None:
    """The application block's files."""
    from precog_hw.corundum.export import app_files
    from precog_hw.corundum.interface import APP_ID
    from precog_models.durable import check_target

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"output must be a folder with --target corundum, {folder} is a file")
    check_target(folder / "mqnic_app_block.v", made=True)  # before half a minute of elaboration
    config = _config(*sizes)
    widths = widths or [config.width or _WIDTH]
    number = APP_ID if app_id is None else _number("app_id", app_id)
    texts = app_files(config, widths, nics=ports, tick_ps=tick_ps, app_id=number)
    for name, text in texts.items():
        _write(text, folder / name)
    files = {str(folder / name): len(text.encode()) for name, text in texts.items()}
    data = {
        **{"path": str(folder), "files": files, "target": "corundum", "widths": widths},
        **{"ports": ports, "app_id": number, "tick_ps": tick_ps},
        "config": dataclasses.asdict(config) | {"width": widths},
    }
    lines = "\n".join(f"{path}: {size} bytes" for path, size in files.items())
    emit(data, lambda: typer.echo(lines), json_)


def _write(text: str, path: Path) -> None:
    """Write a file whole or not at all, in a folder that is made."""
    from precog_models.durable import write_durably

    write_durably(path, text.encode(), made=True)


def _number(name: str, text: str) -> int:
    """An integer in any base that its prefix says."""
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{name} must be a number, such as 0x12340001, not {text!r}") from None


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"module name must be a letter or _, then letters, digits, _ or $, not {name!r}"
        )
    if is_keyword(name):
        raise ValueError(f"module name must not be a keyword of SystemVerilog: {name!r}")


def is_keyword(name: str) -> bool:
    """Whether `name` is reserved in SystemVerilog."""
    return name in _KEYWORDS.split()
