"""The record as a page of Markdown."""

from typing import Any

from precog_sim.fabric.traffic import NETWORKS

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
ns-3's.
"""
_HOSTS = (
    "320 hosts at 100 Gb/s, 20 ToR, 20 aggregation and 16 core switches at 400 Gb/s, 1 µs each link"
)
_SHARES = ("mean", "p50", "p95", "p99")


def page(said: dict[str, Any]) -> str:
    """Markdown: the p95 that are judged, then every network by size of flow."""
    limits = ", ".join(f"{net.within:.0%} ({net.title})" for net in NETWORKS.values())
    lines = [
        _TOP.format(
            command=said["command"],
            commit=said["commit"],
            cpu=said["cpu_s"],
            record=said["record"],
            hosts=_HOSTS,
            limits=limits,
        ),
        "| network | law | p95 | ns-3 | distance | limit | | PAUSEs | drops | unfinished |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for line in said["runs"]:
        off = "none" if line["distance"] is None else f"{line['distance']:+.1%}"
        ours, theirs = line["figures"]["normal"]["p95"], line["ns3"]["normal"]["p95"]
        lines.append(
            f"| {NETWORKS[line['network']].title} | {line['law'].upper()} | {_shown(ours)} "
            f"| {theirs:.2f} | {off} | {line['within']:.0%} "
            f"| {'holds' if line['holds'] else '**missed**'} | {line['pauses']:,} "
            f"| {line['drops']:,} | {line['unfinished']:,} |"
        )
    lines += _seeds(said["runs"])
    for line in said["runs"]:
        lines += ["", *_sizes(line)]
    return "\n".join([*lines, ""])


def _seeds(runs: list[dict[str, Any]]) -> list[str]:
    """How much the judged figures depend on the marks' seed, for laws that draw marks."""
    lines = []
    for line in runs:
        found = [value for value in line["p95_of_seeds"] if value is not None]
        if len(found) > 1:
            lines.append(
                f"* {NETWORKS[line['network']].title}, {line['law'].upper()}: {min(found):.2f} to "
                f"{max(found):.2f} over {len(found)} seeds of the marks (ns-3, one run: "
                f"{line['ns3']['normal']['p95']:.2f})"
            )
    if not lines:
        return []
    return ["", "Seed 0 is judged. Marks drawn at random move the p95 by themselves:", "", *lines]


def _sizes(line: dict[str, Any]) -> list[str]:
    """One run by size: ours / ns-3's."""
    shares = " | ".join(_SHARES)
    lines = [
        f"## {NETWORKS[line['network']].title}, {line['law'].upper()}: slowdown here / in ns-3",
        "",
        f"| bytes | flows | {shares} |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, theirs in line["ns3"].items():
        ours = line["figures"][name]
        cells = " | ".join(f"{_shown(ours[key])} / {theirs[key]:.2f}" for key in _SHARES)
        title = {"normal": "**all normal**", "incast": "incast"}.get(name, name)
        lines.append(f"| {title} | {ours['flows']:,} | {cells} |")
    return lines


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
