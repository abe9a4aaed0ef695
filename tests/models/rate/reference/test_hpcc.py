"""HPCC: utilisation from telemetry, per-round-trip and per-acknowledgement reactions."""

import numpy as np
import pytest

from precog_models.rate.reference.common import STATES
from precog_models.rate.reference.hpcc import (
    HOPS,
    PRESETS,
    HpccParams,
    State,
    hpcc_ack,
    hpcc_reset,
)

_T, _WINDOW, _LINE = 4160.0, 52_000.0, 100e9


def _new(preset: str = "ns3") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    state = np.full((1, STATES), 9.0)
    hpcc_reset(state, 0, _LINE)
    p = PRESETS[preset].vector(min_bps=1e9, max_bps=_LINE, t_ns=_T, window=_WINDOW)
    return state, p, np.zeros((1, 1 + 4 * HOPS), dtype=np.int64)


def _hop(telemetry: np.ndarray, hop: int, t: int, sent: int, queue: int) -> None:
    telemetry[0, 0] = max(telemetry[0, 0], hop + 1)
    telemetry[0, 1 + 4 * hop : 5 + 4 * hop] = t, sent, queue, 100_000


def test_first_acknowledgement_only_stores() -> None:
    state, p, telemetry = _new()
    _hop(telemetry, 0, 100, 5120, 3200)
    assert hpcc_ack(state, 0, p, telemetry, 0, True, 42e9) == 42e9
    assert state[0, State.U] == 1.0


def test_utilisation_of_the_most_loaded_hop() -> None:
    state, p, telemetry = _new()
    _hop(telemetry, 0, 0, 0, 0)
    _hop(telemetry, 1, 0, 0, 6400)
    hpcc_ack(state, 0, p, telemetry, 0, True, _LINE)
    _hop(telemetry, 0, 2080, 20 * 512, 64_000)  # its queue was empty before: min = 0
    _hop(telemetry, 1, 2080, 60 * 512, 9_600)
    rate = hpcc_ack(state, 0, p, telemetry, 0, True, _LINE)
    u = 60 * 512 * 8 / 2080e-9 / _LINE + 6400 / _WINDOW
    mean = 1.0 * 0.5 + u * 0.5
    assert state[0, State.U] == pytest.approx(mean)
    assert rate == pytest.approx(_LINE / (mean / 0.95) + 40e6)
    assert state[0, State.BASE_BPS] == rate


def test_reaction_within_a_round_trip_leaves_the_base() -> None:
    state, p, telemetry = _new()
    _hop(telemetry, 0, 0, 0, 32_000)
    hpcc_ack(state, 0, p, telemetry, 0, True, _LINE)
    for n in range(1, 4):
        _hop(telemetry, 0, 1000 * n, 12_800 * n, 32_000)
        assert hpcc_ack(state, 0, p, telemetry, 0, False, _LINE) < _LINE
        assert state[0, State.BASE_BPS] == _LINE


def test_header_fields_wrap_and_are_coarse() -> None:
    state, p, telemetry = _new()
    wrap_bytes, wrap_time = 512 << 20, 1 << 24
    _hop(telemetry, 0, wrap_time - 1000, wrap_bytes - 512, 319)
    hpcc_ack(state, 0, p, telemetry, 0, True, _LINE)
    _hop(telemetry, 0, wrap_time + 1080, wrap_bytes + 19 * 512, 319)
    hpcc_ack(state, 0, p, telemetry, 0, True, _LINE)
    u = 20 * 512 * 8 / 2080e-9 / _LINE  # 319 B are below the queue field's unit
    assert state[0, State.U] == pytest.approx(0.5 + 0.5 * u)


def test_additive_stages_of_the_paper_preset() -> None:
    state, p, telemetry = _new("paper")
    hpcc_reset(state, 0, 10e9)
    _hop(telemetry, 0, 0, 0, 0)
    rate = hpcc_ack(state, 0, p, telemetry, 0, True, 10e9)
    for n in range(1, 6):
        _hop(telemetry, 0, 5000 * n, 12_800 * n, 0)
        rate = hpcc_ack(state, 0, p, telemetry, 0, True, rate)
        assert rate == pytest.approx(10e9 + n * 40e6)
    _hop(telemetry, 0, 30_000, 12_800 * 6, 0)
    assert hpcc_ack(state, 0, p, telemetry, 0, True, rate) > 2 * rate


def test_bad_target() -> None:
    with pytest.raises(ValueError, match=r"eta must be in \(0, 1\], not 1.2"):
        HpccParams(eta=1.2)
