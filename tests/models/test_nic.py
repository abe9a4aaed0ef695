"""The golden NIC: the composition, its block, its C function."""

import ctypes

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_models.measure.feature import feature_stream
from precog_models.nic import DROPPED, PARAMETERS, Decision, GoldenNic
from precog_models.predict.lstm import LstmWeights, forward_stream, pack
from precog_models.predict.rtt_head import rtt_pred
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.unit import QP_CONFIG
from precog_spec.contract import DECISION_FIELDS, PROGRAM_ALGORITHM, Flag
from precog_spec.law_fields import EventKind
from precog_spec.trial_fields import TRIAL_PARAMETERS

PRESET = {
    "sigma": 13107,
    "base_window": 10_000_000,
    "kp": -2933,
    "ki": -492,
    "kd": -328,
    "dmin": -39322,
    "dmax": 32768,
    "advice_limit": 16384,
    "advice_clamp": 1,
    "skill_monitor": 1,
    "advice_hold": 0,
    "advice_deadline": 4096,
    "queue_budget": 800 << 8,
    "rttch_threshold": 6,
    "rttch_margin": 200 << 8,
    "mtu": 1000,
    **{f"psched_{k}": v for k, v in PSCHED_PRESETS["precog"].parameters(1000).items()},
    **dict.fromkeys((name for name, _ in TRIAL_PARAMETERS), 0),
}
RUNS = {
    "enable": 1,
    "algorithm": 2,
    "target_mode": 1,
    "model_enable": 1,
    "min_rate": 1 << 21,
    "max_rate": 100 << 21,
    "init_rate": 10 << 21,
}


def random_model(rng: np.random.Generator, steps: int = 3, version: int = 1) -> LstmWeights:
    wx = np.zeros((64, 8), dtype=np.int64)
    wx[:, 0] = rng.integers(-128, 128, 64)
    wl = np.zeros((16, 16), dtype=np.int64)
    wl[0] = rng.integers(-128, 128, 16)
    return LstmWeights(
        wh=rng.integers(-128, 128, (64, 16)),
        wx=wx,
        b=rng.integers(-4000, 4000, 64),
        sh_h=rng.integers(3, 8, 64),
        sh_x=rng.integers(3, 8, 64),
        wl=wl,
        bl=np.zeros(16, dtype=np.int64),
        sh_l=np.eye(1, 16, dtype=np.int64)[0] * 5,
        inputs=1,
        steps=steps,
        outputs=1,
        version=version,
    )


def nic(qps: int = 4, sets: int = 2) -> GoldenNic:
    device = GoldenNic(qps=qps, sets=sets)
    device.set_parameters(PRESET)
    for qp in range(qps):
        device.configure(qp, RUNS)
    return device


def rtts(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    return np.asarray(rng.integers(4000, 9000, count))


def test_decision_has_the_contract_fields() -> None:
    assert Decision._fields == tuple(name for name, _ in DECISION_FIELDS)


def test_predictions_are_those_of_the_stream(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for steps in (1, 3, 8):
        device, model = nic(), random_model(rng, steps)
        device.load_set(1, pack(model))
        device.map_slot(0, 1)
        samples = rtts(rng, 100)
        srtts, ks = feature_stream(samples, PRESET["sigma"])
        x = np.zeros((100, 8), dtype=np.int64)
        x[:, 0] = ks
        outs = forward_stream(model, x)[:, 0]
        for n, rtt in enumerate(samples.tolist()):
            decision = device.decide(2, rtt, n * 5000)
            assert decision is not None
            assert decision.qp == 2
            assert decision.srtt == srtts[n]
            assert decision.rtt_pred == rtt_pred(int(srtts[n]), int(outs[n]))
            use = decision.flags >> Flag.PREDICTED | decision.flags >> Flag.UNSKILLED
            assert use & 1


def test_new_model_starts_from_the_kept_inputs(seed: int) -> None:
    """Whether the samples before it had a model or not."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 8)
    early, late = nic(), nic()
    for device in (early, late):
        device.load_set(0, model)
    early.map_slot(0, 0)
    samples = rtts(rng, 12).tolist()
    for n, rtt in enumerate(samples):
        if n == 7:
            late.map_slot(0, 0)
        a, b = early.decide(0, rtt, n), late.decide(0, rtt, n)
        assert a is not None
        assert b is not None
        if n >= 7:
            assert a.rtt_pred == b.rtt_pred
        else:
            assert b.rtt_pred == 0
            assert b.flags >> Flag.NO_MODEL & 1


def test_reset_forgets_all_but_the_configuration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    device, model = nic(), random_model(rng)
    device.load_set(0, model)
    device.map_slot(0, 0)
    samples = np.stack([np.ones(50, dtype=np.int64), rtts(rng, 50), np.arange(50)], axis=1)
    first = device.decide_many(samples)
    before = device.configuration(1)
    device.reset_qp(1)
    assert device.configuration(1) == before
    assert (device.decide_many(samples) == first).all()


def test_queue_pairs_do_not_see_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    samples = np.stack([rng.integers(0, 4, 400), rtts(rng, 400), np.arange(400) * 100], axis=1)
    together = nic()
    together.load_set(0, model)
    together.map_slot(0, 0)
    mixed = together.decide_many(samples)
    for qp in range(4):
        alone = nic()
        alone.load_set(0, model)
        alone.map_slot(0, 0)
        assert (alone.decide_many(samples[samples[:, 0] == qp]) == mixed[mixed[:, 0] == qp]).all()


@pytest.mark.parametrize("break_it", ["slot off", "set invalid", "no model", "no such slot"])
def test_without_a_live_model_predpid_is_pid(break_it: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    device, base = nic(), nic()
    device.load_set(0, random_model(rng))
    device.map_slot(0, 0)
    if break_it == "slot off":
        device.map_slot(0, 0, enable=False)
    elif break_it == "set invalid":
        device.invalidate_set(0)
    elif break_it == "no model":
        device.configure(0, {"model_enable": 0})
    else:
        device.configure(0, {"model_slot": 2})
    base.configure(0, {"algorithm": 1})
    for n, rtt in enumerate(rtts(rng, 30).tolist()):
        a, b = device.decide(0, rtt, n), base.decide(0, rtt, n)
        assert a is not None
        assert b is not None
        assert a == b._replace(flags=b.flags | 1 << Flag.NO_MODEL)


def test_dropped_samples_change_nothing() -> None:
    device = nic()
    device.configure(1, {"enable": 0})
    before = device.block.copy()
    for qp in (1, 4, 65535):
        assert device.decide(qp, 5000, 0) is None
    assert (device.block == before).all()
    samples = np.array([[1, 5000, 0], [0, 5000, 1], [9, 5000, 2]])
    assert device.decide_many(samples)[:, 0].tolist() == [0]


def test_c_function_is_decide(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = nic(), nic()
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    call = signature(one.decide_address)
    decision = np.zeros(len(Decision._fields), dtype=np.int64)
    for n, rtt in enumerate(rtts(rng, 50).tolist()):
        sample = np.array([n % 4, rtt, n * 99], dtype=np.int64)
        assert call(one.handle, sample.ctypes.data, decision.ctypes.data) == 0
        assert Decision(*decision.tolist()) == other.decide(n % 4, rtt, n * 99)
    sample = np.array([4, 5000, 0], dtype=np.int64)
    assert call(one.handle, sample.ctypes.data, decision.ctypes.data) == DROPPED


def test_refused_image_leaves_the_set(seed: int) -> None:
    device, model = nic(), random_model(np.random.default_rng(seed), version=7)
    device.load_set(0, model)
    image = pack(model)
    for bad in (image[:-1], image + b"\0", image[:2040] + b"\1" + image[2041:]):
        with pytest.raises(ValueError, match=r"model image|unused bytes|contract hash|version"):
            device.load_set(0, bad)
    assert device.set_state(0) == (True, 7)


def test_names_and_ranges() -> None:
    device = nic()
    assert device.parameters() == PRESET
    assert tuple(PRESET) == PARAMETERS
    assert tuple(device.configuration(0)) == QP_CONFIG
    with pytest.raises(ValueError, match="parameter must be one of"):
        device.set_parameters({"gain": 1})
    with pytest.raises(ValueError, match="configuration field must be one of"):
        device.configure(0, {"rate": 1})
    with pytest.raises(ValueError, match=r"queue pair must be in 0\.\.3, not 4"):
        device.reset_qp(4)
    with pytest.raises(ValueError, match=r"set must be in 0\.\.1, not 2"):
        device.invalidate_set(2)
    with pytest.raises(ValueError, match=r"slot must be in 0\.\.1, not 2"):
        device.map_slot(2, 0)
    with pytest.raises(ValueError, match="set 0 must hold a valid model"):
        device.map_slot(0, 0)
    with pytest.raises(ValueError, match="qps must be positive, not 0"):
        GoldenNic(qps=0)


@pytest.mark.parametrize("algorithm", range(3, PROGRAM_ALGORITHM + 1))
def test_a_code_that_is_no_laws_keeps_the_initial_rate(algorithm: int, seed: int) -> None:
    """Without a law engine, a program's too."""
    device = nic()
    device.configure(0, {**RUNS, "algorithm": algorithm})
    for t, rtt in enumerate(rtts(np.random.default_rng(seed), 20).tolist()):
        decision = device.decide(0, rtt, t)
        assert decision is not None
        assert decision.rate == RUNS["init_rate"]


def test_events_of_others_are_dropped() -> None:
    device = nic()
    device.configure(0, RUNS)
    device.configure(1, {**RUNS, "psched": 1, "enable": 0})
    before = device.block.copy()
    for kind in range(8):
        assert [device.happen(kind, qp, 5) for qp in (0, 1, 2, 4, 65535)] == [None] * 5
    assert np.array_equal(device.block, before)
    device.configure(1, {"enable": 1})
    before = device.block.copy()
    for kind in (0, EventKind.CNP, EventKind.BYTES, EventKind.LOSS, 5, 6):
        assert device.happen(kind, 1, 5) is None
    assert np.array_equal(device.block, before)
    assert device.happen(EventKind.SWEEP, 1, 5) is not None
