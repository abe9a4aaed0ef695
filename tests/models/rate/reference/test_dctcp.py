"""DCTCP: alpha, the cut once per window, the increase."""

import numpy as np
import pytest

from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.dctcp import (
    PRESETS,
    DctcpParams,
    State,
    dctcp_ack,
    dctcp_reset,
)


def _new() -> tuple[np.ndarray, np.ndarray]:
    state = np.full((1, STATES), 3.0)
    dctcp_reset(state, 0)
    return state, PRESETS["ns3"].vector(min_bps=1e9, max_bps=100e9, mtu=1000)


def test_first_mark_halves_and_only_once_per_window() -> None:
    state, p = _new()
    rate = dctcp_ack(state, 0, p, True, True, 1000, 50_000, 100e9)
    assert rate == 50e9
    rate = dctcp_ack(state, 0, p, True, False, 2000, 51_000, rate)
    assert rate == 50e9
    rate = dctcp_ack(state, 0, p, True, True, 51_000, 90_000, rate)
    # the window of the cut is acknowledged: alpha = 15/16 + 1/16 * 3 / 51
    alpha = 15 / 16 + 3 / 51 / 16
    assert state[0, State.ALPHA] == pytest.approx(alpha)
    assert rate == pytest.approx(50e9 * (1 - alpha / 2))


def test_unmarked_windows_add_a_step_and_lower_alpha() -> None:
    state, p = _new()
    rate = dctcp_ack(state, 0, p, False, True, 1000, 20_000, 10e9)
    rate = dctcp_ack(state, 0, p, False, False, 2000, 21_000, rate)
    rate = dctcp_ack(state, 0, p, False, True, 21_000, 40_000, rate)
    assert rate == pytest.approx(10e9 + 2 * 615e6)
    assert state[0, State.ALPHA] == pytest.approx(15 / 16)
    assert state[0, State.BATCH] == 20


def test_bounds() -> None:
    state, p = _new()
    assert dctcp_ack(state, 0, p, True, False, 1000, 2000, 1.5e9) == 1e9
    state, p = _new()
    assert dctcp_ack(state, 0, p, False, True, 1000, 2000, 99.9e9) == 100e9
    with pytest.raises(ValueError, match=r"g must be in \(0, 1\], not 0"):
        DctcpParams(g=0)
