"""Properties of runs: conservation, determinism, PFC, go-back-N, ECMP, windows, errors."""

from dataclasses import replace

import numpy as np
import pytest

from precog_sim.network import (
    Buffers,
    CongestionControl,
    Dcqcn,
    Dctcp,
    Fixed,
    Flow,
    Hpcc,
    Link,
    Pid,
    PredPid,
    Record,
    Recovery,
    Result,
    Scenario,
    SimulationError,
    Timely,
    Topology,
    incast,
    run,
    star,
)

_LAWS = [
    Pid(),
    Pid(preset="precog"),
    Pid(preset="precog-rttch"),
    Pid(window="rate"),
    Timely(),
    Timely(preset="paper"),
    Timely(preset="scaled", start_gbps=10),
    Dctcp(),
    Hpcc(),
    Dcqcn(),
    Dcqcn(preset="ns3-paper-timers"),
    Dcqcn(preset="paper"),
    Dcqcn(preset="vendor"),
    Fixed(start_gbps=4.0),
]


def _same(a: Result, b: Result) -> bool:
    return (
        np.array_equal(a.fct_us, b.fct_us)
        and np.array_equal(a.sample_rtt_ps, b.sample_rtt_ps)
        and np.array_equal(a.sample_rate_gbps, b.sample_rate_gbps)
        and (a.events, a.marks, a.pauses) == (b.events, b.marks, b.pauses)
    )


@pytest.mark.parametrize("timing", ["exact", "ns3"])
@pytest.mark.parametrize("cc", _LAWS, ids=lambda cc: f"{cc.label}-{getattr(cc, 'preset', '')}")
def test_conservation_and_determinism(cc: CongestionControl, timing: str, seed: int) -> None:
    scenario = incast("hundredth", jitter_ns=1000)
    result = run(scenario, cc, timing=timing, seed=seed % 1000)
    packets = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    assert result.finished
    assert result.data_sent == result.data_got == packets
    assert result.data_in_flight == result.data_dropped == result.retransmitted == 0
    assert result.packet_rtt_us.size == packets
    # delays, and both packets' transmission at both hops
    floor = 4.0 + 2 * (1000 + result.header[0] + 60) * 80e-6 - 0.002
    if timing == "exact":
        assert result.packet_rtt_us.min() >= floor
    assert _same(result, run(scenario, cc, timing=timing, seed=seed % 1000))
    assert not _same(result, run(scenario, cc, timing=timing, seed=seed % 1000 + 1))


def test_rtt_of_a_lone_packet_to_the_picosecond() -> None:
    scenario = Scenario("one", star(2), (Flow(1, 0, 1000),))
    exact = run(scenario, Fixed())
    assert exact.sample_rtt_ps.tolist() == [4_000_000 + 2 * 83_840 + 2 * 4_800]
    assert exact.fct_us[0] == pytest.approx(4.17728)
    cut = run(scenario, Fixed(), timing="ns3")
    assert cut.sample_rtt_ps.tolist() == [4_000_000 + 2 * 83_000 + 2 * 4_000]


@pytest.mark.parametrize(("timing", "gap_ns"), [("exact", 83.84), ("ns3", 83.0)])
def test_line_rate_spacing(timing: str, gap_ns: float) -> None:
    scenario = Scenario("stream", star(2), (Flow(1, 0, 1_000_000),))
    result = run(scenario, Fixed(), timing=timing)
    base = 4177.28 if timing == "exact" else 4174.0
    assert result.fct_us[0] == pytest.approx((999 * gap_ns + base) * 1e-3, abs=1e-9)


def test_pacing_gap() -> None:
    scenario = Scenario("paced", star(2), (Flow(1, 0, 100_000),))
    result = run(scenario, Fixed(start_gbps=10))
    assert result.fct_us[0] == pytest.approx((99 * 838.4 + 4177.28) * 1e-3, abs=1e-6)
    # ns-3 makes 838.4 ns out of seconds and cuts
    result = run(scenario, Fixed(start_gbps=10), timing="ns3")
    assert result.fct_us[0] == pytest.approx((99 * 838 + 4174) * 1e-3, abs=1e-6)


def test_window_limits_bytes_in_flight() -> None:
    scenario = Scenario("window", star(2), (Flow(1, 0, 2_000_000),))
    result = run(scenario, Fixed(window="bdp"))
    # 52 packets per round trip of 4.17728 us, or the line: whichever is slower
    per_trip = 2000 / 52 * 4.177
    assert result.fct_us[0] >= max(per_trip, 2000 * 0.08384)
    assert result.max_queue <= 2 * 1048


@pytest.mark.parametrize("pfc", ["dynamic", "static"])
def test_pfc_never_drops(pfc: str) -> None:
    total = 6_000_000 if pfc == "static" else 1_500_000
    buffers = Buffers(total=total, pfc=pfc, pfc_bytes=10_000 if pfc == "static" else 0)
    scenario = replace(incast("hundredth"), buffers=buffers)
    result = run(scenario, Fixed())
    assert result.finished
    assert result.pauses > 20
    assert 0 <= result.pauses - result.resumes <= 20
    assert result.drops == result.data_dropped == result.retransmitted == 0
    assert result.max_queue < total


def test_without_pfc_packets_are_dropped_and_sent_again() -> None:
    buffers = Buffers(total=300_000, pfc="off")
    recovery = Recovery(nack_us=20.0, timeout_us=500.0)
    scenario = replace(incast("hundredth"), buffers=buffers, recovery=recovery)
    result = run(scenario, Pid(start_gbps=100))
    assert result.finished
    assert result.drops > 0
    assert result.nacks > 0
    assert result.retransmitted > 0
    assert result.max_queue <= 300_000


@pytest.mark.parametrize("cc", [Pid(), Hpcc(), Dctcp(), Timely()], ids=lambda cc: cc.label)
def test_go_back_n_recovers_from_injected_loss(cc: CongestionControl, seed: int) -> None:
    scenario = replace(
        incast(sizes=[400_000] * 4),
        loss_data=0.01,
        loss_ack=0.01,
        recovery=Recovery(nack_us=20.0, timeout_us=200.0),
    )
    result = run(scenario, cc, seed=seed % 1000)
    assert result.finished
    assert result.lost > 0
    assert result.retransmitted >= result.data_dropped > 0
    assert result.data_sent == result.data_got + result.data_dropped + result.data_in_flight
    assert result.data_in_flight >= 0


def test_without_time_out_a_lost_tail_is_for_ever() -> None:
    scenario = replace(
        incast(sizes=[5000] * 8),
        loss_data=0.9,
        recovery=Recovery(timeout_us=0.0),
        horizon_us=5000.0,
    )
    assert not run(scenario, Fixed(start_gbps=10)).finished


def _two_paths(flows: int) -> Scenario:
    """`flows` hosts on either side of two spines."""
    left, right, spines = 2 * flows, 2 * flows + 1, (2 * flows + 2, 2 * flows + 3)
    links = [Link(h, left if h < flows else right) for h in range(2 * flows)]
    links += [Link(leaf, spine) for leaf in (left, right) for spine in spines]
    traffic = tuple(Flow(h, flows + h, 100_000) for h in range(flows))
    return Scenario("two paths", Topology(2 * flows, 4, tuple(links)), traffic)


def test_ecmp_spreads_flows_and_keeps_each_in_order() -> None:
    result = run(_two_paths(16), Fixed(start_gbps=50), record=Record(probe_us=1.0))
    assert result.finished
    assert result.nacks == result.retransmitted == 0
    # 1600 packets over two 100 Gb/s paths; over one alone it would be 134 us
    assert 1600 * 0.08384 / 2 < result.fct_us.max() < 100
    alone = run(_two_paths(1), Fixed(start_gbps=50))
    assert alone.sample_rtt_ps[0] == 8_000_000 + 4 * (83_840 + 4_800)


def test_flows_of_one_host_take_turns() -> None:
    flows = tuple(Flow(0, dst, 500_000) for dst in (1, 2, 3, 4))
    result = run(Scenario("turns", star(5), flows), Fixed())
    assert result.fct_us.max() - result.fct_us.min() < 0.5
    assert result.fct_us.max() == pytest.approx(2000 * 0.08384 + 4.1, abs=0.2)


def test_pool_overflow_is_an_error() -> None:
    with pytest.raises(SimulationError, match="packet pool must hold more than 50 packets at"):
        run(incast("hundredth"), Fixed(), pool=50)


def test_bad_arguments() -> None:
    scenario = incast("hundredth")
    with pytest.raises(ValueError, match="timing must be exact or ns3, not 'fast'"):
        run(scenario, Pid(), timing="fast")
    with pytest.raises(ValueError, match="weights must be given"):
        run(scenario, PredPid())
    with pytest.raises(ValueError, match=r"weights must have shape \(1169,\), not \(5,\)"):
        run(scenario, PredPid(weights=np.zeros(5)))
    with pytest.raises(ValueError, match="preset must be one of ns3, paper, patched, scaled"):
        run(scenario, Timely(preset="old"))
    with pytest.raises(ValueError, match="start_gbps must be positive, not 0"):
        Pid(start_gbps=0)
    with pytest.raises(ValueError, match="window must be one of none, bdp, rate, not 'wide'"):
        Hpcc(window="wide")


def test_traces_thin_out_but_stay_even() -> None:
    result = run(incast("hundredth"), Pid(), record=Record(probe_us=0.5, probes=64))
    steps = np.diff(result.probe_t_us)
    assert 32 <= result.probe_t_us.size <= 64
    np.testing.assert_allclose(steps, steps[0])
    assert steps[0] > 0.5
    assert result.probe_rate_gbps.shape == (result.probe_t_us.size, 20)
    assert result.probe_queue.max() <= result.max_queue


def test_of_many_receivers_those_of_the_most_flows_are_watched() -> None:
    """Nine hosts get one flow each; three flows meet at the last one, whose queue is watched."""
    pairs = [(20 + host, host) for host in range(9)] + [(30, 9), (31, 9), (32, 9)]
    flows = tuple(Flow(src, dst, 200_000) for src, dst in pairs)
    result = run(Scenario("many", star(33), flows), Fixed(), record=Record(probe_us=0.2))
    assert result.probe_queue.shape[1] == 8
    assert result.probe_queue.max() > 200_000


def test_on_line_training_moves_each_flow_s_gains() -> None:
    result = run(incast("tenth"), Pid.thesis(preset="thesis-untrained", train=True), timing="ns3")
    start = np.array([-0.2, -0.05, 0.1])
    assert (result.gains != start).all(axis=1).any()
    assert np.abs(result.gains - start).max() < 0.2
    untouched = run(incast("tenth"), Pid.thesis(), timing="ns3")
    np.testing.assert_array_equal(untouched.gains, [[-0.358, -0.060, 0.040]] * 20)


def test_perfect_prediction_of_the_present_is_pid() -> None:
    # Zero weights predict out = 0, that is the smoothed RTT; with sigma = 1 that is the RTT.
    scenario = incast("hundredth")
    plain = run(scenario, Pid())
    predicted = run(scenario, PredPid(weights=np.zeros(1169), sigma=1.0))
    assert np.array_equal(plain.fct_us, predicted.fct_us)
    np.testing.assert_allclose(predicted.sample_predicted_us, predicted.sample_rtt_us)
