"""Baselines against values worked out by hand, and that each forecast is a distribution."""

import numpy as np
import pytest

from precog_models.data.windows import Windows
from precog_models.forecast.baselines import AutoRegression, Climatology, Persistence, Transition

_EDGES = np.array([1, 10, 100])


def _windows(now: list[int], later: list[int]) -> Windows:
    n = len(now)
    zeros = np.zeros(n, dtype=np.int64)
    signals = np.zeros((n, 8, 4), dtype=np.int64)
    signals[:, :, 0] = np.array(now)[:, None]
    two = np.array([later, later], dtype=np.int64).T
    return Windows(signals, zeros, zeros, zeros, zeros == 0, two, two, two)


def test_by_hand() -> None:
    train = _windows([0, 0, 50, 50], [0, 5, 50, 40])
    test = _windows([0, 50, 5], [0, 0, 0])
    assert Climatology.fit(train, 0, _EDGES).predict(test).tolist() == [[0.25, 0.25, 0.5, 0]] * 3
    # changes 0, 5, 0, -10, a quarter each; below empty is empty
    assert Persistence.fit(train, 1, _EDGES).predict(test).tolist() == [
        [0.75, 0.25, 0, 0],
        [0, 0, 1, 0],
        [0.25, 0.5, 0.25, 0],
    ]
    # bin 1 was never seen: it stays
    assert Transition.fit(train, 0, _EDGES).predict(test).tolist() == [
        [0.5, 0.5, 0, 0],
        [0, 0, 1, 0],
        [0, 1, 0, 0],
    ]


def test_a_line_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    now = rng.integers(10, 90, 500)
    train = _windows(now.tolist(), (now // 2 * 2 + 20).tolist())
    fitted = AutoRegression.fit(train, 0, _EDGES)
    got = fitted.predict(_windows([20, 95], [0, 0]))
    assert np.allclose(got, [[0, 0, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize("kind", [AutoRegression, Climatology, Persistence, Transition])
def test_forecasts_are_distributions(kind: type[Persistence], seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, 200, (4, 300)).tolist()
    p = kind.fit(_windows(draws[0], draws[1]), 1, _EDGES).predict(_windows(draws[2], draws[3]))
    assert p.shape == (300, 4)
    assert p.min() >= 0
    assert np.allclose(p.sum(axis=1), 1)
