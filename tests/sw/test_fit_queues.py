"""``precog model fit-queues``: traces in, an image for each queue that gains by it."""

import json
from pathlib import Path

import numpy as np
from tests.command_line import Run

from precog_models.data.queue_trace import QueueTrace, save_queue_traces
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import load, pretrained

_BASE = 4160


def _trace(seed: int, queues: int = 2, periods: int = 700) -> QueueTrace:
    """Queues that are filled every few base RTTs and then drain at a constant rate."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(queues):
        free = 0
        for start in range(0, periods * _BASE, 6 * _BASE):
            t = start + int(rng.integers(_BASE))
            size = int(rng.integers(8, 60)) * 1000
            rows.append((t, q, size))
            for k in range(size // 1000):
                free = max(free, t + 100 * k) + 1
                rows.append((free, q, -1000))
    rows.sort()
    t, queue, sizes = np.array(rows).T
    return QueueTrace(queue, t, sizes, queues, _BASE, periods * _BASE, "test", "none")


def test_every_queue_is_tuned(run: Run, tmp_path: Path, seed: int) -> None:
    save_queue_traces(tmp_path / "q.npz", [_trace(seed), _trace(seed + 1, queues=1)])
    arguments = [str(tmp_path / "q.npz"), "-o", str(tmp_path / "own"), "--updates", "12"]
    status, out, _ = run("model", "fit-queues", *arguments, "--batch", "8", "-j")
    assert status == 0
    told = json.loads(out)
    assert [(row["run"], row["queue"]) for row in told["queues"]] == [(0, 0), (0, 1), (1, 0)]
    base = pretrained("queue-1rtt")
    written = set()
    for row in told["queues"]:
        better = row["own_crps"] < row["shared_crps"]
        assert (row["image"] is not None) is better
        if better:
            image = load(row["image"])
            assert f"{image.crc32:#010x}" == row["crc32"]
            assert image.card["queue"] == {"run": row["run"], "queue": row["queue"]}
            assert Forecaster(image).settings.bin_edges == Forecaster(base).settings.bin_edges
            written.add(Path(row["image"]))
        else:
            assert row["crc32"] == f"{base.crc32:#010x}"
    assert set((tmp_path / "own").iterdir()) == written
    status, out, _ = run("model", "fit-queues", *arguments, "--batch", "8")
    assert status == 0
    assert f"{len(written)} of 3 queues have a model of their own" in out


def test_refusals(run: Run, tmp_path: Path) -> None:
    save_queue_traces(tmp_path / "q.npz", [_trace(0)])
    whole = [str(tmp_path / "q.npz"), "-o", str(tmp_path / "own")]
    status, _, err = run("model", "fit-queues", *whole, "--base", "rtt-incast")
    assert status == 2
    assert "a forecaster needs a queue head of 4 inputs, not a rtt head of 1" in err
    save_queue_traces(tmp_path / "q.npz", [_trace(0, periods=60)])
    status, _, err = run("model", "fit-queues", *whole)
    assert status == 2
    assert "windows to learn from and later ones to check" in err
    (tmp_path / "q.npz").write_bytes(b"?")
    status, _, err = run("model", "fit-queues", *whole)
    assert status == 2
    assert "must be a file of queue traces" in err
