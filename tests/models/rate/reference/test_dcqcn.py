"""DCQCN's reaction point: the paper's machine and the timers of the ns-3 form."""

import numpy as np
import pytest

from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.dcqcn import (
    PRESETS,
    DcqcnParams,
    State,
    dcqcn_alpha_timer,
    dcqcn_bytes,
    dcqcn_cut_timer,
    dcqcn_notify,
    dcqcn_rate_timer,
    dcqcn_reset,
)

_G = 1 / 256


def _new(preset: str, rate: float = 100e9) -> tuple[np.ndarray, np.ndarray]:
    state = np.full((1, STATES), 5.0)
    dcqcn_reset(state, 0, rate)
    return state, PRESETS[preset].vector(min_bps=1e9, max_bps=100e9)


def test_paper_cuts_at_once_then_raises_alpha() -> None:
    state, p = _new("paper")
    rate, timers = dcqcn_notify(state, 0, p, 100e9)
    assert (rate, timers) == (50e9, 1 + 4)
    assert state[0, State.TARGET_BPS] == 100e9
    dcqcn_alpha_timer(state, 0, p)
    assert state[0, State.ALPHA] == pytest.approx(1 - _G)  # alpha was 1: (1 - g) + g, then decay
    rate, _ = dcqcn_notify(state, 0, p, rate)
    assert rate == pytest.approx(50e9 * (1 - (1 - _G) / 2))
    assert state[0, State.TARGET_BPS] == 50e9


def test_paper_recovers_fast_five_times_then_adds() -> None:
    state, p = _new("paper")
    rate, _ = dcqcn_notify(state, 0, p, 80e9)
    for n in range(1, 6):
        rate = dcqcn_rate_timer(state, 0, p, rate)
        assert rate == pytest.approx(80e9 - 40e9 / 2**n)
    assert state[0, State.TARGET_BPS] == 80e9
    dcqcn_rate_timer(state, 0, p, rate)
    assert state[0, State.TARGET_BPS] == pytest.approx(80e9 + 40e6)


def test_paper_byte_counter_is_a_second_clock_and_starts_with_the_first_cut() -> None:
    state, p = _new("paper")
    assert dcqcn_bytes(state, 0, p, 20_000_000, 80e9) == 80e9
    rate, _ = dcqcn_notify(state, 0, p, 80e9)
    assert dcqcn_bytes(state, 0, p, 9_999_999, rate) == rate
    assert dcqcn_bytes(state, 0, p, 1, rate) == pytest.approx(60e9)
    assert state[0, State.BYTE_STAGE] == 1


def test_ns3_first_notification_cuts_only_at_the_check() -> None:
    state, p = _new("ns3")
    assert dcqcn_notify(state, 0, p, 100e9) == (100e9, 1 + 2)
    assert dcqcn_notify(state, 0, p, 100e9) == (100e9, 0)
    rate, cut = dcqcn_cut_timer(state, 0, p, 100e9)
    assert (rate, cut) == (50e9, True)
    assert dcqcn_cut_timer(state, 0, p, rate) == (50e9, False)


def test_ns3_target_is_set_only_by_the_first_cut_after_an_increase() -> None:
    state, p = _new("ns3")
    dcqcn_notify(state, 0, p, 100e9)
    rate, _ = dcqcn_cut_timer(state, 0, p, 100e9)
    dcqcn_notify(state, 0, p, rate)
    rate, _ = dcqcn_cut_timer(state, 0, p, rate)
    assert state[0, State.TARGET_BPS] == 100e9
    rate = dcqcn_rate_timer(state, 0, p, rate)
    dcqcn_notify(state, 0, p, rate)
    dcqcn_cut_timer(state, 0, p, rate)
    assert state[0, State.TARGET_BPS] == rate


def test_ns3_phases_without_byte_counter() -> None:
    state, p = _new("ns3")
    dcqcn_notify(state, 0, p, 40e9)
    rate, _ = dcqcn_cut_timer(state, 0, p, 40e9)
    targets = []
    for _ in range(3):
        rate = dcqcn_rate_timer(state, 0, p, rate)
        targets.append(state[0, State.TARGET_BPS])
    np.testing.assert_allclose(np.diff([40e9, *targets]), [0.0, 20e6, 200e6])


def test_alpha_with_and_without_notifications() -> None:
    state, p = _new("ns3")
    dcqcn_notify(state, 0, p, 100e9)
    dcqcn_alpha_timer(state, 0, p)
    assert state[0, State.ALPHA] == pytest.approx(1 - _G)
    dcqcn_notify(state, 0, p, 100e9)
    dcqcn_alpha_timer(state, 0, p)
    assert state[0, State.ALPHA] == pytest.approx((1 - _G) ** 2 + _G)


def test_bad_parameters() -> None:
    with pytest.raises(ValueError, match="rate_us must be positive, not 0"):
        DcqcnParams(rate_us=0)
    with pytest.raises(ValueError, match=r"g must be in \(0, 1\], not 2"):
        DcqcnParams(g=2)
