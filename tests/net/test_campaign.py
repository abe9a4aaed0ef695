"""Many runs: on processes and on a Ray cluster the same results, and each is made once."""

import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.errors import FleetError, MissingExtraError
from precog_fleet.runner import Task
from precog_net import campaign
from precog_net.job import Job
from precog_net.laws import law


def jobs(*laws: str, seeds: int = 1) -> list[Job]:
    return [
        Job("star:hosts=5", "rpc:0.1", "", name, seed, duration_ms=0.05, stop_ms=10.0)
        for name in laws
        for seed in range(seeds)
    ]


class _Cut:
    """Runs tasks here, and is lost after the first ones."""

    def __init__(self, most: int) -> None:
        self.done: list[str] = []
        self._most = most

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        for task in tasks:
            if len(self.done) == self._most:
                raise FleetError("task was lost by Ray")
            self.done.append(task.name)
            yield task, task.function(*task.arguments)

    def close(self) -> None:
        """There are no workers."""


def test_a_campaign_that_was_cut_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes that came before the cluster was lost are kept, and not made again."""
    wanted = jobs("hpcc", "dctcp", seeds=2)
    lost = _Cut(3)
    monkeypatch.setattr(campaign, "RayRunner", lambda _address: lost)
    with pytest.raises(FleetError, match="lost by Ray"):
        campaign.run_all(wanted, tmp_path, workers=1, ray="head:6379")
    assert len(list(tmp_path.glob("*.parquet"))) == len(lost.done) == 3
    again = _Cut(9)
    monkeypatch.setattr(campaign, "RayRunner", lambda _address: again)
    told: list[tuple[int, int]] = []
    found = campaign.run_all(
        wanted, tmp_path, workers=1, ray="head:6379", report=lambda *n: told.append(n)
    )
    assert list(found) == wanted
    assert len(again.done) == 1
    assert not set(again.done) & set(lost.done)
    assert told == [(3, 4), (4, 4)]


def test_a_worker_with_other_sources_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A law that was edited since the key was made stands for a machine with another version."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    Path("edited_law.py").write_text("from precog_sim.network import Fixed\nmine = Fixed()\n")
    importlib.invalidate_caches()
    (job,) = jobs("edited_law:mine")
    law(job.law)
    key = job.key
    Path("edited_law.py").write_text("from precog_sim.network import Fixed\nmine = Fixed(9.0)\n")
    with pytest.raises(ValueError, match=r"must have the same Precog, and the same files .* not "):
        campaign._execute(job, key, 1)


def test_ray_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said before anything is made, and only if there is something to run."""
    wanted = jobs("hpcc")
    monkeypatch.setitem(sys.modules, "ray", None)
    folder = tmp_path / "runs"
    advice = r"ray must be installed: pip install 'precog\[ray\]'"
    with pytest.raises(MissingExtraError, match=advice):
        campaign.run_all(wanted, folder, workers=1, ray="local")
    assert not folder.exists()
    first = campaign.run_all(wanted, folder, workers=1)
    kept = campaign.run_all(wanted, folder, workers=1, ray="local")
    assert kept[wanted[0]].counts == first[wanted[0]].counts


def test_ray_gives_the_same_results(tmp_path: Path, volume: int) -> None:
    if volume < 2:
        pytest.skip("a Ray cluster is slow to start: only with --volume 2")
    pytest.importorskip("ray", reason="Ray is not installed")
    wanted = jobs("hpcc", "dctcp")
    one = campaign.run_all(wanted, tmp_path / "one", workers=1)
    ray = campaign.run_all(wanted, tmp_path / "ray", workers=1, ray="local")
    for job in wanted:
        assert one[job].flows["fct_us"].tolist() == ray[job].flows["fct_us"].tolist()
        a, b = ({**found[job].counts, "cpu_s": 0} for found in (one, ray))
        assert a == b
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert names == {path.name for path in (tmp_path / "ray").iterdir()}
