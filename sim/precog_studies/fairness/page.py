"""The record as a page of Markdown."""

from collections.abc import Callable
from typing import Any

from precog_spec.markdown import table

__all__ = ["page"]

_TOP = """# Fairness of the laws

Made by `{command}` from commit {commit}; do not edit. For machines: `{record}`.
The constants and their reasons are in `sim/precog_studies/fairness/settings.py`.

Long flows share one {line_gbps:g} Gb/s link. Figures are of the second half of {horizon_ms:g} ms.

* `start`: two flows begin at 70 and 30 Gb/s.
* `burst`: the same, with a burst of 1 MB.
* `32 flows` and `256 flows` begin at 70 and 30 Gb/s alternately.
* `jitter`: the first of two flows has RTT jitter of up to 1 and 20 µs.

There is one seed. {agreement} Jain's index:
"""
_AGREED = """RTL = golden in {decisions:,} decisions ({events:,} of them on events),
with {mismatches:,} mismatches, in {seconds:.0f} s. The RTL decides all runs of two flows, and the
first {many_ms:g} ms of the others (8 to 256 flows); the golden NIC decides the rest."""
_GOLDEN = "The golden NIC decides all runs."
_BOTTOM = """
PID and LSTM + PID multiply every rate by a factor that depends on the RTT alone. Nothing drives
them to equal shares: of 32 flows, or of two with jitter, one takes the link. After a long overload
(32 flows), the long-run mean of PID's error keeps flows at the floor of 0.1 Gb/s for more than
10 ms after the queue is empty.

Plain TIMELY becomes fair wherever its queue oscillates. It stays unfair only as its analysis models
it (timely-gradient), which also leaves more than half of the link idle. DCQCN receives no mark in
`start`, so nothing tells it to change its rate.
"""
_Row = dict[str, Any]
_START = {"experiment": "start"}
_BURST = {"experiment": "burst"}
_COLUMNS: tuple[tuple[str, dict[str, Any], Callable[[_Row], str]], ...] = (
    ("start", _START, lambda row: f"{row['jain']:.3f}"),
    ("burst", _BURST, lambda row: f"{row['jain']:.3f}"),
    ("its utilisation", _BURST, lambda row: f"{row['utilisation']:.3f}"),
    (
        "its queue p50 / p99 / max KB",
        _BURST,
        lambda row: " / ".join(f"{row[f'queue_{name}_kb']:,.0f}" for name in ("p50", "p99", "max")),
    ),
    ("32 flows", {"experiment": "flows", "flows": 32}, lambda row: f"{row['jain']:.3f}"),
    ("256 flows", {"experiment": "flows", "flows": 256}, lambda row: f"{row['jain']:.3f}"),
    ("jitter 1 µs", {"experiment": "jitter", "jitter_us": 1.0}, lambda row: f"{row['jain']:.3f}"),
    ("20 µs", {"experiment": "jitter", "jitter_us": 20.0}, lambda row: f"{row['jain']:.3f}"),
)


def page(said: dict[str, Any], record: str) -> str:
    """A line for each law."""
    agreed = _GOLDEN
    if said["agreement"]:
        names = ("decisions", "events", "mismatches")
        sums = {name: sum(row[name] for row in said["agreement"]) for name in names}
        many_us = min(row["horizon_us"] for row in said["agreement"])
        agreed = _AGREED.format(seconds=said["seconds"], many_ms=many_us / 1e3, **sums)
    top = _TOP.format(
        command=said["command"],
        commit=said["commit"],
        record=record,
        line_gbps=said["line_gbps"],
        horizon_ms=max(row["horizon_us"] for row in said["results"]) / 1e3,
        agreement=agreed,
    )
    return "\n".join([top, _table(said), _BOTTOM])


def _table(said: dict[str, Any]) -> str:
    lines = []
    for law in said["laws"]:
        cells = [law]
        for _, keys, text in _COLUMNS:
            rows = [row for row in said["results"] if row["law"] == law]
            row = next((row for row in rows if keys.items() <= row.items()), None)
            cells.append("–" if row is None else text(row))
        lines.append(cells)
    return table(["law", *(title for title, _, _ in _COLUMNS)], lines)
