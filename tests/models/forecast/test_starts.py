"""Starts of a NIC to a destination: inputs, levels, and which models there may be."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from precog_models.forecast.starts import (
    BINS,
    LEVEL,
    LEVEL_ONE,
    STEPS,
    Start,
    StartForecaster,
    check_model,
    quantile,
    row,
    skill,
    window,
)
from precog_models.image import Image, ModelImageError, pretrained
from precog_models.predict.lstm import forward_windows
from precog_models.predict.softmax import distributions
from precog_models.predict.tree import tree_predict
from precog_spec.contract import PROBABILITY, Fmt

from .start_models import lstm, tree

_US = 1_000_000
_X = Fmt.X.one


def _starts(seed: int, count: int) -> list[Start]:
    """Starts of all sizes and gaps, beyond the inputs' range, too."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(2.0 ** rng.uniform(10, 40, count)).astype(np.int64)
    sizes = (2.0 ** rng.uniform(0, 36, count)).astype(np.int64)
    told = rng.integers(0, 16, count)
    return [Start(*one) for one in zip(at.tolist(), sizes.tolist(), told.tolist(), strict=True)]


def test_a_step_has_time_size_level_and_ratio() -> None:
    first, second = Start(0, 65536, 0), Start(128 * _US, 131072, 3)
    assert row(first, None) == (7 * _X // 2, 0, 0, 0)
    assert row(second, first) == (0, _X // 2, 3 * LEVEL_ONE, _X // 2)
    long = Start(10**15, 1, 15)
    assert row(long, second) == (7 * _X // 2, Fmt.X.min, 15 * LEVEL_ONE, Fmt.X.min)
    assert row(Start(128 * _US, 65536, 0), second)[0] == -7 * _X // 2  # at the same time


def test_a_window_is_the_last_starts_and_the_first_is_compared_with_one_more() -> None:
    starts = _starts(1, 30)
    for count in range(31):
        found = window(starts[:count])
        assert found.shape == (STEPS, 8)
        for age in range(STEPS):
            step = found[STEPS - 1 - age].tolist()
            n = count - 1 - age
            if n < 0:
                assert step == [0] * 8
            else:
                expected = row(starts[n], starts[n - 1] if n else None)
                assert step == [*expected, 0, 0, 0, 0]
        if count > STEPS:
            assert (found == window(starts[count - STEPS - 1 : count])).all()
            assert found[0, LEVEL] == starts[count - STEPS].told * LEVEL_ONE


def test_levels_are_those_of_the_integers() -> None:
    x = np.array([window(_starts(seed, 1 + seed % 12)) for seed in range(200)])
    network, decisions = lstm(1), tree(2)
    outputs = distributions(forward_windows(network.weights, x), BINS)
    for image, p in ((network, outputs), (decisions, tree_predict(decisions.model.tree, x))):
        levels = StartForecaster(image).levels(x)
        # by hand: the greatest level that is reached more often than not
        more = [[int(one[level:].sum()) * 2 > PROBABILITY.one for level in range(8)] for one in p]
        assert levels.tolist() == [sum(one) - 1 for one in more]
        assert len(set(levels.tolist())) > 3
        one = StartForecaster(image)
        assert [one.level(_starts(seed, 1 + seed % 12)) for seed in range(200)] == levels.tolist()


def test_a_quantile_is_the_greatest_level_that_is_likely_enough() -> None:
    p = np.zeros((2, 16), dtype=np.int64)
    p[0, [1, 6]] = PROBABILITY.one // 4, 3 * PROBABILITY.one // 4
    p[1, [0, 7]] = PROBABILITY.one // 2 + 1, PROBABILITY.one // 2 - 1
    assert quantile(p, 0.5).tolist() == [6, 0]
    assert quantile(p, 0.8).tolist() == [1, 0]


def test_a_guess_at_random_has_no_skill() -> None:
    assert skill(0.5, 0.5) == 0
    assert (skill(1, 0), skill(0, 1)) == (1, -1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 0}, "size of a start must be at least 1 byte, not 0"),
        ({"told": 16}, r"told must be a level, 0\.\.15, not 16"),
        ({"told": -1}, r"told must be a level, 0\.\.15, not -1"),
    ],
)
def test_starts_that_cannot_be(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(Start(0, 1, 0), **change)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: pretrained("rtt-incast"), "must have the head queue, not rtt"),
        (lambda: pretrained("queue-1rtt"), "must have no calibration in its card"),
        (lambda: lstm(1, outputs=7), "must have 4 inputs and 8 outputs, not 4 and 7"),
        (lambda: lstm(1, inputs=5), "must have 4 inputs and 8 outputs, not 5 and 8"),
        (lambda: lstm(1, steps=4), "must have 8 steps, not 4"),
    ],
)
def test_models_of_other_things(made: Callable[[], Image], message: str) -> None:
    image = made()
    for use in (check_model, StartForecaster):
        with pytest.raises(ModelImageError, match=message):
            use(image)
