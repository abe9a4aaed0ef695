"""``python -m precog_sim.coverage``: sums up what a test run with coverage has left.

Writes ``summary.json`` (every module, its points, and the lines of those that were never passed)
and ``coverage.md``, the table per module.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from precog_sim.rtl.verilate import BUILD_ROOT
from precog_sim.targets import new_folder

from .points import Module, distinct, merged

__all__ = ["main", "summary", "table"]

GOAL = 0.95


def summary(modules: list[Module]) -> dict[str, Any]:
    """Points, covered points and what is missing, per module and in all.

    Texts of one module that differ between configurations in more than numbered names are added up.
    """
    rows: dict[str, dict[str, Any]] = {}
    for module in distinct(modules):
        if not module.counts:
            continue
        row = rows.setdefault(module.name, {"points": 0, "covered": 0, "missing": []})
        row["points"] += len(module.counts)
        row["covered"] += module.covered
        row["missing"] += [
            f"{line}: {branch}: {module.lines[line - 1].strip()}"
            for (line, _, branch), count in sorted(module.counts.items())
            if not count
        ]
    total = {key: sum(row[key] for row in rows.values()) for key in ("points", "covered")}
    return {"total": total, "goal": GOAL, "modules": rows}


def table(said: dict[str, Any]) -> str:
    """Markdown: modules below the goal first, then all others."""
    rows = sorted(said["modules"].items(), key=lambda item: (_share(item[1]) >= GOAL, item[0]))
    lines = ["| module | points | covered | |", "| --- | ---: | ---: | ---: |"]
    for name, row in (("**all**", said["total"]), *rows):
        lines.append(f"| {name} | {row['points']} | {row['covered']} | {_share(row):.1%} |")
    return "\n".join([*lines, ""])


def _share(row: dict[str, Any]) -> float:
    return float(row["covered"] / row["points"])


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="precog_sim.coverage", description=__doc__)
    parser.add_argument("counts", type=Path, help="folder that PRECOG_COVERAGE named")
    parser.add_argument("--out", type=new_folder, default="build/coverage")
    arguments = parser.parse_args()
    said = summary(merged(arguments.counts, BUILD_ROOT))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "summary.json").write_text(json.dumps(said, indent=1) + "\n")
    (arguments.out / "coverage.md").write_text(table(said))
    total, below = said["total"], [n for n, r in said["modules"].items() if _share(r) < GOAL]
    print(f"{total['covered']} of {total['points']} points, {_share(total):.1%}")
    print(f"{len(said['modules'])} modules, {len(below)} below {GOAL:.0%}: {', '.join(below)}")


if __name__ == "__main__":
    main()
