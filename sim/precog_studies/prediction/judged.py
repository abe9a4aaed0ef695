"""Figures of an arm against those without prediction, over the same seeds; and the goals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from precog_studies.paired import Ratio, paired
from precog_studies.prediction.arms import FALSE, OFF

__all__ = [
    "BOUNDS",
    "FIGURES",
    "GOALS",
    "JUDGED",
    "NO_HARM",
    "SHOWN",
    "Goal",
    "judged",
    "ratios",
    "room",
]

JUDGED = "lstm"  #: the forecast that must be better than the others
_Runs = Sequence[Mapping[str, Any]]


def _mean(key: str) -> Callable[[_Runs], float]:
    return lambda runs: float(np.mean([run[key] for run in runs]))


def _pooled(part: str, share: float | None) -> Callable[[_Runs], float]:
    """Of all runs' flows together: the mean, or the value below which this share of them is."""

    def made(runs: _Runs) -> float:
        values = np.concatenate([run["background"][part] for run in runs])
        return float(values.mean() if share is None else np.quantile(values, share))

    return made


#: Title, whether a run has it, and its value over runs, by figure.
FIGURES: dict[str, tuple[str, str, Callable[[_Runs], float]]] = {
    "queue_max": ("largest queue, KB", "queue_max_kb", _mean("queue_max_kb")),
    "queue_p999": ("queues p99.9, KB", "queue_p999_kb", _mean("queue_p999_kb")),
    "queue_p99": ("queues p99, KB", "queue_p99_kb", _mean("queue_p99_kb")),
    "receiver_p99": ("receivers' queues p99, KB", "receiver_p99_kb", _mean("receiver_p99_kb")),
    "small_p99": ("p99, < 30 KB", "background", _pooled("small", 0.99)),
    "small": ("mean, < 30 KB", "background", _pooled("small", None)),
    "middle": ("mean, 30–300 KB", "background", _pooled("middle", None)),
    "large": ("mean, > 300 KB", "background", _pooled("large", None)),
    "apart": ("mean, to four hosts", "apart", _pooled("apart", None)),
    "incast_mean": ("incast mean, µs", "incast_mean_us", _mean("incast_mean_us")),
    "incast_p99": ("incast p99, µs", "incast_p99_us", _mean("incast_p99_us")),
    "incast_last": ("incast last, µs", "incast_last_us", _mean("incast_last_us")),
    "job": ("job, µs", "job_us", _mean("job_us")),
}

#: Bounds of a job's completion, by their names in `bounds.Bounds`.
BOUNDS = {"alone": "the job alone", "shared": "the job, and the background's bytes"}


def _has(run: Mapping[str, Any], needed: str) -> bool:
    return needed in run or needed in run.get("background", {})


def ratios(before: _Runs, after: _Runs) -> dict[str, Ratio]:
    """All figures that the runs have, paired by their places.

    Raises
    ------
    ValueError
        The numbers of runs differ, or there are fewer than two.
    """
    if len(before) != len(after) or len(before) < 2:
        raise ValueError(
            f"runs must be two or more, the same number in both arms, not {len(before)} and "
            f"{len(after)}"
        )

    def of(runs: _Runs, value: Callable[[_Runs], float]) -> Callable[[Sequence[int]], float]:
        return lambda places: value([runs[k] for k in places])

    return {
        name: paired(of(before, value), of(after, value), len(before))
        for name, (_, needed, value) in FIGURES.items()
        if _has(before[0], needed)
    }


def room(runs: _Runs) -> dict[str, Ratio]:
    """The job's completion over each of its `bounds`; none if some run has no bounds."""
    if any(run.get("bounds") is None for run in runs):
        return {}

    def job(places: Sequence[int]) -> float:
        return float(np.mean([runs[k]["job_us"] for k in places]))

    def bound(name: str) -> Callable[[Sequence[int]], float]:
        return lambda places: float(np.mean([runs[k]["bounds"][name] for k in places]))

    return {name: paired(bound(name), job, len(runs)) for name in BOUNDS}


@dataclass(frozen=True)
class Goal:
    """The ratio of a figure must be at most `most`; of false predictions its interval's end."""

    figure: str
    most: float


_NO_WORSE = 1.02
NO_HARM = 1.05  #: bound of the upper end of a false prediction's interval

SHOWN = ("incast_mean",)  # not judged: fair shares end later on average

#: By case, of predictions that are meant.
GOALS: dict[str, tuple[Goal, ...]] = {
    "incast": (
        Goal("queue_max", 0.5),
        Goal("queue_p999", 0.5),
        Goal("queue_p99", 0.5),
        Goal("receiver_p99", 0.5),
        Goal("small_p99", 0.8),
        Goal("incast_p99", 1.0),
        Goal("incast_last", 1.0),
    ),
    "rounds": (Goal("queue_max", 0.5), Goal("small_p99", 0.8), Goal("incast_last", 1.0)),
    "services": (
        Goal("queue_max", 0.5),
        Goal("small_p99", 0.8),
        Goal("middle", _NO_WORSE),
        Goal("incast_p99", 1.0),
    ),
    "alltoall": (Goal("job", 0.95),),
    "ring": (Goal("job", 0.95),),
    "n5": (Goal("incast_p99", _NO_WORSE), Goal("incast_last", _NO_WORSE)),
    "n20": (Goal("incast_p99", _NO_WORSE), Goal("incast_last", _NO_WORSE)),
    "background": tuple(
        Goal(name, _NO_WORSE) for name in ("small_p99", "small", "middle", "large")
    ),
}


def judged(arm: str, case: str, found: Mapping[str, Ratio]) -> dict[str, bool]:
    """Whether each figure that has a goal meets it."""
    if arm == OFF:
        return {}
    if arm in FALSE:
        return {
            name: one.high <= NO_HARM
            for name, one in found.items()
            if name not in SHOWN and (name != "apart" or arm != "liars")
        }
    return {goal.figure: found[goal.figure].ratio <= goal.most for goal in GOALS[case]}
