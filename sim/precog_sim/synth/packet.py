"""The packet path's parts as they are synthesised, and their area elsewhere."""

from dataclasses import dataclass, replace
from pathlib import Path

from amaranth.back import verilog

from precog_hw.export import PACKET_BLOCKS, packet_block, packet_verilog
from precog_hw.stream.axis import AxisPorts

from .blocks import TOP
from .place import xcup_cells
from .target import ECP5_85, Target
from .wrap import WrapCost, Wrapped

__all__ = ["GOALS_GBPS", "SLOTS", "Xcup", "packet_area", "packet_target", "wrapped_verilog"]

SLOTS = 1024
GOALS_GBPS = {("cps-tx", 64): 10, ("cps-tx", 512): 60}

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


def packet_target(block: str, width: int) -> Target:
    """The device, asked for a tenth more than the clock of the goal, if there is one.

    `router1` was not done with the last hundreds of 80,000 wires of cps-tx after half an hour. With
    a weight of 30 the placer gave 112.6 MHz for a netlist of cps-tx that has 106.8 with 10.
    """
    goal = GOALS_GBPS.get((block, width))
    mhz = ECP5_85.goal_mhz if goal is None else round(1100 * goal / width)
    return replace(ECP5_85, goal_mhz=mhz, router="router2", timing_weight=30)


def wrapped_verilog(block: str, width: int) -> tuple[str, WrapCost]:
    """Verilog of the exported block between shift chains, and what those cost."""
    wrapped = Wrapped(AxisPorts(packet_block(block, width, SLOTS)))
    text: str = verilog.convert(wrapped, name=TOP, emit_src=False, strip_internal_attrs=True)
    return text, wrapped.cost


def packet_area(block: str, width: int, root: Path) -> Xcup:
    """Area of the exported block on UltraScale+."""
    cells = xcup_cells(packet_verilog(block, width, SLOTS), PACKET_BLOCKS[block], root)

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
