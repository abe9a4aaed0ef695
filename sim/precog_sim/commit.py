"""The commit of the sources that made a figure."""

import subprocess
from pathlib import Path

__all__ = ["commit_name"]


def commit_name(*folders: str) -> str:
    """The commit at hand, with a + if one of `folders` (of the repository) differs from it."""

    def git(*command: str) -> str:
        here = Path(__file__).parent
        try:
            done = subprocess.run(["git", *command], capture_output=True, text=True, cwd=here)
        except FileNotFoundError:  # no git
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("+" if git("status", "--porcelain", *(f":/{f}" for f in folders)) else "")
