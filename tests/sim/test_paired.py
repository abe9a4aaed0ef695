"""The report's first picture: an incast with prediction off and on, of few seeds."""

import pytest

from precog_sim.demo.paired import paired


def test_prediction_shortens_the_queue() -> None:
    heard: list[tuple[int, int]] = []
    said, off, on = paired(2, lambda done, runs: heard.append((done, runs)))
    assert heard == [(done, 8) for done in range(1, 9)]
    assert (said.senders, said.flow_kb, said.short_kb, said.load_percent) == (60, 500, 100, 30)
    assert said.level == 6  # 60 flows, rounded up to 64
    assert said.queue_mb.on.mean < 0.5 * said.queue_mb.off.mean
    assert said.p99_us.on.mean < 0.5 * said.p99_us.off.mean
    for pair in (said.queue_mb, said.p99_us, said.last_ms, said.short_ms):
        assert pair.gap.mean == pytest.approx(pair.on.mean - pair.off.mean)
        assert pair.off.n == pair.on.n == pair.gap.n == said.seeds == 2
    # 30 MB take 2.4 ms at 100 Gb/s, 6 MB 0.48 ms.
    assert min(said.last_ms.off.mean, said.last_ms.on.mean) > 2.4
    assert 0.48 < min(said.short_ms.off.mean, said.short_ms.on.mean) < 1.0
    for side in (off, on):
        assert side.t_us.min() > 0
        assert side.rtt_us.size >= 60
    # The last hop is where an incast's queue is: the picture shows the largest queue of the run.
    assert on.queue_mb.max() < 0.5 * off.queue_mb.max()
    assert off.queue_mb.max() == pytest.approx(said.queue_mb.off.mean, rel=0.1)


def test_one_seed_has_no_interval() -> None:
    with pytest.raises(ValueError, match="paired seeds must be at least 2, not 1"):
        paired(1, lambda done, runs: None)
