"""``precog model evaluate``: a model image in the closed loop, before it may be released."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from precog_host.commands.model_card import draw_evaluation
from precog_host.output import JsonOption, emit, progress_bar

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, typer.Argument(help="Model file, or the name of a shipped model.")],
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Paired runs of each scenario, 2 or more. Default: 20; 300 for a model of queues."
        ),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Some of them; repeatable. RTTs: leaves, messages; queues: messages, duplex; "
            "starts: rounds, background."
        ),
    ] = None,
    bound: Annotated[
        float, typer.Option(help="Most that the upper 95 % end of a measure's ratio may be.")
    ] = 1.05,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder of the record.")] = Path("build/evaluation"),
    json_: JsonOption = False,
) -> None:
    """Judge a model in the closed loop, against the same law without it; 1 if it does harm.

    Predictions of RTTs, of queues, or of N at a start. The inverted model is judged, too: its
    trial or the skill monitor must keep it from harm.
    """
    from precog_fleet.errors import FleetError
    from precog_models.durable import check_target
    from precog_models.judged import SEEDS, sealed, verdict_of
    from precog_models.tree_image import find_any
    from precog_sim.evaluation import evaluated, kind_of
    from precog_studies.record import write_record

    check_target(out / "record.json", made=True)  # before minutes of work
    image = find_any(model)
    if seeds is None:
        seeds = SEEDS[kind_of(image)]
    with progress_bar("Closed loop") as report:
        found = evaluated(
            image,
            seeds=seeds,
            scenarios=scenario or (),
            bound=bound,
            command=_command(model, seeds, scenario or (), bound),
            jobs=jobs,
            report=report,
        )
    path = out / f"{found['image'][:16]}.json"
    found = sealed({"model": model} | found)
    write_record(path, found)
    emit(found | {"record": str(path)}, lambda: _show(found, path), json_)
    if not found["passed"]:
        raise FleetError(
            f"model {model} did not pass: {verdict_of(found)}; {'; '.join(found['failed'])}"
        )


def _command(model: str, seeds: int, scenarios: Sequence[str], bound: float) -> str:
    """How to make the record again."""
    chosen = "".join(f" --scenario {name}" for name in scenarios)
    return f"precog model evaluate {model} --seeds {seeds}{chosen} --bound {bound:g}"


def _show(found: dict[str, Any], path: Path) -> None:
    draw_evaluation(found)
    typer.echo(f"{path}, {found['seconds']} s")
