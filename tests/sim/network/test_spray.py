"""Packets that choose their way each for itself: shares of paths, and what reordering costs."""

from dataclasses import replace

import numpy as np
import pytest

from precog_sim.network import (
    CongestionControl,
    Dctcp,
    Fixed,
    Flow,
    Hpcc,
    Link,
    Loop,
    Recovery,
    Scenario,
    Scores,
    Topology,
    run,
)

_WIRE = 1048


def _ways(*delays_us: float, packets: int = 100, **fields: object) -> Scenario:
    """Hosts 0 and 1 at switches 2 and 3, which a switch for each delay joins."""
    links = [Link(0, 2), Link(1, 3)]
    for n, delay_us in enumerate(delays_us):
        links += [Link(leaf, 4 + n, delay_ps=round(delay_us * 1e6)) for leaf in (2, 3)]
    topology = Topology(2, 2 + len(delays_us), tuple(links))
    return replace(Scenario("ways", topology, (Flow(0, 1, packets * 1000),)), **fields)


def test_next_hops_take_turns() -> None:
    """Of 100 packets each of four ways gets 25, there and, as acknowledgements, back."""
    result = run(_ways(1, 1, 1, 1, spray="turns"), Fixed())
    up = result.port_bytes[[4, 8, 12, 16]]
    back = result.port_bytes[[6, 10, 14, 18]]
    assert up.tolist() == [25 * _WIRE] * 4
    assert back.tolist() == [25 * 60] * 4
    assert (result.nacks, result.retransmitted) == (0, 0)  # ways of one length keep the order
    one = run(_ways(1, 1, 1, 1), Fixed())
    assert sorted(one.port_bytes[[4, 8, 12, 16]].tolist()) == [0, 0, 0, 100 * _WIRE]


def test_random_ways_have_equal_shares(seed: int) -> None:
    scenario = _ways(1, 1, 1, 1, packets=4000, spray="random")
    result = run(scenario, Fixed(start_gbps=10), seed=seed)
    count = result.port_bytes[[4, 8, 12, 16]] / _WIRE
    assert count.sum() == 4000
    assert np.abs(count - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)
    assert result.retransmitted == 0
    other = run(scenario, Fixed(start_gbps=10), seed=seed + 1)
    assert other.port_bytes.tolist() != result.port_bytes.tolist()


def test_a_receiver_that_tolerates_reordering() -> None:
    """Every other packet takes 4 us longer. The last one does, and its acknowledgement, too; no
    packet is repeated. With go-back-N the first late one is taken for a loss."""
    recovery = Recovery(mode="selective", reorder=64)
    scenario = _ways(1, 3, spray="turns", recovery=recovery)
    result = run(scenario, Fixed())
    assert (result.retransmitted, result.duplicates, result.timeouts) == (0, 0, 0)
    there = 4 * 83.84 + 8000
    back = 4 * 4.8 + 8000
    assert result.fct_us[0] == pytest.approx((99 * 83.84 + there + back) * 1e-3, abs=1e-9)
    strict = run(replace(scenario, recovery=Recovery(mode="selective")), Fixed())
    assert strict.finished
    # in vain: all of them have come, or are about to when the flow ends
    assert strict.retransmitted == strict.duplicates + strict.data_in_flight > 20
    plain = run(replace(scenario, recovery=Recovery(nack_us=5.0, timeout_us=100.0)), Fixed())
    assert plain.finished
    assert plain.nacks > 0
    assert plain.retransmitted > 20
    assert plain.fct_us[0] > 1.5 * result.fct_us[0]


@pytest.mark.parametrize("cc", [Dctcp(), Hpcc()], ids=lambda cc: cc.label)
@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_laws_live_with_it(cc: CongestionControl, timing: str) -> None:
    scenario = _ways(1, 1.5, 2, spray="random", packets=1000)
    scenario = replace(scenario, recovery=Recovery(mode="selective", reorder=200))
    result = run(scenario, cc, timing=timing)
    assert result.finished
    assert result.retransmitted == 0


def test_what_needs_one_way() -> None:
    scenario = _ways(1, 1, spray="turns")
    with pytest.raises(ValueError, match="ecmp ns3 must have spray none, not 'turns'"):
        run(scenario, Fixed(), timing="ns3", ecmp="ns3")
    loop = Loop(function=1, handle=0, event_function=1, scores=Scores("oracle"))
    with pytest.raises(ValueError, match="scores of source oracle must be of one path a flow"):
        run(scenario, loop)
    with pytest.raises(ValueError, match="spray must be one of none, random, turns, not 'all'"):
        replace(scenario, spray="all")
