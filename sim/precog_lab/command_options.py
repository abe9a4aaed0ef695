"""Options of ``precog lab``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "Algorithm",
    "Cache",
    "Ce",
    "Check",
    "Delay",
    "Fetch",
    "Gbps",
    "Incast",
    "Iterations",
    "Loss",
    "MarkBytes",
    "Monitor",
    "Pace",
    "Pairs",
    "Pcap",
    "Pci",
    "Reorder",
    "Report",
    "Rest",
    "Rtl",
    "Seed",
    "Serve",
    "Soak",
    "Work",
]

# What runs, and for how long.
Work: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--work",
        "-w",
        help="write, read, send, atomic, rping, nvme or fio; may be repeated. By default the "
        "first four.",
    ),
]
Iterations: TypeAlias = Annotated[
    int | None, typer.Option(help="Messages of a queue pair; by default 200, 20 with --rtl.")
]
Pairs: TypeAlias = Annotated[int, typer.Option(help="Queue pairs of a workload.")]
Incast: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Guests that send to one.")]
Algorithm: TypeAlias = Annotated[str, typer.Option("--algo", help="Law of all queue pairs.")]
Pace: TypeAlias = Annotated[
    bool, typer.Option("--pace", help="Packets wait at the golden card as its law says.")
]
Soak: TypeAlias = Annotated[
    float, typer.Option(metavar="MINUTES", help="Repeat the workloads for so long.")
]
Rest: TypeAlias = Annotated[
    float,
    typer.Option(metavar="SECONDS", help="Begin nothing for so long after each workload."),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Of the wire's chances.")]

# The cards.
Rtl: TypeAlias = Annotated[
    bool,
    typer.Option("--rtl/--golden", help="Verilated cards, each compared with its golden twin."),
]
Pci: TypeAlias = Annotated[
    bool,
    typer.Option("--pci", help="A card on a guest's PCI bus instead, driven from inside."),
]

# The wire.
Ce: TypeAlias = Annotated[float, typer.Option(help="Chance that the wire marks a packet (CE).")]
Loss: TypeAlias = Annotated[float, typer.Option(help="Chance that the wire loses a packet.")]
Reorder: TypeAlias = Annotated[float, typer.Option(help="Chance that others overtake a packet.")]
Delay: TypeAlias = Annotated[float, typer.Option(help="Of the wire, µs of card time.")]
Gbps: TypeAlias = Annotated[float, typer.Option(help="Of each guest's link, card time.")]
MarkBytes: TypeAlias = Annotated[
    int | None, typer.Option(help="Queue of a link from which on it marks packets.")
]

# What is seen of the run.
Pcap: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write what went over the wire, .pcapng or .pcap.")
]
Monitor: TypeAlias = Annotated[
    bool, typer.Option("--monitor", help="Show the monitor of a sender's card meanwhile.")
]
Serve: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="PORT", help="Serve a sender's card at this UDP port meanwhile."),
]
Report: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write a page of the run, lab.html.")
]

# Packages.
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(help="Folder of packages and images; by default the user's.")
]
Check: TypeAlias = Annotated[
    bool, typer.Option("--check", help="Say what is missing and what mends it; run nothing.")
]
Fetch: TypeAlias = Annotated[
    bool, typer.Option("--fetch", help="Fetch guests' packages anew; run nothing.")
]
