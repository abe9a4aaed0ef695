"""Blocks with state of each queue pair, and what yosys makes of them on an ECP5."""

from collections.abc import Callable, Mapping
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Signal
from amaranth.lib import wiring

from precog_hw.export import port_map
from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.pace.pacer import Pacer
from precog_hw.packet.qp_lookup import QpLookup
from precog_hw.rate.ack_events import AckEvents
from precog_hw.rate.engine.stage import ProgramStage
from precog_hw.rate.law_events import LawEvents
from precog_hw.rate.law_stage import LawStage
from precog_hw.rate.receiver import Receiver
from precog_hw.rate.score_events import ScoreEvents
from precog_sim.synth.blocks import TOP
from precog_sim.synth.place import mapped_cells
from precog_sim.synth.rate import cleared
from precog_spec.config import NicConfig

__all__ = ["PARTS", "area", "used"]


def _config(qps: int) -> NicConfig:
    return NicConfig(qps=qps, width=64, receiver=True, dsp="ecp5")


#: A block for this many queue pairs, by its name in the table.
PARTS: dict[str, Callable[[int], wiring.Component]] = {
    "lookup": QpLookup,
    "collector": RttCollector,
    "law events": lambda qps: LawEvents(_config(qps)),
    "score events": lambda qps: ScoreEvents(_config(qps)),
    "acks": lambda qps: AckEvents(NicConfig(qps=qps, width=64, law_cores=1, dsp="ecp5")),
    "laws": lambda qps: LawStage(_config(qps)),
    "law engine": lambda qps: ProgramStage(NicConfig(qps=qps, law_cores=1, dsp="ecp5")),
    "pacer": Pacer,
    "receiver": lambda qps: Receiver(_config(qps)),
}


def used(cells: Mapping[str, int]) -> dict[str, int]:
    """LUTs, flip-flops, block RAMs and multipliers that cells of an ECP5 take.

    A CCU2C is two LUTs, a TRELLIS_DPR16X4 four; these are also counted alone.
    """
    lut_ram = 4 * cells.get("TRELLIS_DPR16X4", 0)
    return {
        "lut": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + lut_ram,
        "lut_ram": lut_ram,
        "ff": cells.get("TRELLIS_FF", 0),
        "bram": cells.get("DP16KD", 0),
        "dsp": cells.get("MULT18X18D", 0),
    }


def area(part: str, qps: int, root: Path) -> dict[str, int]:
    """Of `part` for `qps` queue pairs, mapped without shift chains; results stay in `root`.

    Raises
    ------
    SynthError
        yosys is missing or failed.
    """
    made = PARTS[part](qps)
    # The constant `ready` of a stream that is always ready is no port.
    ports = {n: port for n, port in port_map(made).items() if isinstance(port[0], Signal)}
    text = verilog.convert(made, name=TOP, ports=ports, emit_src=False, strip_internal_attrs=True)
    return used(mapped_cells(cleared(text), TOP, root))
