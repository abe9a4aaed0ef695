"""The record as a page of Markdown."""

from statistics import median
from typing import Any

from precog_sim.fabric.campaign import MANY
from precog_sim.fabric.traffic import NETWORKS
from precog_spec.markdown import row, table

__all__ = ["page"]

_TOP = """# The fabric against ns-3

Made by `{command}` from commit {commit} in {cpu:.0f} CPU seconds; do not edit.
For machines: `{record}`.

The network: {hosts}, and the very flows that the HPCC authors' ns-3 simulator (commit 9f4be2a) was
given: 3 ms of arrivals at 30 % load, and 60:1 incasts of 500 KB at 2 %. Both ran until every flow
was complete. Slowdown is the completion time over base RTT plus transmission of all bytes with 48
bytes of header per packet; of n slowdowns in order, the percentile p is the one at place
floor(n p). ns3 timing, with ns-3's hash of equal paths.

The limit: over all normal flows, those of no incast, the 95th percentile is within {limits} of
ns-3's. AliStorage is held out: 1 ms of flows that ns-3 has not been given yet. Our figures of it
stand here first; a run of ns-3 on `sim/precog_sim/fabric/storage.csv.gz` checks them.
"""
_HOSTS = (
    "320 hosts at 100 Gb/s, 20 ToR, 20 aggregation and 16 core switches at 400 Gb/s, 1 µs each link"
)
_SHARES = ("mean", "p50", "p95", "p99")


def page(said: dict[str, Any], record: str) -> str:
    """Markdown: the p95 that are judged, then every network by size of flow."""
    known = {line["network"] for line in said["runs"] if line["ns3"]}
    limits = ", ".join(
        f"{net.within:.0%} ({net.title})" for name, net in NETWORKS.items() if name in known
    )
    lines = [
        _TOP.format(
            command=said["command"],
            commit=said["commit"],
            cpu=said["cpu_s"],
            record=record,
            hosts=_HOSTS,
            limits=limits,
        ),
        "| network | law | p95 | ns-3 | distance | limit | | PAUSEs | drops | unfinished |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for line in said["runs"]:
        ours = line["figures"]["normal"]["p95"]
        cells = [NETWORKS[line["network"]].title, line["law"].upper(), _shown(ours)]
        if line["ns3"]:
            holds = "holds" if line["holds"] else "**missed**"
            cells += [_shown(line["ns3"]["normal"]["p95"]), _off(line["distance"]["normal"])]
            cells += [f"{line['within']:.0%}", holds]
        else:
            cells += ["held out", "", "", ""]
        cells += [f"{line[name]:,}" for name in ("pauses", "drops", "unfinished")]
        lines.append(row(cells))
    lines += _judged(said["runs"])
    lines += _seeds(said["runs"])
    for line in said["runs"]:
        lines += ["", *_sizes(line)]
    return "\n".join([*lines, ""])


def _seeds(runs: list[dict[str, Any]]) -> list[str]:
    """How much the judged figures depend on the marks' seed, for laws that draw marks."""
    lines = []
    for line in runs:
        found = _draws(line, "normal")
        if len(found) > 1:
            lines.append(
                f"* {_title(line)}: {min(found):.2f} to {max(found):.2f} over {len(found)} draws "
                f"(ns-3, one: {line['ns3']['normal']['p95']:.2f})"
            )
    if not lines:
        return []
    text = (
        "Of all normal flows draw 0 is judged. DCQCN's marks are drawn at random, and ns-3's "
        "files have whole nanoseconds, so that the order of an incast's flows within one is "
        "unknown. Other draws of both move the p95 by themselves:"
    )
    return ["", text, "", *lines]


def _draws(line: dict[str, Any], group: str) -> list[float]:
    """The p95 of a group in all draws, where ns-3 has it, too."""
    if not line["ns3"]:
        return []
    all_of_it = [line["figures"][group]["p95"], *(one[group] for one in line["other_seeds"])]
    return [value for value in all_of_it if value is not None]


def _title(line: dict[str, Any]) -> str:
    return f"{NETWORKS[line['network']].title}, {line['law'].upper()}"


def _judged(runs: list[dict[str, Any]]) -> list[str]:
    """How many sizes are within their limits, by the median of draws, and each that is not."""
    lines, rows, alone = [], 0, 0
    for line in runs:
        for group, off in line["distance"].items():
            if group == "normal":
                continue
            rows += 1
            alone += off is not None and abs(off) <= line["bin_within"]
            found = _draws(line, group)
            middle = median(found) if found else None
            theirs = line["ns3"][group]
            away = None if middle is None else middle / theirs["p95"] - 1
            if away is not None and abs(away) <= line["bin_within"]:
                continue
            draws = f"; {min(found):.2f} to {max(found):.2f} in {len(found)} draws" if found else ""
            lines.append(
                f"* {_title(line)}, {group}: {_shown(middle)} against {theirs['p95']:.2f}, "
                f"{_off(away)} of {theirs['n']} flows'{draws}"
            )
    if not rows:
        return []
    limits = dict.fromkeys(f"{line['law'].upper()} {line['bin_within']:.0%}" for line in runs)
    text = (
        f"By size, of {rows} sizes with {MANY} flows or more {rows - len(lines)} have the median "
        f"of their draws' p95 within the law's limit ({', '.join(limits)}), {alone} that of draw 0."
    )
    return ["", text + (" Beyond it are:" if lines else ""), *([""] if lines else []), *lines]


def _off(value: float | None) -> str:
    return "none" if value is None else f"{value:+.1%}"


def _sizes(line: dict[str, Any]) -> list[str]:
    """One run by size: ours / ns-3's, with the distance of the p95 that is judged."""
    heading = "slowdown here / in ns-3" if line["ns3"] else "slowdown, held out"
    rows = []
    sizes = [name for name in line["figures"] if name not in ("normal", "incast")]
    for name in (*sizes, "normal", "incast"):
        ours, theirs = line["figures"][name], (line["ns3"] or {}).get(name)
        cells = [_shown(ours[key]) + (f" / {theirs[key]:.2f}" if theirs else "") for key in _SHARES]
        off = _off(line["distance"][name]) if name in line["distance"] else ""
        title = {"normal": "**all normal**", "incast": "incast"}.get(name, name)
        rows.append([title, f"{ours['n']:,}", *cells, off])
    head = ["bytes", "flows", *_SHARES, "p95's distance"]
    return [f"## {_title(line)}: {heading}", "", table(head, rows, "l" + "r" * 6)]


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
