"""Differences of two laws' figures over paired seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

from precog_sim.network.metrics import estimate

__all__ = ["FIGURES", "is_result", "paired"]

FIGURES = ("mean", "p50", "p95", "p99", "p999")
_QUEUE = ("p99", "max")
_MOST = 1e18  # of a figure
_WHOLE = ("pause_share", "utilisation", "drops")


def is_result(seeds: Any) -> bool:
    """Whether this has the form of ``seeds`` of a result, with one run at least."""
    if not isinstance(seeds, list) or not seeds:
        return False
    return all(
        isinstance(run, dict)
        and all(_is_number(run.get(name)) for name in ("seed", "flows", "finished", *_WHOLE))
        and all(isinstance(run.get(name), dict) for name in ("classes", "jct_ms", "queue"))
        and all(_is_number(run["queue"].get(name)) for name in _QUEUE)
        and all(isinstance(figures, dict) for figures in run["classes"].values())
        and all(
            figures.get(name) is None or _is_number(figures[name])
            for figures in (*run["classes"].values(), run["jct_ms"])
            for name in (set(FIGURES) & figures.keys())
        )
        and all(value is None or _is_number(value) for value in run["jct_ms"].values())
        for run in seeds
    )


def _is_number(value: Any) -> bool:
    """Whether it is one that sums and differences can take; neither NaN nor infinity is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= _MOST


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
