"""Runs that are kept by a key of what is run and of the code that runs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from precog_fleet.runner import Task
from precog_net.laws import law, law_sources
from precog_sim.network import Hints, Programmed
from precog_studies.kept import kept, run_key
from precog_studies.laws.cases import CASES

__all__ = ["Run", "done"]

#: What figures depend on, in the packages; of the cards' laws the one that runs is added.
_CODE = (
    ("precog_sim", "network"),
    ("precog_net", ""),
    ("precog_studies", "laws/cases.py"),
    ("precog_studies", "rivals/cases.py"),
    ("precog_models", "rate/reference"),
    ("precog_spec", ""),
    ("precog_models", "rate/engine"),
    ("precog_models", "measure"),
    ("precog_models", "laws/compiler"),
    ("precog_models", "laws/language.py"),
    ("precog_models", "laws/library.py"),
)


@dataclass(frozen=True)
class Run:
    """A case under a law with a seed; receivers give `hints`."""

    case: str
    law: str
    seed: int
    hints: Hints = field(default_factory=Hints)

    @property
    def key(self) -> str:
        """Name of what it leaves."""
        what = f"{self.case} {self.law} {self.seed} {self.hints}"
        return run_key(_CODE, what.encode() + _own(self.law))


@cache
def _own(name: str) -> bytes:
    """The law's settings, and its file if it is one of the cards'."""
    made = law(name)
    text = law_sources(name)
    if isinstance(made, Programmed) and isinstance(made.module, str):
        text += (Path(str(files("precog_models"))) / f"laws/{made.module}.py").read_bytes()
    return text


def _measured(run: Run) -> dict[str, Any]:
    return dict(CASES[run.case].measure(run.law, run.seed, run.hints))


def done(
    runs: Sequence[Run],
    folder: Path,
    *,
    workers: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> dict[Run, dict[str, Any]]:
    """What every run leaves, from `folder` or made now and kept there.

    Raises
    ------
    ValueError
        A law is wrong; nothing has been run then.
    SimulationError, FleetError
        A run failed, or a worker died again and again; what ended before is kept.
    """
    tasks = {run.key: Task(run.key, _measured, (run,)) for run in runs}
    found = kept(tasks, folder, workers=workers, report=report)
    return {run: found[run.key] for run in runs}
