"""The record as a page of Markdown."""

from typing import Any

from precog_spec.markdown import table
from precog_studies.rivals.fabric import FABRICS

__all__ = ["page"]

_TOP = """# Rivals: laws of other authors at sizes

Made by `precog study rivals`, last by `{command}`; do not edit. For machines: `{record}`.
Commits of the rows: {commits}.

All laws over the same {seeds} seeds, mean and half width of the 95 % interval. Constants are the
authors' (`sim/precog_net/rivals`); what stands after a colon differs from them. `card:` marks laws
in integers, as the RTL computes them; `card:pid` has no model's predictions. Swift's and NSCC's own
targets are meant for base RTTs of more than 10 µs, DCQCN's and TIMELY's for queues of hundreds of
KB.
"""
_SWITCH = """One switch, 100 Gb/s, base RTT 4.16 µs. Incasts start at 10 Gb/s: `thesis` has flows of
200, 200, 150 MB and 17 × 5 MB, `n20` and `n60` 20, 20, 15 MB and 17 or 57 × 2 MB. `two`: long flows
that start at 70 and 30 Gb/s, judged in the fifth millisecond; `long32`, `long256`: from their fair
share, judged between 2.5 and 5 ms.
"""
_FABRIC = """The 320-host fat tree: ordinary flows at 30 % load with 60:1 incasts of 500 KB at
2 %, {ms:g} ms of arrivals, until all flows are complete. Slowdown is the completion time over that
alone in the network.
"""
_GLANCE = """## All laws at a glance

RTTs in µs. Jain's index is of flows whose shares should be equal; slowdowns are p95 of ordinary
flows.
"""
#: The table of all laws: heading, case, figure, digits.
_CHOSEN = (
    ("incast of 20, p99 RTT", "thesis", "rtt_p99_us", 2),
    ("finish, ms", "thesis", "finish_ms", 1),
    ("incast of 60, p99 RTT", "n60", "rtt_p99_us", 2),
    ("two, Jain", "two", "jain", 3),
    ("32, p99 RTT", "long32", "rtt_p99_us", 2),
    ("32, Jain", "long32", "jain", 3),
    ("256, p99 RTT", "long256", "rtt_p99_us", 2),
    ("256, Jain", "long256", "jain", 3),
    ("WebSearch slowdown", "fabric-websearch", "p95", 2),
    ("FB_Hadoop slowdown", "fabric-hadoop", "p95", 2),
)
#: Columns of a case on one switch, and of one on the fabric.
_ON_SWITCH = (
    ("RTT mean, µs", "rtt_mean_us", 3),
    ("p99", "rtt_p99_us", 3),
    ("max", "rtt_max_us", 2),
    ("finish, ms", "finish_ms", 2),
    ("Jain", "jain", 3),
    ("utilisation", "utilisation", 3),
)
_ON_FABRIC = (
    ("slowdown p50", "p50", 3),
    ("p95", "p95", 2),
    ("p99", "p99", 2),
    ("incasts' p95", "incast_p95", 2),
    ("queue p99, KB", "queue_p99_kb", 1),
    ("max", "queue_max_kb", 0),
    ("PAUSEs", "pauses", 0),
    ("unfinished", "unfinished", 1),
)


def page(said: dict[str, Any], record: str) -> str:
    """All laws in one table, then a table for each case."""
    commits = ", ".join(dict.fromkeys(row["commit"] for row in said["rows"]))
    seeds = min(row["seeds"] for row in said["rows"])
    top = _TOP.format(record=record, command=said["command"], commits=commits, seeds=seeds)
    lines = [top]
    rows = {(row["case"], row["law"]): row for row in said["rows"]}
    laws = list(dict.fromkeys(law for _, law in rows))
    cases = list(dict.fromkeys(case for case, _ in rows))
    everywhere = [law for law in laws if all((case, law) in rows for _, case, *_ in _CHOSEN)]
    if everywhere:
        lines.append(_GLANCE)
        cells = [
            [law, *(_cell(rows[case, law][name], digits) for _, case, name, digits in _CHOSEN)]
            for law in everywhere
        ]
        lines += [table(["law", *(head for head, *_ in _CHOSEN)], cells), ""]
    texts = {False: _SWITCH, True: _FABRIC.format(ms=said["fabric_ms"])}
    for case in cases:
        columns = _ON_FABRIC if case in FABRICS else _ON_SWITCH
        lines += [f"## {case}", ""]
        if (case in FABRICS) in texts:  # once
            lines.append(texts.pop(case in FABRICS))
        here = [law for law in laws if (case, law) in rows]
        cells = [[law, *(_cell(rows[case, law][key], d) for _, key, d in columns)] for law in here]
        lines += [table(["law", *(head for head, *_ in columns)], cells), ""]
    return "\n".join(lines)


def _cell(figure: dict[str, float] | None, digits: int) -> str:
    if figure is None:
        return "–"
    return f"{figure['mean']:.{digits}f} ± {figure['half_width']:.{digits}f}"
