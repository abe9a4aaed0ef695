"""``precog study rivals``: laws of other authors from two flows to 256.

Writes ``rivals.json``, and a page with ``--page``.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.progress import Progress

from precog_sim.commit import commit_name
from precog_sim.network import estimate
from precog_studies.rivals.cases import CASES, LAWS, Figures, measure
from precog_studies.rivals.page import page

__all__ = ["judge", "main"]


def judge(law: str, case: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Means over the seeds, with the half widths of their 95 % intervals."""
    runs = [measure(law, case, seed) for seed in seeds]
    found: dict[str, Any] = {"law": law, "case": case}
    for name in (field.name for field in fields(Figures)):
        values = [getattr(run, name) for run in runs]
        found[name] = None if None in values else asdict(estimate(values))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0."""
    parser = argparse.ArgumentParser(prog="precog study rivals", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--law", action="append", help="as of precog sim fabric; often")
    parser.add_argument("--case", action="append", choices=list(CASES), help="often")
    parser.add_argument("--out", type=Path, default=Path("build/rivals"))
    parser.add_argument("--page", type=Path, help="where the page goes; by default nowhere")
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = parser.parse_args(given)
    if asked.seeds < 2:
        parser.error(f"seeds must be at least 2, not {asked.seeds}: a mean has an interval")
    laws, cases = asked.law or LAWS, asked.case or CASES
    rows = []
    with Progress() as progress:
        task = progress.add_task("simulating", total=len(laws) * len(cases))
        for case in cases:
            for law in laws:
                rows.append(judge(law, case, range(asked.seeds)))
                progress.advance(task)
    said = {
        "command": " ".join(["precog study rivals", *given]),
        "commit": commit_name("sim", "models"),
        "seeds": asked.seeds,
        "rows": rows,
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    record = asked.out / "rivals.json"
    record.write_text(json.dumps(said, indent=1, allow_nan=False) + "\n")
    if asked.page:
        asked.page.write_text(page(said, record.as_posix()))
    print(f"figures: {record}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
