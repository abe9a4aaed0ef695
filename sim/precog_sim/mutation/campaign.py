"""A block's mutants, each in a copy of the repository, before its tests and its proofs."""

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .blocks import Block
from .explained import explanation
from .operators import Change, changed, changes

__all__ = ["CampaignError", "Found", "campaign"]

_FOLDERS = ("hw", "models", "sim", "sw")
_FILES = ("pyproject.toml", "README.md", "docs", "tests")
_LONGEST_S = 900.0
_SLOWER = 6  # times the tests' own time, after which a mutant hangs


class CampaignError(RuntimeError):
    """The block itself does not pass."""


@dataclass(frozen=True)
class Found:
    """What became of one mutant.

    Attributes
    ----------
    block, file : str
    line : int
    kind : str
        The mistake.
    old, new : str
        The line or lines as they were, and as they are.
    by : str
        What noticed: a test, ``proof``, ``hangs``; empty if nothing did.
    why : str
        Why nothing can, if that is known.
    """

    block: str
    file: str
    line: int
    kind: str
    old: str
    new: str
    by: str
    why: str = ""

    @property
    def ok(self) -> bool:
        """It was noticed, or no one can notice it."""
        return bool(self.by or self.why)


def campaign(root: Path, tree: Path, block: Block, count: int, seed: int) -> Iterator[Found]:
    """Mutants of a block, drawn by the seed.

    Parameters
    ----------
    root : Path
        The repository.
    tree : Path
        Folder for the copy; it is made anew.
    block : Block
    count : int
        Mutants; all there are, if there are no more.
    seed : int

    Raises
    ------
    CampaignError
        The block's tests or proofs fail without a mistake.
    """
    _copy(root, tree)
    path = tree / block.file
    source = path.read_text()
    all_of_it = changes(source)
    rng = random.Random(f"{seed} {block.name}")
    drawn = sorted(rng.sample(all_of_it, min(count, len(all_of_it))), key=lambda one: one.start)
    noticed, seconds = _judged(tree, block, _LONGEST_S)
    if noticed:
        raise CampaignError(f"{block.name} must pass before it is changed, but {noticed}")
    for change in drawn:
        text = changed(source, change)
        old, new = _lines(source, text, change)
        path.write_text(text)
        by = _judged(tree, block, max(60.0, _SLOWER * seconds))[0]
        path.write_text(source)
        why = "" if by else explanation(block.file, old, new)
        yield Found(block.name, block.file, change.line, change.kind, old, new, by, why)


def _copy(root: Path, tree: Path) -> None:
    """What tests and proofs need of the repository."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in (*_FOLDERS, *_FILES):
        source = root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "build")
            shutil.copytree(source, tree / name, ignore=ignored)
        elif source.exists():
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / name)


def _lines(before: str, after: str, change: Change) -> tuple[str, str]:
    """The lines that a change concerns, as they were and as they are; short."""
    last = before.encode()[: change.end].decode().count("\n")
    old = before.splitlines()[change.line - 1 : last + 1]
    more = len(after.splitlines()) - len(before.splitlines())
    new = after.splitlines()[change.line - 1 : last + 1 + more]
    return " ".join(map(str.strip, old)), " ".join(map(str.strip, new))


def _judged(tree: Path, block: Block, limit: float) -> tuple[str, float]:
    """What noticed a mutant, and the tests' seconds."""
    began = time.monotonic()
    test = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *block.tests]
    text, code = _run(test, tree, limit)
    seconds = time.monotonic() - began
    if code is None:
        return "hangs", seconds
    if code:
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return (failed[1] if failed else "does not even load"), seconds
    if block.proofs:
        out = str(tree / "build" / "formal")
        # A proof's own mutants may no longer apply: only the proofs count.
        proof = [sys.executable, "-m", "precog_sim.formal", "--no-mutants", *block.proofs]
        text, code = _run([*proof, "--out", out], tree, _LONGEST_S)
        if code != 0:
            return "proof", seconds
    return "", seconds


def _run(command: list[str], tree: Path, limit: float) -> tuple[str, int | None]:
    """Output and status; without a status it ran too long."""
    path = os.pathsep.join(str(tree / folder) for folder in _FOLDERS)
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except subprocess.TimeoutExpired:
        return "", None
    return done.stdout + done.stderr, done.returncode
