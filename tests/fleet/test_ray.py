"""One training job on two local Ray nodes, one killed in the middle: the same models.

Slow, for a cluster starts and ends: it runs with a volume of 2 or more, as in `make soak`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.dataset import Dataset
from precog_fleet.errors import FleetError, MissingExtraError
from precog_fleet.runner import RayRunner, Task
from precog_fleet.train import train
from precog_models.image import pretrained

from .jobs import SMALL


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"ray must be installed: pip install 'precog\[ra"):
        RayRunner("local")


class _Killing:
    """Runs tasks on a cluster, and kills a node once the first head's shard is done."""

    def __init__(self, runner: RayRunner, kill: Any) -> None:
        self._runner = runner
        self._kill = kill

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        for task, result in self._runner.run(list(tasks)):
            yield task, result
            if task.name.startswith("shard") and self._kill is not None:
                self._kill()
                self._kill = None

    def close(self) -> None:
        """The cluster is the test's."""


def test_two_nodes_one_killed_in_the_middle(
    data: Dataset,
    trained: Path,
    tmp_path: Path,
    volume: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if volume < 2:
        pytest.skip("a Ray cluster is slow to start: only with --volume 2")
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    other = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    runner = RayRunner(cluster.address)
    try:
        assert len([node for node in ray.nodes() if node["Alive"]]) == 2
        killing = _Killing(runner, lambda: cluster.remove_node(other, allow_graceful=False))
        train(data, pretrained("queue-1rtt"), tmp_path, SMALL, killing)
        assert not other.any_processes_alive()
    finally:
        runner.close()
        cluster.shutdown()
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {path.name: path.read_bytes() for path in trained.iterdir()}


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://[::1]:9"])
def test_no_cluster_is_said_so(address: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(FleetError, match=r"Ray cluster .*:9 cannot be reached"):
        RayRunner(address)
