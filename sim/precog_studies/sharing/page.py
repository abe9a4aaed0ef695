"""The record as a page of Markdown."""

from typing import Any

from precog_spec.markdown import table
from precog_studies.sharing.cases import CASES

__all__ = ["page"]

_TOP = """# What shared statistics are worth to new flows

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.

One switch, 100 Gb/s, base RTT 4.2 µs. Four newcomers send 1 MB each to a destination of which eight
hosts report their rates. Without the fleet's word they start at 10 Gb/s or at the line's rate; with
it at the shared rate · n / (n + 1), the median of the eight, never below a sixteenth of the line.
Each line: {seeds} paired seeds, mean without → with, and the mean difference with the half width
of its 95 % interval. A difference whose interval has no zero in it is in bold.
"""
_HEAD = ["law", "start", "newcomers start at", "newcomers' slowdown"]
_HEAD += ["longest RTT, µs", "others' FCT, ms"]


def page(said: dict[str, Any], record: str) -> str:
    """A table for each case."""
    lines = [_TOP.format(record=record, **{k: said[k] for k in ("command", "commit", "seeds")})]
    for case in CASES:
        rows = []
        for row in said["rows"]:
            if row["case"] == case.name:
                start = row["start_gbps"]
                cells = [row["law"], row["start"], f"{start['without']:.3g} → {start['with']:.3g}"]
                cells += [_cell(row.get(name)) for name in ("slowdown", "peak_us", "others_ms")]
                rows.append(cells)
        lines += [f"## {case.title[0].upper()}{case.title[1:]}", "", table(_HEAD, rows), ""]
    return "\n".join(lines)


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "–"
    mean, half = figure["change"]["mean"], figure["change"]["half_width"]
    change = f"{mean:+.3g} ± {half:.2g}"
    if abs(mean) > half:
        change = f"**{change}**"
    return f"{figure['without']:.3g} → {figure['with']:.3g} ({change})"
