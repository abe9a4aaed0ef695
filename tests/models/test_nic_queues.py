"""The golden profiler in the golden NIC's block = the two of them, one after the other."""

import ctypes
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.models.predict.weights import random_weights

from precog_models.measure.profiler import Profiler
from precog_models.nic import GoldenNic
from precog_models.nic_queues import QUEUE_ADDRESS, VISIT_ADDRESS, follow
from precog_spec.contract import FORECAST_FIELDS, HeadKind, QueueEvent

_QPS = 4
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)


def _nic(seed: int, profile: int) -> GoldenNic:
    nic = GoldenNic(qps=_QPS, sets=2, forecast=1, profile=profile)
    weights = random_weights(np.random.default_rng(seed), inputs=4, steps=3, outputs=16)
    nic.load_set(0, replace(weights, kind=HeadKind.QUEUE))
    nic.map_slot(0, 0)
    for qp in range(_QPS - 1):  # the last one is not enabled
        nic.configure(qp, {"enable": 1})
        nic.configure_forecast(qp, {"queue_enable": 1})
    return nic


def test_one_block_is_profiler_and_nic(seed: int) -> None:
    rng = random.Random(seed)
    told, apart = _nic(seed, 1), _nic(seed, 0)
    follows, own = Profiler(_QPS), Profiler(_QPS)
    for profiler in (follows, own):
        profiler.period, profiler.centers, profiler.gains = 500, [3000] * 4, [9000] * 4
    follow(told, follows)
    observe, visit = _CALL(QUEUE_ADDRESS), _CALL(VISIT_ADDRESS)
    answers = np.zeros((_QPS, len(FORECAST_FIELDS)), dtype=np.int64)
    t, made = (1 << 40) - 20_000, 0  # time wraps
    for _ in range(2000):
        t = (t + rng.randrange(60)) % (1 << 40)
        if rng.random() < 0.9:
            kind = rng.choice([QueueEvent.ARRIVAL, QueueEvent.DEPARTURE, QueueEvent.RESET])
            event = np.array([rng.randrange(_QPS), kind, rng.randrange(9000), t], dtype=np.int64)
            assert observe(told.handle, event.ctypes.data, None) == 0
            own.observe(*event.tolist())
            continue
        expected = []
        for qp in range(_QPS):
            sample = own.visit(qp, t)
            if sample is not None:
                forecast = apart.forecast(qp, t, sample.x)
                if forecast is not None:
                    expected.append((qp, list(forecast.values())))
        when = np.array([t], dtype=np.int64)
        assert visit(told.handle, when.ctypes.data, answers.ctypes.data) == len(expected)
        for qp, row in expected:
            assert answers[qp].tolist() == row
        made += len(expected)
    assert made > 20
    np.testing.assert_array_equal(follows.rows, own.rows)
    assert not answers[_QPS - 1].any()
    wrong = np.array([_QPS, QueueEvent.ARRIVAL, 1, t], dtype=np.int64)
    assert observe(told.handle, wrong.ctypes.data, None) < 0


def test_samples_by_events_are_refused() -> None:
    profiler = Profiler(_QPS)
    profiler.every = 3
    with pytest.raises(ValueError, match="by time only, not every 3"):
        follow(_nic(1, 1), profiler)
