"""``precog study forecasts``: how good forecasts of send queues are; writes ``forecast.json``.

The shipped queue models are judged, unless ``--save`` makes new ones.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress as Bar
from rich.table import Table

from precog_models.data.windows import HORIZONS, INDEPENDENT, STEPS
from precog_models.forecast.metrics import DECILES
from precog_models.image import Image, pretrained
from precog_models.train.queue import QUEUE_RECIPES, QueueRecipe
from precog_sim.commit import commit_name
from precog_sim.forecast.learn import Data, Progress, collect, train_base
from precog_sim.forecast.per_queue import compare_per_queue, own_traces
from precog_sim.forecast.scenarios import plan
from precog_sim.forecast.study import errors_of, judge_horizon, judge_path
from precog_sim.targets import new_folder
from precog_studies.record import write_record

__all__ = ["TARGETS", "main", "missed"]

#: What must be reached: least, or most where it is a distance.
TARGETS = {"crps_skill": 0.2, "reliability": 0.02, "ece": 0.02, "brier_skill": 0.2}
_MOST = ("reliability", "ece")
_WINDOWS_PER_DECILE = 1000
_WIDE = 140


def missed(errors: dict[str, float]) -> list[str]:
    """Which targets a model misses, in words."""
    return [
        f"{name} is {errors[name]:.4f}, target {'at most' if name in _MOST else 'at least'} {goal}"
        for name, goal in TARGETS.items()
        if (errors[name] > goal if name in _MOST else errors[name] < goal)
    ]


def _images(
    data: Data, save: Path | None, recipe: QueueRecipe, seed: int, report: Progress
) -> dict[int, Image]:
    if save is None:
        return {h: pretrained(f"queue-{h}rtt") for h in HORIZONS}
    return {h: train_base(data, h, recipe, seed=seed, progress=report) for h in HORIZONS}


def run(
    name: str,
    own: str,
    recipes: tuple[QueueRecipe, QueueRecipe],
    save: Path | None,
    report: Progress,
    seed: int = 0,
) -> dict[str, Any]:
    """Everything that is written to ``forecast.json``; models are saved with their errors."""
    began = time.monotonic()
    data = collect(plan(name), report)
    images = _images(data, save, recipes[0], seed, report)
    horizons = {h: judge_horizon(data, images[h], recipes[0], report) for h in HORIZONS}
    traces = own_traces(plan(own)["own"], report)
    for h in HORIZONS:
        horizons[h]["per_queue"] = compare_per_queue(images[h], traces, recipes[1], report)
        horizons[h]["errors"] = errors_of(horizons[h])
        horizons[h]["missed"] = missed(horizons[h]["errors"])
        if save is not None:
            card = images[h].card | {"errors": horizons[h]["errors"]}
            save.mkdir(parents=True, exist_ok=True)
            Image(images[h].weights, card).save(save / f"queue-{h}rtt.safetensors")
    return {
        "plan": name,
        "seconds": round(time.monotonic() - began, 1),
        "steps": STEPS,
        "stride": INDEPENDENT,
        "windows_per_decile": len(data.windows["test"]) // (len(DECILES) + 1),
        "runs": {use: len(runs) for use, runs in data.runs.items()},
        "windows": {use: len(windows) for use, windows in data.windows.items()},
        "targets": TARGETS,
        "recipe": recipes[0].card(),
        "horizons": [horizons[h] for h in HORIZONS],
        "path": judge_path(data),
    }


def _interval(figure: dict[str, float], digits: int = 3) -> str:
    return f"{figure['value']:.{digits}f} [{figure['low']:.{digits}f}, {figure['high']:.{digits}f}]"


def _show(console: Console, result: dict[str, Any]) -> None:
    for judged in result["horizons"]:
        table = Table(title=f"{judged['horizon_base_rtts']} base RTTs ahead, {result['plan']}")
        for heading in (
            "method",
            "CRPS",
            "skill over persistence",
            "over transition",
            "worst decile",
        ):
            table.add_column(heading)
        for name, x in judged["methods"].items():
            table.add_row(
                name,
                f"{x['crps']:.4f}",
                _interval(x["skill"]),
                _interval(x["skill_of_transition"]),
                f"{x['worst_decile']:.4f}",
            )
        console.print(table)
        score, own = judged["score"], judged["per_queue"]
        console.print(
            f"score: ECE {_interval(score['calibration']['ece'], 4)}, Brier skill "
            f"{_interval(score['brier_skill'])}"
        )
        console.print(
            f"{own['queues']} queues of their own in {own['seconds']} s: CRPS "
            f"{own['shared_crps']:.4f} shared, {own['own_crps']:.4f} own, skill "
            f"{_interval(own['skill_over_shared'])}"
        )
        for text in judged["missed"]:
            console.print(f"target missed: {text}")
    for name, x in result["path"].items():
        console.print(
            f"path delay, {name} RTT: ECE {_interval(x['calibration']['ece'], 4)}, Brier skill "
            f"{_interval(x['brier_skill'])}, rate {x['rate']:.3f}"
        )
    if result["windows_per_decile"] < _WINDOWS_PER_DECILE:
        console.print(f"too few windows: {result['windows_per_decile']} per decile")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="precog study forecasts", description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/forecasts")
    parser.add_argument("--plan", default="full", help="full, or smoke: seconds")
    parser.add_argument("--save", type=new_folder, help="train new queue models into this folder")
    parser.add_argument(
        "--updates", type=int, default=QUEUE_RECIPES["base"].updates, help="of GRU and oracle too"
    )
    parser.add_argument("--tune-updates", type=int, default=QUEUE_RECIPES["tune"].updates)
    parser.add_argument("--seed", type=int, default=0, help="of the training with --save")
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = parser.parse_args(words)
    base, tune = QUEUE_RECIPES["base"], QUEUE_RECIPES["tune"]
    recipes = (
        QueueRecipe(given.updates, base.batch, base.rate, base.rounded_share),
        QueueRecipe(given.tune_updates, tune.batch, tune.rate, tune.rounded_share),
    )
    own = "queues" if given.plan == "full" else "smoke queues"
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(text: str, done: int, total: int) -> None:
            bar.update(task, description=text, completed=done, total=total)

        result = run(given.plan, own, recipes, given.save, report, given.seed)
    path = given.out / "forecast.json"
    made = {
        "command": " ".join(["precog study forecasts", *words]),
        "commit": commit_name("sim", "models"),
    }
    write_record(path, made | result)
    _show(console, result)
    console.print(f"{path}, {result['seconds']:.0f} s")
    return int(any(judged["missed"] for judged in result["horizons"]))


if __name__ == "__main__":
    raise SystemExit(main())
