"""``precog sim fabric``: laws on a network of many switches."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, plain, progress_bar, table

_COLUMNS = ("law", "class", "finished", "unfinished", "mean", "p50", "p95", "p99", "p99.9")


def fabric(
    law: Annotated[
        list[str] | None,
        typer.Option(
            help="dcqcn, dcqcn-barre, dctcp, fixed, hpcc, hpcc-pint, nscc, pid, powertcp, swift, "
            "theta-powertcp, timely; card:NAME, a law as cards run it; FILE.py or module:name; "
            "with settings, as swift:preset=scaled,ai=0.1; by classes, as hpcc+incast=swift. Often."
        ),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(
            help="fat320, fattree:k=8, fattree:pods=5,tors=4,aggs=4,cores=16,hosts=16,gbps=100,"
            "fabric_gbps=400,core_gbps=400, "
            "leafspine:leaves=4,spines=4,hosts=16,oversubscription=2, "
            "dumbbell:pairs=4, parkinglot:hops=3, star:hosts=21, or a JSON file."
        ),
    ] = "fat320",
    workload: Annotated[
        str | None,
        typer.Option(
            help="Parts with +: websearch:LOAD, hadoop:LOAD, storage:LOAD, rpc:LOAD, FILE:LOAD, "
            "incast:SENDERSxBYTES:LOAD; loads are shares of the hosts' links. Collectives: ring, "
            "tree, alltoall, moe, pipeline:HOSTSxBYTES[:spread]. "
            "[default: websearch:0.3, without --flows]"
        ),
    ] = None,
    flows: Annotated[
        Path | None,
        typer.Option(help="CSV of flows: start_ns, src, dst, bytes, class, law; also .gz."),
    ] = None,
    duration_ms: Annotated[
        float, typer.Option(help="Flows of the workload start within it.")
    ] = 1.0,
    stop_ms: Annotated[float, typer.Option(help="The run ends here at the latest.")] = 50.0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each law, the same for all.")] = 1,
    timing: Annotated[str, typer.Option(help="exact or ns3.")] = "exact",
    ecmp: Annotated[
        str, typer.Option(help="Hash of paths: own, or ns3 with --timing ns3.")
    ] = "own",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. [default: the cores]")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Of each run, 1 to 64; results do not depend on it. "
            "[default: the cores that the processes leave]"
        ),
    ] = None,
    spray: Annotated[
        str, typer.Option(help="none, random or turns: each packet chooses its way.")
    ] = "none",
    recovery: Annotated[str, typer.Option(help="go-back-n or selective.")] = "go-back-n",
    reorder: Annotated[
        int, typer.Option(help="Selective: packets behind a gap that make it a loss.")
    ] = 1,
    recovery_window: Annotated[
        int, typer.Option(help="Selective: packets that a receiver's bitmap holds.")
    ] = 512,
    timeout_us: Annotated[float, typer.Option(help="Of a flow without progress.")] = 20_000.0,
    ack_every: Annotated[int, typer.Option(help="Packets in order for an ACK.")] = 1,
    ack_delay_us: Annotated[float, typer.Option(help="The longest that an ACK waits.")] = 10.0,
    pfc: Annotated[str, typer.Option(help="dynamic, static or off.")] = "dynamic",
    drop: Annotated[str, typer.Option(help="Without PFC: tail or dynamic thresholds.")] = "tail",
    drop_alpha: Annotated[
        float, typer.Option(help="Dynamic: a queue's most, in units of the free memory.")
    ] = 1.0,
    loss: Annotated[float, typer.Option(help="Share of packets that each link loses.")] = 0.0,
    link_loss: Annotated[
        list[str] | None, typer.Option(help="A-B:SHARE, of one link between nodes; often.")
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(help="A-B:DOWN_US[:UP_US], a link between nodes; often."),
    ] = None,
    detect_us: Annotated[float, typer.Option(help="Routes follow so long after.")] = 100.0,
    classes: Annotated[
        str, typer.Option(help="Classes with commas, a priority each, the first goes first.")
    ] = "",
    schedule: Annotated[str, typer.Option(help="strict or drr.")] = "strict",
    weights: Annotated[str, typer.Option(help="Of drr, one a class with commas.")] = "",
    ecn: Annotated[
        str,
        typer.Option(
            help="Marking, one a class with commas: MIN[-MAX][:SHARE], as 100k-400k:0.2, of ports "
            "as fast as a host's. [default: as the law has it]"
        ),
    ] = "",
    ray: Annotated[
        str | None,
        typer.Option(help="Run on a Ray cluster instead: HOST:PORT, ray://HOST:PORT, local."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for results.")] = Path(
        "build/fabric"
    ),
    json_: JsonOption = False,
) -> None:
    """Run laws on a fabric under the same flows; a run whose result is there is not done again."""
    from precog_net.campaign import run_all
    from precog_net.features import Features
    from precog_net.job import Job
    from precog_net.summary import summary

    laws = list(dict.fromkeys(law or ["hpcc"]))
    if workload is None:
        workload = "" if flows else "websearch:0.3"
    features = Features(
        spray=spray,
        recovery=recovery,
        reorder=reorder,
        window=recovery_window,
        timeout_us=timeout_us,
        ack_every=ack_every,
        ack_delay_us=ack_delay_us,
        pfc=pfc,
        drop=drop,
        drop_alpha=drop_alpha,
        loss=loss,
        link_loss=tuple(link_loss or ()),
        fail=tuple(fail or ()),
        detect_us=detect_us,
        classes=classes,
        schedule=schedule,
        weights=weights,
        ecn=ecn,
    )
    made = {
        (name, seed): Job(
            topology=topology,
            workload=workload,
            flows=str(flows or ""),
            law=name,
            seed=seed,
            duration_ms=duration_ms,
            stop_ms=stop_ms,
            timing=timing,
            ecmp=ecmp,
            features=features,
        )
        for name in laws
        for seed in range(seeds)
    }
    with progress_bar("Fabric") as report:
        outcomes = run_all(
            list(made.values()),
            out / "runs",
            workers=jobs or os.cpu_count() or 1,
            threads=threads,
            ray=ray,
            report=report,
        )
    results = {
        name: summary({seed: outcomes[made[name, seed]] for seed in range(seeds)}) for name in laws
    }
    data = {
        "topology": topology,
        "workload": workload,
        "flows": str(flows) if flows else None,
        "duration_ms": duration_ms,
        "stop_ms": stop_ms,
        "timing": timing,
        "ecmp": ecmp,
        "features": asdict(features),
        "results": results,
    }
    path = out / "fabric.json"
    path.write_text(json.dumps(plain(data), sort_keys=True, allow_nan=False) + "\n")
    whole = [
        name
        for name in laws
        if any(outcomes[made[name, seed]].counts.get("partitions") == 1 for seed in range(seeds))
    ]
    if threads and threads > 1 and whole:
        typer.echo(f"one thread each: runs of {', '.join(whole)} cannot be divided", err=True)
    emit(data, lambda: _show(data, seeds, path), json_)


def _show(data: dict[str, Any], seeds: int, path: Path) -> None:
    rows = []
    for law, found in data["results"].items():
        names = ("mean", "p50", "p95", "p99", "p999")
        for kind, figures in found["classes"].items():
            rows.append(
                (law, kind, figures["n"], figures["unfinished"], *(figures[name] for name in names))
            )
        if len(found["laws"]) > 1:
            for one, figures in found["laws"].items():
                numbers = (figures[name] for name in names)
                rows.append((law, f"law {one}", figures["n"], figures["unfinished"], *numbers))
    what = data["flows"] or data["workload"]
    title = f"Slowdowns: {data['topology']}, {what}, {seeds} seed{'s' * (seeds > 1)}"
    table(_COLUMNS, rows, title=title)
    for law, found in data["results"].items():
        for kind, ms in found["jct_ms"].items():
            typer.echo(f"{law}: {kind} took {ms:.6g} ms")
    unfinished = {law: found["flows"] - found["finished"] for law, found in data["results"].items()}
    for law, count in unfinished.items():
        if count:
            typer.echo(f"{law}: {count} flows did not finish")
    typer.echo(f"all figures: {path}")
