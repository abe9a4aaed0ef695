"""``precog study laws``: lockstep against HPCC, Swift and θ-PowerTCP.

Writes ``laws.json``, and a page with ``--page``. Every run is kept in ``runs`` by its key, so a
study that was cut off goes on where it was.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from precog_host.output import progress_bar
from precog_sim.commit import commit_name
from precog_sim.network import estimate
from precog_sim.targets import new_file, new_folder
from precog_studies.laws.cases import CASES
from precog_studies.laws.goals import HPCC, judged
from precog_studies.laws.kept import Run, done
from precog_studies.laws.page import page
from precog_studies.record import finish, write_record

__all__ = ["LAWS", "main"]

#: The first one is judged.
LAWS = ("card:lockstep", HPCC, "card:swift", "card:theta_powertcp")


def _told(case: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """A case's figures by law, and its goals."""
    ours = next(iter(runs))
    rows = [asdict(row) | {"met": row.met, "sure": row.sure} for row in judged(case, runs, ours)]
    found: dict[str, Any] = {"title": CASES[case].title, "tuned": CASES[case].tuned}
    found |= {"seeds": len(runs[ours]), "goals": rows}
    if not CASES[case].fabric:
        found["figures"] = {
            name: {key: asdict(estimate([run[key] for run in given])) for key in given[0]}
            for name, given in runs.items()
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study laws", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fabric-seeds", type=int, default=5, help="of fat trees")
    parser.add_argument("--case", action="append", choices=list(CASES), help="often")
    parser.add_argument("--ours", default=LAWS[0], help="the law that is judged")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=new_folder, default="build/laws")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    for name in ("seeds", "fabric_seeds"):
        if getattr(asked, name) < 2:
            value = getattr(asked, name)
            parser.error(f"{name} must be at least 2, not {value}: a mean has an interval")
    laws = (asked.ours, *(name for name in LAWS[1:] if name != asked.ours))
    cases = asked.case or list(CASES)
    seeds = {
        case: range(asked.fabric_seeds if CASES[case].fabric else asked.seeds) for case in cases
    }
    runs = [Run(case, name, seed) for case in cases for name in laws for seed in seeds[case]]
    with progress_bar("Laws") as report:
        found = done(runs, asked.out / "runs", workers=asked.jobs, report=report)
    said = {
        "command": " ".join(["precog study laws", *given]),
        "commit": commit_name("sim", "models"),
        "laws": list(laws),
        "cases": {
            case: _told(
                case, {n: [found[Run(case, n, seed)] for seed in seeds[case]] for n in laws}
            )
            for case in cases
        },
    }
    record = asked.out / "laws.json"
    write_record(record, said)
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
