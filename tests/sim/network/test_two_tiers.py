"""Two tiers with two rates and traffic both ways: PFC, ECN and echoes of a fabric.

Sixteen hosts at 100 Gb/s, eight behind each of two leaves, which a spine joins at 400 Gb/s.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from precog_sim.network import (
    Buffers,
    CongestionControl,
    Dcqcn,
    Dctcp,
    Ecn,
    Fixed,
    Flow,
    Link,
    Record,
    Recovery,
    Scenario,
    Topology,
    run,
    star,
)

_HOSTS, _LEFT, _RIGHT, _SPINE = 16, 16, 17, 18
_HEADROOM = 150_000  # 3 x rate x delay of a cable of the fabric
_TIMINGS = pytest.mark.parametrize("timing", ["exact", "ns3"])


def _tiers() -> Topology:
    links = [Link(h, _LEFT if h < _HOSTS // 2 else _RIGHT) for h in range(_HOSTS)]
    links += [Link(leaf, _SPINE, gbps=400.0) for leaf in (_LEFT, _RIGHT)]
    return Topology(_HOSTS, 3, tuple(links))


def _both_ways(pairs: Iterable[tuple[int, int]], size: int) -> Scenario:
    """Flows from left hosts to right ones, and the same from right to left."""
    flows = [Flow(a, b, size) for a, b in pairs]
    flows += [Flow(_HOSTS - 1 - a, _HOSTS - 1 - b, size) for a, b in pairs]
    return Scenario("two tiers", _tiers(), tuple(flows))


@_TIMINGS
def test_pfc_threshold_follows_the_ingress_port_s_rate(timing: str) -> None:
    """A cable of 400 Gb/s may hold half of what is left, one of 100 Gb/s an eighth.

    So a leaf that gets 400 Gb/s for one host holds a third of its shared memory before it sends
    PAUSE; with 100 Gb/s's threshold it would be a ninth.
    """
    scenario = _both_ways([(h, 8) for h in range(4)], 1_000_000)
    scenario = replace(scenario, buffers=Buffers(total=3_000_000))
    result = run(scenario, Fixed(), timing=timing, record=Record(probe_us=0.2))
    shared = 3_000_000 - 8 * 37_500 - _HEADROOM - 9 * 4096
    assert result.finished
    assert result.pauses > 0
    assert result.drops == 0
    for column in range(2):  # the two receivers' last hops
        assert shared / 3 <= result.probe_queue[:, column].max() <= shared / 3 + _HEADROOM


@_TIMINGS
@pytest.mark.parametrize(
    ("pairs", "kb", "marks"),
    [
        # 800 Gb/s into a cable of 400: half of all bytes wait, and it marks from 400 KB on
        ([(h, 8 + h) for h in range(8)], 85, False),
        ([(h, 8 + h) for h in range(8)], 130, True),
        # 200 Gb/s into a host's cable, which marks from 100 KB on
        ([(0, 8), (1, 8)], 85, False),
        ([(0, 8), (1, 8)], 130, True),
    ],
)
def test_ecn_thresholds_follow_the_egress_port_s_rate(
    timing: str, pairs: list[tuple[int, int]], kb: int, marks: bool
) -> None:
    scenario = replace(_both_ways(pairs, kb * 1000), ecn=Ecn(100_000, 100_000))
    result = run(scenario, Fixed(), timing=timing)
    assert result.finished
    assert result.max_queue > len(pairs) * kb * 1000 * 0.45
    assert (result.marks > 0) == marks


@_TIMINGS
@pytest.mark.parametrize("cc", [Dcqcn(), Dctcp()], ids=lambda cc: cc.label)
def test_a_mark_on_the_way_back_is_no_echo(cc: CongestionControl, timing: str) -> None:
    """Host 0 sends over an idle path; its acknowledgements come back through an incast to it."""
    flows = [Flow(0, 8, 1_000_000), *(Flow(h, 0, 1_000_000) for h in (9, 10, 11, 12))]
    scenario = Scenario("crossing", _tiers(), tuple(flows), ecn=Ecn(20_000, 20_000))
    result = run(scenario, cc, timing=timing)
    rates = result.sample_rate_gbps
    crossing = result.sample_flow == 0
    assert result.finished
    assert result.samples_of(0).max() > 8.4 + 10  # microseconds: they met the incast's queue
    assert (rates[crossing] == 100.0).all()
    assert rates[~crossing].min() < 50.0


@_TIMINGS
def test_a_flow_whose_last_acknowledgement_is_lost_ends(timing: str) -> None:
    """Nine of ten acknowledgements get lost; the time-out sends the packet until one comes."""
    scenario = Scenario(
        "lost",
        star(9),
        tuple(Flow(h, 8, 1000) for h in range(8)),
        loss_ack=0.9,
        recovery=Recovery(timeout_us=50.0),
    )
    result = run(scenario, Fixed(), timing=timing)
    assert result.finished
    assert result.data_dropped == result.nacks == 0
    # Every time-out sends one packet again, and every loss needs one.
    assert result.timeouts == result.retransmitted == result.lost > 8
    waits = np.round((result.fct_us - 4.174) / 50.0)
    assert result.timeouts == waits.sum()
    never = replace(scenario, recovery=Recovery(timeout_us=0.0), horizon_us=10_000.0)
    assert not run(never, Fixed(), timing=timing).finished


def test_a_time_out_spares_a_flow_that_has_nothing_outstanding() -> None:
    # One packet in 838.4 us, acknowledged after 4: idle for most of ten time-outs each.
    scenario = Scenario("slow", star(2), (Flow(0, 1, 5000),), recovery=Recovery(timeout_us=80.0))
    result = run(replace(scenario, min_gbps=0.01), Fixed(start_gbps=0.01))
    assert (result.timeouts, result.retransmitted) == (0, 0)


@_TIMINGS
@pytest.mark.parametrize("pfc", ["static", "dynamic"])
def test_resume_comes_only_when_a_port_has_drained_that_far(pfc: str, timing: str) -> None:
    """Every pause but the last of a port costs it `resume_bytes` that leave meanwhile."""
    drained, size = 100_000, 3_000_000
    buffers = Buffers(total=4_000_000, pfc=pfc, resume_bytes=drained)
    flows = (Flow(1, 0, size), Flow(2, 0, size))
    scenario = Scenario("resume", star(3), flows, buffers=buffers)
    result = run(scenario, Fixed(), timing=timing)
    assert result.finished
    most = len(flows) * (1 + size * 1048 // 1000 // drained)
    assert 2 < result.pauses <= most
    eager = run(
        replace(scenario, buffers=replace(buffers, resume_bytes=2096)), Fixed(), timing=timing
    )
    assert eager.pauses > most
