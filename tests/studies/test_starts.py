"""Forecasts of N at a start: what a NIC knows, and what its predictors make of it."""

import numpy as np

from precog_net.workloads import Traffic
from precog_spec.contract import PROBABILITY, Fmt
from precog_studies.prediction.arms import ARMS, FORECASTS
from precog_studies.prediction.cases import closed_loop
from precog_studies.prediction.services import ANSWER, MESSAGE, services
from precog_studies.prediction.starts.predictors import predictors, quantile
from precog_studies.prediction.starts.windows import BINS, LEVEL, LEVEL_ONE, STEPS, known, windows

_US = 1_000_000


def _pair() -> Traffic:
    """Three flows from 1 to 0, and one from 2."""
    start = np.array([0, 100, 228, 228]) * _US
    size = np.array([65536, 65536, 131072, 65536])
    return Traffic(start, np.array([1, 1, 1, 2]), np.zeros(4, dtype=np.int64), size, ("a",) * 4)


def test_a_nic_knows_what_its_own_flows_were_told_before() -> None:
    heard, heard_us = np.array([5, 3, 0, 0]), np.array([20.0, 300.0, 0.0, 0.0])
    assert known(_pair(), heard, heard_us).tolist() == [0, 5, 0, 0]


def test_a_window_has_times_sizes_and_levels() -> None:
    x = windows(_pair(), np.array([0, 5, 3, 0]))
    one = Fmt.X.one
    assert x.shape == (4, STEPS, 8)
    assert x[2, -1, :4].tolist() == [0, one // 2, 3 * LEVEL_ONE, one // 2]
    assert x[2, -2, LEVEL] == 5 * LEVEL_ONE
    assert x[0, -1, :4].tolist() == [7 * one // 2, 0, 0, 0]
    assert not x[0, :-1].any()
    assert (x[0] == x[3]).all()


def test_a_quantile_is_the_greatest_level_that_is_likely_enough() -> None:
    p = np.zeros((2, 16), dtype=np.int64)
    p[0, [1, 6]] = PROBABILITY.one // 4, 3 * PROBABILITY.one // 4
    p[1, [0, 7]] = PROBABILITY.one // 2 + 1, PROBABILITY.one // 2 - 1
    assert quantile(p, 0.5).tolist() == [6, 0]
    assert quantile(p, 0.8).tolist() == [1, 0]


def test_the_models_give_levels() -> None:
    traffic = _pair()
    x = windows(traffic, np.array([0, 5, 5, 0]))
    assert set(predictors()) == set(FORECASTS)
    for name, one in predictors().items():
        levels = one(x)
        assert levels.shape == (4,), name
        assert 0 <= levels.min() <= levels.max() < BINS, name
    assert predictors()["persistence"](x).tolist() == [0, 5, 5, 0]


def test_services_are_of_their_seed() -> None:
    answers, messages = services(1, 64, 1.0)
    again = services(1, 64, 1.0)[0]
    assert set(answers.kind) == {ANSWER}
    assert set(messages.kind) == {MESSAGE}
    assert (answers.start_ps == again.start_ps).all()
    assert services(2, 64, 1.0)[0].size.tolist() != answers.size.tolist()
    assert answers.size.min() >= 40_000
    assert answers.size.max() <= 120_000


def test_a_predictor_in_the_loop_moves_no_more() -> None:
    result, traffic, moving = closed_loop("rounds", ARMS["lstm"], 0, predictors()["lstm"])
    guesses = np.array(result.scenario.hints.guesses)
    told = known(traffic, result.heard, result.heard_us)
    expected = predictors()["lstm"](windows(traffic, told))
    counts = traffic.size > 30_000
    assert int((expected[counts] != guesses[counts]).sum()) == moving
    assert not guesses[~counts].any()
    assert guesses.max() >= 4
