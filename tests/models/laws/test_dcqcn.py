"""The program of DCQCN: the CNP train by hand, lazy clocks, and the float reference run eagerly."""

import numpy as np
import pytest
from tests.models.laws.law_bench import Plain

from precog_models.rate.reference import dcqcn as reference
from precog_models.rate.reference.common import PARAMS, STATES
from precog_spec.engine.events import Kind

_ONE = 1 << 24
_MBPS = 2097
_TOP = (1 << 32) - 1

_PRESETS = {
    "paper": {
        **{"g": _ONE // 256, "alpha_ticks": 55_000, "cut_ticks": 0, "rate_ticks": 55_000},
        **{"recovery": 5, "byte_count": 10_000_000, "ai": 40 * _MBPS, "hai": 0, "clamp_target": 1},
    },
    "vendor": {
        **{"g": _ONE // 256, "alpha_ticks": 1000, "cut_ticks": 4000, "rate_ticks": 300_000},
        **{"recovery": 1, "byte_count": 32767, "ai": 5 * _MBPS, "hai": 50 * _MBPS},
        **{"clamp_target": 0},
    },
    "ns3": {
        **{"g": _ONE // 256, "alpha_ticks": 1000, "cut_ticks": 4000, "rate_ticks": 300_000},
        **{"recovery": 1, "byte_count": 0, "ai": 20 * _MBPS, "hai": 200 * _MBPS},
        **{"clamp_target": 0},
    },
}


class _Golden:
    """A queue pair's reaction point."""

    def __init__(self, p: dict[str, int], rate: int, low: int = 0, high: int = _TOP) -> None:
        self.law = Plain("dcqcn", p)
        self.rate, self.low, self.high = rate, low, high

    def __getitem__(self, name: str) -> int:
        return int(getattr(self.law.state, name))

    @property
    def state(self) -> list[int]:
        return [*vars(self.law.state).values()]

    def _event(self, kind: Kind, t: int, sent: int = 0) -> None:
        bounds = {"min_rate": self.low, "max_rate": self.high}
        self.rate = self.law.event(kind, now=t % 2**40, bytes=sent, rate=self.rate, **bounds)

    def sweep(self, t: int) -> None:
        self._event(Kind.TIMER, t)

    def cnp(self, t: int) -> None:
        self._event(Kind.CNP, t)

    def bytes(self, t: int, sent: int) -> None:
        self._event(Kind.ACK, t, sent)


class _Eager:
    """The float reference with its clocks as events, in ticks and in LSB of the rate."""

    def __init__(self, p: dict[str, int], rate: int, low: int = 0, high: int = _TOP) -> None:
        self.p = np.zeros(PARAMS)
        for place, value in {
            reference.Param.G: p["g"] / _ONE,
            reference.Param.ALPHA_US: p["alpha_ticks"],
            reference.Param.CUT_US: p["cut_ticks"],
            reference.Param.RATE_US: p["rate_ticks"],
            reference.Param.RECOVERY: p["recovery"],
            reference.Param.BYTES: p["byte_count"],
            reference.Param.AI_BPS: p["ai"],
            reference.Param.HAI_BPS: p["hai"],
            reference.Param.CLAMP_TARGET: p["clamp_target"],
            reference.Param.MIN_BPS: low,
            reference.Param.MAX_BPS: high,
        }.items():
            self.p[place] = value
        self.state = np.zeros((1, STATES))
        reference.dcqcn_reset(self.state, 0, rate)
        self.rate = float(rate)
        self.due = {"alpha": np.inf, "rate": np.inf, "cut": np.inf}  # also the order of a moment

    def sweep(self, t: int) -> None:
        while min(self.due.values()) <= t:
            now = min(self.due.values())
            name = next(name for name, due in self.due.items() if due == now)
            self.due[name] = now + self.p[reference.Param[f"{name.upper()}_US"]]
            if name == "alpha":
                reference.dcqcn_alpha_timer(self.state, 0, self.p)
            elif name == "rate":
                self.rate = reference.dcqcn_rate_timer(self.state, 0, self.p, self.rate)
            else:
                self.rate, cut = reference.dcqcn_cut_timer(self.state, 0, self.p, self.rate)
                if cut:
                    self.due["rate"] = now + self.p[reference.Param.RATE_US]

    def cnp(self, t: int) -> None:
        self.sweep(t)
        self.rate, timers = reference.dcqcn_notify(self.state, 0, self.p, self.rate)
        for bit, name in ((1, "alpha"), (2, "cut"), (4, "rate")):
            if timers & bit:
                self.due[name] = t + self.p[reference.Param[f"{name.upper()}_US"]]

    def bytes(self, t: int, sent: int) -> None:
        self.sweep(t)
        self.rate = reference.dcqcn_bytes(self.state, 0, self.p, sent, self.rate)


def test_a_train_of_notifications_by_hand() -> None:
    """N = 50 us apart, so alpha's clock of 55 us never ends: alpha stays 1, each cut is a half."""
    qp = _Golden(_PRESETS["paper"], 1 << 30)
    for n in range(1, 5):
        qp.cnp(50_000 * n)
        assert qp.rate == 1 << (30 - n)
        assert qp["target"] == 1 << (31 - n)
        assert qp["alpha"] == 1 << 32
    # Five rounds of fast recovery, by the timer alone.
    last = 200_000
    for n in range(1, 6):
        qp.sweep(last + 55_000 * n - 1)
        assert qp.rate == (1 << 27) - (1 << (27 - n))
        qp.sweep(last + 55_000 * n)
        assert qp.rate == (1 << 27) - (1 << (26 - n))
    # Additive increase, and alpha after six periods: 255**6 / 256**6 with 32 bits.
    qp.sweep(last + 55_000 * 6)
    assert qp["target"] == (1 << 27) + 40 * _MBPS
    assert qp.rate == ((1 << 27) - (1 << 21) + qp["target"] + 1) >> 1
    assert abs(qp["alpha"] - 2**32 * (255 / 256) ** 6) <= 6
    rate, alpha = qp.rate, qp["alpha"] / 2**32
    qp.cnp(last + 55_000 * 6 + 1)
    assert qp["target"] == rate
    assert abs(qp.rate - rate * (1 - alpha / 2)) <= 1 + rate * 2**-25
    assert abs(qp["alpha"] / 2**32 - (alpha * 255 / 256 + 1 / 256)) <= 2**-32


def test_three_alpha_periods_are_exact() -> None:
    """255**3 * 2**8 is an integer: alpha's 32 fraction bits hold it."""
    together, alone = (_Golden(_PRESETS["paper"], 1 << 30) for _ in range(2))
    for qp in (together, alone):
        qp.cnp(0)
    together.sweep(3 * 55_000 + 7)
    for n in (1, 2, 3):
        alone.sweep(n * 55_000 + 7)
    assert together["alpha"] == alone["alpha"] == 255**3 << 8
    assert together["alpha_t"] == 3 * 55_000


def test_the_byte_counter_alone_reaches_additive_but_not_hyper_increase() -> None:
    p = {**_PRESETS["paper"], "byte_count": 1000, "hai": 1000 * _MBPS, "rate_ticks": 0}
    qp = _Golden(p, 1 << 30)
    qp.bytes(1, 5000)
    assert (qp.rate, qp["bytes"]) == (1 << 30, 0)  # before the first notification
    qp.cnp(2)
    for n in range(1, 6):
        qp.bytes(3, 999)
        qp.bytes(3, 1)
        assert qp.rate == (1 << 30) - (1 << (29 - n))
    qp.bytes(4, 9500)
    assert (qp["byte_stage"], qp["bytes"]) == (13, 1500)  # at most eight steps at once
    assert qp["target"] == (1 << 30) + 8 * 40 * _MBPS
    qp.bytes(4, 0)
    assert (qp["byte_stage"], qp["bytes"]) == (14, 500)


def test_both_clocks_beyond_the_threshold_give_hyper_increase() -> None:
    p = {**_PRESETS["paper"], "byte_count": 1000, "hai": 1000 * _MBPS, "recovery": 1}
    qp = _Golden(p, 1 << 28)
    qp.cnp(0)
    qp.bytes(1, 3000)
    for n in range(1, 4):
        before = qp["target"]
        qp.sweep(55_000 * n)
        # The stages before the step are (0, 3), (1, 3), (2, 3): hyper when both exceed 1.
        assert qp["target"] - before == (1000 if n == 3 else 40) * _MBPS


def test_the_check_cuts_at_its_own_ticks() -> None:
    """Vendor form: the first notification starts the check; a cut comes at its tick, seen late."""
    qp = _Golden(_PRESETS["vendor"], 1 << 30)
    qp.cnp(1000)
    qp.sweep(4999)
    assert qp.rate == 1 << 30
    qp.sweep(5000)
    alpha = (1 << 32) * (255 / 256) ** 4  # updates at 2000 to 5000, then the cut
    assert abs(qp["alpha"] - alpha) <= 4
    assert abs(qp.rate - 2**30 * (1 - alpha / 2**33)) <= 64
    assert qp["target"] == 1 << 30
    # The next one marks; alpha rises at 6000, and the check at 9000 is the next tick.
    qp.cnp(5500)
    rate = qp.rate
    qp.sweep(20_000)
    assert qp["rate_t"] == 9000
    alpha = (alpha / 2**32 * 255 / 256 + 1 / 256) * (255 / 256) ** 3
    assert abs(qp.rate - rate * (1 - alpha / 2)) <= 64
    assert qp["target"] == 1 << 30  # not clamped: no increase in between
    assert abs(qp["alpha"] / 2**32 - alpha * (255 / 256) ** 11) <= 2**-20


def test_late_sweeps_make_up_eight_increases_at_a_time() -> None:
    qp = _Golden({**_PRESETS["paper"], "ai": 1000}, 1 << 30)
    qp.cnp(0)
    target = qp["target"]
    qp.sweep(20 * 55_000)
    assert (qp["timer_stage"], qp["rate_t"]) == (8, 8 * 55_000)
    qp.sweep(20 * 55_000)
    qp.sweep(20 * 55_000)
    assert (qp["timer_stage"], qp["rate_t"]) == (20, 20 * 55_000)
    assert qp["target"] == target + 15 * 1000


@pytest.mark.parametrize("preset", _PRESETS)
def test_lazy_clocks_equal_the_reference_run_eagerly(preset: str, seed: int) -> None:
    """Flows of 400 events that each side runs on its own; times in between up to 3 T."""
    rng = np.random.default_rng(seed)
    worst_alpha = worst_rate = 0.0
    cuts = 0
    for _ in range(25):
        p = _PRESETS[preset]
        low, high = 100 * _MBPS, 100_000 * _MBPS
        lazy, eager = _Golden(p, high // 2, low, high), _Eager(p, high // 2, low, high)
        start = t = int(rng.integers(0, 2**40))  # the golden's time wraps
        for _ in range(400):
            choice = rng.random()
            t += int(p["rate_ticks"] * (3 * rng.random() ** 4 if choice < 0.5 else 0.01))
            if rng.random() < 0.2:  # meet a clock's tick exactly
                due = min(eager.due.values()) + start
                t = max(t, int(due)) if np.isfinite(due) else t
            before = lazy.rate
            if choice < 0.1:
                lazy.cnp(t)
                eager.cnp(t - start)
            elif choice < 0.7:
                sent = int(rng.integers(0, p["byte_count"] + 1)) if p["byte_count"] else 1000
                lazy.bytes(t, sent)
                eager.bytes(t - start, sent)
            else:
                lazy.sweep(t)
                eager.sweep(t - start)
            cuts += lazy.rate < before
            alpha = lazy["alpha"] / 2**32 if lazy["started"] else 1.0
            worst_alpha = max(worst_alpha, abs(alpha - eager.state[0, reference.State.ALPHA]))
            excess = abs(lazy.rate - eager.rate) - 8  # LSB
            worst_rate = max(worst_rate, excess / eager.rate)
            for name in ("timer_stage", "byte_stage", "bytes", "started"):
                want = eager.state[0, reference.State[name.upper()]]
                assert lazy[name] == min(want, 255 if "stage" in name else want), name
    print(f"{preset}: error of alpha {worst_alpha:.1e}, of the rate {worst_rate:.1e} and 8 LSB")
    assert cuts > 100
    # k products round by 2**-25 each while alpha decays by 1/256 each: below 2**-25 * 256 / e.
    assert worst_alpha < 3e-6
    assert worst_rate < 2e-6


@pytest.mark.parametrize("g", [1, 327, _ONE // 205, _ONE // 16, _ONE - 1])
def test_k_periods_at_once(g: int, seed: int) -> None:
    """Any k up to 4095 against the power, in the bound that the model states."""
    rng = np.random.default_rng(seed)
    for k in [1, 2, 15, 16, 255, 256, 4095, *rng.integers(1, 4096, 200).tolist()]:
        qp = _Golden({**_PRESETS["paper"], "g": g, "rate_ticks": 0}, 1 << 30)
        qp.cnp(0)
        qp.sweep(k * 55_000 + int(rng.integers(55_000)))
        exact = (1 - g / _ONE) ** k
        # Rounding of k factors, each kept by the later ones, and of the three products.
        bound = 2**-25 * k * exact ** ((k - 1) / k) + 3 * 2**-33 if k > 15 else k * 2**-25
        assert abs(qp["alpha"] / 2**32 - exact) <= bound + 2**-24 * (k > 15), k
        assert qp["alpha_t"] == k * 55_000


def test_a_clock_that_nobody_looked_at_starts_anew() -> None:
    qp = _Golden({**_PRESETS["paper"], "g": 655, "rate_ticks": 0}, 1 << 30)
    qp.cnp(0)
    qp.sweep(4096 * 55_000 + 5)
    assert qp["alpha_t"] == 4096 * 55_000 + 5
    assert abs(qp["alpha"] / 2**32 - (1 - 655 / _ONE) ** 4095) <= 4095 * 2**-24


def test_clocks_of_period_zero_are_off() -> None:
    qp = _Golden({**_PRESETS["paper"], "alpha_ticks": 0, "rate_ticks": 0, "byte_count": 0}, 1 << 30)
    qp.cnp(0)
    before = qp.state
    qp.bytes(2**39, 2**32 - 1)
    assert qp.state == before
    assert qp.rate == 1 << 29


def test_bounds_hold_for_the_target_and_for_every_cut() -> None:
    qp = _Golden(_PRESETS["paper"], 1 << 20, low=1 << 19, high=(1 << 20) + 500)
    for n in range(3):
        qp.cnp(n)
        assert qp.rate == 1 << 19
    for n in range(40):
        qp.sweep(55_000 * n + 5)
    assert qp["target"] == qp.rate == (1 << 20) + 500


@pytest.mark.parametrize("preset", ["paper", "vendor"])
def test_a_time_before_the_last_event_moves_nothing(preset: str) -> None:
    """A sample may be told after a notification that came later: no clock runs backwards."""
    t = 10_000_000
    qp = _Golden(_PRESETS[preset], 1 << 30)
    qp.cnp(t)
    qp.sweep(t + 4_500)  # vendor's check cuts at its tick of 4 us
    cut, state = qp.rate, qp.state
    assert cut < (1 << 29) + (1 << 25)
    for back in (1, 100, 4_000, 1 << 30, (1 << 39) - 10_000):
        qp.sweep(t - back)
        assert qp.rate == cut
        assert qp.state == state
    qp.sweep(t + 4_600)
    assert qp.rate == cut
