"""The program of TIMELY against the float reference, whose source form equals 002's routine.

The reference gets the same state and parameters before each step, in ticks and in LSB of the rate:
its units are those of its arguments.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.laws.law_bench import Plain

from precog_models.rate.reference.common import PARAMS, STATES
from precog_models.rate.reference.timely import Param, State
from precog_models.rate.reference.timely import timely_step as float_step
from precog_spec.engine.events import Kind

_ONE = 1 << 24
_MBPS = 2097
_MEAN_LSB = 1 / 4096
_SOURCE, _NS3, _PATCHED = range(3)

_USUAL = {
    "alpha": round(0.02 * _ONE),
    "beta": round(0.8 * _ONE),
    "low": 0,
    "high": 1_000_000,
    "min_rtt": 4180,
    "reference": 6000,
    "slope": round(0.008 * _ONE),
    "ai": 100 * _MBPS,
    "hai": 500 * _MBPS,
    "hai_count": 5,
}
_PRESETS: dict[str, dict[str, int]] = {
    "paper": {**_USUAL, "variant": _SOURCE},
    "scaled": {**_USUAL, "variant": _SOURCE, "low": 5000, "high": 20_000},
    "ns3": {
        **_USUAL,
        "variant": _NS3,
        "alpha": round(0.875 * _ONE),
        "low": 50_000,
        "high": 500_000,
        "min_rtt": 20_000,
    },
    "patched": {
        **_USUAL,
        "variant": _PATCHED,
        "alpha": round(0.875 * _ONE),
        "low": 5000,
        "high": 50_000,
    },
}


def _step(law: Plain, low: int, high: int, rate: int, rtt: int, t: int) -> int:
    """The rate after a sample."""
    return law.event(Kind.SAMPLE, now=t, rtt=rtt, rate=rate, min_rate=low, max_rate=high)


def _law(parameters: dict[str, int], *state: int) -> Plain:
    """With this state: last RTT, its time, count, mean."""
    law = Plain("timely", parameters)
    vars(law.state).update(zip(("last_rtt", "last_t", "count", "mean"), state, strict=False))
    return law


def _float_parameters(p: dict[str, int], low: int, high: int) -> NDArray[np.float64]:
    vector = np.zeros(PARAMS)
    for place, value in {
        Param.FORM: p["variant"],
        Param.ALPHA: p["alpha"] / _ONE,
        Param.BETA: p["beta"] / _ONE,
        Param.LOW_US: p["low"],
        Param.HIGH_US: p["high"],
        Param.MIN_RTT_US: p["min_rtt"],
        Param.AI_BPS: p["ai"],
        Param.HAI_BPS: p["hai"],
        Param.HAI_COUNT: p["hai_count"],
        Param.MIN_BPS: low,
        Param.MAX_BPS: high,
        Param.REFERENCE_US: p["reference"],
        Param.SLOPE: p["slope"] / _ONE,
    }.items():
        vector[place] = value
    return vector


def _bound(p: dict[str, int], rtt: int, rate: int) -> float:
    """As the model's docstring states it, in LSB of the rate."""
    least = min(p["min_rtt"], p["reference"])
    far = max(1.0, abs(rtt - p["reference"]) / p["reference"])
    if p["variant"] != _PATCHED:
        least, far = p["min_rtt"], 1.0
    return 1.5 + (rate * far + p["hai"] + p["ai"]) * (2**-11 / least + 2**-22)


def _patched_cut(p: dict[str, int], rtt: int, mean: float) -> float:
    """slope w (rtt - ref) / ref"""
    weight = min(max(2 * mean / p["min_rtt"] + 0.5, 0.0), 1.0)
    return p["slope"] / _ONE * weight * (rtt / p["reference"] - 1)


def _random_parameters(rng: np.random.Generator) -> dict[str, int]:
    def pick(*values: int) -> int:
        return int(rng.choice(np.array(values)))

    return {
        "variant": pick(0, 1, 2),
        "alpha": pick(0, _ONE - 1, rng.integers(1, _ONE)),
        "beta": pick(0, _ONE - 1, rng.integers(1, _ONE)),
        "low": pick(0, 5000, rng.integers(1 << 24)),
        "high": pick(0, 50_000, (1 << 24) - 1),
        "min_rtt": pick(1, 4180, (1 << 24) - 1),
        "reference": pick(1, 6000, (1 << 24) - 1),
        "slope": pick(_USUAL["slope"], _ONE - 1),
        "ai": pick(0, 100 * _MBPS, (1 << 32) - 1),
        "hai": pick(0, 500 * _MBPS, (1 << 32) - 1),
        "hai_count": pick(0, 5, 255),
    }


@pytest.mark.parametrize("preset", [*_PRESETS, "random"])
def test_one_step_within_the_stated_bound(preset: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    worst = tied = 0.0
    count = 4000
    for _ in range(count):
        p = _PRESETS[preset] if preset != "random" else _random_parameters(rng)
        low, high = sorted(rng.integers(0, 1 << 32, 2).tolist()) if rng.random() < 0.5 else (0, -1)
        high %= 1 << 32
        rate = int(2 ** rng.uniform(10, 32))
        last_rtt = int(rng.choice([0, 1, 4180, *(2 ** rng.uniform(10, 24, 3))]))
        rtt = int(rng.choice([1, last_rtt, 4180, p["high"], *(2 ** rng.uniform(10, 24, 3))]))
        mean = int(
            rng.choice([0, 1, -1, *rng.integers(-(1 << 36), 1 << 36, 2)]) / rng.choice([1, 9e6])
        )
        last_t = int(rng.integers(1, 1 << 38))
        t = last_t + int(rng.choice([0, 1, 3000, 4180, 1 << 30])) + p["min_rtt"] * (last_rtt == 0)
        hits = int(rng.integers(0, 10))
        law = _law(p, last_rtt, last_t, hits, mean)
        reals = np.zeros((1, STATES))
        reals[0, State.LAST_RTT_US] = last_rtt
        reals[0, State.DIFFERENCE_US] = mean * _MEAN_LSB
        reals[0, State.COUNT] = hits
        reals[0, State.LAST_T_US] = last_t if last_rtt else 0
        got = _step(law, low, high, rate, max(rtt, 1), t)
        want = float_step(reals, 0, _float_parameters(p, low, high), float(max(rtt, 1)), t, rate)
        want = min(max(want, low), high)
        real_mean = reals[0, State.DIFFERENCE_US]
        assert abs(law.state.mean * _MEAN_LSB - real_mean) <= 0.5001 * _MEAN_LSB
        if 0 < abs(real_mean) <= 0.5001 * _MEAN_LSB and p["variant"] != _PATCHED:
            tied += 1  # the sign of the mean decides between increase and decrease
            continue
        assert law.state.last_rtt == reals[0, State.LAST_RTT_US]
        assert law.state.count == reals[0, State.COUNT]
        bound = _bound(p, rtt, rate)
        if p["variant"] == _PATCHED and _patched_cut(p, rtt, real_mean) > 1:
            continue  # the reference's first term is negative here
        assert abs(got - want) <= bound, (p, rate, last_rtt, rtt, mean, t - last_t)
        worst = max(worst, abs(got - want) / bound)
    print(f"{preset}: worst error {worst:.2f} of the bound; {tied:.0f} steps at the sign's edge")
    assert tied < 0.1 * count


@pytest.mark.parametrize("preset", _PRESETS)
def test_a_flow_stays_with_the_reference(preset: str, seed: int) -> None:
    """2000 samples, each side with its own state: the errors do not build up."""
    rng = np.random.default_rng(seed)
    p = _PRESETS[preset]
    low, high = 1000 * _MBPS, 100_000 * _MBPS
    law, reals = _law(p), np.zeros((1, STATES))
    vector = _float_parameters(p, low, high)
    rate, want, t, rtt, worst, parted = high // 4, high / 4, 100_000, 9000.0, 0.0, 0
    for _ in range(2000):
        rtt = float(np.clip(rtt * rng.uniform(0.8, 1.25), 4200, 90_000))
        t += int(rtt * rng.uniform(0.3, 2))
        rate = _step(law, low, high, rate, int(rtt), t)
        want = float_step(reals, 0, vector, float(int(rtt)), t, want)
        mean, real = law.state.mean, reals[0, State.DIFFERENCE_US] / _MEAN_LSB
        assert abs(mean - real) <= 0.5 * _ONE / p["alpha"]  # a sum of decaying halves of an LSB
        if (mean <= 0) != (real <= 0):
            parted += 1  # one side rose and the other fell
            want, reals[0, State.COUNT] = float(rate), law.state.count
        worst = max(worst, abs(rate - want) / want)
    print(f"{preset}: relative error of the rate {worst:.2e}; {parted} times another sign")
    assert worst < 5e-5
    assert parted < 20


def test_the_routine_by_hand() -> None:
    """Source 002 with numbers that are exact: alpha 1/4, beta 1/2, minRTT 1024, 2**20 per step."""
    p = {**_USUAL, "variant": 0, "alpha": _ONE // 4, "beta": _ONE // 2, "min_rtt": 1024}
    p |= {"low": 500, "high": 4096, "ai": 1 << 20, "hai": 5 << 20, "hai_count": 3}
    law = _law(p)
    rate, rates = 1 << 28, []
    for rtt, t in (
        (2048, 5000),  # first: gradient 0, + ai
        (2304, 6024),  # mean 64, gradient 1/16: * (1 - 1/32)
        (1792, 6536),  # mean 48 - 128 = -80, half a minRTT later: + ai / 2
        (1536, 8000),  # mean -60 - 64: + ai
        (1280, 9024),  # third negative difference: + 5 ai
        (8192, 9536),  # above high, share 1/2: * (1 - 1/2 * 1/2 * (1 - 1/2))
        (400, 9792),  # below low, share 1/4: + ai / 4
        (16384 * 8, 20000),  # * (1 - 1/2 * (1 - 1/32)) would be more than half: it is not cut
    ):
        before = rate
        rate = _step(law, 0, (1 << 32) - 1, rate, rtt, t)
        rates.append((before, rate))
    steps = [after - before for before, after in rates]
    assert steps[0] == 1 << 20
    assert steps[1] == -(((1 << 28) + (1 << 20)) // 32)
    assert steps[2:5] == [1 << 19, 1 << 20, 5 << 20]
    assert steps[5] == -(rates[5][0] // 8)
    assert steps[6] == 1 << 18
    assert steps[7] == -round(rates[7][0] * (0.5 - 1 / 64))


def test_a_cut_is_at_most_one_half_but_in_ns3() -> None:
    p = {**_USUAL, "variant": 0, "alpha": _ONE - 1, "min_rtt": 1000}
    for variant, want in ((_SOURCE, 500_000), (_NS3, 7)):
        law = _law({**p, "variant": variant}, 2000)
        assert _step(law, 7, 1 << 30, 10**6, 9000, 99) == want
