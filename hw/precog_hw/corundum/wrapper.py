"""Verilog text of `mqnic_app_block`: Corundum's parameters and ports around generated modules.

::

    s_axil_app_ctrl ─► precog_app_control ─┬─ NIC 0 at 0, NIC 1 at 1 << 16, ...
                                           ▼
    sync, port n ────► precog_app_<width>: AppPort and NIC, for n below the number of NICs
    sync, others; direct; if ─────────────────────────────────────────► straight through
    everything else ──► nothing asked for, whatever is asked is answered

The generated modules have fixed sizes. What the parameters say is compared with them when a
simulation starts; a width that was not generated leaves an unresolved module, in synthesis, too.
"""

from collections.abc import Iterable, Sequence

from .interface import PARAMETERS, PORTS, STREAMS, Port
from .port import RX_SIDE, TX_SIDE

__all__ = ["AXIL", "AXIS", "MISSING", "app_block", "axil_bits"]

_MISSING = "precog_was_not_exported_with_this_"
#: Instantiated where there is no module of the width asked for.
MISSING = f"{_MISSING}AXIS_SYNC_DATA_WIDTH"

#: Members of an AXI4-Lite interface: whether the master drives them.
AXIL = {
    **{"awaddr": True, "awprot": True, "awvalid": True, "awready": False},
    **{"wdata": True, "wstrb": True, "wvalid": True, "wready": False},
    **{"bresp": False, "bvalid": False, "bready": True},
    **{"araddr": True, "arprot": True, "arvalid": True, "arready": False},
    **{"rdata": False, "rresp": False, "rvalid": False, "rready": True},
}
AXIS = ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")

_APP = "s_axil_app_ctrl_"
_BY_NAME = {port.name: port for port in PORTS}


def app_block(
    widths: Sequence[int], *, nics: int, address_bits: int, tick_ps: int, app_id: int
) -> str:
    """The wrapper.

    Parameters
    ----------
    widths : sequence of int
        Those that modules ``precog_app_<width>`` were made for.
    nics : int
        Ports, from 0 on, that have a NIC.
    address_bits : int
        Of a NIC's registers.
    tick_ps : int
        Period of `clk`.
    app_id : int
        What APP_ID must be, and is by default.
    """
    lines = [_header(), *_constants(nics, address_bits, tick_ps), *_checks(widths, tick_ps, app_id)]
    lines += _control(address_bits)
    lines += _ports(widths, address_bits)
    lines += _through(STREAMS)
    lines += _idle()
    return "\n".join([*lines, "", "endmodule", ""]).replace(
        f"APP_ID = {PARAMETERS['APP_ID']}", f"APP_ID = 32'h{app_id:08x}"
    )


def _header() -> str:
    parameters = ",\n".join(f"    parameter {name} = {value}" for name, value in PARAMETERS.items())
    ports = ",\n".join(f"    {_declared(port)}" for port in PORTS)
    return (
        "// Application block for Corundum, with a Precog NIC at the sync taps of each of its\n"
        "// first ports. Written by `precog export --target corundum`.\n"
        f"module mqnic_app_block #(\n{parameters}\n) (\n{ports}\n);"
    )


def _declared(port: Port) -> str:
    direction = "input  wire" if port.inward else "output wire"
    return f"{direction} [{port.range}] {port.name}" if port.range else f"{direction} {port.name}"


def _constants(nics: int, address_bits: int, tick_ps: int) -> list[str]:
    return [
        "",
        f"localparam NICS = {nics};",
        f"localparam NIC_ADDRESS_BITS = {address_bits};",
        f"localparam CLK_PERIOD_PS = {tick_ps};",
    ]


def _checks(widths: Sequence[int], tick_ps: int, app_id: int) -> list[str]:
    """Each parameter that the generated modules depend on: what it must be, and what to do."""
    again = "or export again"
    built = ", ".join(map(str, widths))
    tests = [
        (
            f"APP_ID == 32'h{app_id:08x}",
            "APP_ID",
            f"must be 32'h{app_id:08x}, {again} with --app-id",
        ),
        (
            " || ".join(f"AXIS_SYNC_DATA_WIDTH == {width}" for width in widths),
            "AXIS_SYNC_DATA_WIDTH",
            f"must be {built}, {again} with --width",
        ),
        (
            "CLK_PERIOD_NS_NUM*1000 == CLK_PERIOD_PS*CLK_PERIOD_NS_DENOM",
            "CLK_PERIOD_NS_NUM",
            f"and CLK_PERIOD_NS_DENOM must give {tick_ps} ps, {again} with --tick-ps",
        ),
        (
            "PORT_COUNT >= NICS",
            "PORT_COUNT",
            f"must be the number of NICs at least, {again} with --ports",
        ),
        (
            "AXIS_SYNC_KEEP_WIDTH*8 == AXIS_SYNC_DATA_WIDTH",
            "AXIS_SYNC_KEEP_WIDTH",
            "must be a bit for each byte",
        ),
        (
            f"AXIS_SYNC_TX_USER_WIDTH > TX_TAG_WIDTH && AXIS_SYNC_TX_USER_WIDTH <= {1 + TX_SIDE}",
            "AXIS_SYNC_TX_USER_WIDTH",
            f"must be TX_TAG_WIDTH + 1 at least and {1 + TX_SIDE} at most",
        ),
        (
            f"AXIS_SYNC_RX_USER_WIDTH <= {1 + RX_SIDE}",
            "AXIS_SYNC_RX_USER_WIDTH",
            f"must be {1 + RX_SIDE} at most",
        ),
        ("AXIL_APP_CTRL_DATA_WIDTH == 32", "AXIL_APP_CTRL_DATA_WIDTH", "must be 32"),
        (
            "AXIL_APP_CTRL_ADDR_WIDTH <= 32"
            " && AXIL_APP_CTRL_ADDR_WIDTH >= NIC_ADDRESS_BITS + $clog2(NICS)",
            "AXIL_APP_CTRL_ADDR_WIDTH",
            "must hold every NIC's registers and be 32 at most",
        ),
    ]
    lines = ["", "`ifndef SYNTHESIS", "initial begin"]
    for condition, name, must in tests:
        lines += [
            f"    if (!({condition})) begin",
            f'        $error("Error: {name} {must}; it is %0d, 0x%0x (instance %m)",',
            f"            {name}, {name});",
            "        $finish;",
            "    end",
        ]
    # Synthesis passes over `initial`: a module that does not exist stops it.
    lines += ["end", "`else", "generate"]
    for condition, name, _ in tests:
        lines.append(f"if (!({condition})) begin : wrong_{name} {_MISSING}{name} missing (); end")
    return [*lines, "endgenerate", "`endif"]


def _control(address_bits: int) -> list[str]:
    """The registers of all NICs."""
    lines = ["", "// registers"]
    for name in AXIL:
        lines.append(f"wire [NICS*{axil_bits(name, address_bits)}-1:0] axil_{name};")
    pins = ["clk(clk)", "rst(rst)"]
    for name in AXIL:
        outside = f"{_APP}{name}"
        if name.endswith("addr"):
            outside = f"{{{{(32-AXIL_APP_CTRL_ADDR_WIDTH){{1'b0}}}}, {outside}}}"
        pins += [f"s_axil_{name}({outside})", f"m_axil_{name}(axil_{name})"]
    return [*lines, *_instance("precog_app_control", "control", pins)]


def axil_bits(name: str, address_bits: int) -> int:
    """Width of a member of an AXI4-Lite interface."""
    sizes = {"addr": address_bits, "prot": 3, "data": 32, "strb": 4, "resp": 2}
    return next((bits for end, bits in sizes.items() if name.endswith(end)), 1)


def _instance(module: str, name: str, pins: Iterable[str], indent: str = "") -> list[str]:
    joined = f",\n{indent}    .".join(pins)
    return [f"{indent}{module} {name} (\n{indent}    .{joined}\n{indent});"]


def _of_port(port: Port) -> str:
    """Port n's part of a vector over all ports."""
    each = port.width.removeprefix("PORT_COUNT").removeprefix("*")
    return f"{port.name}[n*{each} +: {each}]" if each else f"{port.name}[n]"


def _ports(widths: Sequence[int], address_bits: int) -> list[str]:
    """Verilog that gives each port a NIC, or plain wires if there are more ports than NICs."""
    users = {
        "tx": (1 + TX_SIDE, "AXIS_SYNC_TX_USER_WIDTH"),
        "rx": (1 + RX_SIDE, "AXIS_SYNC_RX_USER_WIDTH"),
    }
    pins = ["clk(clk)", "rst(rst)"]
    for name in AXIL:
        bits = axil_bits(name, address_bits)
        pins.append(f"s_axil_{name}(axil_{name}[n*{bits} +: {bits}])")
    for side in "sm":
        for way in users:
            for name in AXIS:
                outside = _of_port(_BY_NAME[f"{side}_axis_sync_{way}_{name}"])
                if name == "tuser":
                    outside = f"{side}_{way}_user"
                pins.append(f"{side}_{way}_{name}({outside})")
    lines = ["", "// packets", "genvar n;", "generate"]
    lines += ["for (n = 0; n < PORT_COUNT; n = n + 1) begin : port", "if (n < NICS) begin : precog"]
    for way, (bits, width) in users.items():
        incoming = _of_port(_BY_NAME[f"s_axis_sync_{way}_tuser"])
        outgoing = _of_port(_BY_NAME[f"m_axis_sync_{way}_tuser"])
        lines += [
            f"    wire [{bits - 1}:0] s_{way}_user = {{{{({bits}-{width}){{1'b0}}}}, {incoming}}};",
            f"    wire [{bits - 1}:0] m_{way}_user;",
            f"    assign {outgoing} = m_{way}_user[{width}-1:0];",
        ]
    lines.append("    wire unused_user = &{1'b0, m_tx_user, m_rx_user};")
    for at, size in enumerate(widths):
        lines.append(
            f"    {'else ' if at else ''}if (AXIS_SYNC_DATA_WIDTH == {size}) begin : width_{size}"
        )
        lines += _instance(f"precog_app_{size}", "nic", pins, "        ")
        lines.append("    end")
    lines += ["    else begin : missing", f"        {MISSING} missing ();", "    end"]
    lines += _completions()
    lines += ["end else begin : past", *_past(), "end", "end", "endgenerate"]
    return lines


def _completions() -> list[str]:
    """The host did not send CNPs: their completions end here."""
    part = {
        f"{side}{name}": _of_port(_BY_NAME[f"{side}_axis_sync_tx_cpl_{name}"])
        for side in "sm"
        for name in ("ts", "tag", "valid", "ready")
    }
    return [
        "    // a CNP's tag is all ones: its completion ends here",
        f"    wire own = &{part['stag']};",
        f"    assign {part['mts']} = {part['sts']};",
        f"    assign {part['mtag']} = {part['stag']};",
        f"    assign {part['mvalid']} = {part['svalid']} & ~own;",
        f"    assign {part['sready']} = {part['mready']} | own;",
    ]


def _past() -> list[str]:
    """A port without a NIC."""
    return [
        f"    assign {_of_port(to)} = {_of_port(source)};"
        for to, source in _pairs(f"sync_{name}" for name in ("tx", "tx_cpl", "rx"))
    ]


def _pairs(streams: Iterable[str]) -> Iterable[tuple[Port, Port]]:
    """Output and the input that it shows, of streams from s to m."""
    for stream in streams:
        for port in PORTS:
            start = f"s_axis_{stream}_"
            field = port.name.removeprefix(start)
            if field == port.name or not (port.name.startswith(start) and "_" not in field):
                continue
            other = _BY_NAME[f"m_axis_{stream}_{field}"]
            yield (other, port) if port.inward else (port, other)


def _through(streams: Iterable[str]) -> list[str]:
    return [
        "",
        "// straight through",
        *(f"assign {to.name} = {source.name};" for to, source in _pairs(streams)),
    ]


def _idle() -> list[str]:
    """The other outputs, and the inputs and parameters that nothing reads."""
    answers = {"jtag_tdo": "jtag_tdi"}
    for kind in ("ctrl", "data"):
        ram = f"{kind}_dma_ram_"
        answers |= {
            f"{ram}wr_cmd_ready": "{RAM_SEG_COUNT{1'b1}}",
            f"{ram}wr_done": f"{ram}wr_cmd_valid",
            f"{ram}rd_cmd_ready": f"{ram}rd_resp_ready",
            f"{ram}rd_resp_valid": f"{ram}rd_cmd_valid",
        }
    taken = {
        port.name
        for pair in _pairs((*STREAMS, "sync_tx", "sync_tx_cpl", "sync_rx"))
        for port in pair
    }
    taken |= {port.name for port in PORTS if port.name.startswith(_APP)} | {"clk", "rst"}
    lines = ["", "// nothing is asked for, and what is asked is answered"]
    for port in PORTS:
        if port.inward or port.name in taken:
            continue
        nothing = f"{{({port.width}){{1'b0}}}}" if port.width else "1'b0"
        ready = port.name.endswith(("bready", "rready"))
        lines.append(
            f"assign {port.name} = {answers.get(port.name, f'~{nothing}' if ready else nothing)};"
        )
    unread = [port.name for port in PORTS if port.inward and port.name not in taken]
    unread = [name for name in unread if name not in answers.values()]
    lines += ["", "wire unused_inputs = &{1'b0,", "    " + ",\n    ".join(unread), "};"]
    read = "".join(lines) + "".join(_checks((), 0, 0)) + "".join(port.width for port in PORTS)
    plain = [name for name in PARAMETERS if name not in read]
    lines.append(f"localparam unused_parameters = {' + '.join(plain)};")
    return lines
