"""The skill monitor: who is better, the prediction or persistence."""

import numpy as np
import pytest

from precog_models.rate.skill import SKILL_STATE, skill_step
from precog_spec.contract import Algorithm, Flag

from .test_unit import config, fresh, parameters, step


def test_a_fresh_monitor_trusts_nothing() -> None:
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    assert not skill_step(state, 4000, True, 4000 << 8)


@pytest.mark.parametrize("rest", [0, 1])
def test_a_predictor_must_have_saved_an_rtt_of_error_and_a_quarter(rest: int) -> None:
    """By hand: persistence misses by 6000, three quarters are 4500; the RTT is 4000."""
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    skill_step(state, 10_000, True, (4500 << 8) + rest)
    assert skill_step(state, 4000, True, 0) == (rest == 0)


def test_a_source_that_turns_loses_what_it_had_won(seed: int) -> None:
    """After 200 right predictions: 40 inverted ones are the most that can be followed."""
    rng = np.random.default_rng(seed)
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    rtt = rng.integers(4000, 8000, 300).tolist()
    trusted = []
    for n, now in enumerate(rtt[:-1]):
        told = rtt[n + 1] if n < 200 else max(2 * now - rtt[n + 1], 0)
        trusted.append(skill_step(state, now, True, told << 8))
    assert all(trusted[20:200])
    assert not any(trusted[240:])


def test_errors_are_sums_that_decay() -> None:
    """By hand: the prediction was 100 ticks off, persistence 50, then 20 and 30."""
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    skill_step(state, 4000, True, 4150 << 8)
    assert not skill_step(state, 4050, True, 4100 << 8)
    assert state[3:].tolist() == [100 << 8, 50 << 8]
    assert not skill_step(state, 4080, False, 0)
    assert state[3] == (100 << 8) - ((100 << 8) >> 6) + (20 << 8)
    assert state[4] == (50 << 8) - ((50 << 8) >> 6) + (30 << 8)


def test_a_sample_without_prediction_judges_nothing() -> None:
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    skill_step(state, 4000, False, 123)
    assert not skill_step(state, 9000, True, 9000 << 8)
    assert state[3:].tolist() == [0, 0]


@pytest.mark.parametrize("error", [0, 40, 2000])
def test_against_the_mean_in_float(error: int, seed: int) -> None:
    """64 times the mean of a first-order filter, to the rounding of its 2000 steps."""
    rng = np.random.default_rng(seed)
    state = np.zeros(len(SKILL_STATE), dtype=np.int64)
    rtt = rng.integers(4000, 5000, 2000)
    predicted = np.maximum(0, np.append(rtt[1:], 4000) + rng.integers(-error, error + 1, 2000))
    missed = moved = 0.0
    for n in range(2000):
        if n:
            missed += (abs(int(rtt[n]) - int(predicted[n - 1])) - missed) / 64
            moved += (abs(int(rtt[n]) - int(rtt[n - 1])) - moved) / 64
        trusted = skill_step(state, int(rtt[n]), True, int(predicted[n]) << 8)
        # Each step drops less than one unit, which decays as the rest does: 64 in all.
        assert abs(state[3] - missed * 64 * 256) <= 64
        assert abs(state[4] - moved * 64 * 256) <= 64
        ahead = 0.75 * moved * 64 - missed * 64 - int(rtt[n])
        if abs(ahead) > 1:
            assert trusted == (ahead > 0)


def test_the_law_follows_the_better_one(seed: int) -> None:
    """A predictor that is off loses the queue pair, and a right one wins it back."""
    rng = np.random.default_rng(seed)
    rtt = rng.integers(4000, 5000, 1200).tolist()
    state, conf, par = fresh(), config(), parameters()
    uses = []
    for n, now in enumerate(rtt[:-1]):
        off = 3000 if 200 <= n < 500 else 0
        uses.append(step(state, conf, par, now, (rtt[n + 1] + off) << 8)[3])
    assert all(Flag.PREDICTED in flags for flags in uses[40:200])
    assert all(Flag.UNSKILLED in flags and Flag.PREDICTED not in flags for flags in uses[300:500])
    assert Flag.PREDICTED in uses[-1]
    off = parameters(skill_monitor=0)
    assert Flag.PREDICTED in step(state.copy(), conf, off, 4000, 9000 << 8)[3]


@pytest.mark.parametrize("held", [False, True])
def test_without_advice_the_base_law_decides(held: bool) -> None:
    pred = 9000 << 8 if held else None
    got = step(fresh(), config(), parameters(), 5500, pred, late=not held, held=held)
    base = step(fresh(), config(algorithm=Algorithm.PID), parameters(), 5500)
    assert got[:3] == base[:3]
    assert got[3] == {Flag.HELD, Flag.UNSKILLED} if held else {Flag.LATE}
