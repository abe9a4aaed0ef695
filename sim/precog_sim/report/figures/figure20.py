"""Figure 20: slowdowns by size of flow with confidence bands, and the shape that the thesis says.

The thesis prints its curves without numbers; what its text says of them is drawn as ratios: the
shaded side of one is the thesis', the dots are ours.
"""

from typing import Any

from precog_sim.report.figures.style import COLOURS, Draw, Picture, axes_grid, picture, tip
from precog_sim.report.studies import Claimed, Curve, Figure20

__all__ = ["HEIGHT_PX", "draw", "figure20"]

HEIGHT_PX = 420
#: Colour and dashes of a law.
_STYLES: dict[str, tuple[str, Any]] = {
    "predpid": ("predpid", "-"),
    "predpid-rttch": ("predpid", (0, (5, 2))),
    "predpid-rttch-win": ("predpid", (0, (1, 1.5))),
    "timely": ("timely", "-"),
    "dcqcn": ("dcqcn", "-"),
    "hpcc": ("hpcc", "-"),
    "dctcp": ("dctcp", "-"),
    "swift": ("pid", "-"),
    "theta-powertcp": ("muted", "-"),
    "lockstep": ("ink", "-"),
}


def figure20(study: Figure20) -> Picture:
    """The picture of the page."""
    alt = (
        "95th percentile of the slowdown by size of flow, a line with a band for each law; and, "
        "as ratios, what the thesis says of its figure 20 and what we measured."
    )
    return picture("figure20", alt, draw(study), wide_px=HEIGHT_PX, narrow_px=760)


def draw(study: Figure20) -> Draw:
    """What draws the study."""

    def drawn(figure: Any, narrow: bool) -> None:
        shape, heights = ((2, 1), [3.0, 2.0]) if narrow else ((1, 2), None)
        axes = axes_grid(figure, *shape, heights=heights).ravel()
        for curve in study.curves:
            _curve(axes[0], curve)
        _sizes(axes[0], study.sizes, 3 if narrow else 6)
        _claims(axes[1], study.claims, narrow)
        figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=2 if narrow else 5,
            frameon=False,
            fontsize="small",
        )

    return drawn


def _curve(axis: Any, curve: Curve) -> None:
    role, dashes = _STYLES[curve.name]
    points = [(x, part) for x, part in enumerate(curve.p95) if part is not None]
    if not points:
        return
    x, parts = [x for x, _ in points], [part for _, part in points]
    low, high = [max(part.low, 1.0) for part in parts], [part.high for part in parts]
    axis.fill_between(x, low, high, color=COLOURS[role], alpha=0.16, linewidth=0)
    means = [part.mean for part in parts]
    axis.plot(x, means, color=COLOURS[role], linestyle=dashes, linewidth=1.6, label=curve.label)


def _sizes(axis: Any, sizes: tuple[int, ...], ticks: int) -> None:
    axis.set_yscale("log")
    axis.set_ylim(bottom=1)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    step = max(len(sizes) // ticks, 1)
    shown = range(len(sizes) - 1, -1, -step)
    axis.set_xticks(list(shown), [_bytes(sizes[k]) for k in shown])
    axis.set_xlabel("size up to, a twentieth of flows each")
    axis.set_title("Slowdown, 95th percentile")


def _bytes(size: int) -> str:
    for unit, name in ((1e6, "M"), (1e3, "K")):
        if size >= unit:
            return f"{size / unit:.2g}{name}"
    return str(size)


def _claims(axis: Any, claims: tuple[Claimed, ...], narrow: bool) -> None:
    ratios = [claim.ratio for claim in claims if claim.ratio is not None]
    most = 1.3 * max([*(ratio.high for ratio in ratios), 2.0])
    least = min([*(max(ratio.low, 0.01) for ratio in ratios), 0.5]) / 1.3
    axis.grid(False, axis="y")
    axis.set_xscale("log")
    axis.set_xlim(least, most)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.axvline(1, color=COLOURS["ink"], linewidth=0.9)
    shift = 0.15 if narrow else 0.0
    for y, claim in enumerate(claims):
        side = (least, 1) if claim.below_one else (1, most)
        low = y - 0.1 if narrow else y - 0.4
        axis.fill_betweenx([low, y + 0.4], *side, color=COLOURS["band"], linewidth=0)
        if narrow:  # no room for names at the side
            axis.text(least, y - 0.12, claim.text, color=COLOURS["muted"], fontsize="small")
        if claim.ratio is None:
            continue
        ratio = claim.ratio
        role = {True: "good", False: "bad", None: "muted"}[claim.holds]
        line = axis.plot(
            [max(ratio.low, least), ratio.high], [y + shift] * 2, color=COLOURS[role], linewidth=2
        )
        axis.plot([ratio.mean], [y + shift], "o", color=COLOURS[role], markersize=5)
        line[0].set_gid(tip(f"{claim.text}: {ratio.mean:.2f}, {ratio.low:.2f} to {ratio.high:.2f}"))
    axis.set_yticks(
        range(len(claims)), [""] * len(claims) if narrow else [claim.text for claim in claims]
    )
    axis.set_ylim(len(claims) - 0.4, -0.9 if narrow else -0.6)
    axis.set_title("Ratios of p95; shaded: the thesis")
