"""``precog study figure20``: the thesis' figure 20, ordinary flows with incasts.

Facebook's sizes at 30 % load and incasts of 60 flows of 500 KB at 2 %, on 320 hosts; each law over
the same seeds. A run whose result is there is not done again. Writes ``figure20.json`` and
``figure20.svg``, and a page with ``--page``.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from precog_host.output import progress_bar
from precog_net.campaign import run_all
from precog_net.job import Job, Outcome
from precog_sim.commit import commit_name
from precog_sim.report.figures.figure20 import HEIGHT_PX, draw
from precog_sim.report.figures.style import save
from precog_sim.report.studies import Figure20
from precog_sim.targets import new_file, new_folder
from precog_studies.figure20.laws import LAWS
from precog_studies.figure20.measure import bounds, claims, figures
from precog_studies.figure20.page import page
from precog_studies.record import finish, write_record

__all__ = ["main", "record"]

_TOPOLOGY = "fat320"
_WORKLOAD = "hadoop:0.3+incast:60x500k:0.02"
_STOP_MS = 400.0  # a flow of 10 MB at the least rate, 1 Gb/s, takes 84


def record(runs: dict[str, list[Outcome]]) -> dict[str, Any]:
    """The figures of all laws, each with a run a seed."""
    ends = bounds(next(iter(runs.values())))
    return {
        "sizes": ends,
        "laws": {
            name: {"label": LAWS[name][0], "law": LAWS[name][1], **figures(some, ends)}
            for name, some in runs.items()
        },
        "claims": claims(runs),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study figure20", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--duration-ms", type=float, default=10.0, help="of arrivals")
    parser.add_argument("--law", action="append", choices=list(LAWS), help="often")
    parser.add_argument("--topology", default=_TOPOLOGY, help="as of precog sim fabric")
    parser.add_argument("--workload", default=_WORKLOAD, help="as of precog sim fabric")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--runs", type=new_folder, default="build/figure20", help="kept results")
    parser.add_argument("--out", type=new_folder, default="build/figure20", help="folder")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"seeds must be at least 2, not {asked.seeds}: a mean has an interval")
    if asked.jobs < 1:
        parser.error(f"jobs must be at least 1, not {asked.jobs}")
    jobs = {
        (name, seed): Job(
            topology=asked.topology,
            workload=asked.workload,
            flows="",
            law=LAWS[name][1],
            seed=seed,
            duration_ms=asked.duration_ms,
            stop_ms=_STOP_MS,
        )
        for seed in range(asked.seeds)
        for name in asked.law or LAWS
    }
    with progress_bar("Figure 20") as report:
        done = run_all(list(jobs.values()), asked.runs, workers=asked.jobs, report=report)
    runs: dict[str, list[Outcome]] = {}
    for (name, _), job in jobs.items():
        runs.setdefault(name, []).append(done[job])
    said = {
        "command": " ".join(["precog study figure20", *given]),
        "commit": commit_name("sim", "models"),
        "topology": asked.topology,
        "workload": asked.workload,
        "seeds": asked.seeds,
        "duration_ms": asked.duration_ms,
        **record(runs),
    }
    path = asked.out / "figure20.json"
    write_record(path, said)
    save("figure20", draw(Figure20.of(said)), path.with_suffix(".svg"), HEIGHT_PX)
    return finish(path, asked.page, lambda: page(said, path.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
