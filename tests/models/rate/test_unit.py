"""The whole law: what wins over what, and how far it is from the float reference."""

import numpy as np
import pytest
from numpy.typing import NDArray

from precog_models.rate.reference.pid import PidParams, State, pid_reset, pid_step
from precog_models.rate.unit import (
    QP_CONFIG,
    RATE_PARAMETERS,
    RATE_STATE,
    advice_limits,
    rate_step,
)
from precog_spec.contract import Algorithm, Flag, Fmt

GBPS = 1 << 21  # of RATE per Mb/s at 1 ns, times 1000: 0.125 bytes per tick


def row(names: tuple[str, ...], defaults: dict[str, int], changes: dict[str, int]) -> NDArray:
    assert set(defaults) == set(names)
    assert set(changes) <= set(names)
    values = defaults | changes
    return np.array([values[name] for name in names], dtype=np.int64)


def parameters(**changes: int) -> NDArray:
    defaults = {
        "kp": Fmt.GAIN.from_float(-0.358),
        "ki": Fmt.GAIN.from_float(-0.060),
        "kd": Fmt.GAIN.from_float(-0.040),
        "dmin": Fmt.DELTA.from_float(-0.6),
        "dmax": Fmt.DELTA.from_float(0.5),
        "advice_limit": 1 << 14,
        "advice_clamp": 1,
        "skill_monitor": 1,
        "advice_hold": 0,
        "advice_deadline": 0,
        "queue_budget": 800 << 8,
        "rttch_threshold": 6,
        "rttch_margin": 200 << 8,
        "mtu": 1000,
    }
    return row(RATE_PARAMETERS, defaults, changes)


def config(**changes: int) -> NDArray:
    defaults = dict.fromkeys(QP_CONFIG, 0) | {
        "enable": 1,
        "algorithm": Algorithm.PREDPID,
        "target": 5000 << 8,
        "min_rate": GBPS,
        "max_rate": 100 * GBPS,
        "init_rate": 10 * GBPS,
    }
    return row(QP_CONFIG, defaults, changes)


def fresh() -> NDArray:
    return np.zeros(len(RATE_STATE), dtype=np.int64)


def flags_of(value: int) -> set[Flag]:
    return {flag for flag in Flag if value >> flag & 1}


def step(
    state: NDArray,
    conf: NDArray,
    par: NDArray,
    rtt: int,
    pred: int | None = None,
    *,
    late: bool = False,
    held: bool = False,
) -> tuple[int, int, int, set[Flag]]:
    rate, window, target, flags = rate_step(
        state, conf, par, rtt, 4000, pred is not None, pred or 0, late, held
    )
    return rate, window, target, flags_of(flags)


def test_prediction_replaces_the_measurement() -> None:
    par = parameters(skill_monitor=0)
    measured = step(fresh(), config(), par, 5500)
    predicted = step(fresh(), config(), par, 5000, 5500 << 8)
    assert measured[:3] == predicted[:3]
    assert measured[3] == {Flag.NO_MODEL}
    assert predicted[3] == {Flag.PREDICTED}


@pytest.mark.parametrize(("pred", "seen"), [(100_000, 6250), (0, 3750), (6249, 6249), (6251, 6250)])
def test_advice_is_clamped(pred: int, seen: int) -> None:
    blind = {"skill_monitor": 0}
    clamped = step(fresh(), config(), parameters(**blind), 5000, pred << 8)
    free = step(fresh(), config(), parameters(**blind, advice_clamp=0), 5000, seen << 8)
    assert clamped[0] == free[0]
    assert (Flag.ADVICE_CLAMPED in clamped[3]) == (pred != seen)


def test_advice_limits() -> None:
    assert advice_limits(4000, 1 << 14, True) == (3000 << 8, 5000 << 8)
    assert advice_limits(4000, 0, True) == (4000 << 8, 4000 << 8)
    assert advice_limits(4000, 0, False) == (0, Fmt.SRTT.max)
    assert advice_limits(Fmt.RTT.max, 65535, True)[1] == Fmt.SRTT.max


def test_pid_ignores_the_prediction() -> None:
    conf = config(algorithm=Algorithm.PID)
    with_prediction = step(fresh(), conf, parameters(), 5500, 9000 << 8)
    assert with_prediction == step(fresh(), conf, parameters(), 5500)
    assert with_prediction[3] == set()


def test_fixed_rate_is_the_initial_rate_within_bounds() -> None:
    state = fresh()
    for rtt in (4000, 9000):
        assert step(state, config(algorithm=Algorithm.FIXED), parameters(), rtt)[0] == 10 * GBPS
    conf = config(algorithm=Algorithm.FIXED, max_rate=5 * GBPS)
    assert step(state, conf, parameters(), 4000)[::3] == (5 * GBPS, {Flag.RATE_CLAMPED})


def test_clamps_and_their_flags() -> None:
    rate, _, _, flags = step(fresh(), config(), parameters(), 50_000)
    assert rate == round(10 * GBPS * (1 + Fmt.DELTA.from_float(-0.6) / 65536))
    assert Flag.DELTA_CLAMPED in flags
    rate, _, _, flags = step(fresh(), config(min_rate=9 * GBPS), parameters(), 50_000)
    assert rate == 9 * GBPS
    assert Flag.RATE_CLAMPED in flags
    rate, _, _, flags = step(fresh(), config(max_rate=10 * GBPS), parameters(), 4000)
    assert rate == 10 * GBPS
    assert flags == {Flag.NO_MODEL, Flag.RATE_CLAMPED}


def test_bounds_that_cross() -> None:
    """The upper bound holds, and the flag tells."""
    rate, _, _, flags = step(
        fresh(), config(min_rate=20 * GBPS, max_rate=5 * GBPS), parameters(), 5000
    )
    assert rate == 5 * GBPS
    assert Flag.RATE_CLAMPED in flags
    _, _, _, flags = step(fresh(), config(), parameters(dmin=100, dmax=-100), 5000)
    assert Flag.DELTA_CLAMPED in flags


def test_rate_never_leaves_its_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        low, high = sorted(rng.integers(1, 1 << 32, 2).tolist())
        par = parameters(
            kp=int(rng.integers(-32768, 32768)),
            dmin=int(rng.integers(-65536, 1)),
            dmax=int(rng.integers(0, 65536)),
        )
        conf = config(min_rate=low, max_rate=high, init_rate=int(rng.integers(0, 1 << 32)))
        state = fresh()
        for rtt in rng.integers(0, 1 << 24, 20).tolist():
            assert low <= step(state, conf, par, rtt, int(rng.integers(0, 1 << 32)))[0] <= high


def test_window_only_where_configured() -> None:
    assert step(fresh(), config(), parameters(), 5000)[1] == 0
    rate, window, _, _ = step(fresh(), config(win=1), parameters(), 5000)
    assert window == rate * 4000 >> 24


@pytest.mark.parametrize("kd", [0.040, -0.040])
def test_float_reference(kd: float, seed: int) -> None:
    """One decision at a time from the same state: relative error of the rate below 2**-12.

    The reference's mean never forgets; the sequences are as long as the two are the same.
    """
    rng = np.random.default_rng(seed)
    gains = {"kp": -0.358, "ki": -0.060, "kd": kd}
    par = parameters(**{name: Fmt.GAIN.from_float(value) for name, value in gains.items()})
    law = PidParams(**gains, target_us=5.0).vector()
    worst = 0.0
    for _ in range(40):
        state, reference = fresh(), np.zeros((1, len(State) + 8))
        pid_reset(reference, 0, law)
        rate = 10 * GBPS
        for n in range(256):
            rtt = int(4200 + 4000 * rng.random() ** 3)
            wanted = pid_step(reference, 0, law, rtt / 1e3, rtt / 1e3, n * 5.0, float(rate))
            wanted = min(max(wanted, GBPS), 100 * GBPS)
            rate, *_ = step(state, config(), par, rtt)
            worst = max(worst, abs(rate / wanted - 1))
    print(f"largest relative error of a decision: {worst:.2e}")
    assert worst < 2**-12
