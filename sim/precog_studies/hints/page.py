"""The record as a page of Markdown."""

from collections.abc import Mapping
from typing import Any

from precog_spec.markdown import table
from precog_studies.hints.judged import HIGH, WORSE
from precog_studies.paired import DRAWS

__all__ = ["page"]

_TOP = """# Receivers that say N, in all of lockstep's cases

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.

Does the word of N do harm where it does not help? `lockstep_hints` runs with receivers that say N
on each acknowledgement, as arm `echo` of [the study of predictions](prediction.md) has it: flows of
more than {least} bytes count. There are no forecasts. The other law is `lockstep`, without N. The
cases are those of [its own study](laws.md), which says what each of them is; figures have its
names. Both laws have the same seeds: {seeds} of stars and the parking lot, {fabric_seeds} of
fat trees. Percentiles of fat trees are of slowdowns, of all seeds' flows together.

`over it` is the figure with N over lockstep's, with the 95 % interval: seeds are drawn again
{draws} times, those of both laws together. It should be at most {most:g}; {high} should be at least
{least_ratio:g}. A bound is missed *perhaps* if the interval has it.

**{met} of {count} figures are no more than {worse:g} % worse**, {surely_met} of them surely.
{missed} are missed surely, {perhaps} perhaps.
"""
_HEAD = ("case", "figure", "lockstep", "with N", "over it", "met")


def page(said: Mapping[str, Any], record: str) -> str:
    """Figures met by case, those that are missed, and all of them."""
    all_rows = [(case, row) for case in said["cases"].values() for row in case["rows"]]
    rows = [row for _, row in all_rows]
    top = _TOP.format(
        **{key: said[key] for key in ("command", "commit", "least", "seeds", "fabric_seeds")},
        record=record,
        draws=DRAWS,
        most=1 + WORSE,
        least_ratio=1 - WORSE,
        worse=WORSE * 100,
        high=", ".join(f"`{name}`" for name in HIGH),
        count=len(rows),
        met=sum(row["met"] for row in rows),
        surely_met=sum(row["met"] and row["sure"] for row in rows),
        missed=sum(row["sure"] and not row["met"] for row in rows),
        perhaps=sum(not (row["sure"] or row["met"]) for row in rows),
    )
    lines = [top, _by_case(said["cases"]), ""]
    missed = [_cells(case, row) for case, row in all_rows if not row["met"]]
    if missed:
        lines += ["## Missed", "", table(_HEAD, missed), ""]
    lines += ["## All figures", "", table(_HEAD, [_cells(*one) for one in all_rows]), ""]
    return "\n".join(lines)


def _by_case(cases: Mapping[str, Any]) -> str:
    rows = []
    for case in cases.values():
        mine = case["rows"]
        rows.append((case["title"], f"{sum(row['met'] for row in mine)} of {len(mine)}"))
    return table(("case", f"no more than {WORSE * 100:g} % worse"), rows)


def _cells(case: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    over = f"{row['ratio']:.3f} ({row['low']:.3f}–{row['high']:.3f})"
    missed = "**no**" if row["sure"] else "perhaps"
    numbers = [f"{row[key]:.4g}" for key in ("before", "after")]
    return [case["title"], row["figure"], *numbers, over, "yes" if row["met"] else missed]
