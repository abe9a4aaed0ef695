"""``precog sim queues``: send queues of simulated senders, as a file of traces."""

from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, progress_bar

__all__ = ["queues"]


def queues(
    output: Annotated[Path, typer.Option("-o", "--output", help="File of queue traces (.npz).")],
    senders: Annotated[int, typer.Option(min=2, max=256, help="Queues of each run.")] = 12,
    runs: Annotated[int, typer.Option(min=1, help="Runs, each with traffic of its own.")] = 4,
    load: Annotated[float, typer.Option(min=0.01, max=2.0, help="Share of the bottleneck.")] = 0.6,
    law: Annotated[str, typer.Option(help="Rate law: dcqcn or timely.")] = "dcqcn",
    group: Annotated[str, typer.Option(help="Network: incast or shared link.")] = "incast",
    horizon_us: Annotated[float, typer.Option(min=100.0, help="Length of each run.")] = 20_000.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the first run.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Simulate senders whose messages come at a finite rate, and keep their send queues."""
    from precog_models.data.queue_trace import save_queue_traces
    from precog_models.durable import check_target
    from precog_sim.forecast.scenarios import QueueRun, queue_trace

    check_target(output)
    specs = [QueueRun(group, law, senders, load, seed + k, horizon_us) for k in range(runs)]
    traces = []
    with progress_bar("Simulating") as report:
        for done, spec in enumerate(specs):
            traces.append(queue_trace(spec)[0])
            report(done + 1, runs)
    save_queue_traces(output, traces)
    meta = {
        "path": str(output),
        "queues": sum(trace.queues for trace in traces),
        "changes": sum(len(trace.t) for trace in traces),
    }
    emit(meta, lambda: typer.echo(f"{output}: {meta['queues']} queues"), json_)
