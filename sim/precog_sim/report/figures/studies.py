"""Pictures of the studies: shares of a link over time, and what scores change."""

from typing import Any

import numpy as np

from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture, tip
from precog_sim.report.studies import SOURCE_NAMES, Interval, Scored, ScoredLine, Sharing

__all__ = ["ratios", "sharing"]

#: Laws that the picture tells apart, and their colours; all others are drawn thin.
SHOWN = {
    "predpid": "predpid",
    "timely-gradient": "bad",
    "timely-patched": "timely",
    "dcqcn-vendor": "dcqcn",
}
_METRICS = (
    ("slowdown_p50", "slowdown, median"),
    ("slowdown_p99", "slowdown, slowest"),
    ("queue_p99_kb", "queue, 99 %"),
)
_SOURCES = ("oracle", "model", "persistence", "inverted", "garbage")


def sharing(study: Sharing) -> Picture:
    """Jain's index over the run with a burst, a line for each law."""

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        for line in study.lines:
            parts = len(line.over_time)
            t = (np.arange(parts) + 0.5) * study.horizon_ms / parts
            role = SHOWN.get(line.law, "muted")
            width = 2.0 if line.law in SHOWN else 0.9
            axis.plot(t, line.over_time, color=COLOURS[role], linewidth=width, alpha=0.95)
        axis.set_xlim(0, study.horizon_ms)
        axis.set_ylim(0.48, 1.02)
        axis.set_xlabel("time (ms)")
        axis.set_title("Jain's index of two flows")

    alt = (
        "Fairness between two flows over time, one line for each law; plain TIMELY, the negative "
        "control, stays unfair, its patched form becomes fair at once."
    )
    return picture("sharing", alt, draw, wide_px=300, narrow_px=260)


def ratios(study: Scored) -> Picture:
    """Figures with scores over those of the law alone, with their intervals."""
    groups = list(dict.fromkeys((line.network, line.law) for line in study.lines))

    def draw(figure: Any, narrow: bool) -> None:
        shape = (len(_METRICS), 1) if narrow else (1, len(_METRICS))
        axes = axes_grid(figure, *shape, sharey=True).ravel()
        for axis, (name, title) in zip(axes, _METRICS, strict=True):
            axis.grid(False, axis="y")
            axis.grid(True, axis="x", color=COLOURS["grid"], linewidth=0.8)
            axis.axvline(1, color=COLOURS["ink"], linewidth=0.9)
            axis.axvline(study.limit, color=COLOURS["ink"], linewidth=0.9, dashes=(4, 3))
            position, ticks, labels = 0.0, [], []
            for network, law in groups:
                labels.append(f"{law.upper()}, {network}")
                ticks.append(position)
                for source in _SOURCES:
                    for line in study.lines:
                        key = (line.network, line.law, line.source, line.echo, line.skill)
                        if key == (network, law, source, False, True):
                            position += 1
                            _bar(axis, position, getattr(line, name), line)
                position += 1.6
            axis.set_yticks(ticks, labels)
            axis.set_ylim(position - 0.6, -0.8)
            axis.set_title(title)

    alt = (
        "For each law and network: slowdown and queue with scores divided by those of the law "
        "alone, with intervals; scores without sense lie at one."
    )
    lines = 6.6 * len(groups)
    return picture("ratios", alt, draw, wide_px=int(15 * lines + 60), narrow_px=int(34 * lines))


def _bar(axis: Any, y: float, value: Interval, line: ScoredLine) -> None:
    role = {"oracle": "ink", "model": "predpid", "persistence": "muted"}.get(line.source, "bad")
    colour = COLOURS[role]
    axis.hlines(y, value.low, value.high, color=colour, linewidth=2.4, alpha=0.6)
    (dot,) = axis.plot([value.mean], [y], marker="o", ms=5, mew=0, color=colour, lw=0)
    interval = f"{value.mean:.3f}, {value.low:.3f} to {value.high:.3f}"
    dot.set_gid(tip(f"{SOURCE_NAMES[line.source]}: {interval}"))
