"""``python -m precog_lab.picture``: an incast of Linux guests, the law of their cards off and on.

Several guests write to one. Their packets wait at their golden cards, as the law says, and in the
queue of the receiver's link, which marks them. Goodput and queue over time, as data and picture.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .lab import Lab
from .packages import Cache, default_cache
from .run import run
from .settings import Settings

__all__ = ["Series", "main"]

_EVERY_TICKS = 1_000_000
_SETTINGS = Settings(
    workloads=("write",),
    iterations=1000,
    senders=2,
    link_gbps=0.5,
    mark_bytes=15_000,
    pace=True,
    tick_ns=400,
)
_KEPT = (
    *("frames", "roce", "marked_data", "cnps", "retransmissions", "differences", "icrc_bad"),
    *("queue_max_bytes", "rate_min_gbps", "accel"),
)
_LAWS = {"off": "fixed", "on": "dcqcn"}


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
        self._bytes, self._last, self._due = got, t, t + _EVERY_TICKS

    def as_dict(self) -> dict[str, Any]:
        """For machines; time from the first sample on."""
        return {
            "us": [round(us - self.us[0], 1) for us in self.us],
            "queue_bytes": self.queue,
            "goodput_gbps": [round(rate, 3) for rate in self.goodput],
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m precog_lab.picture", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/lab"))
    parser.add_argument("--iterations", type=int, default=_SETTINGS.iterations)
    chosen = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for name, law in _LAWS.items():
        series = Series()
        settings = replace(_SETTINGS, algorithm=law, iterations=chosen.iterations)
        outcome = run(
            Cache(default_cache()), settings, watch=series.watch, progress=lambda text: print(text)
        )
        found[name] = {
            "law": law,
            **{key: outcome.figures[key] for key in _KEPT},
            **series.as_dict(),
        }
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "lab_incast.json").write_text(json.dumps(found, indent=1) + "\n")
    _draw(found, chosen.out / "lab_incast.svg")
    return int(any(one["differences"] or one["icrc_bad"] for one in found.values()))


def _draw(found: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "precog"
    from matplotlib import pyplot

    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 4.5))
    for name, one in found.items():
        ms = [us / 1000 for us in one["us"]]
        label = f"law {name} ({one['law']})"
        top.plot(ms, one["goodput_gbps"], label=label)
        bottom.plot(ms, [size / 1000 for size in one["queue_bytes"]], label=label)
    top.set_ylabel("goodput, Gb/s")
    bottom.set_ylabel("queue, kB")
    bottom.set_xlabel("card time, ms")
    bottom.legend()
    for axes in (top, bottom):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    senders, link = _SETTINGS.senders, _SETTINGS.link_gbps
    figure.suptitle(f"{senders} Linux guests write to one (ib_write_bw), {link:g} Gb/s link")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
