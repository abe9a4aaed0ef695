"""The windowed minimum against its definition."""

import random

import numpy as np
import pytest

from precog_models.measure.base_rtt import base_step
from precog_spec.contract import BASE_NONE, Fmt

WRAP = Fmt.TIME.max + 1


def run(samples: list[tuple[int, int]], window: int) -> list[int]:
    state = np.zeros(4, dtype=np.int64)
    return [base_step(state, rtt, t % WRAP, window) for rtt, t in samples]


@pytest.mark.parametrize("start", [0, WRAP - 1500, WRAP // 2 - 700])
def test_minimum_of_the_last_one_to_two_windows(start: int, seed: int) -> None:
    """It is the minimum of some stretch that ends now and is one to two windows long."""
    rng = random.Random(seed)
    window, t, samples = 1000, start, []
    for _ in range(2000):
        t += rng.choice([1, 10, 100, 400])
        samples.append((rng.randrange(1000, 2000), t))
    for n, base in enumerate(run(samples, window)):
        now = samples[n][1]
        longest = [rtt for rtt, t in samples[: n + 1] if now - t < 2 * window]
        shortest = [rtt for rtt, t in samples[: n + 1] if now - t < window]
        assert min(longest) <= base <= min(shortest)


def test_forgets_after_two_windows_and_not_before_one() -> None:
    assert run([(10, 0), (90, 999)], 1000)[-1] == 10
    assert run([(10, 0), (90, 1000)], 1000)[-1] == 10
    assert run([(10, 0), (90, 2000)], 1000)[-1] == 90
    assert run([(10, 0), (80, 1500), (90, 2100)], 1000)[-1] == 80


def test_window_without_end() -> None:
    assert run([(10, 0), (90, 1 << 38), (95, 1 << 39)], 0) == [10, 10, 10]


def test_stamp_before_the_epoch_changes_nothing_but_the_minimum() -> None:
    assert run([(50, 5000), (60, 10), (40, 20)], 1000) == [50, 50, 40]


@pytest.mark.parametrize("pause", [1 << 33, (1 << 39) - 1, 1 << 39, WRAP - (1 << 32) - 1])
def test_a_pause_ends_all_epochs(pause: int) -> None:
    assert run([(50, 5000), (60, 5000 + pause), (70, 5100 + pause)], 1000) == [50, 60, 60]


def test_samples_may_be_out_of_order_by_a_window_at_most() -> None:
    assert run([(50, 0), (60, -(1 << 32))], 1000) == [50, 50]
    assert run([(50, 0), (60, -(1 << 32) - 1)], 1000) == [50, 60]


def test_first_sample_and_reset() -> None:
    state = np.zeros(4, dtype=np.int64)
    assert base_step(state, 70, 123, 1000) == 70
    assert state.tolist() == [1, 70, BASE_NONE, 123]
    state[:] = 0
    assert base_step(state, 90, 124, 1000) == 90
