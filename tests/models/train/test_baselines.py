"""Baselines against their definitions."""

import numpy as np

from precog_models.data.dataset import Dataset
from precog_models.data.pairs import make_pairs
from precog_models.data.trace import Role, RttTrace
from precog_models.train.baselines import AutoRegression, linear, persistence
from precog_models.train.sampler import balanced_weights


def straight(step: int) -> RttTrace:
    return RttTrace(
        flow=np.zeros(50, dtype=np.int64),
        t=np.arange(50),
        rtt=5000 + step * np.arange(50),
        group="g",
        law="pid",
        role=Role.SPLIT,
    )


def test_persistence_is_right_where_nothing_changes() -> None:
    pairs = make_pairs(straight(0))
    np.testing.assert_allclose((1 + persistence(pairs)) * pairs.srtt, pairs.rtt_next)


def test_linear_is_right_on_a_line_from_the_second_sample() -> None:
    pairs = make_pairs(straight(70))
    predicted = (1 + linear(pairs)) * pairs.srtt
    np.testing.assert_allclose(predicted[1:], pairs.rtt_next[1:], rtol=1e-6)
    np.testing.assert_allclose(predicted[0], 5000, rtol=1e-6)


def test_least_squares_is_the_minimum(dataset: Dataset) -> None:
    pairs = dataset.core
    fitted = AutoRegression.fit(pairs)
    weights = balanced_weights(pairs)
    residual = weights * (fitted.predict(pairs) - pairs.label)
    scale = weights @ np.abs(pairs.label)
    for regressor in [*pairs.k[:, -3:].T, np.ones(len(pairs))]:  # normal equations
        assert abs(residual @ regressor) < 1e-6 * scale


def test_the_robust_fit_has_the_smaller_error(dataset: Dataset) -> None:
    pairs = dataset.core
    weights = balanced_weights(pairs)

    def error(model: AutoRegression) -> float:
        return float(weights @ (np.abs(model.predict(pairs) - pairs.label) / (1 + pairs.label)))

    robust = AutoRegression.fit(pairs, robust=True)
    assert error(robust) < error(AutoRegression.fit(pairs))
    for k in range(3):  # no single coefficient can be improved much
        for change in (-0.02, 0.02):
            moved = robust.weights.copy()
            moved[k] += change
            assert error(AutoRegression(moved, robust.bias)) > error(robust) - 1e-5
