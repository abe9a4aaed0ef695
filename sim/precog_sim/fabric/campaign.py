"""One network under one law, and its distance from ns-3."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from precog_sim.fabric.slowdown import by_size, slowdowns, spread
from precog_sim.fabric.traffic import LAWS, Network, ns3_figures
from precog_sim.network import Record, Result, run

__all__ = ["DRAWS", "distance", "judge", "other_seeds", "simulate"]

#: Laws that act on marks drawn at random; the others' runs do not depend on the seed.
DRAWS = ("dcqcn",)

_QUIET = Record(packets=False, probe_us=0)  # figures are of flows alone
_COUNTS = ("pauses", "marks", "drops", "nacks", "max_queue", "events", "end_us", "cpu_s")


def distance(ours: float, theirs: float) -> float:
    """How far a figure is from ns-3's, relative; infinite where there is none of ours."""
    return math.inf if math.isnan(ours) else ours / theirs - 1


def simulate(network: Network, law: str) -> tuple[Result, dict[str, Any]]:
    """Run `network` under `law` as ns-3 did; the result, and its line of the record."""
    scenario, normal = network.load()
    result = run(scenario, LAWS[law], timing="ns3", ecmp="ns3", record=_QUIET)
    return result, judge(network, law, result, normal)


def other_seeds(network: Network, law: str, seeds: int) -> list[float | None]:
    """The normal flows' p95 with seeds 1 to `seeds` - 1 of the marks; none, where none are drawn.

    They say how much of a distance is chance: ns-3's figure is of one draw, too.
    """
    if law not in DRAWS:
        return []
    scenario, normal = network.load()
    found: list[float | None] = []
    for seed in range(1, seeds):
        result = run(scenario, LAWS[law], timing="ns3", ecmp="ns3", seed=seed, record=_QUIET)
        p95 = spread(slowdowns(result)[normal]).p95
        found.append(None if math.isnan(p95) else p95)
    return found


def judge(
    network: Network, law: str, result: Result, normal: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> dict[str, Any]:
    """The line of the record of one run.

    Returns
    -------
    dict
        ``figures``: of ``normal`` flows, ``incast`` flows and each size of normal ones, flows,
        mean, p50, p95 and p99 of the slowdowns; ``ns3``: the same of ns-3; ``distance`` of the
        normal flows' p95, and whether it ``holds``.
    """
    slow = slowdowns(result)
    figures = {"normal": spread(slow[normal]), "incast": spread(slow[~normal])}
    figures |= by_size(slow[normal], result.size[normal])
    names = [*asdict(figures["normal"])]
    theirs = {
        name: dict(zip(names, values, strict=True))
        for name, values in ns3_figures()[network.name][law].items()
    }
    off = distance(figures["normal"].p95, theirs["normal"]["p95"])
    return {
        "network": network.name,
        "law": law,
        "within": network.within,
        "distance": off if math.isfinite(off) else None,
        "holds": abs(off) <= network.within,
        "unfinished": int(np.isnan(result.fct_us).sum()),
        "figures": {name: _numbers(asdict(value)) for name, value in figures.items()},
        "ns3": theirs,
        **{name: getattr(result, name) for name in _COUNTS},
    }


def _numbers(values: dict[str, float]) -> dict[str, float | None]:
    """As JSON can hold them."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}
