"""TIMELY against source 002's routine, and the ns-3 form step by step."""

import numpy as np
import pytest

from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.timely import PRESETS, TimelyParams, timely_step

_MIN, _MAX = 1e9, 100e9


class _Sender:
    """`getNewRate` of source 002, its variables under its names."""

    def __init__(self, p: TimelyParams) -> None:
        self.p = p
        self.prev_rtt = 0.0
        self.neg_gradient_count = 0
        self.avg_rtt_diff = 0.0
        self.last_update_time = 0.0

    def new_rate(self, rtt: float, rate: float, time: float) -> float:
        if self.prev_rtt == 0:
            self.prev_rtt = rtt
        rtt_diff = rtt - self.prev_rtt
        if rtt_diff < 0:
            self.neg_gradient_count += 1
        else:
            self.neg_gradient_count = 0
        self.avg_rtt_diff = (1 - self.p.alpha) * self.avg_rtt_diff + self.p.alpha * rtt_diff
        normalized_gradient = self.avg_rtt_diff / self.p.min_rtt_us
        delta_factor = min((time - self.last_update_time) / self.p.min_rtt_us, 1.0)
        self.prev_rtt = rtt
        self.last_update_time = time
        if rtt < self.p.low_us:
            new_rate = rate + self.p.ai_bps * delta_factor
        elif rtt > self.p.high_us:
            new_rate = rate * (1 - delta_factor * self.p.beta * (1 - self.p.high_us / rtt))
        elif normalized_gradient <= 0:
            n = 5 if self.neg_gradient_count >= self.p.hai_count else 1
            new_rate = rate + n * self.p.ai_bps * delta_factor
        else:
            new_rate = rate * (1.0 - self.p.beta * normalized_gradient)
        new_rate = max(new_rate, rate * 0.5)
        return max(min(new_rate, _MAX), _MIN)


@pytest.mark.parametrize("preset", ["paper", "scaled"])
def test_source_form_equals_the_source(preset: str, seed: int) -> None:
    params = PRESETS[preset]
    p = params.vector(min_bps=_MIN, max_bps=_MAX)
    state = np.zeros((1, STATES))
    sender = _Sender(params)
    rng = np.random.default_rng(seed)
    rate = want = 20e9
    rtt, t = 5.0, 0.0
    for _ in range(2000):
        rtt = float(np.clip(rtt * rng.uniform(0.6, 1.7), 4.0, 3000.0))
        t += float(rng.uniform(0.5, 2.0)) * min(rtt, 10.0)
        rate = timely_step(state, 0, p, rtt, t, rate)
        want = sender.new_rate(rtt, want, t)
        assert rate == pytest.approx(want, rel=1e-12)


def _ns3(rtts: list[float], rate: float = 10e9, *, whole: bool = False) -> list[float]:
    p = PRESETS["ns3"].vector(min_bps=_MIN, max_bps=_MAX, whole_bps=whole)
    state = np.zeros((1, STATES))
    rates = []
    for rtt in rtts:
        rate = timely_step(state, 0, p, rtt, 0.0, rate)
        rates.append(rate)
    return rates


def test_ns3_first_sample_is_stored_and_hai_follows_five_increases() -> None:
    rates = _ns3([4.2] * 8)
    np.testing.assert_allclose(np.diff([10e9, *rates]), [0, *[100e6] * 5, 500e6, 500e6])


def test_ns3_gradient_and_high_rtt() -> None:
    rates = _ns3([60.0, 64.0, 1000.0])
    gradient = 0.875 * 4.0 / 20.0
    assert rates[1] == pytest.approx(10e9 * (1 - 0.8 * gradient))
    assert rates[2] == pytest.approx(rates[1] * (1 - 0.8 * (1 - 500 / 1000)))


def test_ns3_floor_ceiling_and_whole_bits() -> None:
    assert _ns3([60.0, 400.0])[1] == _MIN
    assert _ns3([4.2, 4.2], rate=99.95e9)[1] == _MAX
    exact, cut = (_ns3([60.0, 61.7], rate=1e10 + 1, whole=whole)[1] for whole in (False, True))
    assert cut == np.floor(exact) != exact


def test_patched_settles_at_one_rtt_from_anywhere() -> None:
    """Its fixed point: at gradient 0, w = 1/2, so ai = rate * slope * (rtt - ref) / ref."""
    p = PRESETS["patched"].vector(min_bps=_MIN, max_bps=_MAX)
    rate = 20e9
    rtt = 50.0 * (1 + 100e6 / (0.008 * rate))
    state = np.zeros((1, STATES))
    assert timely_step(state, 0, p, rtt, 100.0, rate) == pytest.approx(rate)
    for other, sign in ((rate / 2, 1), (rate * 2, -1)):
        state = np.zeros((1, STATES))
        assert sign * (timely_step(state, 0, p, rtt, 100.0, other) - other) > 0


def test_patched_weight_ends() -> None:
    p = PRESETS["patched"].vector(min_bps=_MIN, max_bps=_MAX)
    state = np.zeros((1, STATES))
    timely_step(state, 0, p, 100.0, 100.0, 20e9)
    # A gradient of -0.875 * 10 / 20 is below -1/4: the whole step up and no cut; then w = 1.
    assert timely_step(state, 0, p, 90.0, 200.0, 20e9) == pytest.approx(20e9 + 100e6)
    assert timely_step(state, 0, p, 110.0, 300.0, 20e9) == pytest.approx(
        20e9 * (1 - 0.008 * (110 - 50) / 50)
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"form": "new"}, "form must be one of source, ns3, patched, not 'new'"),
        ({"alpha": 0.0}, r"alpha must be in \(0, 1\], not 0.0"),
        ({"low_us": 5.0, "high_us": 4.0}, "thresholds must satisfy 0 <= low < high"),
        ({"min_rtt_us": 0.0}, "min_rtt_us must be positive, not 0.0"),
        ({"reference_us": 0.0}, "reference_us must be positive, not 0.0"),
    ],
)
def test_bad_parameters(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TimelyParams(**fields)  # type: ignore[arg-type]
