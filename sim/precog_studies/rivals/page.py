"""The record as a page of Markdown."""

from typing import Any

__all__ = ["page"]

_TOP = """# Rivals: laws of other authors at sizes

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.

One switch, 100 Gb/s, base RTT 4.16 µs, {seeds} seeds, mean and half width of the 95 % interval.
Incasts start at 10 Gb/s: `thesis` has flows of 200, 200, 150 MB and 17 × 5 MB, `n20` and `n60` 20,
20, 15 MB and 17 or 57 × 2 MB. `two`: long flows that start at 70 and 30 Gb/s, judged in the fifth
millisecond; `long32`, `long256`: from their fair share, judged between 2.5 and 5 ms.
Constants are the authors' (`sim/precog_net/rivals`); what stands after a colon differs from them.
Swift's and NSCC's own targets are meant for base RTTs of more than 10 µs, DCQCN's and TIMELY's for
queues of hundreds of KB.
"""
_HEAD = "| law | RTT mean, µs | p99 | max | finish, ms | Jain | utilisation |"
_COLUMNS = ("rtt_mean_us", "rtt_p99_us", "rtt_max_us", "finish_ms", "jain", "utilisation")
_DIGITS = {"jain": 3, "utilisation": 3, "rtt_mean_us": 3, "rtt_p99_us": 3}


def page(said: dict[str, Any], record: str) -> str:
    """A table for each case."""
    lines = [_TOP.format(record=record, **{k: said[k] for k in ("command", "commit", "seeds")})]
    for case in dict.fromkeys(row["case"] for row in said["rows"]):
        lines += [f"## {case}", "", _HEAD, "|" + " --- |" * 7]
        for row in said["rows"]:
            if row["case"] == case:
                cells = [row["law"], *(_cell(row[name], _DIGITS.get(name, 2)) for name in _COLUMNS)]
                lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(figure: dict[str, float] | None, digits: int) -> str:
    if figure is None:
        return "–"
    return f"{figure['mean']:.{digits}f} ± {figure['half_width']:.{digits}f}"
