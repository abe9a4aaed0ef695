"""One network under one law, and its distance from ns-3."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_net.summary import figures
from precog_sim.fabric.slowdown import by_size, slowdowns
from precog_sim.fabric.traffic import BIN_WITHIN, LAWS, Network, ns3_figures
from precog_sim.network import Record, Result, run

__all__ = ["MANY", "SEEDED", "judge", "other_seeds", "simulate"]

#: Laws whose runs are repeated with other draws: DCQCN's marks are drawn at random, and HPCC's
#: limit is the narrowest.
SEEDED = ("dcqcn", "hpcc")
#: Flows from which on a size's p95 is judged.
MANY = 100

_JITTER_NS = 1.0  # ns-3's files have whole nanoseconds; the order within one is not known
_QUIET = Record(packets=False, probe_us=0)  # figures are of flows alone
_COUNTS = ("pauses", "marks", "drops", "nacks", "max_queue", "events", "end_us", "cpu_s")


def simulate(network: Network, law: str) -> tuple[Result, dict[str, Any]]:
    """Run `network` under `law` as ns-3 did; the result, and its line of the record."""
    scenario, normal = network.load()
    result = run(scenario, LAWS[law], timing="ns3", ecmp="ns3", record=_QUIET)
    return result, judge(network, law, result, normal)


def other_seeds(network: Network, law: str, seeds: int) -> Iterator[dict[str, float | None]]:
    """The p95 by group with seeds 1 to `seeds` - 1: other marks, another order in a nanosecond.

    They say how much of a distance is chance: ns-3's figures are of one draw, too.
    """
    if law not in SEEDED:
        return
    scenario, normal = network.load()
    scenario = replace(scenario, jitter_ns=_JITTER_NS)
    for seed in range(1, seeds):
        result = run(scenario, LAWS[law], timing="ns3", ecmp="ns3", seed=seed, record=_QUIET)
        yield {name: one["p95"] for name, one in _groups(result, normal).items()}


def _groups(result: Result, normal: NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    """Figures of ``normal`` flows, ``incast`` flows and each size of normal ones."""
    slow = slowdowns(result)
    found = {"normal": figures(slow[normal]), "incast": figures(slow[~normal])}
    found |= by_size(slow[normal], result.size[normal])
    return {name: _numbers(one) for name, one in found.items()}


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    """As JSON can hold them: an infinite slowdown is None."""
    return {name: None if value == math.inf else value for name, value in values.items()}


def judge(network: Network, law: str, result: Result, normal: NDArray[np.bool_]) -> dict[str, Any]:
    """The line of the record of one run.

    Returns
    -------
    dict
        ``figures`` by group; ``ns3``, the same of ns-3, or None where it has none; ``distance`` by
        group of the p95, relative, of all normal flows and of sizes with `MANY` of them; whether
        that of all normal flows ``holds``.
    """
    found = _groups(result, normal)
    known = ns3_figures().get(network.name, {}).get(law)
    theirs, distance = None, {}
    if known is not None:
        names = ("n", "mean", "p50", "p95", "p99")
        theirs = {group: dict(zip(names, row, strict=True)) for group, row in known.items()}
        distance = {
            group: None if found[group]["p95"] is None else found[group]["p95"] / row["p95"] - 1
            for group, row in theirs.items()
            if group == "normal" or (group != "incast" and row["n"] >= MANY)
        }
    off = distance.get("normal")
    return {
        "network": network.name,
        "law": law,
        "within": network.within,
        "bin_within": BIN_WITHIN[law],
        "distance": distance,
        "holds": theirs is None or (off is not None and abs(off) <= network.within),
        "unfinished": int(np.isnan(result.fct_us).sum()),
        "figures": found,
        "ns3": theirs,
        **{name: getattr(result, name) for name in _COUNTS},
    }
