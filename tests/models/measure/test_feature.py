"""Integer features against the exact rational law and the float law."""

from fractions import Fraction

import numpy as np
import pytest

from precog_models.measure.feature import feature_step, feature_stream
from precog_spec.contract import Fmt

SIGMAS = [0, 1, 13107, 32768, 65535]


def exact_step(srtt: int | None, rtt: int, sigma: int) -> tuple[int, Fraction]:
    """(2) and (3) on the rounded state: S in SRTT's format, K as a rational number of LSB."""
    fine = rtt << 8
    if srtt is None:
        new = fine
    else:
        new = (Fraction(sigma * fine + (65536 - sigma) * srtt, 65536) + Fraction(1, 2)).__floor__()
    return new, Fraction((fine - new) << 12, max(new, 1))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_state_is_exact_and_k_is_within_one_lsb(sigma: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    extremes = np.array([0, 1, 2, Fmt.RTT.max, Fmt.RTT.max - 1, 4096])
    rtts = np.concatenate(
        [
            rng.integers(4000, 9000, 500),
            rng.choice(extremes, 300),
            rng.integers(0, 1 << 24, 500),
            np.exp2(rng.uniform(0, 24, 500)).astype(np.int64) - 1,
        ]
    )
    srtts, ks = feature_stream(rtts, sigma)
    srtt: int | None = None
    for rtt, got_srtt, got_k in zip(rtts.tolist(), srtts.tolist(), ks.tolist(), strict=True):
        srtt, k = exact_step(srtt, rtt, sigma)
        assert got_srtt == srtt
        assert abs(got_k - min(k, Fraction(Fmt.X.max))) < 1


def test_first_sample_and_reset() -> None:
    state = np.zeros(2, dtype=np.int64)
    assert feature_step(state, 5000, 13107) == 0
    assert state.tolist() == [1, 5000 << 8]
    state[:] = 0
    assert feature_step(state, 7000, 13107) == 0
    assert state.tolist() == [1, 7000 << 8]


def test_k_of_an_idle_line_and_of_a_jump() -> None:
    state = np.zeros(2, dtype=np.int64)
    assert feature_step(state, 0, 13107) == 0  # S = 0 counts as 1 LSB
    assert feature_step(state, 0, 0) == 0
    assert feature_step(state, 1, 0) == Fmt.X.max
    state[:] = (1, 1 << 8)
    assert feature_step(state, Fmt.RTT.max, 0) == Fmt.X.max
    state[:] = (1, 1000 << 8)
    assert feature_step(state, 0, 0) == -Fmt.X.one


def test_float_law(seed: int) -> None:
    """Error of the integer features against (2) and (3) in float64 over a long sequence."""
    rng = np.random.default_rng(seed)
    rtts = (4200 + 3000 * rng.random(200_000) ** 4).astype(np.int64)
    srtts, ks = feature_stream(rtts, Fmt.SIGMA.from_float(0.2))
    sigma = Fmt.SIGMA.from_float(0.2) / Fmt.SIGMA.one
    state, error_s, error_k = float(rtts[0]), 0.0, 0.0
    for n, rtt in enumerate(rtts.tolist()):
        state += sigma * (rtt - state) if n else 0.0
        error_s = max(error_s, abs(srtts[n] / 256 - state))
        error_k = max(error_k, abs(ks[n] / 4096 - (rtt - state) / state))
    print(f"S: {error_s:.5f} ticks, K: {error_k * 4096:.3f} LSB")
    assert error_s < 2.5 / 256  # roundings of half an LSB, summed by 1 / sigma
    assert error_k < 0.6 / 4096
