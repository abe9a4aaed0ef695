"""``precog study rivals``: laws of other authors and of cards, from two flows to a fat tree.

Writes ``rivals.json``, and a page with ``--page``. Runs of the fat tree whose result is there are
not done again; rows of the record that were not asked for stay as they are.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from precog_host.output import progress_bar
from precog_net.campaign import run_all
from precog_sim.commit import commit_name
from precog_sim.network import estimate
from precog_sim.targets import new_file, new_folder
from precog_studies.record import finish, write_record
from precog_studies.rivals.cases import CASES, LAWS, Figures, measure
from precog_studies.rivals.fabric import DURATION_MS, FABRICS, Slowdowns, job, slowdowns
from precog_studies.rivals.page import page

__all__ = ["judge", "main"]


def judge(law: str, case: str, runs: Sequence[Figures | Slowdowns]) -> dict[str, Any]:
    """Means over the seeds' runs, with the half widths of their 95 % intervals."""
    found: dict[str, Any] = {"law": law, "case": case}
    for name in (field.name for field in fields(runs[0])):
        values = [getattr(run, name) for run in runs]
        found[name] = None if None in values else asdict(estimate(values))
    return found


def _joined(record: Path, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the record that are not made anew, and the new ones, cases and laws in order."""
    kept = json.loads(record.read_text())["rows"] if record.is_file() else []
    found = {(row["case"], row["law"]): row for row in (*kept, *rows)}
    cases, laws = [*CASES, *FABRICS], list(dict.fromkeys([*LAWS, *(law for _, law in found)]))
    return [found[case, law] for case in cases for law in laws if (case, law) in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study rivals", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--law", action="append", help="as of precog sim fabric; often")
    parser.add_argument("--case", action="append", choices=[*CASES, *FABRICS], help="often")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of the fat tree's runs")
    parser.add_argument("--runs", type=new_folder, default="build/rivals", help="kept results")
    parser.add_argument("--out", type=new_folder, default="build/rivals")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"seeds must be at least 2, not {asked.seeds}: a mean has an interval")
    if asked.jobs < 1:
        parser.error(f"jobs must be at least 1, not {asked.jobs}")
    laws, cases = asked.law or LAWS, asked.case or [*CASES, *FABRICS]
    seeds = range(asked.seeds)
    commit = commit_name("sim", "models")
    record = asked.out / "rivals.json"
    places = [(case, law) for case in cases for law in laws]
    jobs = {
        (case, law, seed): job(law, case, seed)
        for case, law in places
        if case in FABRICS
        for seed in seeds
    }
    with progress_bar("Fat tree") as report:
        done = run_all(list(jobs.values()), asked.runs, workers=asked.jobs, report=report)
    rows = []
    with progress_bar("One switch") as report:
        for n, (case, law) in enumerate(places):
            report(n, len(places))
            if case in FABRICS:
                runs: list[Figures | Slowdowns] = [
                    slowdowns(done[jobs[case, law, seed]]) for seed in seeds
                ]
            else:
                runs = [measure(law, case, seed) for seed in seeds]
            told = {"commit": commit, "seeds": asked.seeds}
            rows.append({**judge(law, case, runs), **told})
    said = {
        "command": " ".join(["precog study rivals", *given]),
        "fabric_ms": DURATION_MS,
        "rows": _joined(record, rows),
    }
    write_record(record, said)
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
