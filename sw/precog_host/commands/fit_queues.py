"""``precog model fit-queues``: a model for each queue, tuned on the queue's own history."""

from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, progress_bar, table

__all__ = ["fit_queues"]

_CHECK_FROM = 8  # of ten blocks of time: the last two say whether a queue's own model is better
_STRIDE = 4  # samples between windows that are tuned on


def fit_queues(
    traces: Annotated[Path, typer.Argument(help="File of queue traces.", exists=True)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the model images.")],
    base: Annotated[
        str, typer.Option(help="Shared model: a file, or the name of a shipped one.")
    ] = "queue-1rtt",
    updates: Annotated[int | None, typer.Option(min=1, help="Optimizer steps.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Windows of a queue in a step.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Tune a model for every queue on its own history, all of them at once.

    The last fifth of a history is kept back: where a queue's own model is no better there than the
    shared one, no image is written for it.
    """
    from dataclasses import replace

    from precog_models.data.queue_trace import load_queue_traces
    from precog_models.data.windows import BLOCKS, make_windows
    from precog_models.durable import check_target
    from precog_models.image import find
    from precog_models.train.fit_queues import fit_queues as fit
    from precog_models.train.queue import QUEUE_RECIPES

    shared = find(base)
    recipe = QUEUE_RECIPES["tune"]
    recipe = replace(recipe, updates=updates or recipe.updates, batch=batch or recipe.batch)
    histories = load_queue_traces(traces)
    output.mkdir(parents=True, exist_ok=True)  # once all that was given is right
    check_target(output / "q.safetensors")
    windows = make_windows(histories, stride=_STRIDE)
    windows = windows.select(windows.whole)
    late = windows.block % BLOCKS >= _CHECK_FROM
    with progress_bar("Tuning") as report:
        fits = fit(
            shared,
            windows.select(~late),
            windows.select(late),
            recipe,
            seed=seed,
            threads=threads,
            progress=lambda done, total, text: report(done, total, text),
        )
    rows: list[dict[str, Any]] = []
    for one in fits:
        path = output / f"run{one.run}-queue{one.queue}.safetensors"
        if one.own:
            one.image.save(path)
        else:
            path.unlink(missing_ok=True)  # of an earlier call
        rows.append(
            {
                "run": one.run,
                "queue": one.queue,
                "windows": one.windows,
                "shared_crps": one.shared_crps,
                "own_crps": one.own_crps,
                "image": str(path) if one.own else None,
                "crc32": f"{one.image.crc32:#010x}",
            }
        )

    def show() -> None:
        columns = ("run", "queue", "windows", "shared_crps", "own_crps", "image")
        table(columns, [tuple(row[name] for name in columns) for row in rows])
        own = sum(one.own for one in fits)
        typer.echo(f"{output}: {own} of {len(fits)} queues have a model of their own")

    emit({"base": base, "queues": rows}, show, json_)
