"""The page's first picture: one incast with prediction off and on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precog_sim.report.data import DemoResult
from precog_sim.report.figures.style import COLOURS, Picture, axes_grid, picture
from precog_sim.report.series import Series, Side

__all__ = ["bars", "drained_us", "paired"]

_BEFORE_US = 20.0
_AFTER_US = 40.0
_DRAINED = 0.05  # of the largest queue
_COLOURS = {"off": COLOURS["pid"], "on": COLOURS["predpid"]}


def paired(result: DemoResult, series: Series) -> Picture:
    """Queue above, RTTs below, both runs on the same axes until the queue has drained."""
    sides = {"off": series.off, "on": series.on}
    most = max(float(side.queue_mb.max()) for side in sides.values())
    until = max(drained_us(side, most) for side in sides.values()) + _AFTER_US

    def draw(figure: Any, narrow: bool) -> None:
        queue, rtt = axes_grid(figure, 2, 1, sharex=True).ravel()
        for name, side in sides.items():
            colour = _COLOURS[name]
            near = (side.queue_t_us > -_BEFORE_US) & (side.queue_t_us < until)
            time, depth = side.queue_t_us[near], side.queue_mb[near]
            queue.fill_between(time, depth, color=colour, alpha=0.18, linewidth=0)
            queue.plot(time, depth, color=colour, linewidth=2)
            top = int(depth.argmax())
            queue.annotate(
                f"{name}: {depth[top]:.1f} MB", (time[top], depth[top]), (6, 2),
                textcoords="offset points", color=colour, weight="bold",
            )  # fmt: skip
            x, y = bars(side, until)
            rtt.plot(x, y, color=colour, linewidth=2, solid_capstyle="butt")
            longest = int(np.nanargmax(y[::3]))
            rtt.annotate(
                f"{name}: {y[3 * longest]:.0f} µs", (x[3 * longest], y[3 * longest]), (2, 5),
                textcoords="offset points", color=colour, weight="bold",
            )  # fmt: skip
        queue.set_title("Queue before the receiver (MB)")
        rtt.set_title(
            "Round trips of the incast, by length (µs)"
            if narrow
            else "Round trips of the incast: from sending to acknowledgement, by length (µs)"
        )
        rtt.set_xlabel("time since the incast’s start (µs)")
        for axis in (queue, rtt):
            axis.set_ylim(0, 1.12 * axis.dataLim.ymax)
            axis.set_xlim(-_BEFORE_US, until)

    alt = (
        f"Queue and round-trip times of an incast of {result.paired.senders} senders over the same "
        "time, without prediction and with it."
    )
    return picture("paired", alt, draw, wide_px=470, narrow_px=420)


def bars(side: Side, until: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each RTT before `until` as a level bar from sending to arrival: x, y, with gaps between.

    Returns
    -------
    tuple of ndarray, (3 n,)
        Sending, arrival, NaN; RTT, RTT, NaN; us.
    """
    mine = side.t_us < until
    end, took = side.t_us[mine].astype(float), side.rtt_us[mine].astype(float)
    gap = np.full_like(end, np.nan)
    return np.stack([end - took, end, gap], 1).ravel(), np.stack([took, took, gap], 1).ravel()


def drained_us(side: Side, most: float) -> float:
    """When the queue was last above a twentieth of `most` MB, us.

    Raises
    ------
    ValueError
        It never was.
    """
    high = np.flatnonzero(side.queue_mb > _DRAINED * most)
    if not high.size:
        raise ValueError(f"queue_mb must exceed {_DRAINED * most} MB somewhere, not nowhere")
    return float(side.queue_t_us[high[-1]])
