"""The golden NIC's forecasts: two models side by side, heads that do not fit, scores, C call."""

from dataclasses import replace

import numpy as np
import pytest
from tests.models.predict.weights import random_weights
from tests.models.test_nic import PRESET, RUNS, random_model

from precog_models.nic import GoldenNic
from precog_models.predict.cps import rtt_position, score, scores, tails
from precog_models.predict.lstm import LstmWeights, forward_stream
from precog_models.predict.softmax import distributions
from precog_spec.contract import FORECAST_FIELDS, NO_SCORE, PROBABILITY, Flag, HeadKind, ScoreSource
from precog_spec.law_fields import EventKind

QP = 2


def queue_model(rng: np.random.Generator, *, version: int = 7, outputs: int = 6) -> LstmWeights:
    model = random_weights(rng, inputs=4, steps=5, outputs=outputs)
    return replace(model, kind=HeadKind.QUEUE, version=version)


def nic(source: ScoreSource = ScoreSource.NONE, **made: int) -> GoldenNic:
    device = GoldenNic(qps=4, sets=4, **{"forecast": True, **made})
    device.set_parameters(PRESET)
    device.set_forecast({"threshold_bin": 3, "rtt_budget": 1500})
    for qp in range(4):
        device.configure(qp, RUNS | {"psched": 1})
        device.configure_forecast(qp, {"queue_enable": 1, "queue_slot": 1, "score_source": source})
    return device


def profiles(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.asarray(rng.integers(-(1 << 15), 1 << 15, (count, 4)))


def knots(rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.integers(0, PROBABILITY.one + 1, 65))


def test_forecasts_are_the_models_over_the_profiles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    device, model, table = nic(), queue_model(rng), knots(rng)
    device.load_set(3, model)
    device.map_slot(1, 3)
    device.set_knots(HeadKind.QUEUE, table)
    x = profiles(rng, 60)
    logits = forward_stream(model, np.c_[x, np.zeros((60, 4), dtype=np.int64)])
    p = distributions(logits, 6)
    want = scores(table, tails(p, 3))
    for n in range(60):
        device.decide(QP, 5000 + n, n)  # the other history
        got = device.forecast(QP, n, x[n].tolist())
        assert got is not None
        assert (got["qp"], got["t"], got["version"]) == (QP, n, 7)
        assert [got[f"p{k}"] for k in range(16)] == p[n].tolist()
        assert got["cps"] == want[n]


def test_both_models_as_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both, alone = nic(), nic(forecast=0)
    model = random_model(rng)
    for device in (both, alone):
        device.load_set(0, model)
        device.map_slot(0, 0)
    both.load_set(1, queue_model(rng))
    both.map_slot(1, 1)
    for n, rtt in enumerate(rng.integers(4000, 9000, 50).tolist()):
        both.forecast(QP, n, profiles(rng, 1)[0].tolist())
        assert both.decide(QP, rtt, n) == alone.decide(QP, rtt, n)
    assert alone.forecast(QP, 0, [0] * 4) is None


def test_a_head_of_the_other_kind_is_no_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    device = nic()
    device.load_set(0, queue_model(rng))
    device.load_set(1, random_model(rng))
    device.map_slot(0, 0)  # what the queue pair names as MODEL_RTT
    device.map_slot(1, 1)
    decision = device.decide(QP, 5000, 0)
    assert decision is not None
    assert decision.flags >> Flag.NO_MODEL & 1
    assert decision.rtt_pred == 0
    answer = device.forecast(QP, 9, [1, 2, 3, 4])
    assert answer == dict.fromkeys((name for name, _ in FORECAST_FIELDS), 0) | {
        "qp": QP, "t": 9, "cps": NO_SCORE,
    }  # fmt: skip


def test_profiles_are_kept_without_a_model_and_forgotten_by_a_reset(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, x = queue_model(rng), profiles(rng, 9).tolist()
    early, late, fresh = nic(), nic(), nic()
    for device in (early, late, fresh):
        device.load_set(1, model)
    early.map_slot(1, 1)
    fresh.map_slot(1, 1)
    for n in range(6):
        early.forecast(QP, n, x[n])
        late.forecast(QP, n, x[n])
    late.map_slot(1, 1)
    assert early.forecast(QP, 6, x[6]) == late.forecast(QP, 6, x[6])
    late.reset_qp(QP)
    assert late.forecast(QP, 7, x[7]) == fresh.forecast(QP, 7, x[7])
    late.configure(QP, {"enable": 0})
    assert late.forecast(QP, 8, x[8]) is None
    assert late.forecast(4, 8, x[8]) is None


@pytest.mark.parametrize("source", list(ScoreSource))
def test_what_psched_is_told(source: ScoreSource, seed: int) -> None:
    rng = np.random.default_rng(seed)
    device, rtt_table = nic(source), knots(rng)
    device.load_set(0, random_model(rng))
    device.load_set(1, queue_model(rng))
    device.map_slot(0, 0)
    device.map_slot(1, 1)
    device.set_knots(HeadKind.RTT, rtt_table)
    device.set_parameters({"skill_monitor": 0, "psched_skill": 0})
    by_queue = by_rtt = None
    for n in range(40):
        if n == 30:
            device.map_slot(0, 0, enable=False)
        if rng.random() < 0.5:
            answer = device.forecast(QP, n, profiles(rng, 1)[0].tolist())
            assert answer is not None
            by_queue, news = answer["cps"], source in (ScoreSource.QUEUE, ScoreSource.MAX)
        else:
            decision = device.decide(QP, int(rng.integers(4000, 9000)), n)
            assert decision is not None
            position = rtt_position(decision.rtt_pred, decision.base, 1500)
            by_rtt = score(rtt_table, position) if decision.rtt_pred else None
            news = source in (ScoreSource.RTT, ScoreSource.MAX)
        counted = [
            one
            for one, name in ((by_queue, ScoreSource.QUEUE), (by_rtt, ScoreSource.RTT))
            if source in (name, ScoreSource.MAX) and one is not None
        ]
        told = device.take_score(QP)
        assert told == ((max(counted) if counted else NO_SCORE) if news else -1)
        assert device.take_score(QP) == -1
        if told >= 0:
            after = device.happen(EventKind.SCORE, QP, n, told)
            assert after is not None
            assert bool(after.flags >> Flag.SCORED & 1) == (told != NO_SCORE)


def test_names_are_checked() -> None:
    device = nic()
    with pytest.raises(ValueError, match="forecast parameter must be one of threshold_bin"):
        device.set_forecast({"bin": 1})
    with pytest.raises(ValueError, match="forecast field must be one of queue_enable"):
        device.configure_forecast(0, {"slot": 1})
    with pytest.raises(ValueError, match=r"queue pair must be in 0\.\.3, not 4"):
        device.take_score(4)
    assert device.forecast_configuration(0)["queue_slot"] == 1
