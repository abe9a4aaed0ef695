"""The record as a page of Markdown."""

from typing import Any

from precog_spec.markdown import row, table

__all__ = ["page"]

_TOP = """# Figure 20 of the thesis: ordinary flows with incasts

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.

Topology `{topology}`, workload `{workload}`: Facebook's sizes at 30 % load, and incasts of 60 flows
of 500 KB at 2 %. {duration:g} ms of arrivals, {seeds} seeds, the same for every law; all runs go
on until every flow is complete or 400 ms have passed. The thesis has 10 ms. Slowdown is a flow's
completion time over that alone in the network; of n in order the percentile p stands at place
floor(n p). Means over the seeds ± half of their 95 % interval.

The thesis' law runs as its program did: a target of 5 µs, though most ways here take 12 µs when
empty, the gains that it learnt on the incast, 10 Gb/s at the start. Other laws have their authors'
constants and start at line rate, as in `precog sim fabric`.

![Slowdowns by size, and what the thesis says](data/figure20.svg)
"""
_SHAPE = """## What the thesis says of its curves

The thesis prints the figure without numbers. Its section 4.4.2 says where curves cross, at 7 KB and
336 KB; each sentence is a ratio of two laws' p95 here, by paired seeds.

| p95 of | the thesis | here | |
| --- | --- | ---: | --- |"""
_HOLDS = {True: "holds", False: "**differs**", None: "open"}


def page(said: dict[str, Any], record: str) -> str:
    """Markdown: the picture, the thesis' sentences, and a table of each percentile."""
    lines = [
        _TOP.format(
            record=record,
            duration=said["duration_ms"],
            **{key: said[key] for key in ("command", "commit", "topology", "workload", "seeds")},
        )
    ]
    lines.append(_SHAPE)
    for claim in said["claims"]:
        side = "below 1" if claim["below_one"] else "above 1"
        lines.append(row([claim["text"], side, _cell(claim["ratio"]), _HOLDS[claim["holds"]]]))
    lines += ["", *_counts(said)]
    for name in ("p95", "p99"):
        lines += ["", *_table(said, name)]
    return "\n".join([*lines, ""])


def _counts(said: dict[str, Any]) -> list[str]:
    rows = []
    for law in said["laws"].values():
        cells = [law["label"], _cell(law["p95"]["all"]), _cell(law["p99"]["all"])]
        cells += [_cell(law["p95"]["incast"])]
        cells += [f"{law[name]:,}" for name in ("flows", "unfinished", "pauses", "drops")]
        rows.append([*cells, f"{law['cpu_s']:.0f}"])
    head = ["law", "p95", "p99", "incasts' p95", "flows", "unfinished", "PAUSEs", "drops", "CPU s"]
    return ["## All ordinary flows", "", table(head, rows, "l" + "r" * 8)]


def _table(said: dict[str, Any], name: str) -> list[str]:
    labels = [law["label"] for law in said["laws"].values()]
    rows = [
        [f"{size:,}", *(_cell(law[name]["parts"][k]) for law in said["laws"].values())]
        for k, size in enumerate(said["sizes"])
    ]
    head = ["bytes, up to", *labels]
    return [f"## Slowdown, {name}, by size", "", table(head, rows, "r" * len(head))]


def _cell(told: dict[str, float] | None) -> str:
    return "unfinished" if told is None else f"{told['mean']:.2f} ± {told['half_width']:.2f}"
