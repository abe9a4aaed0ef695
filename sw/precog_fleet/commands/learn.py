"""``precog fleet collect``, ``train``, ``evaluate``: from telemetry to models that may go out."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.output import JsonOption, emit, progress_bar, table
from precog_models.judged import SEEDS

from ..errors import needs
from ..record import RECORD

__all__ = ["collect", "evaluate", "runner_of", "train"]

_Set = Annotated[Path, typer.Argument(help="Training set (precog fleet collect).")]
_Workers = Annotated[int, typer.Option(min=1, help="Processes that train.")]
_Ray = Annotated[
    str | None,
    typer.Option(help="Train on a Ray cluster instead: HOST:PORT, ray://HOST:PORT, local."),
]


def runner_of(workers: int, ray: str | None) -> Any:
    """What runs tasks."""
    from ..runner import Pool, RayRunner

    return Pool(workers) if ray is None else RayRunner(ray)


def _when(name: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        raise ValueError(
            f"{name} must be a time such as 2026-11-25T04:00+00:00, not {text!r}"
        ) from None


def collect(
    telemetry: Annotated[
        list[Path], typer.Argument(help="Folders of agents' telemetry, or of many such.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the training set.")],
    since: Annotated[str | None, typer.Option(help="Only windows from then on.")] = None,
    until: Annotated[str | None, typer.Option(help="Only windows before that.")] = None,
    skip_foreign: Annotated[
        bool, typer.Option("--skip-foreign", help="Leave out telemetry of other contracts.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Make one training set, with its data card, of the telemetry of many agents."""
    with needs():
        from ..collect import collect as work

    first, last = _when("since", since, 0), _when("until", until, 1 << 62)
    if first >= last:
        raise ValueError(f"since must be before until, {until}, not {since}")
    card = work(telemetry, out, since=first, until=last, skip_foreign=skip_foreign)
    left = card["left_out"]
    emit(
        card,
        lambda: typer.echo(
            f"{out}: {card['windows']} windows of {card['queues']} queues on "
            f"{len(card['origins'])} hosts; left out {left['windows']} windows, "
            f"{len(left['damaged'])} damaged and {len(left['foreign'])} foreign parts"
        ),
        json_,
    )


def train(
    folder: _Set,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder of the models.")],
    base: Annotated[
        str | None,
        typer.Option(help="Shared model to go on from: a file or a shipped one's name."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=0, help="Rounds of the shared model; 0: it stays.")
    ] = 4,
    updates: Annotated[int | None, typer.Option(min=1, help="Optimizer steps in a round.")] = None,
    least: Annotated[int, typer.Option(min=1, help="Windows a queue needs for a head.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    workers: _Workers = 2,
    ray: _Ray = None,
    json_: JsonOption = False,
) -> None:
    """Train the shared model and heads of queues; begun again, the job goes on where it stopped."""
    from dataclasses import replace

    with needs("fleet,train"):
        from precog_models.image import find

        from ..agent_process import SHIPPED_MODEL
        from ..dataset import load_dataset
        from ..modelset import ModelSet
        from ..train import FleetRecipe
        from ..train import train as work

    recipe = FleetRecipe(rounds=rounds, least=least, seed=seed)
    if updates is not None:
        recipe = replace(recipe, base=replace(recipe.base, updates=updates))
    start = find(base or SHIPPED_MODEL)
    data = load_dataset(folder)
    runner = runner_of(workers, ray)
    try:
        with progress_bar("Training") as report:
            manifest = work(data, start, out, recipe, runner, report)
    finally:
        runner.close()
    models = ModelSet.load(out)
    done = {
        "models": str(out),
        "digest": manifest.digest.hex(),
        "base_crc32": f"{models.base.crc32:#010x}",
        "base_changed": models.base.crc32 != start.crc32,
        "queues": len(data.queues),
        "heads": len(models.heads),
    }
    emit(
        done,
        lambda: typer.echo(
            f"{out}: base {done['base_crc32']}{'' if done['base_changed'] else ' as before'}, "
            f"{done['heads']} of {done['queues']} queues with a head of their own; "
            f"judge it with precog fleet evaluate"
        ),
        json_,
    )


def evaluate(
    models: Annotated[Path, typer.Argument(help="Folder of models (precog fleet train).")],
    folder: _Set,
    live: Annotated[
        str | None,
        typer.Option(help="What runs: a folder of models, a file, or a shipped model's name."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Of the closed loop.")] = SEEDS["queue"],
    json_: JsonOption = False,
) -> None:
    """Judge models on windows held back and in the closed loop; 1 unless they may be released."""
    with needs("fleet,sim"):
        from precog_models.image import find

        from ..agent_process import SHIPPED_MODEL
        from ..dataset import load_dataset
        from ..errors import FleetError
        from ..evaluate import closed_loop
        from ..evaluate import evaluate as work
        from ..modelset import ModelSet
        from ..places import MODELS, require

    require(models, MODELS)
    running = (
        ModelSet.load(Path(live))
        if live is not None and Path(live).is_dir()
        else ModelSet(find(live or SHIPPED_MODEL))
    )
    found = work(models, load_dataset(folder), running, closed_loop(), seeds=seeds)
    emit(found, lambda: _show(found, models), json_)
    if not found["passed"]:
        raise FleetError(f"models of {models} did not pass: {'; '.join(found['failed'])}")


def _show(found: dict[str, Any], models: Path) -> None:
    from precog_host.commands.model_card import draw_evaluation

    forecast = found["forecast"]
    rows = []
    for name in ("skill", "skill_over_live"):
        ratio = forecast[name]
        rows.append((name, ratio["value"], ratio["low"], ratio["high"]))
    table(("figure", "value", "low", "high"), rows)
    draw_evaluation(json.loads((models / RECORD).read_bytes()))
    typer.echo(
        f"{forecast['windows']} windows held back: {'passed' if found['passed'] else 'not passed'}"
    )
