"""Figures of runs: slowdowns of all flows, of incasts, by size and by class; of all seeds, of each.

A percentile p of n values is ``sorted[int(n p)]``, as in the HPCC authors' scripts: no value is
made up between two that were measured.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net.job import Outcome
from precog_net.workloads.collectives import SHAPES

__all__ = ["BINS", "bins", "figures", "percentile", "place", "summary"]

#: Greatest sizes of the bins, bytes; the last bin has what is larger.
BINS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_SUMS = ("events", "pauses", "drops", "marks", "timeouts", "retransmitted", "cpu_s")
_MEANS = ("utilisation", "pause_share")
_QUEUE = ("p50", "p99", "max")
_POOLED = ("bytes", "class", "law", "slowdown")
_INCAST = "incast"
_Reals = NDArray[np.float64]


def place(count: int, share: float) -> int:
    """Where the value at `share` of the way is, of `count` in ascending order."""
    return min(int(count * share), count - 1)


def percentile(ordered: _Reals, share: float) -> float:
    """The value at `share` of the way, of values in ascending order."""
    return float(ordered[place(len(ordered), share)])


def figures(values: _Reals) -> dict[str, Any]:
    """Number, mean and percentiles of slowdowns; None where nothing finished."""
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return {"n": 0, "mean": None} | dict.fromkeys(_PERCENTILES)
    found = {"n": len(ordered), "mean": float(ordered.mean())}
    return found | {name: percentile(ordered, share) for name, share in _PERCENTILES.items()}


def bins(size: NDArray[np.int64], slowdown: _Reals) -> list[dict[str, Any]]:
    """`figures` of each bin of sizes that has flows, ascending, and its greatest size."""
    found = []
    bin_of = np.searchsorted(BINS, size, side="left")
    for n, most in enumerate((*BINS, None)):
        chosen = slowdown[bin_of == n]
        if len(chosen):
            found.append({"max_bytes": most, **figures(chosen)})
    return found


def _slowdowns(flows: Mapping[str, Any]) -> dict[str, Any]:
    """`bins` are of the flows of no incast: all has the number of incast's and of theirs."""
    kinds, laws = (np.asarray(flows[name]) for name in ("class", "law"))
    slowdown = np.asarray(flows["slowdown"], dtype=np.float64)
    others = kinds != _INCAST
    return {
        "flows": len(slowdown),
        "finished": int((~np.isnan(slowdown)).sum()),
        "all": figures(slowdown),
        "incast": figures(slowdown[~others]),
        "bins": bins(np.asarray(flows["bytes"])[others], slowdown[others]),
        "classes": _of_each(kinds, slowdown),
        "laws": _of_each(laws, slowdown),
    }


def _of_each(names: NDArray[Any], slowdown: _Reals) -> dict[str, Any]:
    return {
        str(name): {
            **figures(slowdown[names == name]),
            "unfinished": int(np.isnan(slowdown[names == name]).sum()),
        }
        for name in np.unique(names)
    }


def _network(counts: Mapping[str, float]) -> dict[str, Any]:
    """Counts of a run, those of queues together."""
    found: dict[str, Any] = {k: v for k, v in counts.items() if not k.startswith("queue_")}
    return found | {"queue": {name: counts[f"queue_{name}"] for name in _QUEUE}}


def _jct_ms(flows: Mapping[str, Any]) -> dict[str, float]:
    """Job completion time of each collective: first start to last end; NaN if it has no end."""
    kinds = np.asarray(flows["class"])
    start, fct = (np.asarray(flows[name], dtype=np.float64) for name in ("start_us", "fct_us"))
    found = {}
    for kind in sorted(set(flows["class"]) & set(SHAPES)):
        mine = kinds == kind
        found[kind] = float((start + fct)[mine].max() - np.nanmin(start[mine])) * 1e-3
    return found


def summary(outcomes: Mapping[int, Outcome]) -> dict[str, Any]:
    """Figures of a law over its seeds, and of each.

    Parameters
    ----------
    outcomes : mapping of int to Outcome
        By seed.

    Returns
    -------
    dict
        ``flows``, ``finished``; `figures` of ``all`` flows, of ``incast`` and by name in
        ``classes`` and ``laws``; ``bins``, those of the flows of no incast by size; ``queue``:
        p50, p99 and max of all switch ports, bytes, means over the seeds except max; sums and
        means of what else is counted in a run; ``jct_ms`` of each collective; ``seeds``, the same
        of each.
    """
    runs = list(outcomes.values())
    pooled = {name: _joined([run.flows[name] for run in runs]) for name in _POOLED}
    each = [
        {
            "seed": seed,
            **_slowdowns(run.flows),
            **_network(run.counts),
            "jct_ms": _jct_ms(run.flows),
        }
        for seed, run in outcomes.items()
    ]
    jcts = [run["jct_ms"] for run in each]
    queues = {name: [run["queue"][name] for run in each] for name in _QUEUE}
    return {
        **_slowdowns(pooled),
        **{name: sum(run.counts[name] for run in runs) for name in _SUMS},
        **{name: float(np.mean([run.counts[name] for run in runs])) for name in _MEANS},
        "queue": {
            name: max(values) if name == "max" else float(np.mean(values))
            for name, values in queues.items()
        },
        "jct_ms": {kind: float(np.mean([jct[kind] for jct in jcts])) for kind in jcts[0]},
        "seeds": each,
    }


def _joined(columns: Sequence[Any]) -> Any:
    if isinstance(columns[0], list):
        return [value for column in columns for value in column]
    return np.concatenate(columns)
