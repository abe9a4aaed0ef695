"""``precog study fleet-scale``: traffic, convergence and memory of up to 10,000 cards.

The real records, stores and gossip of `precog_fleet` run on a simulated fabric. Writes
``fleet_scale.json``, and a page with ``--page``.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from typing import Any

from precog_sim.commit import commit_name
from precog_sim.targets import new_file, new_folder
from precog_studies.fleet_scale.costs import measured
from precog_studies.fleet_scale.page import page
from precog_studies.fleet_scale.scenario import Course
from precog_studies.fleet_scale.steps import against_real, compare, whole
from precog_studies.fleet_scale.world import Fleet
from precog_studies.record import finish, write_record

__all__ = ["main"]

_Step = tuple[str, Callable[[], dict[str, Any]]]
_TIMES = {1000: Course(), 10_000: Course(cut=15.0, patience=20.0)}  # by the most agents
_SHORT = Course(warm_up=5, steady=10)
_REAL = Course(warm_up=10, steady=30)


def _done(steps: Sequence[_Step], workers: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Steps as they end, in processes of their own if there is more than one worker."""
    if workers < 2:
        yield from ((name, step()) for name, step in steps)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        under_way = {pool.submit(step): name for name, step in reversed(steps)}
        for future in as_completed(under_way):
            yield under_way[future], future.result()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study fleet-scale", description=__doc__)
    parser.add_argument("--agents", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--out", type=new_folder, default="build/fleet_scale")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if min(asked.agents) < 100:
        parser.error(f"agents must be at least 100, not {min(asked.agents)}: racks have 32")
    costs = measured()
    seed = asked.seed
    said: dict[str, Any] = {
        "command": " ".join(["precog study fleet-scale", *given]),
        "commit": commit_name("sim", "sw"),
        "seed": seed,
        "costs": asdict(costs),
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    record = asked.out / "fleet_scale.json"
    small = Fleet(50, 10, 2, job=25, seed=seed)
    steps: list[_Step] = [
        ("real", partial(against_real, small, _REAL, costs)),
        ("sampling", partial(compare, Fleet(200, 20, 4, seed=seed), _SHORT, costs)),
    ]
    for agents in asked.agents:
        fleet = Fleet(agents, 32, max(4, agents // 100), seed=seed)
        times = next((one for most, one in _TIMES.items() if agents <= most), Course(cut=15.0))
        steps.append((str(agents), partial(whole, fleet, times, costs)))
    for name, found in _done(steps, asked.workers):
        print(f"{name} is done", file=sys.stderr, flush=True)
        said[name] = found
        write_record(record, said)
    return finish(record, asked.page, lambda: page(said, asked.agents, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
