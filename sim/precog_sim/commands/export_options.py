"""Options of ``precog export``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from precog_spec.config import PRESETS

__all__ = [
    "AppId",
    "Block",
    "Dsp",
    "Forecast",
    "Grants",
    "Name",
    "Output",
    "Ports",
    "Preset",
    "Profile",
    "Qps",
    "Receiver",
    "Senders",
    "Sets",
    "ShimPort",
    "Slots",
    "Target",
    "TickPs",
    "Trace",
    "Tree",
    "Trials",
    "Width",
    "Wire",
    "Wireshark",
]

# What is written, and where.
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Verilog file to write; corundum: folder, precog_corundum by default.",
    ),
]
Target: TypeAlias = Annotated[
    str,
    typer.Option(help="verilog, or corundum: mqnic_app_block and the NICs that it instantiates."),
]
Block: TypeAlias = Annotated[str, typer.Option(help="nic, cps-tx, cps-rx, packet or pace-wire.")]
Name: TypeAlias = Annotated[
    str | None, typer.Option(help="Name of the top module; precog_ and the block by default.")
]

# The NIC.
Preset: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help=f"nic: configuration preset: {', '.join(PRESETS)}. By default lanes64; "
        "corundum: corundum-100g."
    ),
]
Qps: TypeAlias = Annotated[int | None, typer.Option(help="nic: queue pairs.")]
Sets: TypeAlias = Annotated[int | None, typer.Option(help="nic: model sets.")]
Dsp: TypeAlias = Annotated[str | None, typer.Option(help="nic: generic or ecp5 multipliers.")]
Grants: TypeAlias = Annotated[bool | None, typer.Option(help="nic: with the pacer.")]
Profile: TypeAlias = Annotated[bool | None, typer.Option(help="nic: with the queue profiler.")]
Forecast: TypeAlias = Annotated[
    bool, typer.Option("--forecast", help="nic: with forecasts of queues.")
]
Tree: TypeAlias = Annotated[
    bool,
    typer.Option("--tree", help="nic: forecasts by decision trees, not LSTMs; with --forecast."),
]
Receiver: TypeAlias = Annotated[
    bool, typer.Option("--receiver", help="nic: with the receiver of scores; with a width.")
]
Senders: TypeAlias = Annotated[
    bool, typer.Option("--senders", help="nic: with the count of senders; with a width.")
]
Port: TypeAlias = Annotated[
    bool,
    typer.Option("--port", help="nic: with the port's queue; with --profile, --forecast, a width."),
]
Trace: TypeAlias = Annotated[bool, typer.Option("--trace", help="nic: with the trace FIFO.")]
Trials: TypeAlias = Annotated[bool, typer.Option("--trials", help="nic: with trials of advice.")]
Wire: TypeAlias = Annotated[
    int,
    typer.Option(help="nic: cells in which packets wait for grants; with --grants, a width."),
]
TickPs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="nic, packet: length of a tick, ps. By default 1000; corundum: 4000, its clock's."
    ),
]

# The packet path.
Width: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        help="Bits in a beat: 8, 64, 128, 256, 512. By default 64; nic: the preset's, 0: no "
        "packets. corundum: AXIS_SYNC_DATA_WIDTH, not 8, once for each that is wanted."
    ),
]
Slots: TypeAlias = Annotated[int, typer.Option(help="All but nic: QP slots.")]

# Corundum.
Ports: TypeAlias = Annotated[int, typer.Option(help="corundum: ports, from 0 on, that get a NIC.")]
AppId: TypeAlias = Annotated[
    str | None,
    typer.Option(help="corundum: APP_ID to insist on, by default its template's, 0x12340001."),
]

# Wireshark.
Wireshark: TypeAlias = Annotated[
    bool, typer.Option("--wireshark", help="A Wireshark dissector of the shim, in Lua.")
]
ShimPort: TypeAlias = Annotated[
    int, typer.Option(help="wireshark: UDP port of packets with a shim.")
]
