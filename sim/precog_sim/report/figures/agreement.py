"""Every figure that the thesis prints, ours divided by it: a picture of what was reproduced."""

from dataclasses import dataclass
from typing import Any

from precog_sim.report.data import Cell, Row, Tables
from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture, tip
from precog_sim.report.thesis import ALGORITHMS, CLOSE_PERCENT, METRICS, agrees

__all__ = ["Comparison", "agreement", "comparisons", "nearest"]


@dataclass(frozen=True)
class Comparison:
    """One published figure and ours for the same quantity."""

    table: str
    label: str
    metric: str
    cell: Cell


def nearest(rows: list[Row], metric: str) -> Cell | None:
    """The cell nearest to the thesis' figure over start rates and RTT definitions.

    Table 6 of the thesis mixes both; `metric` is the thesis' name of its column.
    """
    cells = [
        cell
        for row in rows
        for name, cell in row.cells.items()
        if METRICS[name].thesis == metric and cell.thesis is not None
    ]
    return min(cells, key=lambda cell: abs(cell.mean - (cell.thesis or 0.0)), default=None)


def comparisons(tables: Tables) -> list[Comparison]:
    """All published figures, each once.

    Tables 4 and 5 and figure 19 are compared in exact timing; table 6 at the nearest start rate
    and definition.
    """
    found = []
    for row in tables.table4 + tables.table5:
        for name, cell in row.cells.items():
            if cell.thesis is not None:
                found.append(Comparison("4, 5", f"Target {row.target_us:g} µs", name, cell))
    for row in tables.figure19:
        if (row.algorithm, row.timing) == ("pid", "exact"):
            for name, cell in row.cells.items():
                if cell.thesis is not None:
                    found.append(Comparison("figure 19", ALGORITHMS["pid"], name, cell))
    for algorithm in dict.fromkeys(row.algorithm for row in tables.table6):
        if algorithm == "predpid":  # the column is table 4's first
            continue
        rows = [row for row in tables.table6 if row.algorithm == algorithm]
        for metric in ("mean_rtt_us", "p99_us", "max_us", "mean_rate_gbps"):
            best = nearest(rows, metric)
            if best is not None:
                found.append(Comparison("6", ALGORITHMS[algorithm], metric, best))
    return found


def agreement(tables: Tables) -> Picture:
    """Ours over the thesis', with confidence intervals, grouped by setting."""
    groups: dict[str, list[Comparison]] = {}
    for item in comparisons(tables):
        groups.setdefault(item.label, []).append(item)

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.grid(False, axis="y")
        axis.grid(True, axis="x", color=COLOURS["grid"], linewidth=0.8)
        axis.axvspan(
            1 - CLOSE_PERCENT / 100, 1 + CLOSE_PERCENT / 100, color=COLOURS["band"], linewidth=0
        )
        axis.axvline(1, color=COLOURS["ink"], linewidth=0.9)
        position, ticks, names = 0.0, [], []
        for label, items in groups.items():
            axis.annotate(
                label, (0, position), xycoords=("axes fraction", "data"), xytext=(2, -3),
                textcoords="offset points", fontweight="bold", color=COLOURS["ink"],
            )  # fmt: skip
            for item in items:
                position += 1
                _dot(axis, position, item)
                ticks.append(position)
                names.append(METRICS[item.metric].label)
            position += 1.4
        axis.set_yticks(ticks, names)
        axis.set_ylim(position - 0.4, -0.9)
        axis.set_xlabel("ours ÷ the thesis'")
        axis.margins(x=0.08)

    lines = sum(len(items) + 1.4 for items in groups.values())
    alt = (
        "For every published figure: ours divided by the thesis', with its confidence interval; "
        "a shaded band marks agreement."
    )
    height = int(17 * lines + 50)
    return picture("agreement", alt, draw, wide_px=height, narrow_px=height)


def _dot(axis: Any, y: float, item: Comparison) -> None:
    cell, metric = item.cell, METRICS[item.metric]
    thesis = cell.thesis or 1.0
    colour = COLOURS["good"] if agrees(cell) else COLOURS["bad"]
    ratio = cell.mean / thesis
    if cell.ci95 is not None:
        half = cell.ci95 / thesis
        axis.hlines(y, ratio - half, ratio + half, color=colour, linewidth=2, alpha=0.6)
    (dot,) = axis.plot([ratio], [y], marker="o", ms=6, mew=0, color=colour, linewidth=0)
    ours, theirs = (f"{value:.{metric.digits}f}" for value in (cell.mean, thesis))
    dot.set_gid(tip(f"{item.label}, {metric.label}: {ours} {metric.unit}, thesis {theirs}"))
