"""``python -m precog_sim.synth.latency``: a page with the cycles of each stage of a prediction."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from precog_models.durable import write_durably
from precog_sim.targets import new_file
from precog_spec.markdown import table

from .blocks import LANES, core_config
from .stages import STAGES, stages

__all__ = ["main", "measured", "page"]

_TOP = """# From a sample to its prediction

Made by `python -m precog_sim.synth.latency --page …`; do not edit. Cycles are simulated, from a
sample's transfer to the cycle in which a stage's result is in its register. Brackets have what the
stage takes of them. The model has one input, three steps and one output; its context is ready. No
other sample waits.
[Blocks](blocks.md) has the clocks.

"""


def measured(lanes: int) -> list[int]:
    """The cycle of each of `STAGES`, of a core with four queue pairs."""
    return stages(replace(core_config(lanes, ecc=False, dsp="generic"), qps=4, sets=2))


def page(found: Mapping[int, Sequence[int]]) -> str:
    """Cycles of `STAGES` by lanes."""
    head = ["stage", *(f"{lanes} lanes" for lanes in found)]
    rows = []
    taken = [[b - a for a, b in pairwise([0, *cycles])] for cycles in found.values()]
    for n, stage in enumerate(STAGES):
        cells = zip(found.values(), taken, strict=True)
        rows.append([stage, *(f"{cycles[n]} ({of[n]})" for cycles, of in cells)])
    return f"{_TOP}{table(head, rows)}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="python -m precog_sim.synth.latency", description=__doc__)
    parser.add_argument("--page", type=new_file, help="where it goes; by default it is printed")
    asked = parser.parse_args(arguments)
    text = page({lanes: measured(lanes) for lanes in LANES})
    if asked.page is None:
        print(text, end="")
    else:
        write_durably(asked.page, text.encode(), made=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
