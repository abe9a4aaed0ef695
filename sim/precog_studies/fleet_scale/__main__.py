"""``python -m precog_studies.fleet_scale``: traffic, convergence and memory of up to 10,000 cards.

The real records, stores and gossip of `precog_fleet` run on a simulated fabric. Writes
``fleet_scale.json``, and a page with ``--page``.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from precog_fleet.timing import Timing
from precog_sim.commit import commit_name
from precog_studies.fleet_scale.costs import Costs, measured
from precog_studies.fleet_scale.page import page
from precog_studies.fleet_scale.real import measured as ran
from precog_studies.fleet_scale.scenario import Course, course, memory, steady
from precog_studies.fleet_scale.simulation import Simulation
from precog_studies.fleet_scale.world import Fleet

__all__ = ["compare", "main", "whole"]

_SAMPLE = 3  # racks
_TIMES = Course()
_SHORT = Course(warm_up=20, steady=20)
_SLOW = Timing(report=10_000, ask=1000)  # what two cores do for fifty members, with TLS


def sampled(fleet: Fleet) -> tuple[int, ...]:
    """Racks of the sample: three, evenly apart."""
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
    simulation = Simulation(fleet, sampled(fleet), costs=costs)
    found = course(simulation, times)
    return {"fleet": asdict(fleet), "memory": memory(simulation)} | found


def against_real(fleet: Fleet, times: Course, costs: Costs) -> dict[str, Any]:
    """The same fleet on the real mesh and simulated, in one loop as the real one."""
    with tempfile.TemporaryDirectory(prefix="precog-scale-") as folder:
        real = ran(Path(folder) / "fleet", fleet, _SLOW, times.steady)
    simulation = Simulation(fleet, costs=costs, one_loop=True, timing=_SLOW)
    simulation.run(times.warm_up)
    simulated = steady(simulation, times.steady)
    found = {"fleet": asdict(fleet), "report_s": _SLOW.report / 1000, "ask_s": _SLOW.ask / 1000}
    return found | {"real": real, "simulated": simulated}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog_studies.fleet_scale", description=__doc__)
    parser.add_argument("--agents", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/fleet_scale"))
    parser.add_argument("--page", type=Path, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if min(asked.agents) < 100:
        parser.error(f"agents must be at least 100, not {min(asked.agents)}: racks have 32")
    costs = measured()
    seed = asked.seed
    said: dict[str, Any] = {
        "command": " ".join(["python -m precog_studies.fleet_scale", *given]),
        "commit": commit_name("sim", "sw"),
        "seed": seed,
        "costs": asdict(costs),
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    record = asked.out / "fleet_scale.json"
    small = Fleet(50, 10, 2, job=25, seed=seed)
    steps: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("real", lambda: against_real(small, _SHORT, costs)),
        ("sampling", lambda: compare(Fleet(200, 20, 4, seed=seed), _SHORT, costs)),
    ]
    for agents in asked.agents:
        fleet = Fleet(agents, 32, max(4, agents // 250), seed=seed)
        steps.append((str(agents), partial(whole, fleet, _TIMES, costs)))
    for name, step in steps:
        print(f"{name} ...", file=sys.stderr, flush=True)
        said[name] = step()
        record.write_text(json.dumps(said, indent=1, allow_nan=False) + "\n")
    if asked.page:
        asked.page.write_text(page(said, asked.agents, record.as_posix()))
    print(f"figures: {record}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
