"""The files of an application block for Corundum."""

import re
from collections.abc import Sequence
from dataclasses import replace

from precog_hw.export import block_verilog, nic_verilog
from precog_hw.nic import nic_map
from precog_spec.config import NicConfig

from .control import ADDRESS_BITS, AppControl
from .interface import APP_ID
from .port import RX_SIDE, TX_SIDE, AppPort
from .wrapper import AXIL, AXIS, app_block, axil_bits

__all__ = ["WIDTHS", "app_core", "app_files", "check", "module_ports"]

WIDTHS = (64, 128, 256, 512)  # of Corundum's packet streams


def check(config: NicConfig, widths: Sequence[int], *, nics: int, app_id: int) -> None:
    """Refuse what no application block can be made of.

    Raises
    ------
    ValueError
        A width is not one of `WIDTHS` or is there twice, there are fewer NICs than one or more
        than fit the registers' address space, `app_id` has more than 32 bits, or the
        configuration has grants, profiler or forecasts, for which Corundum has no ports.
    """
    if not widths or any(width not in WIDTHS for width in widths):
        raise ValueError(f"width for corundum must be one of {WIDTHS}, not {list(widths)!r}")
    if len(set(widths)) != len(widths):
        raise ValueError(f"widths must differ, not {list(widths)!r}")
    bits = nic_map(replace(config, width=widths[0])).address_bits
    if not 1 <= nics <= 1 << ADDRESS_BITS - 1 - bits:
        raise ValueError(f"ports must be in 1..{1 << ADDRESS_BITS - 1 - bits}, not {nics!r}")
    if not 0 <= app_id < 1 << 32:
        raise ValueError(f"app_id must have 32 bits, not {app_id!r}")
    if config.grants or config.profile or config.forecast:
        raise ValueError(
            "grants, profile and forecast must be off for corundum: it has no ports for them"
        )


def app_files(
    config: NicConfig,
    widths: Sequence[int],
    *,
    nics: int = 1,
    tick_ps: int = 4000,
    app_id: int = APP_ID,
) -> dict[str, str]:
    """Name and text of each file; elaborating takes half a minute for each width.

    Parameters
    ----------
    config : NicConfig
        Its `width` is not looked at.
    widths : sequence of int
        Values of AXIS_SYNC_DATA_WIDTH to generate NICs for, of `WIDTHS`.
    nics : int
        Ports, from 0 on, that get a NIC; the others' packets pass.
    tick_ps : int
        Period of Corundum's core clock.
    app_id : int
        APP_ID of the boards that the block is for.

    Raises
    ------
    ValueError
        An argument is not as above, see `check`, or `tick_ps` does not fit its register.
    """
    check(config, widths, nics=nics, app_id=app_id)
    maps = nic_map(replace(config, width=widths[0]), tick_ps=tick_ps)
    bits = maps.address_bits
    control = AppControl(nics, bits)
    cores = {
        width: app_core(
            width,
            nic_verilog(replace(config, width=width), name=f"precog_nic_{width}", tick_ps=tick_ps),
            address_bits=bits,
        )
        for width in widths
    }
    return {
        "mqnic_app_block.v": app_block(
            widths, nics=nics, address_bits=bits, tick_ps=tick_ps, app_id=app_id
        ),
        "precog_app_control.v": block_verilog(control, name="precog_app_control"),
        **{f"precog_app_{width}.v": text for width, text in cores.items()},
    }


def app_core(width: int, nic: str, *, address_bits: int) -> str:
    """Verilog of ``precog_app_<width>`` and of all modules that it instantiates.

    Parameters
    ----------
    width : int
    nic : str
        Verilog of the NIC, its top module ``precog_nic_<width>``.
    address_bits : int
        Of its registers.
    """
    adapter = f"precog_app_port_{width}"
    streams = {"tx": 1 + TX_SIDE, "rx": 1 + RX_SIDE}
    declared, inner = ["  input clk;", "  input rst;"], []
    for name, master in AXIL.items():
        bits = axil_bits(name, address_bits)
        declared.append(_declared("input" if master else "output", bits, f"s_axil_{name}"))
    pins = {"clk": "clk", "rst": "rst"}
    for side, direction, other in (("s", "input", "output"), ("m", "output", "input")):
        for way, user in streams.items():
            sizes = {"tdata": width, "tkeep": width // 8, "tuser": user}
            for name in AXIS:
                port = f"{side}_{way}_{name}"
                pins[port] = port
                way_ = other if name == "tready" else direction
                declared.append(_declared(way_, sizes.get(name, 1), port))
    nic_pins, unread = {}, []
    for name, (direction, bits) in module_ports(nic, f"precog_nic_{width}").items():
        if name in ("clk", "rst") or name.startswith("s_axil_"):
            nic_pins[name] = name
        elif found := re.fullmatch(r"([sm])_axis_([tr]x_\w+)", name):
            # What the NIC takes the adapter gives.
            wire = f"nic_{found[1]}_{found[2]}"
            inner.append(_declared("wire", bits, wire))
            pins[f"{'m' if found[1] == 's' else 's'}_axis_{found[2]}"] = wire
            nic_pins[name] = wire
        elif direction == "input":
            nic_pins[name] = f"{bits}'h{'1' if name.endswith('_tready') else '0'}"
        else:
            inner.append(_declared("wire", bits, name))
            nic_pins[name] = name
            unread.append(name)
    names = [line.split()[-1].rstrip(";") for line in declared]
    own = [
        f"module precog_app_{width}({', '.join(names)});",
        *declared,
        *inner,
        f"  wire unused = &{{ 1'h0, {', '.join(unread)} }};",
        *_instance(adapter, "taps", pins),
        *_instance(f"precog_nic_{width}", "nic", nic_pins),
        "endmodule",
        "",
    ]
    return "\n".join(own) + block_verilog(AppPort(width), name=adapter) + nic


def module_ports(text: str, module: str) -> dict[str, tuple[str, int]]:
    """Name: (direction, bits) of the ports of a generated module."""
    body = text[text.index(f"module {module}(") :]
    body = body[: body.index("endmodule")]
    return {
        name: (direction, int(high or 0) + 1)
        for direction, high, name in re.findall(
            r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body, re.M
        )
    }


def _declared(kind: str, bits: int, name: str) -> str:
    return f"  {kind} {f'[{bits - 1}:0] ' if bits > 1 else ''}{name};"


def _instance(module: str, name: str, pins: dict[str, str]) -> list[str]:
    joined = ",\n".join(f"    .{pin}({wire})" for pin, wire in pins.items())
    return [f"  {module} {name} (", joined, "  );"]
