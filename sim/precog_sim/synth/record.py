"""The tables on disk: ``{"core": [...], "packet": [...], "rate": [...]}``, a line each."""

import json
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["TABLES", "commit_name", "update"]

#: Table: the fields that name one of its lines.
TABLES = {"core": ("block", "lanes"), "packet": ("block", "width"), "rate": ("block", "qps")}


def update(path: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Put `rows` into the tables at `path`; lines that are not among them stay as they were."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    tables = {}
    for table, names in TABLES.items():
        lines = [*kept.get(table, []), *rows.get(table, [])]
        by_name = {tuple(line[name] for name in names): line for line in lines}
        tables[table] = [by_name[key] for key in sorted(by_name)]
    path.write_text(json.dumps(tables, indent=1) + "\n")


def commit_name() -> str:
    """The commit that was synthesised, marked if the gateware differs from it."""

    def git(*command: str) -> str:
        done = subprocess.run(["git", *command], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("+" if git("status", "--porcelain", "hw", "models") else "")
