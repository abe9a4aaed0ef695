"""The loop plug-in: a C function decides; its errors end the run."""

from dataclasses import replace

import numpy as np
import pytest
from numba import carray, cfunc, types
from numpy.typing import NDArray

from precog_sim.network import (
    Dcqcn,
    Ecn,
    Fixed,
    Loop,
    Record,
    Result,
    SimulationError,
    Timely,
    incast,
    room,
    run,
)
from precog_spec.contract import DECISION_FIELDS, SAMPLE_FIELDS, Flag
from precog_spec.law_fields import EventKind

_POINTER = types.CPointer(types.int64)
_SIGNATURE = types.int64(_POINTER, _POINTER, _POINTER)
_BYTES = int(EventKind.BYTES)
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


def _told(loop_changes: dict[str, object], *, answer: int = 0, rate: int = _TEN_GBPS) -> Loop:
    """A loop whose functions count kinds and add up values; the sample's has none.

    With `tell_bytes` they are told, too, as those of acknowledgements.
    """

    @cfunc(_SIGNATURE)
    def decide(handle, sample, decision):  # type: ignore[no-untyped-def]
        s, d = carray(sample, (3,)), carray(decision, (8,))
        for k in range(8):
            d[k] = 0
        d[0] = s[0]
        d[1] = _TEN_GBPS
        return 5

    @cfunc(_SIGNATURE)
    def happen(handle, event, decision):  # type: ignore[no-untyped-def]
        counts = carray(handle, (2, 8))
        e, d = carray(event, (4,)), carray(decision, (8,))
        counts[0, e[0]] += 1
        counts[1, e[0]] += e[3]
        for k in range(8):
            d[k] = 0
        d[0] = e[1]
        d[1] = rate
        d[7] = 64
        return answer

    @cfunc(_SIGNATURE)
    def acknowledge(handle, ack, decision):  # type: ignore[no-untyped-def]
        counts = carray(handle, (2, 8))
        a, d = carray(ack, (7,)), carray(decision, (8,))
        counts[0, _BYTES] += 1
        counts[1, _BYTES] += a[3]
        for k in range(8):
            d[k] = 0
        d[0] = a[0]
        d[1] = rate
        d[7] = 64
        return answer

    counts = np.zeros((2, 8), dtype=np.int64)
    changes = dict(loop_changes)
    if changes.pop("tell_bytes", False):
        changes["ack_function"] = int(acknowledge.address)
    addresses = {"function": int(decide.address), "event_function": int(happen.address)}
    loop = Loop(handle=int(counts.ctypes.data), **{**addresses, **changes})  # type: ignore[arg-type]
    object.__setattr__(
        loop, "keep", (decide, happen, counts, acknowledge)
    )  # alive as long as the plug-in
    return loop


def _counts(loop: Loop) -> NDArray[np.int64]:
    kept: NDArray[np.int64] = loop.keep[2]  # type: ignore[attr-defined]
    return kept


def _of_events(result: Result) -> NDArray[np.int64]:
    rows: NDArray[np.int64] = result.log[result.log[:, -1] >> Flag.EVENT & 1 == 1]
    return rows


_WITH_CNPS = Dcqcn(preset="paper")
_WITH_MARKS = Dcqcn(preset="ns3")
_LOW_MARKS = Ecn(2000, 4000, 1.0)  # so that the ns-3 preset's marks come in a short run


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
    with pytest.raises(ValueError, match="loop event_function must be the address of a C function"):
        Loop(function=1, sweep_us=1.0)
    with pytest.raises(ValueError, match=r"sweep_us must be 0 or in 0.001..1e6, not 1e-06"):
        Loop(function=1, event_function=1, sweep_us=1e-6)


@pytest.mark.parametrize("timing", ["exact", "ns3"])
@pytest.mark.parametrize("like", [_WITH_CNPS, _WITH_MARKS], ids=["cnps", "marks"])
def test_events_of_every_kind_are_told(like: Dcqcn, timing: str) -> None:
    scenario = replace(incast("hundredth"), ecn=_LOW_MARKS)
    loop = _told({"like": like, "tell_bytes": True, "sweep_us": 2.0})
    result = run(scenario, loop, timing=timing, record=Record(log=True))
    counts, values = _counts(loop)
    assert counts.sum() == counts[[EventKind.CNP, EventKind.BYTES, EventKind.SWEEP]].sum()
    assert counts[EventKind.BYTES] == result.data_sent
    assert values[EventKind.BYTES] == result.size.sum() + result.data_sent * result.header[0]
    assert values[EventKind.CNP] == values[EventKind.SWEEP] == 0
    # A notification that comes after its flow's end is told to nobody.
    if like is _WITH_CNPS:
        assert 0.8 * result.cnps <= counts[EventKind.CNP] <= result.cnps
    else:
        assert result.cnps == 0
        assert 0.8 * result.marks <= counts[EventKind.CNP] <= result.marks
    # From some flow's first notification to its end, and never twice in a period.
    assert 0 < counts[EventKind.SWEEP] <= result.fct_us.sum() / 2.0
    events = _of_events(result)
    assert len(events) == counts.sum() == len(result.log) - len(result.sample_flow)
    assert (events[:, 0] == events[:, 3]).all()
    assert (np.diff(result.log[:, 2]) >= 0).all()


def test_sweeps_come_in_time() -> None:
    scenario = replace(incast(sizes=[300_000, 300_000]), ecn=_LOW_MARKS)
    result = run(
        scenario,
        _told({"like": _WITH_CNPS, "sweep_us": 2.0, "start_gbps": 100.0}, rate=5 * _TEN_GBPS),
        record=Record(log=True),
    )
    events = _of_events(result)
    for flow in range(2):
        times = events[events[:, 0] == flow][:, 2]
        # CNPs come every 50 us at most, sweeps in between: no pause is longer than their period.
        assert np.diff(times).max() <= 2000
        assert times[-1] > (result.start_us + result.fct_us)[flow] * 1e3 - 2001


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, set()),
        ({"like": Timely(), "event_function": 0}, set()),
        ({"like": _WITH_CNPS}, {EventKind.CNP}),
        ({"like": _WITH_CNPS, "tell_bytes": True}, {EventKind.CNP, EventKind.BYTES}),
        ({"like": _WITH_CNPS, "sweep_us": 5.0}, {EventKind.CNP, EventKind.SWEEP}),
        ({"like": _WITH_CNPS, "event_function": 0}, set()),
    ],
)
def test_only_wanted_events_are_told(changes: dict[str, object], kinds: set[EventKind]) -> None:
    loop = _told(changes)
    result = run(incast("hundredth"), loop, record=Record(log=True))
    counts = _counts(loop)[0]
    assert {EventKind(k) for k in np.flatnonzero(counts)} == kinds
    assert len(result.log) == len(result.sample_flow) + counts.sum()


def test_the_network_is_as_under_the_law() -> None:
    for like in (None, Timely(), _WITH_CNPS, _WITH_MARKS):
        base = run(incast("hundredth"), like or Fixed())
        looped = run(incast("hundredth"), _told({"like": like}))
        assert (looped.header.tolist(), looped.standalone_us.tolist()) == (
            base.header.tolist(),
            base.standalone_us.tolist(),
        )


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_an_event_s_rate_moves_the_departure_that_waits(timing: str) -> None:
    # At 1 Mb/s the next departure is 8 ms away, unless bytes told raise the rate at once.
    scenario = incast(sizes=[100_000])
    slow = {"like": _WITH_CNPS, "start_gbps": 0.001}
    moved = run(scenario, _told({**slow, "tell_bytes": True}), timing=timing)
    left = run(scenario, _told({**slow, "tell_bytes": True, "retime": False}), timing=timing)
    assert moved.fct_us[0] < 100.0
    assert left.fct_us[0] > 8000.0


def test_dcqcn_and_a_loop_with_its_rates_pace_alike() -> None:
    # `retime` holds for every change of rate: with it a flow that is cut waits longer at once.
    scenario = replace(incast("hundredth"), ecn=_LOW_MARKS)
    runs = [run(scenario, Dcqcn(preset="paper", retime=retime)) for retime in (False, True)]
    assert runs[1].fct_us.mean() != runs[0].fct_us.mean()
    assert runs[1].data_got == runs[0].data_got


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"answer": -1}, r"event function must not return a negative number, not -1 \(at "),
        ({"rate": 0}, "decision function must give a positive rate, not 0"),
    ],
)
@pytest.mark.parametrize("changes", [{"tell_bytes": True}, {}], ids=["bytes", "cnp"])
def test_errors_of_the_event_function_end_the_run(
    changes: dict[str, object], arguments: dict[str, int], message: str
) -> None:
    with pytest.raises(SimulationError, match=message):
        run(incast("hundredth"), _told({"like": _WITH_CNPS, **changes}, **arguments))


def test_a_log_that_is_full_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_log_rows", lambda *_: 5)
    with pytest.raises(SimulationError, match="log must hold more than 5 decisions at "):
        run(incast("hundredth"), _told({"tell_bytes": True}), record=Record(log=True))
