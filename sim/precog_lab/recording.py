"""``python -m precog_lab.recording``: the monitor while ``ib_write_bw`` runs, as one moving SVG.

Several guests write to one over a slow link that marks packets. The pictures are those of a real
run, one after the other.
"""

import argparse
import re
import sys
from collections.abc import Sequence

from precog_models.durable import write_durably
from precog_sim.targets import new_file

from .packages import Cache, default_cache
from .run import run
from .settings import Settings
from .watching import record

__all__ = ["main", "moving"]

_SETTINGS = Settings(
    workloads=("write",),
    iterations=150,
    pairs=4,
    link_gbps=2.0,
    mark_bytes=30_000,
    pace=True,
    tick_ns=1000,
)
_EVERY_S = 2.0
_SHOWN_S = 0.8  # how long a picture stays
_MOST = 12
_SIZE = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def moving(pictures: Sequence[str], seconds: float) -> str:
    """Pictures of one size, each shown for `seconds`, again and again.

    Raises
    ------
    ValueError
        There are none, or one has no size.
    """
    if not pictures:
        raise ValueError("pictures must be one or more, not none")
    found = _SIZE.search(pictures[0])
    if found is None:
        raise ValueError("picture must have a viewBox from 0 0, it has none")
    width, height = found.groups()
    whole = seconds * len(pictures)
    parts = []
    for number, picture in enumerate(pictures):
        values = ["none"] * len(pictures)
        values[number] = "inline"
        first = "inline" if number == 0 else "none"  # for those who show no movement
        parts.append(
            f'<g display="{first}">{picture}<animate attributeName="display" '
            f'values="{";".join(values)}" dur="{whole:g}s" calcMode="discrete" '
            'repeatCount="indefinite"/></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m precog_lab.recording", description=__doc__)
    parser.add_argument("--out", type=new_file, default="docs/lab.svg")
    chosen = parser.parse_args(arguments)
    outcome, pictures = record(
        lambda served: run(
            Cache(default_cache()), _SETTINGS, port=0, served=served, progress=print
        ),
        _EVERY_S,
    )
    step = -(-len(pictures) // _MOST)
    picture = moving([text for _, text in pictures[::step]], _SHOWN_S)
    write_durably(chosen.out, picture.encode(), made=True)
    print(f"{len(pictures)} pictures, {outcome.figures['frames']} frames: {chosen.out}")
    return int(bool(outcome.differences))


if __name__ == "__main__":
    sys.exit(main())
