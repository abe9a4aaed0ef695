"""``precog study hints``: what receivers that say N cost in lockstep's own cases.

Writes ``hints.json``, and a page with ``--page``. Every run is kept in ``runs`` by its key, so a
study that was cut off goes on where it was.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from precog_host.output import progress_bar
from precog_sim.commit import commit_name
from precog_sim.network import Hints
from precog_sim.targets import new_file, new_folder
from precog_studies.hints.judged import Row, compared
from precog_studies.hints.page import page
from precog_studies.laws.cases import CASES
from precog_studies.laws.kept import Run, done
from precog_studies.prediction.arms import ARMS, OFF
from precog_studies.prediction.guesses import LEAST
from precog_studies.record import finish, write_record

__all__ = ["ARMS_OF", "main"]

#: The laws, and what receivers say: without N, and with it.
ARMS_OF = (
    (ARMS[OFF].law, Hints()),
    (ARMS["echo"].law, Hints(echo=True, least=LEAST)),
)


def _said(row: Row) -> dict[str, Any]:
    return {"figure": row.figure, **asdict(row.ratio), "met": row.met, "sure": row.sure}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study hints", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fabric-seeds", type=int, default=10, help="of fat trees")
    parser.add_argument("--case", action="append", choices=list(CASES), help="often")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=new_folder, default="build/hints")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    for name in ("seeds", "fabric_seeds"):
        if getattr(asked, name) < 2:
            value = getattr(asked, name)
            parser.error(f"{name} must be at least 2, not {value}: a ratio has an interval")
    cases = asked.case or list(CASES)
    seeds = {
        case: range(asked.fabric_seeds if CASES[case].fabric else asked.seeds) for case in cases
    }
    runs = {
        case: [[Run(case, law, seed, hints) for seed in seeds[case]] for law, hints in ARMS_OF]
        for case in cases
    }
    with progress_bar("Hints") as report:
        every = [run for both in runs.values() for arm in both for run in arm]
        found = done(every, asked.out / "runs", workers=asked.jobs, report=report)
    said: dict[str, Any] = {
        "command": " ".join(["precog study hints", *given]),
        "commit": commit_name("sim", "models"),
        "seeds": asked.seeds,
        "fabric_seeds": asked.fabric_seeds,
        "least": LEAST,
        "cases": {},
    }
    for case, both in runs.items():
        before, after = ([found[run] for run in arm] for arm in both)
        rows = [_said(row) for row in compared(case, before, after)]
        said["cases"][case] = {"title": CASES[case].title, "rows": rows}
    record = asked.out / "hints.json"
    write_record(record, said)
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
