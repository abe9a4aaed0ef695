"""The integer control law against exact rationals and the float law."""

from fractions import Fraction

import numpy as np

from precog_models.rate.pid import pid_delta, pid_error
from precog_spec.contract import INVERSE_FRAC_BITS, MEAN_SAMPLES, Fmt, inverse_table

from . import exact_pid


def exact_error(value: int, target: int) -> Fraction:
    """(14) in ERR's LSB, not limited."""
    return (Fraction(value, target) - 1) * Fmt.ERR.one


def test_error_within_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = [1, 2, 255, 256, 1280000, 1 << 31, (1 << 32) - 1]
    targets += np.exp2(rng.uniform(0, 32, 1000)).astype(np.int64).tolist()
    for target in targets:
        for factor in (0.0, 0.3, 0.99, 1.0, 1.01, 2.0, 30.0, 32.99, 33.0, 40.0):
            value = min(round(target * factor), Fmt.SRTT.max)
            exact = min(exact_error(value, target), Fraction(Fmt.ERR.max))
            ratio = Fraction(value, target)
            bound = Fraction(51, 100) + ratio * Fraction(544, 10000)  # 2**-4.2
            if ratio >= 33 - Fraction(1, 1 << 10):
                bound += 4
            assert abs(pid_error(value, target) - exact) <= bound, (value, target)


def test_error_ends() -> None:
    assert pid_error(1000, 1000) == 0
    assert pid_error(0, 1000) == -Fmt.ERR.one
    assert pid_error(Fmt.SRTT.max, 1) == Fmt.ERR.max
    assert pid_error(0, 0) == Fmt.ERR.max


def test_mean_is_the_running_mean_for_256_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = np.zeros(3, dtype=np.int64)
    errors = rng.integers(-(1 << 14), 1 << 14, MEAN_SAMPLES)
    for n, error in enumerate(errors.tolist()):
        pid_delta(state, error, 0, 0, 0)
        mean = errors[: n + 1].mean()
        # 256 roundings of half an LSB, and 1/n to 16 bits.
        assert abs(state[1] / 256 - mean) < 1.5, n
    assert state[0] == MEAN_SAMPLES


def test_every_step_is_that_of_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(4):
        gains = rng.integers(Fmt.GAIN.min, Fmt.GAIN.max + 1, 3).tolist()
        law = exact_pid.Law(*(Fraction(gain, Fmt.GAIN.one) for gain in gains))
        state = np.zeros(3, dtype=np.int64)
        for n, error in enumerate(rng.integers(-(1 << 14), 1 << 14, MEAN_SAMPLES + 64).tolist()):
            delta = law.delta(Fraction(error, Fmt.ERR.one))
            assert Fraction(pid_delta(state, error, *gains), Fmt.DELTA.one) == delta, n
            assert Fraction(int(state[1]), 256 * Fmt.ERR.one) == law.mean, n


def test_each_inverse_is_the_nearest() -> None:
    table = inverse_table()
    assert len(table) == MEAN_SAMPLES
    for n, value in enumerate(table, 1):
        assert Fraction(value, 1 << INVERSE_FRAC_BITS) == exact_pid.inverse(n), n


def test_mean_forgets_after_256_samples() -> None:
    state = np.zeros(3, dtype=np.int64)
    for _ in range(MEAN_SAMPLES):
        pid_delta(state, 4096, 0, 0, 0)
    for _ in range(MEAN_SAMPLES):
        pid_delta(state, 0, 0, 0, 0)
    assert abs(state[1] / 256 - 4096 * (1 - 1 / 256) ** 256) < 1


def test_terms_one_by_one() -> None:
    one = Fmt.GAIN.one
    state = np.zeros(3, dtype=np.int64)
    assert pid_delta(state, 4096, one, 0, 0) == 1 << 16
    state[:] = 0
    assert pid_delta(state, 4096, 0, one, 0) == 1 << 16
    state[:] = 0
    assert pid_delta(state, 4096, 0, 0, one) == 0  # no derivative at the first sample
    assert pid_delta(state, 6144, 0, 0, one) == 1 << 15
    assert pid_delta(state, 2048, 0, 0, one) == -(1 << 16)


def test_derivative_is_limited() -> None:
    state = np.array([1, 0, Fmt.ERR.max], dtype=np.int64)
    assert pid_delta(state, -Fmt.ERR.one, 0, 0, 1) == (Fmt.ERR.min + 256) >> 9


def test_float_law(seed: int) -> None:
    """delta against (15)-(18) in float64, fed with the same e(t)."""
    rng = np.random.default_rng(seed)
    gains = [Fmt.GAIN.from_float(gain) for gain in (-0.358, -0.060, 0.040)]
    kp, ki, kd = (gain / Fmt.GAIN.one for gain in gains)
    worst = 0.0
    for _ in range(20):
        state = np.zeros(3, dtype=np.int64)
        mean, last = 0.0, None
        for n in range(MEAN_SAMPLES):
            error = int(rng.integers(-4096, 20000))
            e = error / Fmt.ERR.one
            mean += (e - mean) / (n + 1)
            delta = kp * e + ki * mean + kd * (0.0 if last is None else e - last)
            last = e
            got = pid_delta(state, error, *gains) / Fmt.DELTA.one
            worst = max(worst, abs(got - delta))
    print(f"largest error of delta: {worst * 65536:.2f} LSB of 2**-16")
    # The mean: 1.5 LSB of e and one more by the floor, times Ki; the sum: half an LSB.
    assert worst < 3 / 65536
