"""``python -m precog_lab.picture``: an incast of Linux guests, the law of their cards off and on.

Several guests write to one. Their packets wait at their golden cards, as the law says, and in the
queue of the receiver's link, which marks them. Goodput and queue over time, as data and picture.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from precog_sim.targets import new_folder

from .packages import Cache, default_cache
from .run import run
from .series import Series, drawn
from .settings import Settings

__all__ = ["main"]

_SETTINGS = Settings(
    workloads=("write",),
    iterations=560,
    senders=2,
    link_gbps=0.25,
    mark_bytes=15_000,
    pace=True,
    tick_ns=400,
)
_KEPT = (
    *("frames", "roce", "marked_data", "cnps", "retransmissions", "differences", "icrc_bad"),
    *("queue_max_bytes", "rate_min_gbps", "accel"),
)
_LAWS = {"off": "fixed", "on": "dcqcn"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m precog_lab.picture", description=__doc__)
    parser.add_argument("--out", type=new_folder, default="build/lab")
    parser.add_argument("--iterations", type=int, default=_SETTINGS.iterations)
    parser.add_argument("--until", type=float, default=0.0, help="ms of card time; 0: all")
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
            **series.as_dict(1000 * chosen.until),
        }
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "lab_incast.json").write_text(json.dumps(found, indent=1) + "\n")
    title = f"{_SETTINGS.senders} Linux guests write to one (ib_write_bw)"
    runs = {f"law {name} ({one['law']})": one for name, one in found.items()}
    picture = drawn(runs, f"{title}, {_SETTINGS.link_gbps:g} Gb/s link")
    (chosen.out / "lab_incast.svg").write_text(picture)
    return int(any(one["differences"] or one["icrc_bad"] for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
