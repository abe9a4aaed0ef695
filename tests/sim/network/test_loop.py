"""The loop plug-in: a C function decides; its errors end the run."""

import numpy as np
import pytest
from numba import carray, cfunc, types

from precog_models.contract import DECISION_FIELDS, SAMPLE_FIELDS
from precog_sim.network import Fixed, Loop, Record, SimulationError, incast, run

_POINTER = types.CPointer(types.int64)
_SIGNATURE = types.int64(_POINTER, _POINTER, _POINTER)
_TEN_GBPS = int(10e9 / 8e9 * (1 << 24))


def _function(result: int, rate: int, *, window: int = 0, qp_shift: int = 0) -> Loop:
    @cfunc(_SIGNATURE)
    def decide(handle, sample, decision):  # type: ignore[no-untyped-def]
        calls = carray(handle, (1,))
        calls[0] += 1
        s = carray(sample, (3,))
        d = carray(decision, (8,))
        for k in range(8):
            d[k] = 0
        d[0] = s[0] + qp_shift
        d[1] = rate
        d[2] = window
        d[3] = s[1] * 256
        return result

    calls = np.zeros(1, dtype=np.int64)
    loop = Loop(function=int(decide.address), handle=int(calls.ctypes.data))
    object.__setattr__(loop, "keep", (decide, calls))  # alive as long as the plug-in
    return loop


def test_constant_decisions_equal_a_fixed_rate() -> None:
    scenario = incast("hundredth", senders=4)
    loop = _function(7, _TEN_GBPS)  # a positive result (the RTL's latency) is no error
    decided = run(scenario, loop, record=Record(log=True))
    fixed = run(scenario, Fixed(start_gbps=10))
    assert np.array_equal(decided.fct_us, fixed.fct_us)
    assert loop.keep[1][0] == decided.sample_rtt_ps.size == decided.log.shape[0]  # type: ignore[attr-defined]


def test_log_holds_the_integers_of_every_sample_and_decision() -> None:
    result = run(incast("hundredth"), _function(0, _TEN_GBPS), record=Record(log=True))
    names = [name for name, _ in (*SAMPLE_FIELDS, *DECISION_FIELDS)]
    assert result.log.shape[1] == len(names)
    np.testing.assert_array_equal(result.log[:, 0], result.sample_flow)
    np.testing.assert_array_equal(result.log[:, 1], (result.sample_rtt_ps + 500) // 1000)
    np.testing.assert_array_equal(result.log[:, 2], np.floor(result.sample_t_us * 1e3 + 0.5))
    np.testing.assert_array_equal(result.log[:, 3], result.sample_flow)
    assert set(result.log[:, 4]) == {_TEN_GBPS}
    np.testing.assert_allclose(result.sample_predicted_us, result.log[:, 1] * 1e-3)
    assert run(incast("hundredth"), _function(0, _TEN_GBPS)).log.size == 0


def test_a_decision_s_window_limits_the_flow() -> None:
    scenario = incast(sizes=[400_000])
    wide = run(scenario, _function(0, 10 * _TEN_GBPS))
    narrow = run(scenario, _function(0, 10 * _TEN_GBPS, window=2000))
    assert narrow.fct_us[0] > 5 * wide.fct_us[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"result": -3, "rate": 1}, "decision function must not return a negative number, not -3"),
        ({"result": 0, "rate": 0}, "decision function must give a positive rate, not 0"),
        (
            {"result": 0, "rate": 1, "qp_shift": 40},
            "decision function must answer for the sample's qp, not for",
        ),
    ],
)
def test_errors_end_the_run(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        run(incast("hundredth"), _function(**arguments))


def test_bad_plug_in() -> None:
    with pytest.raises(ValueError, match="loop function must be the address of a C function"):
        run(incast("hundredth"), Loop())
    with pytest.raises(ValueError, match="loop window must be none"):
        run(incast("hundredth"), Loop(function=1, window="bdp"))
