"""The score: tails, positions and calibration against exact rationals."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from precog_models.predict.cps import (
    calibrated,
    check_knots,
    identity_knots,
    rtt_positions,
    score,
    scores,
    tails,
)
from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY, Fmt

ONE = PROBABILITY.one
STEP = ONE // (CALIBRATION_KNOTS - 1)


def knots(rng: np.random.Generator) -> np.ndarray:
    """A table that never falls, with steps and flat stretches."""
    values = np.sort(rng.integers(0, ONE + 1, CALIBRATION_KNOTS))
    return np.asarray(np.where(rng.random() < 0.5, values, values // STEP * STEP))


def test_identity_rounds_to_the_nearest_percent() -> None:
    positions = np.arange(ONE + 1)
    got = scores(identity_knots(), positions)
    want = [floor(Fraction(100 * int(n), ONE) + Fraction(1, 2)) for n in positions]
    assert got.tolist() == want
    assert (got[0], got[-1]) == (0, 100)


def test_interpolation_is_exact_and_monotone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        table = knots(rng)
        positions = np.sort(rng.integers(0, ONE + 1, 2000))
        values = [calibrated(table, n) for n in positions.tolist()]
        for n, value in zip(positions.tolist(), values, strict=True):
            at, x = divmod(n, STEP)
            rise = 0 if x == 0 else Fraction(int(table[at + 1] - table[at]) * x, STEP)
            assert value == floor(int(table[at]) + rise + Fraction(1, 2))
        assert (np.diff(values) >= 0).all()
        assert scores(table, positions).tolist() == [
            floor(Fraction(100 * v, ONE) + Fraction(1, 2)) for v in values
        ]


def test_ends_are_the_tables(seed: int) -> None:
    table = knots(np.random.default_rng(seed))
    assert calibrated(table, 0) == table[0]
    assert calibrated(table, ONE) == table[-1]
    assert score(np.zeros(CALIBRATION_KNOTS, dtype=np.int64), ONE) == 0


def test_tails(seed: int) -> None:
    p = np.random.default_rng(seed).integers(0, 2048, (500, 16))
    for threshold in range(16):
        assert tails(p, threshold).tolist() == p[:, threshold:].sum(axis=1).tolist()


def test_rtt_positions_against_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for budget in (1, 2, 999, 2000, 65_536, Fmt.RTT.max):
        base = rng.integers(0, 1 << 24, 500) >> rng.integers(0, 24, 500)
        near = (base << 8) + rng.integers(-3, 3 * (budget << 8), 500)
        predicted = np.where(rng.random(500) < 0.8, near, rng.integers(0, 1 << 32, 500))
        predicted = np.clip(predicted, 0, Fmt.SRTT.max)
        got = rtt_positions(predicted, base, budget)
        for s, b, position in zip(predicted.tolist(), base.tolist(), got.tolist(), strict=True):
            delay = max(Fraction(s, 256) - b, Fraction(0))
            assert position == min(floor(delay / budget * (1 << 14)), ONE)
    assert rtt_positions(np.array([6000 << 8]), np.array([5000]), 1000).tolist() == [1 << 14]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(64, dtype=int), r"knots must be 65 numbers, not shape \(64,\)"),
        (np.zeros(65), "knots must be integers, not float64"),
        (np.full(65, ONE + 1), r"knots must lie in 0\.\.32768, not 32769\.\.32769"),
        (np.array([0, 5, 4, *[9] * 62]), "knots must not fall, but 4 follows 5 at 1"),
    ],
)
def test_bad_tables(values: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_knots(values)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"positions must lie in 0\.\.32768"):
        scores(identity_knots(), np.array([ONE + 1]))
    with pytest.raises(ValueError, match=r"threshold bin must be in 0\.\.15, not 16"):
        tails(np.zeros((1, 16), dtype=np.int64), 16)
    with pytest.raises(ValueError, match=r"p must have shape \(n, 16\)"):
        tails(np.zeros((1, 8), dtype=np.int64), 1)
    with pytest.raises(ValueError, match=r"budget must be in 1\.\.16777215 ticks, not 0"):
        rtt_positions(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), 0)
    with pytest.raises(ValueError, match="predicted and base must have one shape"):
        rtt_positions(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), 1)
