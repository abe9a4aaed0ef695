"""The parts of the study, each of which a process may do by itself."""

import gc
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from precog_fleet.timing import Timing
from precog_studies.fleet_scale.costs import Costs
from precog_studies.fleet_scale.real import measured
from precog_studies.fleet_scale.scenario import Course, course, memory, steady
from precog_studies.fleet_scale.simulation import Simulation
from precog_studies.fleet_scale.world import Fleet

__all__ = ["against_real", "compare", "whole"]

_SAMPLE = 2  # racks
_SLOW = Timing(report=10_000, ask=1000)  # what two cores do for fifty members, with TLS


def sampled(fleet: Fleet) -> tuple[int, ...]:
    """Racks of the sample: two, half the fleet apart."""
    return tuple(fleet.racks * (2 * n + 1) // (2 * _SAMPLE) for n in range(_SAMPLE))


def compare(fleet: Fleet, times: Course, costs: Costs) -> dict[str, Any]:
    """The same racks of a full run and of a sample."""
    racks = sampled(fleet)
    found: dict[str, Any] = {"fleet": asdict(fleet), "racks": list(racks)}
    for name, sample in (("full", None), ("sample", racks)):
        simulation = Simulation(fleet, sample, costs=costs)
        simulation.run(times.warm_up)
        found[name] = steady(simulation, times.steady, racks)
    return found


def whole(fleet: Fleet, times: Course, costs: Costs) -> dict[str, Any]:
    """All steps of a sample."""
    gc.disable()  # there are millions of dictionaries, and no circles to speak of
    simulation = Simulation(fleet, sampled(fleet), costs=costs)
    found = course(simulation, times)
    gc.enable()
    return {"fleet": asdict(fleet), "memory": memory(simulation)} | found


def against_real(fleet: Fleet, times: Course, costs: Costs) -> dict[str, Any]:
    """The same fleet on the real mesh and simulated, in one loop as the real one."""
    with tempfile.TemporaryDirectory(prefix="precog-scale-") as folder:
        real = measured(Path(folder) / "fleet", fleet, _SLOW, times.steady)
    simulation = Simulation(fleet, costs=costs, one_loop=True, timing=_SLOW)
    simulation.run(times.warm_up)
    simulated = steady(simulation, times.steady)
    found = {"fleet": asdict(fleet), "report_s": _SLOW.report / 1000, "ask_s": _SLOW.ask / 1000}
    return found | {"real": real, "simulated": simulated}
