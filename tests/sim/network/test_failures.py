"""Links that go down or lose packets: by hand where it can be, and what can be known before."""

from dataclasses import replace

import numpy as np
import pytest

from precog_sim.network import (
    Buffers,
    Failure,
    Fixed,
    Flow,
    Hpcc,
    Link,
    Recovery,
    Scenario,
    Topology,
    run,
    star,
)
from precog_sim.network.failures import link_states

_GAP = 838.4  # ns between packets of 1048 bytes at 10 Gb/s
_THERE = 2 * (83.84 + 1000)  # ns from host to host through one switch
_BACK = 2 * (4.8 + 1000)
_TEN = Scenario("ten", star(2), (Flow(1, 0, 10_000),), recovery=Recovery(timeout_us=80.0))


def test_what_is_on_the_link_is_lost() -> None:
    """Packet 3 and two acknowledgements are on the receiver's link; go-back-N sends 3 to 9 again.

    Packet 4 shows the gap; its NACK is there after packet 8 has left.
    """
    result = run(replace(_TEN, failures=(Failure(0, 3.9, 4.4),)), Fixed(start_gbps=10))
    assert (result.cut, result.data_dropped, result.lost) == (3, 1, 0)
    assert (result.nacks, result.retransmitted, result.timeouts) == (1, 6, 0)
    assert result.fct_us[0] == pytest.approx(((9 + 6) * _GAP + _THERE + _BACK) * 1e-3, abs=1e-9)


def test_what_is_sent_into_a_link_that_is_down_is_lost() -> None:
    """It is down from before packet 3 comes to it until packet 5 is on it: these two and no more
    acknowledgements than 1 and 2."""
    begins = [k * _GAP + _THERE / 2 for k in range(10)]
    down_us = (begins[3] - 100) * 1e-3
    up_us = (begins[5] - 1) * 1e-3
    result = run(replace(_TEN, failures=(Failure(0, down_us, up_us),)), Fixed(start_gbps=10))
    # packet 2 is on the wire from begins[2] for 1083.84 ns, and so it is lost as well
    assert begins[2] < down_us * 1e3 < begins[2] + 1083.84
    assert result.data_dropped == 3
    assert result.finished


def _square() -> Topology:
    """Hosts 0 and 1 at switches 2 and 3; two switches, 4 and 5, join them."""
    links = [Link(0, 2), Link(1, 3), Link(2, 4), Link(4, 3), Link(2, 5), Link(5, 3)]
    return Topology(2, 4, tuple(links))


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_routes_follow_after_the_time_of_detection(timing: str) -> None:
    """The way of the flow is cut: all that is sent until switch 2 learns of it is lost."""
    scenario = Scenario(
        "square",
        _square(),
        (Flow(0, 1, 100_000),),
        recovery=Recovery(timeout_us=50.0, nack_us=1.0),
        detect_us=20.0,
    )
    free = run(scenario, Fixed(start_gbps=10), timing=timing)
    used = 4 if free.port_bytes[4] > free.port_bytes[8] else 5
    link = {4: 2, 5: 4}[used]
    cut = replace(scenario, failures=(Failure(link, 30.0),))
    result = run(cut, Fixed(start_gbps=10), timing=timing)
    assert result.finished
    # Packets that came to switch 2 from 29 us to 50 us, but for one that was on the wire before.
    first, last = 30.0 - 1.08384, 50.0
    came = [k * 0.8384 + 1.08384 for k in range(100)]
    assert result.data_dropped == sum(first <= t < last for t in came)
    assert result.cut >= result.data_dropped  # acknowledgements may go there, too
    assert result.unreachable == 0
    other = {4: 8, 5: 4}[used]
    assert result.port_bytes[other] > 0
    back = run(replace(cut, failures=(Failure(link, 30.0, 35.0),)), Fixed(start_gbps=10))
    assert back.finished
    assert back.data_dropped < result.data_dropped


def test_what_has_no_way_is_counted() -> None:
    """The receiver's link is down for long: once the switch knows, it has no way for packets."""
    scenario = replace(_TEN, failures=(Failure(0, 1.0, 300.0),), detect_us=3.0)
    result = run(scenario, Fixed(start_gbps=10))
    assert result.finished
    assert result.unreachable > 0
    assert result.data_dropped == result.cut + result.unreachable
    assert result.fct_us[0] > 300.0


def test_a_paused_port_is_not_paused_for_ever_by_a_link_that_went_down() -> None:
    """Its RESUME would have been lost; the link is down while it is paused, and up again."""
    flows = tuple(Flow(h, 0, 2_000_000) for h in (1, 2, 3))
    scenario = Scenario("paused", star(4), flows, recovery=Recovery(timeout_us=100.0))
    scenario = replace(scenario, buffers=Buffers(total=1_000_000))
    failure = Failure(1, 400.0, 420.0)
    plain = run(scenario, Fixed())
    assert plain.pauses > 0
    result = run(replace(scenario, failures=(failure,)), Fixed())
    assert result.finished
    assert result.cut > 0


def test_random_loss_is_of_each_link(seed: int) -> None:
    """Each of a link's two ways loses its share; others lose nothing; the seed decides."""
    links = (Link(0, 3), Link(1, 3, loss=0.1), Link(2, 3))
    flows = (Flow(1, 0, 2_000_000), Flow(2, 0, 2_000_000))
    recovery = Recovery(mode="selective", timeout_us=100.0)
    scenario = Scenario("loss", Topology(3, 1, links), flows, recovery=recovery)
    result = run(scenario, Fixed(start_gbps=20), seed=seed % 1000)
    assert result.finished
    assert result.retransmitted >= result.data_dropped > 0
    sent = result.data_sent - 2000  # on the link that loses
    spread = np.sqrt(sent * 0.1 * 0.9)
    assert abs(result.data_dropped - 0.1 * sent) < 5 * spread
    assert result.lost > result.data_dropped  # acknowledgements, too
    again = run(scenario, Fixed(start_gbps=20), seed=seed % 1000)
    assert again.fct_us.tolist() == result.fct_us.tolist()
    other = run(scenario, Fixed(start_gbps=20), seed=seed % 1000 + 1)
    assert other.fct_us.tolist() != result.fct_us.tolist()


def test_states_of_links() -> None:
    states = link_states((Failure(3, 5.0, 9.0), Failure(1, 7.0)), 4)
    assert [(state.begin_ps, set(state.down)) for state in states] == [
        (-1, set()),
        (5_000_000, {3}),
        (7_000_000, {1, 3}),
        (9_000_000, {1}),
    ]


def test_routes_without_links() -> None:
    routes = _square().routes_without({2, 1})
    assert routes.hops[0].tolist() == [0, -1]
    assert routes.count[:, 1].tolist() == [0] * 6
    assert routes.hops[3, 0] == 3
    ways = _square().routes_without({2})
    assert (ways.count[2, 1], ways.hops[0, 1]) == (1, 4)
    assert ways.ports[ways.start[2, 1]] == 8


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        ((Failure(9, 1.0),), r"failure must be of a link in 0\.\.1, not 9"),
        ((Failure(-1, 1.0),), r"failure must be of a link in 0\.\.1, not -1"),
        (
            (Failure(0, 1.0, 5.0), Failure(0, 3.0)),
            "failures of link 0 must not overlap: it is down from 1 us on and goes down at 3 us",
        ),
        (
            (Failure(0, 0.0),),
            "flow 0 from host 1 to host 0 must have a path at some time: from its start on fail",
        ),
    ],
)
def test_what_can_be_known_before(failures: tuple[Failure, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(_TEN, failures=failures)


def test_wrong_numbers() -> None:
    with pytest.raises(ValueError, match="failure down_us must be >= 0 and finite, not -1"):
        Failure(0, -1.0)
    with pytest.raises(ValueError, match=r"failure up_us must be after down_us = 3, not 3\.0"):
        Failure(0, 3.0, 3.0)
    with pytest.raises(ValueError, match="detect_us must be >= 0 and finite, not nan"):
        replace(_TEN, detect_us=float("nan"))
    with pytest.raises(ValueError, match=r"link loss must be in \[0, 1\), not 1"):
        Link(0, 1, loss=1.0)


def test_telemetry_has_room_for_the_way() -> None:
    """In a row of six switches, and where a failure makes the way that long."""
    links = [Link(0, 2), Link(1, 7), *(Link(n, n + 1) for n in range(2, 7))]
    row = Scenario("row", Topology(2, 6, tuple(links)), (Flow(0, 1, 1000),))
    message = "flow 0 from host 0 to host 1 must cross at most 5 switches under a law with telem"
    with pytest.raises(ValueError, match=message):
        run(row, Hpcc())
    assert run(row, Fixed()).finished
    short = replace(row, topology=Topology(2, 6, (*links, Link(2, 7))))
    assert run(short, Hpcc()).finished
    with pytest.raises(ValueError, match=message):
        run(replace(short, failures=(Failure(7, 100.0),)), Hpcc())
