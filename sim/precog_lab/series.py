"""Goodput and queue of a lab over time, and their picture."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .lab import Lab

__all__ = ["Series", "drawn"]

_EVERY_NS = 400_000_000  # of the guests' time


@dataclass
class Series:
    """Samples of one run, card time.

    Attributes
    ----------
    us : list of float
    queue : list of int
        Bytes in the queue of the receiver's link.
    goodput : list of float
        Gb/s that came out of the receiver's card since the sample before.
    """

    us: list[float] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    goodput: list[float] = field(default_factory=list)
    _due: int = 0
    _bytes: int = 0
    _last: int = 0

    def watch(self, lab: Lab, t: int) -> None:
        """Take a sample when one is due."""
        if t < self._due or not lab.seen.roce:
            return
        got = lab.seen.delivered[0]
        self.us.append(t / 1000)
        self.queue.append(lab.links[0].queued(t))
        self.goodput.append(8 * (got - self._bytes) / max(1, t - self._last))
        self._bytes, self._last = got, t
        self._due = t + _EVERY_NS // lab.settings.tick_ns

    def as_dict(self, until_us: float = 0.0) -> dict[str, Any]:
        """For machines; time from the first sample on, as far as `until_us` unless it is 0."""
        us = [round(us - self.us[0], 1) for us in self.us]
        kept = len([one for one in us if not until_us or one <= until_us])
        return {
            "us": us[:kept],
            "queue_bytes": self.queue[:kept],
            "goodput_gbps": [round(rate, 3) for rate in self.goodput[:kept]],
        }


def drawn(runs: Mapping[str, Mapping[str, Any]], title: str) -> str:
    """The picture (SVG) of runs by label, each as `Series.as_dict` has it."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "precog"
    from matplotlib import pyplot

    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 4.5))
    for label, one in runs.items():
        ms = [us / 1000 for us in one["us"]]
        top.plot(ms, one["goodput_gbps"], label=label, linewidth=1)
        bottom.plot(ms, [size / 1000 for size in one["queue_bytes"]], label=label, linewidth=1)
    top.set_ylabel("goodput, Gb/s")
    bottom.set_ylabel("queue, kB")
    bottom.set_xlabel("card time, ms")
    if len(runs) > 1:
        bottom.legend()
    for axes in (top, bottom):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue()
