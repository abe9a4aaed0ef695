"""Scores of forecasts against values worked out by hand, and what a bootstrap must do."""

import math
from typing import Any

import numpy as np
import pytest

from precog_models.forecast.metrics import (
    bootstrap,
    brier_skill,
    crps,
    event_calibration,
    pit,
    reliability,
    skill,
)


def test_crps_by_hand() -> None:
    p = np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    # cumulative (0.5, 0.75): against (1, 1), against (0, 0); a sure forecast that came
    assert crps(p, np.array([0, 2, 1])).tolist() == [0.25 + 0.0625, 0.25 + 0.5625, 0.0]


def test_crps_is_proper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, other = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    bins = np.arange(6)
    # the expectation under `truth`, not a draw of it
    own = float(truth @ crps(np.tile(truth, (6, 1)), bins))
    foreign = float(truth @ crps(np.tile(other, (6, 1)), bins))
    assert own <= foreign


def test_pit_lies_in_its_bin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(5), 200)
    y = rng.integers(0, 5, 200)
    u = pit(p, y, rng)
    above = np.cumsum(p, axis=1)[np.arange(200), y]
    assert (u <= above + 1e-12).all()
    assert (u >= above - p[np.arange(200), y] - 1e-12).all()


def test_reliability_by_hand() -> None:
    pits = (np.arange(1000) + 0.5) / 1000
    block = np.arange(1000) % 7
    assert all(abs(gap.value) < 1e-12 for gap in reliability(pits, block))
    late = reliability(pits / 2, block)  # all below a half
    assert late[1].value == pytest.approx(0.4 - 0.2)
    assert late[8].value == pytest.approx(0.1)


def test_skill_and_its_interval() -> None:
    block = np.repeat(np.arange(10), 3)
    same = skill(np.full(30, 0.75), np.ones(30), block)
    assert (same.value, same.low, same.high) == (0.25, 0.25, 0.25)
    score = np.where(block < 5, 0.5, 1.0)
    mixed = skill(score, np.ones(30), block, draws=400)
    assert mixed.value == 0.25
    assert mixed.low < 0.25 < mixed.high


def test_blocks_not_windows_are_drawn() -> None:
    """Windows that say the same within a block make no interval narrower."""
    values = np.arange(6.0)
    few = bootstrap(np.arange(6), np.column_stack([values, np.ones(6)]), _mean)
    many = bootstrap(
        np.repeat(np.arange(6), 50),
        np.column_stack([np.repeat(values, 50), np.ones(300)]),
        _mean,
    )
    assert few == many


def _mean(sums: Any) -> Any:
    return sums[..., :1] / sums[..., 1:]


def test_brier_skill_by_hand() -> None:
    event = np.array([True, False, False, False])
    block = np.arange(4)
    # Brier 0.25 * (0.04 + 3 * 0.01), climatology 0.25 * 0.75
    got = brier_skill(np.array([0.8, 0.1, 0.1, 0.1]), event, block)
    assert got.value == pytest.approx(1 - 0.0175 / 0.1875)
    assert math.isnan(brier_skill(np.full(4, 0.5), np.zeros(4, dtype=bool), block).value)
    assert brier_skill(np.full(4, 0.25), event, block).value == pytest.approx(0.0)


def test_event_calibration_by_hand() -> None:
    probability = np.array([0.05, 0.05, 0.95, 1.0])
    event = np.array([False, True, True, True])
    found = event_calibration(probability, event, np.arange(4))
    assert found.count == (2, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    assert found.gap[0] == pytest.approx(0.45)
    assert found.gap[9] == pytest.approx(0.025)
    assert math.isnan(found.gap[5])
    assert found.ece.value == pytest.approx((2 * 0.45 + 2 * 0.025) / 4)


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (np.ones((2, 3)), np.array([0]), r"p must have shape \(n, bins\) for n = 1"),
        (np.ones((0, 3)), np.zeros(0, dtype=np.int64), "n = 0 > 0"),
        (np.ones((1, 3)), np.array([3]), r"bins must be in 0\.\.2, not 3\.\.3"),
    ],
)
def test_refusals(p: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crps(p, y)
