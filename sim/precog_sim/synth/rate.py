"""Laws, predictive scheduler, pacer, queue profiler and forecasts as they are synthesised."""

from collections.abc import Callable
from dataclasses import replace

from amaranth.back import verilog
from amaranth.hdl import Signal
from amaranth.lib import wiring

from precog_hw.config import NicConfig
from precog_hw.export import port_map
from precog_hw.measure.profiler import Profiler
from precog_hw.pace.pacer import Pacer
from precog_hw.predict.forecast import Forecaster
from precog_hw.predict.tree import TreePredictor
from precog_hw.rate.law_unit import LawUnit
from precog_hw.rate.psched import Psched

from .blocks import TOP
from .place import Netlist
from .target import ECP5_85, Target
from .wrap import WrapCost, Wrapped

__all__ = ["GOAL_MHZ", "RATE_BLOCKS", "chains_cost", "rate_target", "rate_verilog"]

GOAL_MHZ = 125


def _psched(qps: int) -> Psched:
    return Psched(NicConfig(qps=qps, dsp="ecp5"))


def _profiler(qps: int) -> Profiler:
    return Profiler(qps, dsp="ecp5")


def _forecaster(qps: int) -> Forecaster:
    return Forecaster(NicConfig(qps=qps, forecast=1, dsp="ecp5"))


def _forecaster_of_trees(qps: int) -> Forecaster:
    return Forecaster(NicConfig(qps=qps, forecast=1, tree=1, dsp="ecp5"))


def _tree(qps: int) -> TreePredictor:
    return TreePredictor(NicConfig(qps=qps, forecast=1, tree=1))


#: What is built for so many queue pairs.
RATE_BLOCKS: dict[str, Callable[[int], wiring.Component]] = {
    "laws": LawUnit,
    "psched": _psched,
    "pacer": Pacer,
    "profiler": _profiler,
    "forecaster": _forecaster,
    "forecaster-tree": _forecaster_of_trees,
    "tree": _tree,
}


def rate_target(block: str) -> Target:
    """The device, asked for a tenth more than the goal.

    `router1` spends ten minutes and more on the last hundreds of wires of these two.
    """
    router = "router2" if block in ("pacer", "profiler") else "router1"
    return replace(ECP5_85, goal_mhz=round(1.1 * GOAL_MHZ), router=router)


def rate_verilog(block: str, qps: int, *, alone: bool = False) -> str:
    """Verilog of the block for `qps` queue pairs, between shift chains or `alone`."""
    made: wiring.Component = RATE_BLOCKS[block](qps)
    made = made if alone else Wrapped(made)
    # The constant `ready` of a stream that is always ready is no port.
    ports = {n: port for n, port in port_map(made).items() if isinstance(port[0], Signal)}
    text: str = verilog.convert(
        made, name=TOP, ports=ports, emit_src=False, strip_internal_attrs=True
    )
    return text


def chains_cost(netlist: Netlist, alone: Netlist) -> WrapCost:
    """What the shift chains cost, by counting.

    `Wrapped.cost` counts a register for each port; those of ports that are always equal are merged,
    and these blocks show their rows twice.
    """
    names = ("TRELLIS_FF", "LUT4")
    ff, lut4 = (netlist.cells.get(name, 0) - alone.cells.get(name, 0) for name in names)
    return WrapCost(ff, lut4)
