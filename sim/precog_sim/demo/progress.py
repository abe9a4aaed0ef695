"""Progress on the terminal: one bar a stage, and the wall time of each."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from precog_sim.report.data import Stage

__all__ = ["Bar", "Stages"]


class Bar:
    """The bar of the stage that runs."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Show `done` of `total`, and a note."""
        self._progress.update(self._task, completed=done, total=total, note=note)


class Stages:
    """Runs the stages one after the other.

    Attributes
    ----------
    done : list of Stage
        Those that have ended, with their wall times.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self.done: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[Bar]:
        """A stage: its bar while it runs, a line with its time when it has ended."""
        started = time.monotonic()
        columns = (
            TextColumn("{task.description:<46}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=self.console, transient=True) as progress:
            yield Bar(progress, progress.add_task(name, total=None, note=""))
        seconds = time.monotonic() - started
        self.done.append(Stage(name, seconds))
        self.console.print(f"{name:<46} {seconds:7.1f} s")
