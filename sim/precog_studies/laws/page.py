"""The record as a page of Markdown."""

from collections.abc import Iterable, Mapping
from typing import Any

from precog_spec.markdown import table
from precog_studies.paired import DRAWS

__all__ = ["page"]

_TOP = """# Laws: lockstep against HPCC, Swift and θ-PowerTCP

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.

`{ours}` runs as cards run it, in the integers of `precog_models/laws/lockstep.py`, with one
parameter set; so do Swift and θ-PowerTCP. HPCC has telemetry, in floats. It and lockstep are told
the largest base RTT of the network: HPCC's T, lockstep's `reach`. All have the same seeds:
mean and half width of the 95 % interval. RTTs are one a round trip, those of long flows each
packet's of the second half. Percentiles of fat trees are of all seeds' flows together; their
interval is that of the seeds' own values. What was tried on the way is in `laws_tried.md`.

Incasts: `thesis` has flows of 200, 200, 150 MB and 17 × 5 MB, others 20, 20, 15 MB and 2 MB for
the rest. Parking lot: a flow crosses three links, each of which has another flow; `through` is its
rate over its max-min share. With coalesced ACKs the goals are those of the thesis' incast, and a
parking lot is held against HPCC: the aims named no figures there. Fat trees: 3 ms of arrivals at
30 % of the hosts' links, 2 % more in incasts of 60 × 500 KB, starts at line rate; slowdown is over
the law's own ideal; a size has a line if it has 100 flows or more. `ACKs first`: acknowledgements
go before all data, under every law. Elsewhere they wait with the data that goes their way, and a
law that hears RTTs takes that for a queue on the way out; telemetry does not. `marks`: switches
mark packets from 20 KB of a host's port on. Lockstep alone hears that, and takes a long RTT without
a mark for a queue on the way back.

`over it` is the figure over its goal, with the 95 % interval of that quotient: seeds are drawn
again {draws} times, those of both laws together. A goal is missed *perhaps* if the interval has 1.

**{met} of {count} goals are met**, {surely_met} of them surely. {missed} are missed surely,
{perhaps} perhaps. Constants were tuned on: {tuned}. Only reported: {reported}.
"""
_HEAD = ("line", "figure", "lockstep", "goal", "over it", "met")
_DIGITS = {"rate_gbps": 2, "finish_ms": 2, "rtt_max_us": 2}


def page(said: Mapping[str, Any], record: str) -> str:
    """The goals, then a table of figures for each case."""
    cases = said["cases"]
    goals = [row for case in cases.values() for row in case["goals"]]
    names: dict[bool, list[str]] = {True: [], False: []}
    for case in cases.values():
        names[case["tuned"]].append(case["title"])
    top = _TOP.format(
        record=record,
        ours=said["laws"][0],
        draws=DRAWS,
        count=len(goals),
        met=sum(row["met"] for row in goals),
        surely_met=sum(row["met"] and row["sure"] for row in goals),
        missed=sum(row["sure"] and not row["met"] for row in goals),
        perhaps=sum(not (row["sure"] or row["met"]) for row in goals),
        tuned="; ".join(names[True]) or "none of these",
        reported="; ".join(names[False]) or "none",
        command=said["command"],
        commit=said["commit"],
    )
    rows = [_goal(case, row) for case in cases.values() for row in case["goals"]]
    lines = [top, *_met(cases.values()), "## Goals", "", table(_HEAD, rows), ""]
    for case in cases.values():
        if "figures" in case:
            lines += _figures(case)
    return "\n".join(lines)


def _met(cases: Iterable[Mapping[str, Any]]) -> list[str]:
    """How many goals each line meets, by whose figures they are."""
    cases = list(cases)
    rivals = list(dict.fromkeys(row["against"] for case in cases for row in case["goals"]))
    rows = []
    for case in cases:
        cells = [case["title"]]
        for rival in rivals:
            mine = [row["met"] for row in case["goals"] if row["against"] == rival]
            cells.append(f"{sum(mine)} of {len(mine)}" if mine else "")
        rows.append(cells)
    return [table(["goals met", *(rival or "a number" for rival in rivals)], rows), ""]


def _digits(name: str) -> int:
    return 2 if name.startswith("p9") else _DIGITS.get(name, 3)


def _goal(case: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    digits = _digits(row["figure"])
    bound = f"{'≤' if row['below'] else '≥'} {row['bound']:.{digits}f}"
    if row["against"]:
        bound += f" ({row['against'].removeprefix('card:')})"
    found = f"{row['found']:.{digits}f} ± {row['half_width']:.{digits}f}"
    over = f"{row['found'] / row['bound']:.3f} ({row['low']:.3f}–{row['high']:.3f})"
    missed = "**no**" if row["sure"] else "perhaps"
    return [case["title"], row["figure"], found, bound, over, "yes" if row["met"] else missed]


def _figures(case: Mapping[str, Any]) -> list[str]:
    first = next(iter(case["figures"].values()))
    rows = []
    for name, figures in case["figures"].items():
        cells = [
            f"{figure['mean']:.{_digits(key)}f} ± {figure['half_width']:.{_digits(key)}f}"
            for key, figure in figures.items()
        ]
        rows.append([name, *cells])
    lines = [f"## {case['title']}", "", f"{case['seeds']} seeds.", ""]
    return [*lines, table(["law", *first], rows), ""]
