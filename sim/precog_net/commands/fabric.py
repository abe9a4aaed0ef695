"""``precog sim fabric``: laws on a network of many switches."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from precog_host.output import JsonOption, emit, plain, progress_bar, table
from precog_net.commands import fabric_options as options

if TYPE_CHECKING:
    from precog_net.job import Job, Outcome

_COLUMNS = ("law", "class", "finished", "unfinished", "mean", "p50", "p95", "p99", "p99.9")


def fabric(
    law: options.Law = None,
    topology: options.Topology = "fat320",
    workload: options.Workload = None,
    flows: options.Flows = None,
    duration_ms: options.DurationMs = 1.0,
    stop_ms: options.StopMs = 50.0,
    seeds: options.Seeds = 1,
    timing: options.Timing = "exact",
    ecmp: options.Ecmp = "own",
    jobs: options.Jobs = None,
    threads: options.Threads = None,
    spray: options.Spray = "none",
    recovery: options.Recovery = "go-back-n",
    reorder: options.Reorder = 1,
    recovery_window: options.RecoveryWindow = 512,
    timeout_us: options.TimeoutUs = 20_000.0,
    ack_every: options.AckEvery = 1,
    ack_delay_us: options.AckDelayUs = 10.0,
    acks_first: options.AcksFirst = False,
    pfc: options.Pfc = "dynamic",
    drop: options.Drop = "tail",
    drop_alpha: options.DropAlpha = 1.0,
    loss: options.Loss = 0.0,
    link_loss: options.LinkLoss = None,
    fail: options.Fail = None,
    detect_us: options.DetectUs = 100.0,
    classes: options.Classes = "",
    schedule: options.Schedule = "strict",
    weights: options.Weights = "",
    ecn: options.Ecn = "",
    ray: options.Ray = None,
    out: options.Out = Path("build/fabric"),
    json_: JsonOption = False,
) -> None:
    """Run laws on a fabric under the same flows; a run whose result is there is not done again."""
    from precog_models.durable import check_target, write_durably
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
        acks_first=acks_first,
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
    first = Job(
        topology=topology,
        workload=workload,
        flows=str(flows or ""),
        law=laws[0],
        seed=0,
        duration_ms=duration_ms,
        stop_ms=stop_ms,
        timing=timing,
        ecmp=ecmp,
        features=features,
    )
    made = {
        (name, seed): replace(first, law=name, seed=seed) for name in laws for seed in range(seeds)
    }
    path = out / "fabric.json"
    check_target(path, made=True)
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
    data = _data(first, results)
    write_durably(path, (json.dumps(plain(data), sort_keys=True, allow_nan=False) + "\n").encode())
    if threads and threads > 1:
        _say_undivided([(name, outcomes[job]) for (name, _), job in made.items()])
    emit(data, lambda: _show(data, seeds, path), json_)


def _data(job: "Job", results: dict[str, Any]) -> dict[str, Any]:
    """What all runs share, and their results."""
    return {
        "topology": job.topology,
        "workload": job.workload,
        "flows": job.flows or None,
        "duration_ms": job.duration_ms,
        "stop_ms": job.stop_ms,
        "timing": job.timing,
        "ecmp": job.ecmp,
        "features": asdict(job.features),
        "results": results,
    }


def _say_undivided(runs: list[tuple[str, "Outcome"]]) -> None:
    """Name the laws whose runs have one thread, whatever was asked for."""
    whole = dict.fromkeys(name for name, found in runs if found.counts.get("partitions") == 1)
    if whole:
        typer.echo(f"one thread each: runs of {', '.join(whole)} cannot be divided", err=True)


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
