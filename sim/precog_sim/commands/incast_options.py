"""Options of ``precog sim incast``."""

from typing import Annotated, TypeAlias

import typer

__all__ = [
    "DECIDED",
    "LAWS",
    "PROGRAMS",
    "Dcqcn",
    "Echo",
    "InTheLoop",
    "JitterNs",
    "Law",
    "Model",
    "Preset",
    "QueueModel",
    "Rttch",
    "Scenario",
    "Scores",
    "Seeds",
    "Senders",
    "Size",
    "StartGbps",
    "TargetUs",
    "Timely",
    "Timing",
    "Win",
]

#: Decided by the device, unless --in-the-loop says otherwise.
DECIDED = ("pid", "predpid", "fixed")
#: Decided by a device's law engine, if it is to decide.
PROGRAMS = ("timely", "dcqcn")
LAWS = (*DECIDED, "timely", "dctcp", "dcqcn", "hpcc")

# The incast.
Scenario: TypeAlias = Annotated[
    str,
    typer.Option(help="Incast preset: thesis, tenth, hundredth, senders8, senders32, base8us."),
]
Senders: TypeAlias = Annotated[int | None, typer.Option(help="Number of senders.")]
Size: TypeAlias = Annotated[list[int] | None, typer.Option(help="Bytes of each flow.")]
JitterNs: TypeAlias = Annotated[float, typer.Option(help="Starts are spread over this.")]
Timing: TypeAlias = Annotated[str, typer.Option(help="exact or ns3.")]
Seeds: TypeAlias = Annotated[int, typer.Option(min=1, help="Runs with different start jitter.")]

# Laws and their constants.
Law: TypeAlias = Annotated[
    list[str] | None, typer.Option("--law", "--cc", help=f"One of {', '.join(LAWS)}.")
]
Preset: TypeAlias = Annotated[
    str, typer.Option(help="Law preset of pid and predpid: thesis, precog.")
]
TargetUs: TypeAlias = Annotated[float | None, typer.Option(help="Fixed RTT target.")]
StartGbps: TypeAlias = Annotated[float, typer.Option(help="Rate at which flows start.")]
Rttch: TypeAlias = Annotated[bool, typer.Option(help="Target adjuster.")]
Win: TypeAlias = Annotated[bool, typer.Option(help="Window limit.")]
Model: TypeAlias = Annotated[str, typer.Option(help="Model file or shipped model.")]
Timely: TypeAlias = Annotated[
    str, typer.Option(help="Preset of timely: ns3, paper, scaled, patched; precog (device).")
]
Dcqcn: TypeAlias = Annotated[
    str, typer.Option(help="Preset of dcqcn: ns3, paper, vendor; ns3-paper-timers (float).")
]

# Where decisions are made, and congestion scores.
InTheLoop: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Maker of decisions: float (reference laws), golden (--device emu:) or rtl (sim:). "
        "Without it pid, predpid and fixed are decided by the device, other laws in float.",
        metavar="WHO",
    ),
]
Scores: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Source of congestion scores, which PSCHED follows: oracle, persistence, model, "
        "queue (the device's queue model of each send queue), inverted, queue_inverted, "
        "garbage."
    ),
]
Echo: TypeAlias = Annotated[
    bool, typer.Option(help="Scores act when they have come back from the receiver.")
]
QueueModel: TypeAlias = Annotated[str, typer.Option(help="Model file or shipped model of queues.")]
