"""Differences of two laws' figures over paired seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

from precog_models.limits import brief, checked_number, checked_object
from precog_sim.network.metrics import estimate

__all__ = ["FIGURES", "SAME", "check_result", "paired"]

FIGURES = ("mean", "p50", "p95", "p99", "p999")
#: Settings that runs must have in common, or their flows cannot be paired.
SAME = ("workload", "flows", "duration_ms", "stop_ms", "timing", "ecmp")
_QUEUE = ("p99", "max")
_WHOLE = ("pause_share", "utilisation", "drops")


def check_result(data: Any) -> None:
    """Whether this has the form of fabric.json, with one law at least and a run of each.

    Raises
    ------
    ValueError
        It has not; the message names the field.
    """
    results = checked_object("it", data, (*SAME, "results"))["results"]
    if not checked_object("results", results):
        raise ValueError("results must have a law at least")
    for law, result in results.items():
        where = f"results.{law}.seeds"
        runs = checked_object(f"results.{law}", result).get("seeds")
        if not isinstance(runs, list) or not runs:
            raise ValueError(f"{where} must be a list of runs, not {brief(runs)}")
        for number, run in enumerate(runs):
            _check_run(f"{where}[{number}]", run)


def _check_run(where: str, run: Any) -> None:
    numbers = ("seed", "flows", "finished", *_WHOLE)
    checked_object(where, run, (*numbers, "queue", "jct_ms", "classes"))
    for name in numbers:
        checked_number(f"{where}.{name}", run[name])
    for name, value in checked_object(f"{where}.queue", run["queue"], _QUEUE).items():
        checked_number(f"{where}.queue.{name}", value)
    figures = {f"{where}.jct_ms": run["jct_ms"]}
    for kind, found in checked_object(f"{where}.classes", run["classes"]).items():
        figures[f"{where}.classes.{kind}"] = found
    for place, found in figures.items():
        for name, value in checked_object(place, found).items():
            if value is not None:  # as where no flow has finished
                checked_number(f"{place}.{name}", value)


def paired(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Differences by class and figure, and under ``network`` those of the whole run.

    Parameters
    ----------
    before, after : sequence of mapping
        ``seeds`` of two results of `summary.summary`.

    Returns
    -------
    dict
        ``before`` and ``after``, means over the seeds; ``mean`` and ``half_width`` of the
        difference, at 95 %; ``sure``: the interval has no zero in it. Figures that a run lacks,
        because nothing of the class has finished, are left out.

    Raises
    ------
    ValueError
        The seeds differ, or there are fewer than two.
    """
    seeds = [[run["seed"] for run in runs] for runs in (before, after)]
    if seeds[0] != seeds[1]:
        raise ValueError(f"seeds must be the same in both, not {seeds[0]} and {seeds[1]}")
    if len(seeds[0]) < 2:
        raise ValueError("seeds must be at least 2, not 1: run precog sim fabric with --seeds 3")
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for kind in before[0]["classes"]:
        pairs = {
            name: [
                [run["classes"].get(kind, {}).get(name) for run in runs] for runs in (before, after)
            ]
            for name in FIGURES
        }
        found[kind] = _differences(pairs)
    jcts = {
        f"{kind} ms": [[run["jct_ms"].get(kind) for run in runs] for runs in (before, after)]
        for kind in before[0]["jct_ms"]
    }
    queues = {
        f"queue_{name}": [[run["queue"][name] for run in runs] for runs in (before, after)]
        for name in _QUEUE
    }
    whole = {name: [[run[name] for run in runs] for runs in (before, after)] for name in _WHOLE}
    found["network"] = _differences(jcts | queues | whole)
    return {kind: figures for kind, figures in found.items() if figures}


def _differences(pairs: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, dict[str, Any]]:
    found = {}
    for name, (first, second) in pairs.items():
        if None in first or None in second:
            continue
        change = estimate([b - a for a, b in zip(first, second, strict=True)])
        found[name] = {
            "before": estimate(first).mean,
            "after": estimate(second).mean,
            "mean": change.mean,
            "half_width": change.half_width,
            "sure": abs(change.mean) > change.half_width,
        }
    return found
