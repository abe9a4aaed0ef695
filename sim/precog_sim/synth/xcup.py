"""Area on UltraScale+, as yosys maps it: ``python -m precog_sim.synth.xcup``.

Of a whole NIC, with ``--engine`` of its law engine alone, or with ``--block`` of a block that is
built for this many queue pairs.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from precog_hw.export import nic_verilog
from precog_sim.commit import commit_name
from precog_sim.targets import new_folder
from precog_spec.config import PRESETS

from .blocks import TOP
from .place import xcup_cells
from .rate import engine_verilog, rate_verilog

__all__ = ["Xcup", "main", "xcup_area"]

#: Blocks for this many queue pairs that have no vendor's multiplier in them.
_PORTABLE = ("pacer", "trace", "tree")

#: LUTs that a cell of LUT RAM or a shift register takes (UG574), by the cell's name.
_LUT_RAM = {
    **{"RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM32M": 4, "RAM64M": 4},
    **{"RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4, "RAM256X1D": 8},
    **{"RAM32M16": 8, "RAM64M8": 8, "RAM512X1S": 8, "SRL16E": 1, "SRLC32E": 1},
}


@dataclass(frozen=True)
class Xcup:
    """Area on UltraScale+ as yosys maps it, without buffers at the pins.

    Attributes
    ----------
    lut : int
        LUT1 to LUT6.
    lut_ram : int
        LUTs that hold memory or shift.
    mux : int
        MUXF7, MUXF8 and MUXF9, which cost no LUT.
    ff : int
    carry4 : int
        As yosys maps; two make a CARRY8.
    bram36 : float
        Block RAMs of 36 Kb; one of 18 Kb is half a one.
    dsp : int
    """

    lut: int
    lut_ram: int
    mux: int
    ff: int
    carry4: int
    bram36: float
    dsp: int


def xcup_area(verilog: str, top: str, root: Path) -> Xcup:
    """Area of `verilog`'s module `top`; yosys works in a folder in `root`.

    Raises
    ------
    SynthError
        yosys is missing or failed.
    """
    cells = xcup_cells(verilog, top, root)

    def count(*names: str) -> int:
        return sum(cells.get(name, 0) for name in names)

    return Xcup(
        lut=count(*(f"LUT{inputs}" for inputs in range(1, 7))),
        lut_ram=sum(luts * count(name) for name, luts in _LUT_RAM.items()),
        mux=count("MUXF7", "MUXF8", "MUXF9"),
        ff=count("FDRE", "FDSE", "FDCE", "FDPE"),
        carry4=count("CARRY4"),
        bram36=count("RAMB36E2") + count("RAMB18E2") / 2,
        dsp=count("DSP48E2"),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(
        prog="python -m precog_sim.synth.xcup", description=(__doc__ or "").split("\n")[0]
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--preset", default="corundum-100g", choices=sorted(PRESETS))
    engines = sorted(name for name, config in PRESETS.items() if config.law_cores)
    chosen.add_argument("--engine", choices=engines, help="no NIC: this preset's law engine")
    chosen.add_argument("--block", choices=_PORTABLE, help="no NIC: this")
    parser.add_argument(
        "--qps", type=int, nargs="+", default=[1024], help="queue pairs of the block, once for each"
    )
    parser.add_argument("--out", type=new_folder, default="build/synth")
    given = parser.parse_args(arguments)
    for qps in given.qps:
        if qps < 2 or qps & (qps - 1):
            parser.error(f"--qps must be powers of two, 2 or more, not {qps}")
    todo: list[tuple[dict[str, Any], Callable[[], str]]] = [
        ({"preset": given.preset}, lambda: nic_verilog(PRESETS[given.preset], name=TOP))
    ]
    if given.engine:
        what = {"preset": given.engine, "part": "law-engine"}
        todo = [(what, lambda: engine_verilog(PRESETS[given.engine]))]
    if given.block:
        todo = [
            (
                {"block": given.block, "qps": qps},
                partial(rate_verilog, given.block, qps, alone=True),
            )
            for qps in given.qps
        ]
    columns = (SpinnerColumn(), TextColumn("[bold]{task.description}"), TimeElapsedColumn())
    for what, verilog in todo:
        name = "-".join(map(str, what.values()))
        with Progress(*columns, transient=True) as progress:
            progress.add_task(
                f"Mapping {name} to UltraScale+: some minutes, a NIC some tens of them"
            )
            area = xcup_area(verilog(), TOP, given.out)
        line = {**what, "xcup": asdict(area), "commit": commit_name("hw", "models")}
        (given.out / f"xcup-{name}.json").write_text(json.dumps(line, indent=1) + "\n")
        print(f"{name}: {', '.join(f'{count} {kind}' for kind, count in asdict(area).items())}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
