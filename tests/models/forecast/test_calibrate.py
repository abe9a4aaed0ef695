"""Isotonic regression, and the score's table that it makes."""

import numpy as np
import pytest

from precog_models.forecast.calibrate import fit_knots, isotonic
from precog_models.predict.cps import check_knots, identity_knots, scores
from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY


def test_isotonic_by_hand() -> None:
    ones = np.ones(5)
    assert isotonic(np.array([1.0, 2, 3, 4, 5]), ones).tolist() == [1, 2, 3, 4, 5]
    assert isotonic(np.array([3.0, 1, 2, 5, 4]), ones).tolist() == [2, 2, 2, 4.5, 4.5]
    assert isotonic(np.array([4.0, 1.0]), np.array([1.0, 3.0])).tolist() == [1.75, 1.75]


def test_isotonic_is_the_nearest(seed: int) -> None:
    """No step of a rising sequence can be moved, alone or with its level, to come nearer."""
    rng = np.random.default_rng(seed)
    value, weight = rng.normal(size=40), rng.uniform(0.1, 3, 40)
    fitted = isotonic(value, weight)
    assert (np.diff(fitted) >= 0).all()
    for level in np.unique(fitted):
        at = fitted == level
        assert np.average(value[at], weights=weight[at]) == pytest.approx(level)
        # every beginning of a level lies at or above its mean: it cannot be split
        head = np.cumsum((value * weight)[at]) / np.cumsum(weight[at])
        assert head.min() >= level - 1e-9


def test_a_calibrated_model_needs_no_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    position = rng.integers(0, PROBABILITY.one + 1, 200_000)
    event = rng.random(len(position)) < position / PROBABILITY.one
    knots = check_knots(fit_knots(position, event))
    assert np.abs(knots - identity_knots()).max() < 0.15 * PROBABILITY.one
    flat = scores(knots, position) / 100
    assert abs(flat.mean() - event.mean()) < 0.01


def test_the_table_says_the_rate(seed: int) -> None:
    """Overconfident positions: where 0.1 and 0.9 are told, the rates are 0.3 and 0.6."""
    rng = np.random.default_rng(seed)
    low, high = round(0.1 * PROBABILITY.one), round(0.9 * PROBABILITY.one)
    position = np.repeat([low, high], 50_000)
    event = rng.random(100_000) < np.where(position == low, 0.3, 0.6)
    got = scores(fit_knots(position, event), np.array([low, high]))
    assert np.abs(got - 100 * np.array([event[:50_000].mean(), event[50_000:].mean()])).max() < 2


def test_without_data_it_is_the_identity() -> None:
    knots = fit_knots(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
    assert np.array_equal(knots, identity_knots())
    assert len(knots) == CALIBRATION_KNOTS


def test_refusals() -> None:
    with pytest.raises(ValueError, match="as many as events, not 1 and 2"):
        fit_knots(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=bool))
    with pytest.raises(ValueError, match=r"must lie in 0\.\.32768, not 40000\.\.40000"):
        fit_knots(np.array([40_000]), np.zeros(1, dtype=bool))
