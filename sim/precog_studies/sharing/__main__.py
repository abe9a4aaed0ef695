"""``precog study sharing``: what shared statistics are worth to new flows.

Each figure is of paired seeds: the same flows with and without the fleet's word. Writes
``sharing.json``, and a page with ``--page``.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from rich.progress import Progress

from precog_sim.commit import commit_name
from precog_sim.network import estimate
from precog_sim.targets import new_file, new_folder
from precog_studies.record import finish, write_record
from precog_studies.sharing.cases import CASES, LAWS, STARTS, Case, Newcomers, measure
from precog_studies.sharing.page import page

__all__ = ["compare", "main"]


def compare(case: Case, law: str, start: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Figures of paired seeds: without the word, with it, and the difference with its interval."""
    pairs = [
        tuple(measure(case, law, STARTS[start], seed, told=told) for told in (False, True))
        for seed in seeds
    ]
    found: dict[str, Any] = {"case": case.name, "law": law, "start": start}
    for name in (field.name for field in fields(Newcomers)):
        without, told = ([getattr(run, name) for run in runs] for runs in zip(*pairs, strict=True))
        if any(map(math.isnan, without)):
            continue
        change = estimate([b - a for a, b in zip(without, told, strict=True)])
        found[name] = {
            "without": estimate(without).mean,
            "with": estimate(told).mean,
            "change": asdict(change),
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study sharing", description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", type=new_folder, default="build/sharing")
    parser.add_argument("--page", type=new_file, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"seeds must be at least 2, not {asked.seeds}: a difference has an interval")
    rows = []
    with Progress() as progress:
        task = progress.add_task("simulating", total=len(CASES) * len(LAWS) * len(STARTS))
        for case in CASES:
            for law in LAWS:
                for start in STARTS:
                    rows.append(compare(case, law, start, range(asked.seeds)))
                    progress.advance(task)
    said = {
        "command": " ".join(["precog study sharing", *given]),
        "commit": commit_name("sim", "models", "sw"),
        "seeds": asked.seeds,
        "rows": rows,
    }
    record = asked.out / "sharing.json"
    write_record(record, said)
    return finish(record, asked.page, lambda: page(said, record.as_posix()))


if __name__ == "__main__":
    raise SystemExit(main())
