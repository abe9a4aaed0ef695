"""``precog model train``: simulate, train, judge, quantize, write a model image."""

import os
from pathlib import Path
from typing import Annotated

import typer

from precog_host.output import JsonOption, emit, progress_bar, table
from precog_sim.demo.plan import Plan

__all__ = ["train"]


def train(
    output: Annotated[Path, typer.Option("-o", "--output", help="Model image to write.")],
    preset: Annotated[str, typer.Option(help="Training recipe: thesis or precog.")] = "precog",
    data: Annotated[
        str, typer.Option(help="Plan of simulated runs: thesis, precog, smoke.")
    ] = "precog",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = Plan.train_seed,
    version: Annotated[
        int, typer.Option(min=0, max=0xFFFF_FFFF, help="Version in the image's header.")
    ] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Processes that simulate.")] = 1,
    json_: JsonOption = False,
) -> None:
    """Collect RTTs from simulated incasts, train the LSTM on them and quantize it."""
    from precog_models.durable import check_target
    from precog_models.train.presets import recipe
    from precog_sim.collect import plan

    check_target(output)  # before minutes of work
    recipe(preset)
    plan(data)

    from precog_sim.learn import learn

    with progress_bar("Learning") as report:
        learned = learn(
            data,
            preset,
            seed=seed,
            version=version,
            workers=min(workers, os.cpu_count() or 1),
            progress=lambda text, done, total: report(done, total, text),
        )
    learned.image.save(output)
    scores = learned.evaluation.to_dict()
    meta = {"path": str(output), "crc32": f"{learned.image.crc32:#010x}", "scores": scores}

    def show() -> None:
        columns = ("group", "law", "method", "pairs", "balanced", "unbalanced")
        table(columns, [tuple(row.get(name) for name in columns) for row in scores])
        typer.echo(f"{output}: version {version}, CRC {meta['crc32']}")

    emit(meta, show, json_)
