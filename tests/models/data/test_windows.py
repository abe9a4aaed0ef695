"""From the log of a send queue to windows: by hand, and against a profiler fed event by event."""

from pathlib import Path

import numpy as np
import pytest

from precog_models.data.queue_trace import (
    QueueTrace,
    load_queue_traces,
    profile,
    save_queue_traces,
)
from precog_models.data.windows import HORIZONS, INDEPENDENT, STEPS, Normaliser, make_windows
from precog_models.measure.profiler import Profiler
from precog_spec.contract import Fmt, QueueEvent

_BASE = 100


def _trace(seed: int, queues: int = 3, end: int = 10_000) -> QueueTrace:
    """Requests and departures at random; no queue sends what it has not."""
    rng = np.random.default_rng(seed)
    held = np.zeros(queues, dtype=np.int64)
    rows = []
    for t in np.sort(rng.integers(0, end, 3000)):
        q = int(rng.integers(queues))
        size = int(rng.integers(1, 5000))
        if held[q] and rng.random() < 0.6:
            size = -min(size, int(held[q]))
        held[q] += size
        rows.append((q, int(t), size))
    queue, times, sizes = np.array(rows).T
    return QueueTrace(queue, times, sizes, queues, _BASE, end, "test", "none", {"seed": seed})


def test_the_profile_is_the_profilers(seed: int) -> None:
    trace = _trace(seed)
    seen = profile(trace)
    card = Profiler(trace.queues)
    normaliser = Normaliser.fit(seen.signals)
    card.centers, card.gains = normaliser.centers, normaliser.gains
    n = 0
    for k in range(trace.end // _BASE):
        while n < len(trace.t) and trace.t[n] <= (k + 1) * _BASE:
            size = int(trace.size[n])
            kind = QueueEvent.ARRIVAL if size > 0 else QueueEvent.DEPARTURE
            card.observe(int(trace.queue[n]), kind, abs(size), int(trace.t[n]))
            n += 1
        for q in range(trace.queues):
            x = normaliser(seen.signals[q, k][None, None])[0, 0]
            assert tuple(x[:4].tolist()) == card.sample(q, (k + 1) * _BASE).x
            counts = card.read(q, clear=True)
            assert seen.highest[q, k] == counts["peak"]
            assert seen.requested[q, k] == counts["bytes_in"]
            assert seen.occupancy[q, k] == counts["occupancy"]


def test_windows_say_what_came_after(seed: int) -> None:
    trace = _trace(seed)
    seen = profile(trace)
    windows = make_windows([trace, trace], stride=1)
    half = len(windows) // 2
    assert (windows.run == np.repeat([0, 1], half)).all()
    assert not set(windows.block[:half]) & set(windows.block[half:])
    one = windows.select(windows.run == 0)
    rng = np.random.default_rng(seed)
    for q in range(trace.queues):
        mine = one.select(one.queue == q)
        first = int(np.argmax(seen.requested[q] > 0))
        # every window that fits, in order, from the first request on
        assert len(mine) == trace.end // _BASE - max(HORIZONS) - first - (STEPS - 1)
        n = int(rng.integers(len(mine)))
        at = first + STEPS - 1 + n
        assert np.array_equal(mine.signals[n], seen.signals[q, at - STEPS + 1 : at + 1])
        assert mine.now[n] == seen.occupancy[q, at]
        for column, h in enumerate(HORIZONS):
            assert mine.later[n, column] == seen.occupancy[q, at + h]
            assert mine.highest[n, column] == seen.highest[q, at + 1 : at + h + 1].max()
            assert mine.requested[n, column] == seen.requested[q, at + 1 : at + h + 1].sum()


def test_independent_windows_share_no_sample() -> None:
    assert STEPS + max(HORIZONS) <= INDEPENDENT


def test_the_normaliser_spreads_its_inputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signals = (2 ** rng.uniform(0, 30, (5000, 2, 4))).astype(np.int64)
    signals[:, :, 3] = 4096  # a constant input must not divide by zero
    x = Normaliser.fit(signals)(signals)[:, :, :4] / Fmt.X.one
    assert np.abs(x.mean(axis=(0, 1))).max() < 0.5
    assert np.abs(x.std(axis=(0, 1))[:3] - 3.0).max() < 0.2
    assert x.std(axis=(0, 1))[3] == 0


def test_a_file_gives_back_the_traces(tmp_path: Path, seed: int) -> None:
    traces = [_trace(seed), _trace(seed + 1, queues=1)]
    save_queue_traces(tmp_path / "q.npz", traces)
    for got, want in zip(load_queue_traces(tmp_path / "q.npz"), traces, strict=True):
        for name in ("queue", "t", "size"):
            assert np.array_equal(getattr(got, name), getattr(want, name))
        assert (got.queues, got.base_rtt, got.end, got.card) == (
            want.queues, want.base_rtt, want.end, want.card,
        )  # fmt: skip


def test_refusals(tmp_path: Path) -> None:
    z = np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match=r"must have one length, not \(2, 1, 2\)"):
        QueueTrace(z, z[:1], z, 1, 1, 1, "", "")
    with pytest.raises(ValueError, match=r"queue must be in 0\.\.0, not 0\.\.1"):
        QueueTrace(np.array([0, 1]), z, z, 1, 1, 1, "", "")
    with pytest.raises(ValueError, match="t must be >= 0 and never decrease"):
        QueueTrace(z, np.array([1, 0]), z, 1, 1, 1, "", "")
    with pytest.raises(ValueError, match="base_rtt must be positive, not 0"):
        QueueTrace(z, z, z, 1, 0, 1, "", "")
    with pytest.raises(ValueError, match="stride must be positive, not 0"):
        make_windows([_trace(0)], stride=0)
    short = _trace(0, end=_BASE * (INDEPENDENT - 1))
    with pytest.raises(ValueError, match="must last more than 12 base RTTs"):
        make_windows([short])
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"not a zip")
    with pytest.raises(ValueError, match="must be a file of queue traces"):
        load_queue_traces(bad)
