"""Training: the same models whatever runs it, resumed where it stopped, better than the start."""

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from multiprocessing import active_children
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from precog_fleet import train as training
from precog_fleet.dataset import Dataset
from precog_fleet.errors import FleetError
from precog_fleet.fitting import crps_of
from precog_fleet.modelset import BASE, MANIFEST, ModelSet
from precog_fleet.runner import Here, Pool, Task
from precog_fleet.train import TRAINING, FleetRecipe, train
from precog_models.image import ModelImageError, pretrained

from .jobs import SMALL, dies_once

START = pretrained("queue-1rtt")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_training_gains_on_queues_that_the_start_has_not_seen(data: Dataset, trained: Path) -> None:
    models = ModelSet.load(trained)
    told = json.loads((trained / TRAINING).read_bytes())
    test = data.parts["test"]
    assert told["base_changed"]
    assert crps_of(models.base, test).mean() < 0.9 * crps_of(START, test).mean()
    assert len(told["queues"]) == len(data.queues) == 6
    assert len(models.heads) == sum(row[-1] for row in told["queues"])
    assert {row[3] > 20 for row in told["queues"]} == {True}
    for *queue, _, shared, own, kept in told["queues"]:
        assert kept == (own < shared) == (tuple(queue) in models.heads)
    assert told["digest"] == training.Manifest.parse(files(trained)[MANIFEST]).digest.hex()
    assert set(files(trained)) >= {BASE, MANIFEST, TRAINING}
    assert "work" not in files(trained)


class Stops:
    """A runner that ends after some tasks, as by a power cut."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.ran: list[str] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        for task in tasks:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            self.ran.append(task.name)
            yield task, task.function(*task.arguments)


def test_a_job_goes_on_where_it_stopped(data: Dataset, trained: Path, tmp_path: Path) -> None:
    names = []
    for after in (1, 2, 1):
        runner = Stops(after)
        with pytest.raises(KeyboardInterrupt):
            train(data, START, tmp_path, SMALL, runner)
        names += runner.ran
        assert not (tmp_path / MANIFEST).exists()
    last = Stops(9)
    train(data, START, tmp_path, SMALL, last)
    assert [*names, *last.ran] == ["round 0", "round 1", "shard-0", "shard-1", "shard-2"]
    assert files(tmp_path) == files(trained)


def test_another_job_starts_afresh(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(data, START, tmp_path, SMALL, Stops(2))
    other = Stops(9)
    train(data, START, tmp_path, replace(SMALL, seed=1, rounds=0), other)
    assert other.ran == ["shard-0", "shard-1", "shard-2"]
    assert ModelSet.load(tmp_path).base.crc32 == START.crc32


class Killing(Pool):
    """A pool whose first worker that comes to one task dies."""

    def __init__(self, workers: int, mark: Path) -> None:
        super().__init__(workers)
        self.mark = mark

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        changed = [
            Task(task.name, dies_once, (self.mark, *task.arguments))
            if task.name == "shard-1"
            else task
            for task in tasks
        ]
        return super().run(changed)


def test_neither_workers_nor_their_deaths_change_the_models(
    data: Dataset, trained: Path, tmp_path: Path
) -> None:
    runner = Killing(2, tmp_path / "mark")
    seen: list[tuple[int, int]] = []
    train(data, START, tmp_path / "out", SMALL, runner, lambda n, of, _: seen.append((n, of)))
    runner.close()
    assert runner.lost == 1
    assert files(tmp_path / "out") == files(trained)
    assert seen[:2] == [(1, 2), (2, 2)]
    assert {of for _, of in seen[2:]} == {3}


def test_a_task_that_kills_every_worker_ends_the_job() -> None:
    runner = Pool(1)
    # Many: the pool is found broken while tasks are still handed to it, or later.
    others = [Task(f"{n}", os.getpid, ()) for n in range(300)]
    with pytest.raises(FleetError, match=r"task .* was tried 3 times, and a worker died each time"):
        list(runner.run([Task("bad", os._exit, (9,)), *others]))
    assert runner.lost == 3
    with pytest.raises(ValueError, match="workers must be at least 1, not 0"):
        Pool(0)


@pytest.mark.parametrize("pause_s", [0.0, 0.5])
def test_workers_end_with_their_pool_at_once(
    pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that runs already while the executor still hands out its first task."""
    start = SpawnProcess.start

    def slow(process: SpawnProcess) -> None:
        start(process)
        time.sleep(pause_s)

    monkeypatch.setattr(SpawnProcess, "start", slow)
    runner = Pool(1)
    failed: list[BaseException] = []

    def job() -> None:
        try:
            list(runner.run([Task("long", time.sleep, (600,)), Task("next", time.sleep, (600,))]))
        except FleetError as error:
            failed.append(error)

    thread = threading.Thread(target=job)
    thread.start()
    while not active_children():
        time.sleep(0.01)
    began = time.monotonic()
    runner.close()
    thread.join(60)
    assert not thread.is_alive()
    assert time.monotonic() - began < 60
    assert [str(error) for error in failed] == ["workers were ended before their job was"]
    with pytest.raises(FleetError, match="workers were ended before their job was"):
        list(runner.run([Task("late", os.getpid, ())]))


def test_what_a_task_raises_is_the_job_s(data: Dataset, tmp_path: Path) -> None:
    task = Task("bad", int, ("x",))
    pool = Pool(1)
    with pytest.raises(ValueError, match="invalid literal"):
        list(pool.run([task]))
    pool.close()
    with pytest.raises(ModelImageError, match="a forecaster needs a queue head"):
        train(data, pretrained("rtt-incast"), tmp_path, SMALL, Here())


def test_a_folder_that_takes_no_files_is_refused_before_the_training(data: Dataset) -> None:
    with pytest.raises(OSError, match=r"Folder must take new files: .* '/proc'"):
        train(data, START, Path("/proc/x"), SMALL, Here())


@pytest.mark.parametrize(
    ("name", "value"), [("rounds", -1), ("shard", 0), ("least", 0), ("most", 0), ("seed", -1)]
)
def test_recipes_out_of_bounds(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least .*, not {value}"):
        FleetRecipe(**{name: value})
