"""Laws and pacer as they are synthesised."""

from dataclasses import replace

from amaranth.back import verilog
from amaranth.lib import wiring

from precog_hw.pace.pacer import Pacer
from precog_hw.rate.law_unit import LawUnit

from .blocks import TOP
from .target import ECP5_85, Target
from .wrap import WrapCost, Wrapped

__all__ = ["GOAL_MHZ", "RATE_BLOCKS", "rate_target", "rate_verilog"]

GOAL_MHZ = 125
RATE_BLOCKS: dict[str, type[wiring.Component]] = {"laws": LawUnit, "pacer": Pacer}


def rate_target(block: str) -> Target:
    """The device, asked for a tenth more than the goal.

    `router1` spends ten minutes and more on the pacer's last hundreds of wires.
    """
    router = "router2" if block == "pacer" else "router1"
    return replace(ECP5_85, goal_mhz=round(1.1 * GOAL_MHZ), router=router)


def rate_verilog(block: str, qps: int) -> tuple[str, WrapCost]:
    """Verilog of the block for `qps` queue pairs between shift chains, and what those cost."""
    wrapped = Wrapped(RATE_BLOCKS[block](qps))
    text: str = verilog.convert(wrapped, name=TOP, emit_src=False, strip_internal_attrs=True)
    return text, wrapped.cost
