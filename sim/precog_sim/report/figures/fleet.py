"""Pictures of a fleet: skill over time, who runs what, and how hot each destination is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture, tip
from precog_sim.report.fleet import MARKS, Fleet, Gain

__all__ = ["draw_fleet", "role_of"]

_LOOK_S = 2.0  # a destination is looked at twice as often
_ROLES = ("predpid", "hpcc", "dctcp", "timely", "dcqcn")


def role_of(fleet: Fleet, release: int) -> str:
    """Colour of a release: what was shipped is grey, what was rolled back is the bad one's."""
    undone = {step.release for step in fleet.steps if step.what == "rolled back"}
    if release in undone:
        return "bad"
    kept = [one for one in range(1, release + 1) if one not in undone]
    return _ROLES[(len(kept) - 1) % len(_ROLES)] if release else "muted"


def draw_fleet(fleet: Fleet) -> dict[str, Picture]:
    """All of them, by name."""
    pictures = (_skill(fleet), _rollout(fleet), _hotspots(fleet), _gains(fleet))
    return {picture.name: picture for picture in pictures}


def _time(fleet: Fleet, axis: Any, narrow: bool, *, words: bool) -> None:
    """The common axis, and what divides it; numbers where there is no room for words."""
    axis.set_xlim(0, 1.01 * fleet.end_s)
    top = axis.get_ylim()[1]
    marks = [name for name in MARKS if name in fleet.marks]
    for n, name in enumerate(marks, 1):
        at = fleet.marks[name]
        line = axis.axvline(at, color=COLOURS["ink"], linewidth=0.8, dashes=(4, 3), alpha=0.7)
        line.set_gid(tip(f"{n}: {MARKS[name]}, {at:.0f} s"))
        if words:
            axis.annotate(
                str(n),
                (at, top),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                va="bottom",
                color=COLOURS["ink"],
                fontsize=9 if narrow else 10,
                fontweight="bold",
                annotation_clip=False,
            )


def _skill(fleet: Fleet) -> Picture:
    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        s, value = np.array(fleet.skill_s), np.array(fleet.skill)
        axis.axhline(0, color=COLOURS["ink"], linewidth=0.9)
        axis.fill_between(s, 0, value, where=value >= 0, color=COLOURS["predpid"], alpha=0.12, lw=0)
        axis.fill_between(s, 0, value, where=value < 0, color=COLOURS["bad"], alpha=0.15, lw=0)
        axis.plot(s, value, color=COLOURS["predpid"], linewidth=2)
        axis.set_ylim(min(-0.05, float(value.min()) * 1.1), max(0.1, float(value.max()) * 1.15))
        axis.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
        axis.set_title("Skill over persistence, all agents", pad=20)
        axis.set_xlabel("time (s)")
        _time(fleet, axis, narrow, words=True)

    alt = (
        f"Skill of all agents' forecasts over {fleet.end_s:.0f} seconds: it falls when traffic "
        "changes and returns with the second release."
    )
    return picture("skill", alt, draw, wide_px=270, narrow_px=250)


def _rollout(fleet: Fleet) -> Picture:
    agents = list(fleet.runs)

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.grid(False)
        for row, name in enumerate(agents):
            course = [*fleet.runs[name], (fleet.end_s, -1)]
            for (begin, release), (end, _) in pairwise(course):
                (bar,) = axis.barh(
                    row,
                    end - begin,
                    left=begin,
                    height=0.74,
                    color=COLOURS[role_of(fleet, release)],
                    linewidth=0,
                    alpha=0.45 if release == 0 else 0.9,
                )
                bar.set_gid(tip(f"{name}: release {release}, {begin:.0f} to {end:.0f} s"))
        axis.set_ylim(len(agents) - 0.4, -0.6)
        step = max(1, -(-len(agents) // (6 if narrow else 10)))
        axis.set_yticks(range(0, len(agents), step), agents[::step])
        axis.set_title("Releases by member", pad=20)
        axis.set_xlabel("time (s)")
        _time(fleet, axis, narrow, words=False)
        for n, name in enumerate([name for name in MARKS if name in fleet.marks], 1):
            axis.annotate(
                str(n),
                (fleet.marks[name], -0.6),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                color=COLOURS["ink"],
                fontsize=9 if narrow else 10,
                fontweight="bold",
                annotation_clip=False,
            )

    alt = (
        f"A row for each of {len(agents)} agents, coloured by the release that is live on its "
        "card: new releases appear on a few agents first, then on all."
    )
    rows = len(agents)
    return picture("rollout", alt, draw, wide_px=14 * rows + 95, narrow_px=11 * rows + 95)


def _hotspots(fleet: Fleet) -> Picture:
    base = min((min(spot.rtt_us) for spot in fleet.spots), default=0.0)
    most = max((max(spot.rtt_us) for spot in fleet.spots), default=1.0) - base

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.grid(False)
        for row, spot in enumerate(fleet.spots):
            ends = [*spot.s[1:], min(fleet.end_s, spot.s[-1] + _LOOK_S)]
            for s, end, rtt, p99 in zip(spot.s, ends, spot.rtt_us, spot.p99_us, strict=True):
                (cell,) = axis.barh(
                    row,
                    end - s,
                    left=s,
                    height=0.8,
                    align="center",
                    color=COLOURS["bad"],
                    linewidth=0,
                    alpha=round(0.06 + 0.9 * (rtt - base) / (most or 1.0), 2),
                )
                cell.set_gid(tip(f"{spot.name}, {s:.0f} s: RTT {rtt:.1f} us, 99 % {p99:.1f} us"))
        axis.set_ylim(len(fleet.spots) - 0.5, -0.5)
        axis.set_yticks(range(len(fleet.spots)), [spot.name for spot in fleet.spots])
        axis.set_title("How hot each destination is", pad=20)
        axis.set_xlabel("time (s)")
        _time(fleet, axis, narrow, words=True)

    alt = (
        "A row for each destination, darker where the median of its reporters' RTTs is longer: "
        "the change of traffic shows in all of them."
    )
    rows = max(1, len(fleet.spots))
    return picture("hotspots", alt, draw, wide_px=34 * rows + 95, narrow_px=34 * rows + 95)


def _gains(fleet: Fleet) -> Picture:
    """Skill with its interval in the four stretches of the run."""
    lines: Sequence[tuple[str, Gain, str]] = (
        ("shipped models", fleet.before, "muted"),
        ("first release", fleet.after, "predpid"),
        ("the same, other traffic", fleet.fallen, "predpid"),
        ("second release", fleet.regained, "hpcc"),
    )

    def draw(figure: Any, narrow: bool) -> None:
        axis = axes_grid(figure, 1, 1)[0, 0]
        axis.grid(False, axis="y")
        axis.grid(True, axis="x", color=COLOURS["grid"], linewidth=0.8)
        axis.axvline(0, color=COLOURS["ink"], linewidth=0.9)
        for row, (name, gain, role) in enumerate(lines):
            axis.hlines(row, gain.low, gain.high, color=COLOURS[role], linewidth=3, alpha=0.55)
            (dot,) = axis.plot([gain.value], [row], marker="o", ms=7, color=COLOURS[role], lw=0)
            value, low, high = (100 * one for one in (gain.value, gain.low, gain.high))
            dot.set_gid(tip(f"{name}: {value:.1f} %, {low:.1f} to {high:.1f}"))
        axis.set_ylim(len(lines) - 0.5, -0.5)
        axis.set_yticks(range(len(lines)), [name for name, _, _ in lines])
        axis.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f} %")
        axis.set_title("Skill, with 95 % intervals")

    alt = "Skill with intervals: what was shipped, each release, and after traffic changed."
    return picture("gains", alt, draw, wide_px=200, narrow_px=200)
