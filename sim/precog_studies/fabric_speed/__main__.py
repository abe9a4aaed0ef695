"""``precog study fabric-speed``: how fast and how large the network simulator is.

Parts, each with the command and the commit that made it: ``hosts`` (16 to 2,048), ``timings``
(320 hosts, exact on one thread and on two, and ns3), ``cores`` (320 and 2,048 hosts on one thread
and as many as the machine has processors), ``senders`` (20 to 500 long flows into one port),
``ns3`` (the same flows there, with ``--ns3 PYTHON``, an interpreter that has the package ns3),
``rings`` (an all-reduce alone, and under each law with web search; a run whose result is there is
not done again). Writes ``fabric_speed.json``, which keeps the parts that were not asked for, and a
page with ``--page``.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from precog_host.output import progress_bar
from precog_net.laws import NAMES, RIVALS
from precog_sim.commit import commit_name
from precog_sim.targets import new_file, new_folder
from precog_studies.fabric_speed import cases, rings, rival
from precog_studies.fabric_speed.machine import processor, processors
from precog_studies.fabric_speed.page import page, picture
from precog_studies.kept import kept
from precog_studies.record import finish, write_record

__all__ = ["PARTS", "main"]

_HOST_MS = 640.0  # hosts x milliseconds of a run: some 20 million events
_SENDER_MS = 10.0
_TIMINGS = (320, 10.0)
_CORES = ((320, 10.0), (2048, 1.0))
_THREADS = (1, 2, 4, 8, 16, 32)
_MANNERS = (("exact", 1), ("exact", 2), ("ns3", 1))  # timing, threads
#: `pid` has a target for one switch, and needs seconds here.
_LAWS = (*sorted(set(NAMES) - {"fixed", "pid"}), *sorted(RIVALS), "card:lockstep")
_LOAD = 0.3
_NS3 = (20, 10_000)  # flows, packets of each


def _costs(kind: str, counts: Sequence[int], ms: Callable[[int], float]) -> list[dict[str, Any]]:
    rows = []
    for count in counts:
        found = cases.measured(kind, count, ms(count), "hpcc")
        rows.append({kind: count, "ms": ms(count), **asdict(found)})
        print(
            f"{kind} {count}: {found.events_per_s / 1e6:.1f} M events/s, {found.memory_mb:.0f} MB",
            file=sys.stderr,
        )
    return rows


def _hosts(asked: argparse.Namespace) -> Any:
    return _costs("fabric", cases.HOSTS, lambda count: _HOST_MS * asked.scale / count)


def _senders(asked: argparse.Namespace) -> Any:
    return _costs("senders", cases.SENDERS, lambda _: _SENDER_MS * asked.scale)


def _timings(asked: argparse.Namespace) -> Any:
    hosts, ms = _TIMINGS
    runs: dict[tuple[str, int], list[cases.Cost]] = {key: [] for key in _MANNERS}
    for _ in range(asked.rounds):
        for (timing, threads), some in runs.items():  # in turns: the machine's speed changes
            some.append(cases.measured("fabric", hosts, ms * asked.scale, "hpcc", timing, threads))
    return {
        timing if threads == 1 else f"{timing}, {threads} threads": {
            "hosts": hosts,
            "ms": ms * asked.scale,
            "events": some[0].events,
            "packets": some[0].packets,
            "cpu_s": [one.cpu_s for one in some],
            "median_cpu_s": median(one.cpu_s for one in some),
            "wall_s": [one.wall_s for one in some],
            "median_wall_s": median(one.wall_s for one in some),
            "memory_mb": some[0].memory_mb,
        }
        for (timing, threads), some in runs.items()
    }


def _cores(asked: argparse.Namespace) -> Any:
    counts = [n for n in _THREADS if n <= processors()]
    rows = []
    for hosts, ms in _CORES:
        runs: dict[int, list[cases.Cost]] = {threads: [] for threads in counts}
        for _ in range(asked.rounds):
            for threads, some in runs.items():
                some.append(
                    cases.measured("fabric", hosts, ms * asked.scale, "hpcc", "exact", threads)
                )
        if len({(one.events, one.packets) for some in runs.values() for one in some}) != 1:
            raise RuntimeError(f"runs of {hosts} hosts must be equal on any number of threads")
        rows += [
            {
                "hosts": hosts,
                "ms": ms * asked.scale,
                "threads": threads,
                "events": some[0].events,
                "cpu_s": median(one.cpu_s for one in some),
                "wall_s": median(one.wall_s for one in some),
            }
            for threads, some in runs.items()
        ]
    return {"processor": processor(), "processors": processors(), "runs": rows}


def _ns3(asked: argparse.Namespace) -> Any:
    reason = rival.why_not(asked.ns3)
    if reason:
        print(f"ns-3 is skipped: {reason}", file=sys.stderr)
        return {"skipped": reason}
    flows, packets = _NS3
    return rival.compare(asked.ns3, flows, max(round(packets * asked.scale), 1), asked.rounds)


def _rings(asked: argparse.Namespace) -> Any:
    ring = rings.Ring(size=round(100_000_000 * asked.scale))
    laws = asked.law or _LAWS
    runs = rings.tasks(ring, laws, _LOAD, asked.seeds)
    with progress_bar("Rings") as report:
        done = kept(
            {task.name: task for task in runs.values()},
            asked.runs,
            workers=asked.jobs,
            report=report,
        )
    found = {
        law: rings.judged(
            *(
                [done[runs[law, load, seed].name] for seed in range(asked.seeds)]
                for load in (0, _LOAD)
            )
        )
        for law in laws
    }
    return {
        **asdict(ring),
        "closed_form_us": rings.closed_form_us(ring),
        "alone_us": rings.alone(ring),
        "load": _LOAD,
        "seeds": asked.seeds,
        "laws": found,
    }


#: What the study has, in the page's order.
PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "timings": _timings,
    "cores": _cores,
    "hosts": _hosts,
    "senders": _senders,
    "ns3": _ns3,
    "rings": _rings,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study fabric-speed", description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--ns3", default="", help="an interpreter that has the package ns3")
    parser.add_argument("--rounds", type=int, default=3, help="of runs that take turns")
    parser.add_argument("--seeds", type=int, default=3, help="of rings")
    parser.add_argument("--law", action="append", choices=_LAWS, help="of rings; often")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of rings")
    parser.add_argument(
        "--runs", type=new_folder, default="build/fabric_speed", help="kept results"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="shorter runs: below 1")
    parser.add_argument("--out", type=new_folder, default="build/fabric_speed")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    for name, least in (("rounds", 1), ("seeds", 2), ("jobs", 1)):
        if getattr(asked, name) < least:
            parser.error(f"{name} must be at least {least}, not {getattr(asked, name)}")
    if not 0 < asked.scale <= 1:
        parser.error(f"scale must be above 0 and at most 1, not {asked.scale:g}")
    asked.out.mkdir(parents=True, exist_ok=True)
    record = asked.out / "fabric_speed.json"
    said = json.loads(record.read_text()) if record.is_file() else {}
    for part in asked.parts:
        said[part] = {
            "command": " ".join(["precog study fabric-speed", *given]),
            "commit": commit_name("sim", "models"),
            "cores": os.cpu_count(),
            "found": PARTS[part](asked),
        }
        write_record(record, said)
    if "hosts" in said and "senders" in said:
        picture(said, record.with_suffix(".svg"))
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
