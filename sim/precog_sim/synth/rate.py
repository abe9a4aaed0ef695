"""Blocks other than engine and packet path, for synthesis."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from amaranth.back import verilog
from amaranth.hdl import Signal
from amaranth.lib import wiring

from precog_hw.compose.ports import wire_store
from precog_hw.core import Core
from precog_hw.csr.trace import TraceFifo
from precog_hw.export import port_map
from precog_hw.measure.profiler import Profiler
from precog_hw.pace.pacer import Pacer
from precog_hw.pace.wire_path import queues
from precog_hw.predict.carried import CarriedScores
from precog_hw.predict.tree import TreePredictor
from precog_hw.rate.engine.stage import ProgramStage
from precog_hw.rate.psched import Psched
from precog_hw.rate.receiver import Receiver
from precog_hw.store.packet_store import PacketStore
from precog_spec.config import PRESETS, NicConfig

from .blocks import TOP
from .paced_wire import PacedWire
from .place import Netlist
from .target import ECP5_85, QUICK_MAPPING, Target
from .wrap import WrapCost, Wrapped

__all__ = [
    "GOALS_MHZ",
    "QPS",
    "RATE_BLOCKS",
    "chains_cost",
    "cleared",
    "engine_verilog",
    "rate_mapping",
    "rate_target",
    "rate_verilog",
]

_GOAL_MHZ = 125
_CLEARED = re.compile(r"^\s*\S+\s*\[\d+\] = \d+'h0+;\n", re.M)


def cleared(text: str) -> str:
    """Verilog without the rows of memories that are 0 at power-up.

    yosys takes an hour over 65,536 of them; block RAM is so anyway.
    """
    return _CLEARED.sub("", text)


def _psched(qps: int) -> Psched:
    return Psched(NicConfig(qps=qps, dsp="ecp5"))


def _profiler(qps: int) -> Profiler:
    return Profiler(qps, dsp="ecp5")


def _tree(qps: int) -> TreePredictor:
    return TreePredictor(NicConfig(qps=qps, forecast=True, tree=True))


def _receiver(qps: int) -> Receiver:
    return Receiver(NicConfig(qps=qps, width=64, receiver=True, dsp="ecp5"))


def _trace(_: int) -> TraceFifo:
    return TraceFifo(3)  # decisions, the receiver's acts, forecasts


def _carried(qps: int) -> CarriedScores:
    return CarriedScores(NicConfig(qps=qps, width=64, forecast=True, dsp="ecp5"))


def _wire(qps: int) -> PacedWire:
    return PacedWire(NicConfig(qps=qps, width=64, grants=True, wire=1024, dsp="ecp5"))


def _store(qps: int) -> PacketStore:
    """The packet memory of wire mode: both queues of each queue pair."""
    return PacketStore(queues(wire_store(NicConfig(qps=qps, width=64, grants=True, wire=1024))))


def _law_engine(qps: int, *, cores: int = 1, ecc: bool = False) -> ProgramStage:
    """The engine, without the store that loads its programs."""
    return ProgramStage(NicConfig(qps=qps, law_cores=cores, ecc=ecc, dsp="ecp5"))


def _core_forecast(qps: int) -> Core:
    """All that predicts: 64 model sets with check bits, a model of RTTs and one of queues each.

    With 16 lanes: with 64 neither router came to an end (53,000 of 83,640 LUTs, 134 multipliers).
    """
    forecasting = replace(PRESETS["lanes16"], sets=64, forecast=True, dsp="ecp5")
    return Core(replace(forecasting, qps=qps))


#: What is built for this many queue pairs.
RATE_BLOCKS: dict[str, Callable[[int], wiring.Component]] = {
    "law-engine": _law_engine,
    "law-engine-ecc": partial(_law_engine, ecc=True),  # with check bits of its programs
    "law-engine-4": partial(_law_engine, cores=4),
    "psched": _psched,
    "pacer": Pacer,
    "profiler": _profiler,
    "tree": _tree,
    "receiver": _receiver,
    "trace": _trace,
    "carried": _carried,
    "store": _store,
    "wire": _wire,
    "core-forecast": _core_forecast,
}

#: Queue pairs of a block by default. 64 sets are a model of either kind for each of
#: 32; contexts of 64 with both do not fit in addition (217 block RAMs of 208).
QPS = {name: 1024 for name in RATE_BLOCKS} | {
    "core-forecast": 32,
    "law-engine": 64,
    "law-engine-ecc": 64,
    "law-engine-4": 64,
    "tree": 64,
}
_WHOLE = "core-forecast"
#: Their programs' memories have 12,288 rows for each core.
_LAW_ENGINES = tuple(name for name in RATE_BLOCKS if name.startswith("law-engine"))
#: The clock that is aimed at.
GOALS_MHZ: dict[str, float] = dict.fromkeys(RATE_BLOCKS, _GOAL_MHZ) | {
    **dict.fromkeys(_LAW_ENGINES, 150),
    _WHOLE: 62.5,  # the boards'
}


def rate_mapping(block: str) -> str:
    """yosys' options: the whole core is made like a board's NIC, which must leave wires."""
    return f"{QUICK_MAPPING} -nowidelut" if block == _WHOLE else ""


def rate_target(block: str) -> Target:
    """The device, asked for a tenth more than the goal; of the whole core, for the goal.

    `router1` finds faster wires, but spends ten minutes and more on the last hundreds of many that
    the placer `heap` packs.
    """
    many = block in ("pacer", "profiler", "store", "wire", _WHOLE)
    router = "router2" if many else "router1"
    spread = block in (*_LAW_ENGINES, _WHOLE)
    weight = None if spread else ECP5_85.timing_weight
    goal = GOALS_MHZ[block]
    mhz = goal if block == _WHOLE else round(1.1 * goal)
    return replace(ECP5_85, goal_mhz=mhz, router=router, timing_weight=weight)


def rate_verilog(block: str, qps: int, *, alone: bool = False) -> str:
    """Verilog of the block for `qps` queue pairs, between shift chains or `alone`."""
    made: wiring.Component = RATE_BLOCKS[block](qps)
    text = _verilog(made if alone else Wrapped(made))
    return cleared(text) if block in _LAW_ENGINES else text


def engine_verilog(config: NicConfig) -> str:
    """Verilog of a NIC's law engine, without the store that loads its programs."""
    return cleared(_verilog(ProgramStage(config)))


def _verilog(made: wiring.Component) -> str:
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
