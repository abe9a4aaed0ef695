"""What is synthesised, and its latency and interval, measured on the same block in simulation."""

from dataclasses import dataclass, replace

from amaranth.back import verilog

from precog_hw.core import Core
from precog_spec.config import PRESETS, NicConfig

from ..rtl.library import RtlNic
from .interval import interval
from .stages import stages
from .wrap import WrapCost, Wrapped

__all__ = ["LANES", "Timing", "core_config", "core_verilog", "measure"]

LANES = (16, 64, 128)
TOP = "wrapped"
_QPS = 16  # in the interval's measurement: enough that a context is ready when its turn comes


@dataclass(frozen=True)
class Timing:
    """Cycles of one configuration with I = 1, T = 3, O = 1.

    Attributes
    ----------
    latency_cycles : int
        From the cycle in which an RTT sample is taken to the one in which its prediction is valid,
        the division included.
    decision_cycles : int
        From the same cycle to the one in which the rate decision is valid.
    interval_cycles : int
        Between predictions of a pipeline that is kept full by several queue pairs.
    """

    latency_cycles: int
    decision_cycles: int
    interval_cycles: int


def core_config(lanes: int, *, ecc: bool, dsp: str = "ecp5") -> NicConfig:
    """The configuration that is reported for `lanes`; with `ecc` its models are guarded."""
    return replace(PRESETS[f"lanes{lanes}"], dsp=dsp, laws=False, ecc=ecc)


def core_verilog(lanes: int, *, ecc: bool) -> tuple[str, WrapCost]:
    """Verilog of the core (engine, features, PID) between shift chains, and what those cost."""
    wrapped = Wrapped(Core(core_config(lanes, ecc=ecc)))
    text: str = verilog.convert(wrapped, name=TOP, emit_src=False, strip_internal_attrs=True)
    return text, wrapped.cost


def measure(lanes: int, *, ecc: bool) -> Timing:
    """Run the RTL.

    Latency to the prediction is watched inside the core (in Amaranth's simulator); the decision's
    latency and the interval at the pins of the Verilated NIC.
    """
    nic = RtlNic(core_config(lanes, ecc=ecc, dsp="generic"))
    between, alone = interval(nic, _QPS)
    inner = replace(core_config(lanes, ecc=ecc, dsp="generic"), qps=4, sets=2)
    return Timing(stages(inner)[-1], alone, round(between))
