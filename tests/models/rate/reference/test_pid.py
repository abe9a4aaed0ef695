"""Float PID against the equations written out, and its presets."""

import math

import numpy as np
import pytest

from precog_models.rate.reference import preset_of
from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.pid import (
    PRESETS,
    Param,
    PidParams,
    State,
    pid_reset,
    pid_step,
)


def _new(params: PidParams, **keywords: float) -> tuple[np.ndarray, np.ndarray]:
    state = np.full((2, STATES), 7.0)  # a stale row: reset must clear it
    p = params.vector(**keywords)
    pid_reset(state, 1, p)
    return state, p


def _written_out(rtts: list[float], params: PidParams, rate: float) -> list[float]:
    """(14)-(20) as the thesis prints them, on a list."""
    rates, errors = [], []
    for rtt in rtts:
        errors.append((rtt - params.target_us) / params.target_us)
        change = errors[-1] - errors[-2] if len(errors) > 1 else 0.0
        step = params.kp * errors[-1] + params.ki * sum(errors) / len(errors) + params.kd * change
        rate *= 1 + min(max(step, params.step_min), params.step_max)
        rates.append(rate)
    return rates


def test_equals_the_equations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rtts = list(rng.uniform(4.0, 14.0, 200))
    params = PidParams()
    state, p = _new(params)
    rate, got = 10e9, []
    for n, rtt in enumerate(rtts):
        rate = pid_step(state, 1, p, rtt, rtt, n * 5.0, rate)
        got.append(rate)
    np.testing.assert_allclose(got, _written_out(rtts, params, 10e9), rtol=1e-9)


def test_stored_first_sample_makes_no_step_and_leaves_zero_as_last_error() -> None:
    params = PRESETS["thesis"]
    state, p = _new(params)
    assert pid_step(state, 1, p, 4.4, 4.4, 0.0, 10e9) == 10e9
    error = (9.0 - 5.0) / 5.0
    step = (params.kp + params.ki + params.kd) * error
    assert pid_step(state, 1, p, 9.0, 9.0, 9.0, 10e9) == pytest.approx(10e9 * (1 + step))


@pytest.mark.parametrize(("rtt", "factor"), [(100.0, 0.4), (1e-9, 1.5)])
def test_clamp(rtt: float, factor: float) -> None:
    state, p = _new(PidParams(kp=-2.0, ki=0.0, kd=0.0))
    assert pid_step(state, 1, p, rtt, rtt, 0.0, 10e9) == pytest.approx(10e9 * factor)


def test_whole_bits_are_cut_off() -> None:
    state, p = _new(PidParams(), whole_bps=True)
    new = pid_step(state, 1, p, 7.3, 7.3, 0.0, 1234567891.0)
    exact = _written_out([7.3], PidParams(), 1234567891.0)[0]
    assert new == math.floor(exact)
    assert new != exact


def test_prediction_steers_and_measurement_adjusts() -> None:
    params = PidParams(adjuster="thesis")
    state, p = _new(params)
    pid_step(state, 1, p, 6.0, 5.0, 0.0, 10e9)  # predicted exactly the target
    assert state[1, State.STEP] == 0.0
    assert state[1, State.ADJUST_COUNT] == 1


def test_thesis_adjuster_fires_above_six_and_only_ever_raises() -> None:
    state, p = _new(PidParams(adjuster="thesis"))
    for n in range(6):
        pid_step(state, 1, p, 6.0, 6.0, n * 6.0, 10e9)
        assert state[1, State.TARGET_US] == 5.0
    pid_step(state, 1, p, 6.0, 6.0, 36.0, 10e9)
    assert state[1, State.TARGET_US] == pytest.approx(6.0)  # + mean deviation of 1 us
    for n in range(50):
        pid_step(state, 1, p, 4.2, 4.2, 50.0 + n, 10e9)
    assert state[1, State.TARGET_US] == pytest.approx(6.0)


def test_precog_adjuster_moves_both_ways_within_its_bounds() -> None:
    state, p = _new(PidParams(target_us=None, budget_us=0.8, adjuster="precog"))
    pid_step(state, 1, p, 4.0, 4.0, 0.0, 10e9)
    assert state[1, State.TARGET_US] == pytest.approx(4.8)
    for n in range(200):
        pid_step(state, 1, p, 50.0, 50.0, float(n), 10e9)
    assert state[1, State.TARGET_US] == pytest.approx(12.0)  # 3 x base
    for n in range(200):
        pid_step(state, 1, p, 4.0, 4.0, 200.0 + n, 10e9)
    assert state[1, State.TARGET_US] == pytest.approx(4.2)  # base + 0.2


def test_base_rtt_forgets_after_two_windows() -> None:
    state, p = _new(PidParams(target_us=None, base_window_us=100.0))
    for t, rtt in ((0.0, 4.0), (50.0, 6.0), (120.0, 7.0), (150.0, 8.0)):
        pid_step(state, 1, p, rtt, rtt, t, 10e9)
        assert state[1, State.BASE_US] == 4.0
    pid_step(state, 1, p, 9.0, 9.0, 230.0, 10e9)
    assert state[1, State.BASE_US] == 7.0


def test_training_is_one_gradient_step_on_the_next_sample() -> None:
    params = PidParams(train=True, kp=-0.2, ki=-0.05, kd=0.1)
    state, p = _new(params)
    pid_step(state, 1, p, 5.001, 5.001, 0.0, 1e9)  # out = (0.0002, 0.0002, 0) at 1 Gb/s
    np.testing.assert_array_equal(state[1, State.KP : State.KD + 1], [-0.2, -0.05, 0.1])
    pid_step(state, 1, p, 5.5, 5.5, 5.0, 1e9)
    slope = (5.5 - 5.0) * 1.0 * 1.0
    gradient = slope * np.array([0.0002, 0.0002, 0.0])
    want = np.array([-0.2, -0.05, 0.1]) - 0.01 / math.sqrt(1) * gradient
    np.testing.assert_allclose(state[1, State.KP : State.KD + 1], want, rtol=1e-6)


def test_training_clips_the_gradient() -> None:
    state, p = _new(PidParams(train=True, kp=-0.2, ki=-0.05, kd=0.1))
    pid_step(state, 1, p, 15.0, 15.0, 0.0, 50e9)
    pid_step(state, 1, p, 15.0, 15.0, 5.0, 50e9)
    assert state[1, State.KP] == pytest.approx(-0.2 - 0.01 * 0.1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target_us": 0.0}, "target_us must be positive, not 0.0"),
        ({"step_min": -1.0}, "step clamp must satisfy"),
        ({"adjuster": "up"}, "adjuster must be one of off, thesis, precog, not 'up'"),
        ({"first": "skip"}, "first must be use or store, not 'skip'"),
    ],
)
def test_bad_parameters(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PidParams(**fields)  # type: ignore[arg-type]


def test_nan_parameter() -> None:
    with pytest.raises(ValueError, match="kp must be a finite number, not nan"):
        PidParams(kp=math.nan).vector()


def test_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"pid preset must be one of precog, precog-rttch, thesis.*not 'best'"
    ):
        preset_of("pid", PRESETS, "best")


def test_thesis_preset_is_the_thesis() -> None:
    p = PRESETS["thesis"].vector()
    assert (p[Param.KP], p[Param.KI], p[Param.KD]) == (-0.358, -0.060, 0.040)
    assert (p[Param.STEP_MIN], p[Param.STEP_MAX], p[Param.TARGET_US]) == (-0.6, 0.5, 5.0)
