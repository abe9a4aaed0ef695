"""Options of ``precog sim fabric``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "AckDelayUs",
    "AckEvery",
    "AcksFirst",
    "Classes",
    "DetectUs",
    "Drop",
    "DropAlpha",
    "DurationMs",
    "Ecmp",
    "Ecn",
    "Fail",
    "Flows",
    "Jobs",
    "Law",
    "LinkLoss",
    "Loss",
    "Out",
    "Pfc",
    "Ray",
    "Recovery",
    "RecoveryWindow",
    "Reorder",
    "Schedule",
    "Seeds",
    "Spray",
    "StopMs",
    "Threads",
    "TimeoutUs",
    "Timing",
    "Topology",
    "Weights",
    "Workload",
]

# What runs, on which network, under which flows.
Law: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="dcqcn, dcqcn-barre, dctcp, fixed, hpcc, hpcc-pint, nscc, pid, powertcp, swift, "
        "theta-powertcp, timely; card:NAME, a law as cards run it; FILE.py or module:name; "
        "with settings, as swift:preset=scaled,ai=0.1; by classes, as hpcc+incast=swift. Often."
    ),
]
Topology: TypeAlias = Annotated[
    str,
    typer.Option(
        help="fat320, fattree:k=8, fattree:pods=5,tors=4,aggs=4,cores=16,hosts=16,gbps=100,"
        "fabric_gbps=400,core_gbps=400, "
        "leafspine:leaves=4,spines=4,hosts=16,oversubscription=2, "
        "dumbbell:pairs=4, parkinglot:hops=3, star:hosts=21, or a JSON file."
    ),
]
Workload: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Parts with +: websearch:LOAD, hadoop:LOAD, storage:LOAD, rpc:LOAD, FILE:LOAD, "
        "incast:SENDERSxBYTES:LOAD; loads are shares of the hosts' links. Collectives: ring, "
        "tree, alltoall, moe, pipeline:HOSTSxBYTES[:spread]. "
        "[default: websearch:0.3, without --flows]"
    ),
]
Flows: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="CSV of flows: start_ns, src, dst, bytes, class, law; also .gz."),
]
DurationMs: TypeAlias = Annotated[
    float, typer.Option(help="Flows of the workload start within it.")
]
StopMs: TypeAlias = Annotated[float, typer.Option(help="The run ends here at the latest.")]
Seeds: TypeAlias = Annotated[int, typer.Option(min=1, help="Runs of each law, the same for all.")]

# How it runs.
Timing: TypeAlias = Annotated[str, typer.Option(help="exact or ns3.")]
Ecmp: TypeAlias = Annotated[str, typer.Option(help="Hash of paths: own, or ns3 with --timing ns3.")]
Jobs: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Processes. [default: the cores]")]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Of each run, 1 to 64; results do not depend on it. "
        "[default: the cores that the processes leave]"
    ),
]
Ray: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Run on a Ray cluster instead: HOST:PORT, ray://HOST:PORT, local."),
]
Out: TypeAlias = Annotated[Path, typer.Option("-o", "--out", help="Folder for results.")]

# How packets find their way, and what becomes of those that are lost.
Spray: TypeAlias = Annotated[
    str, typer.Option(help="none, random or turns: each packet chooses its way.")
]
Recovery: TypeAlias = Annotated[str, typer.Option(help="go-back-n or selective.")]
Reorder: TypeAlias = Annotated[
    int, typer.Option(help="Selective: packets behind a gap that make it a loss.")
]
RecoveryWindow: TypeAlias = Annotated[
    int, typer.Option(help="Selective: packets that a receiver's bitmap holds.")
]
TimeoutUs: TypeAlias = Annotated[float, typer.Option(help="Of a flow without progress.")]
AckEvery: TypeAlias = Annotated[int, typer.Option(help="Packets in order for an ACK.")]
AckDelayUs: TypeAlias = Annotated[float, typer.Option(help="The longest that an ACK waits.")]
AcksFirst: TypeAlias = Annotated[
    bool, typer.Option("--acks-first", help="ACKs go before all data, in a class of their own.")
]

# Buffers, losses and links that fail.
Pfc: TypeAlias = Annotated[str, typer.Option(help="dynamic, static or off.")]
Drop: TypeAlias = Annotated[str, typer.Option(help="Without PFC: tail or dynamic thresholds.")]
DropAlpha: TypeAlias = Annotated[
    float, typer.Option(help="Dynamic: a queue's most, in units of the free memory.")
]
Loss: TypeAlias = Annotated[float, typer.Option(help="Share of packets that each link loses.")]
LinkLoss: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A-B:SHARE, of one link between nodes; often.")
]
Fail: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A-B:DOWN_US[:UP_US], a link between nodes; often."),
]
DetectUs: TypeAlias = Annotated[float, typer.Option(help="Routes follow so long after.")]

# Classes and their marking.
Classes: TypeAlias = Annotated[
    str, typer.Option(help="Classes with commas, a priority each, the first goes first.")
]
Schedule: TypeAlias = Annotated[str, typer.Option(help="strict or drr.")]
Weights: TypeAlias = Annotated[str, typer.Option(help="Of drr, one a class with commas.")]
Ecn: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Marking, one a class with commas: MIN[-MAX][:SHARE], as 100k-400k:0.2, of ports "
        "as fast as a host's. [default: as the law has it]"
    ),
]
