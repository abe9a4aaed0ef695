"""The packet path's parts as they are synthesised, and their area elsewhere."""

from dataclasses import replace
from pathlib import Path

from amaranth.back import verilog

from precog_hw.export import PACKET_BLOCKS, packet_block, packet_verilog
from precog_hw.stream.axis import AxisPorts

from .blocks import TOP
from .target import ECP5_85, Target
from .wrap import WrapCost, Wrapped
from .xcup import Xcup, xcup_area

__all__ = ["GOALS_GBPS", "SLOTS", "packet_area", "packet_target", "wrapped_verilog"]

SLOTS = 1024
GOALS_GBPS = {("cps-tx", 64): 10, ("cps-tx", 512): 60}


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
    return xcup_area(packet_verilog(block, width, SLOTS), PACKET_BLOCKS[block], root)
