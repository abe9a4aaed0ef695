"""Message arrivals: rates, sizes, the log of the send queues, and what a run must keep."""

from typing import Any

import numpy as np
import pytest

from precog_sim.network import (
    Bursts,
    Dcqcn,
    Fixed,
    Flow,
    Messages,
    Poisson,
    Record,
    Result,
    Scenario,
    Timely,
    Trace,
    run,
    star,
)

_RECORD = Record(packets=False, queues=True, probe_us=0.0)
_MANY = 1 << 36


def _scenario(*messages: Messages | None, size: int = _MANY, horizon_us: float = 500.0) -> Scenario:
    flows = tuple(Flow(k + 1, 0, size, messages=m) for k, m in enumerate(messages))
    return Scenario("messages", star(len(flows) + 1), flows, horizon_us=horizon_us)


def _of(result: Result, flow: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return result.queue_log[result.queue_log[:, 1] == flow]


@pytest.mark.parametrize(
    "messages",
    [
        Poisson(20.0, sizes=(700, 5000, 64), weights=(1, 2, 0.5)),
        Bursts(40.0, on_us=10, off_us=30, size=9001),
    ],
    ids=["poisson", "bursts"],
)
def test_the_messages_are_the_flows_bytes_in_order(messages: Messages, seed: int) -> None:
    t, size = messages.draw(np.random.default_rng(seed), 3_000_001, 1 << 60)
    assert size.sum() == 3_000_001
    assert (np.diff(t) >= 0).all()
    assert size.min() > 0
    until = int(t[len(t) // 2])
    early, some = messages.draw(np.random.default_rng(seed), 3_000_001, until)
    assert np.array_equal(early, t[t <= until])
    assert np.array_equal(some, size[: len(some)])
    assert not len(messages.draw(np.random.default_rng(seed), 1000, -1)[0])


def test_mean_rates(seed: int) -> None:
    horizon = 2_000_000_000_000  # 2 s
    for messages, gbps in (
        (Poisson(20.0, sizes=(1000, 9000), weights=(3, 1)), 20.0),
        # a burst has one message more than its time holds, which takes as long
        (Bursts(40.0, on_us=100, off_us=100, size=1000), 20.0),
    ):
        _, size = messages.draw(np.random.default_rng(seed), 1 << 40, horizon)
        assert size.sum() * 8e3 / horizon == pytest.approx(gbps, rel=0.03)


@pytest.mark.parametrize("cc", [Dcqcn(), Timely(preset="scaled"), Fixed(start_gbps=3.0)])
def test_the_log_accounts_for_every_byte(cc: Any, seed: int) -> None:
    scenario = _scenario(Poisson(30.0, sizes=(333, 40_000)), Bursts(90.0, 20, 40), None)
    result = run(scenario, cc, seed=seed, record=_RECORD)
    log = result.queue_log
    assert (np.diff(log[:, 0]) >= 0).all()
    for f, flow in enumerate(scenario.flows):
        mine = _of(result, f)
        assert np.array_equal(np.cumsum(mine[:, 2]), mine[:, 3])
        assert mine[:, 3].min() >= 0
        came = mine[mine[:, 2] > 0]
        if flow.messages is None:
            assert came[:, 2].tolist() == [flow.size]
        else:
            rng = np.random.default_rng((seed, f + 1))
            start = round(result.start_us[f] * 1e6)
            t, size = flow.messages.draw(rng, flow.size, 500_000_000 - start)
            assert np.array_equal(came[:, 2], size)
            assert np.array_equal(came[:, 0], start + np.maximum(t, 1))
    sent = -log[log[:, 2] < 0, 2].sum()
    assert 0 < sent < 500 * 12_500 * 3
    assert result.data_sent == result.data_got + result.data_in_flight


def test_a_flow_of_messages_ends_with_its_last_byte() -> None:
    trace = Trace(t_ps=(0, 10_000_000, 10_000_000), sizes=(1500, 10, 990))
    scenario = _scenario(trace, size=2500)
    result = run(scenario, Fixed(), record=_RECORD)
    assert result.finished
    log = _of(result, 0)
    # 1500 bytes leave in two packets, and the 1000 that come together in one
    assert log[:, 2:].tolist() == [
        [1500, 1500], [-1000, 500], [-500, 0], [10, 10], [-10, 0], [990, 990], [-990, 0],
    ]  # fmt: skip
    assert log[3:, 0].tolist()[:3] == [10_000_000] * 3
    # alone: 10 us of waiting, then a small packet and 990 bytes over two links and back
    assert 10.0 < result.fct_us[0] < 15.0


def test_runs_without_messages_are_what_they_were(seed: int) -> None:
    flows = (Flow(1, 0, 300_000), Flow(2, 0, 300_000))
    plain = Scenario("plain", star(3), flows)
    traced = Scenario(
        "traced",
        star(3),
        tuple(Flow(f.src, 0, f.size, messages=Trace((0,), (f.size,))) for f in flows),
    )
    a = run(plain, Fixed(), seed=seed)
    b = run(traced, Fixed(), seed=seed)
    assert a.data_sent == b.data_sent == 600
    # a message comes 1 ps after its flow has started, at the earliest
    assert np.allclose(a.fct_us, b.fct_us, rtol=0, atol=1.1e-6)
    assert not len(a.queue_log)


def test_an_idle_flow_does_not_time_out() -> None:
    trace = Trace(t_ps=(0, 59_999_000_000), sizes=(1000, 1000))  # the time-out is 20 ms
    result = run(_scenario(trace, size=2000, horizon_us=100_000.0), Fixed(), record=_RECORD)
    assert result.finished
    assert result.timeouts == 0
    assert result.data_sent == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Poisson(0.0), r"message rate must be positive Gb/s, not 0\.0"),
        (lambda: Poisson(1.0, sizes=()), "message sizes must hold at least one, not none"),
        (lambda: Poisson(1.0, sizes=(0,)), r"message size must be in 1\.\.2147483648 bytes, not 0"),
        (lambda: Poisson(1.0, weights=(1, 2)), "weights must be as many as the 1 sizes, not 2"),
        (lambda: Poisson(1.0, weights=(0.0,)), "weights must be >= 0 and not all 0"),
        (lambda: Bursts(1.0, 0.0, 1.0), r"burst on_us must be positive, not 0\.0"),
        (lambda: Trace((1, 0), (1, 1)), "trace times must be >= 0 and never decrease"),
        (lambda: Trace((1,), (1, 1)), "as many times as sizes, not 1 and 2"),
        (
            lambda: run(_scenario(Trace((0,), (7,)), size=8), Fixed()),
            "flow size must be the trace's 7 bytes, not 8",
        ),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
