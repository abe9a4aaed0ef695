"""Data collection: the plans hold what they promise, and traces are what the NIC would measure."""

import numpy as np
import pytest

from precog_models.data.trace import Role
from precog_sim.collect import PLANS, collect, plan, trace_of
from precog_sim.network import run


def test_no_training_run_resembles_a_test_scenario() -> None:
    for name in PLANS:
        for spec in plan(name):
            if spec.role is Role.TEST:
                continue
            assert len(spec.scenario.flows) not in (8, 32)
            assert not 7.5 < spec.scenario.base_rtt_us < 8.5


def test_the_thesis_plan_is_the_thesis_data() -> None:
    pid, timely = plan("thesis")
    assert (pid.control.label, timely.control.label) == ("pid", "timely")
    assert pid.control.params.train
    assert (pid.control.params.kp, pid.control.params.ki, pid.control.params.kd) == (
        -0.2,
        -0.05,
        0.1,
    )
    for spec in (pid, timely):
        assert sorted(flow.size for flow in spec.scenario.flows) == [5_000_000] * 17 + [
            150_000_000,
            200_000_000,
            200_000_000,
        ]
        assert spec.control.start_gbps == 10.0


def test_the_precog_plan_covers_the_test_scenarios() -> None:
    runs = plan("precog")
    tests = {(r.group, r.control.label) for r in runs if r.role is Role.TEST}
    groups = ("8 senders", "32 senders", "base RTT 8 us", "incast-20, other seeds")
    assert tests == {(group, law) for group in groups for law in ("pid", "timely")}
    trained = {r.seed for r in runs if r.role is Role.SPLIT}
    assert not trained & {r.seed for r in runs if r.role is Role.TEST}


def test_unknown_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="data plan must be one of thesis, precog, smoke, not 'x'"):
        plan("x")


def test_traces_are_the_samples_in_ticks() -> None:
    spec = plan("smoke")[0]
    trace = trace_of(spec)
    result = run(spec.scenario, spec.control, seed=spec.seed)
    np.testing.assert_array_equal(trace.flow, result.sample_flow)
    np.testing.assert_array_equal(trace.rtt, (result.sample_rtt_ps + 500) // 1000)
    np.testing.assert_allclose(trace.t, result.sample_t_us * 1000, rtol=0, atol=0.5)
    assert trace.card["senders"] == 20
    assert trace.card["base_rtt_us"] == pytest.approx(4.16)
    assert (trace.group, trace.law, trace.role) == ("incast-20", "pid", Role.SPLIT)


def test_order_does_not_depend_on_workers() -> None:
    runs = plan("smoke")[:4]
    calls: list[tuple[int, int]] = []
    alone = collect(runs, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    together = collect(runs, workers=2)
    for a, b in zip(alone, together, strict=True):
        assert a.card == b.card
        np.testing.assert_array_equal(a.rtt, b.rtt)


def test_workers_must_be_positive() -> None:
    with pytest.raises(ValueError, match="workers must be positive, not 0"):
        collect([], workers=0)
