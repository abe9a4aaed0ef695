"""Several priorities: who goes first, by hand; pauses and marks of one that leave others alone."""

from dataclasses import replace
from typing import Any

import pytest

from precog_sim.network import (
    Buffers,
    CongestionControl,
    Dcqcn,
    Dctcp,
    Ecn,
    Fixed,
    Flow,
    Hpcc,
    Link,
    Priorities,
    Recovery,
    Scenario,
    Topology,
    incast,
    run,
    star,
)

_TX = 83.84  # ns of 1048 bytes at 100 Gb/s
_AFTER = 1000 + 2 * (4.8 + 1000)  # ns from the end of the last transmission to its acknowledgement
_FIRST = _TX + 1000  # ns until a packet is at the switch


def test_the_lowest_number_goes_first() -> None:
    """Fifty packets of priority 1 pass; ten of priority 0 come, wait for the one in transmission
    and then go together. A single queue mixes them."""
    flows = (Flow(1, 0, 50_000, priority=1), Flow(2, 0, 10_000, start_ps=2_000_000))
    scenario = Scenario("strict", star(3), flows, priorities=Priorities(2))
    result = run(scenario, Fixed())
    begins = _FIRST + 24 * _TX  # 24 packets have gone when the first one has come
    assert result.fct_us[1] == pytest.approx((begins + 10 * _TX + _AFTER) * 1e-3 - 2, abs=1e-9)
    assert result.fct_us[0] == pytest.approx((_FIRST + 60 * _TX + _AFTER) * 1e-3, abs=1e-9)
    one = replace(scenario, flows=tuple(replace(flow, priority=0) for flow in flows))
    assert run(one, Fixed()).fct_us[1] > result.fct_us[1] + 0.5


@pytest.mark.parametrize("place", ["switch", "host"])
def test_bytes_are_shared_by_weight(place: str) -> None:
    """One packet, then three of the other and one by turns: 40 of each, of weights 1 and 3."""
    turns = Priorities(2, "drr", weights=(0.5, 1.5))
    if place == "switch":
        flows = (Flow(1, 0, 40_000), Flow(2, 0, 40_000, start_ps=40_000, priority=1))
    else:
        flows = (Flow(1, 0, 40_000), Flow(1, 0, 40_000, priority=1))
    result = run(Scenario("weights", star(3), flows, priorities=turns), Fixed())
    before = 1 + 39 + 39 // 3  # packets before the last one of the second flow
    base = _FIRST + _AFTER if place == "switch" else _FIRST + _TX + _AFTER - _TX
    late = 0.04 if place == "switch" else 0.0
    assert result.fct_us[1] == pytest.approx((base + (before + 1) * _TX) * 1e-3 - late, abs=1e-9)
    assert result.fct_us[0] == pytest.approx((base + 80 * _TX) * 1e-3, abs=1e-9)


def test_packets_of_other_sizes_have_the_same_share_of_bytes() -> None:
    """Small packets against full ones, all alike: bytes count, not packets."""
    flows = (Flow(1, 0, 400_000), *(Flow(2, 0, 100, priority=1) for _ in range(4000)))
    scenario = Scenario("sizes", star(3), flows, priorities=Priorities(2, "drr"))
    result = run(scenario, Fixed())
    assert result.finished
    # 4,000 packets of 148 bytes are 592,000; while they go, as many bytes of the other do
    end_us = (400 * 1048 + 4000 * 148) * 8e-5 + 4.1
    assert result.fct_us.max() == pytest.approx(end_us, abs=0.2)
    assert result.fct_us[0] == pytest.approx(2 * 400 * 1048 * 8e-5 + 4.1, abs=0.4)


def _trunk(priorities: Priorities, first: int, second: int) -> Scenario:
    """Two flows over one trunk; the second one's receiver has a slow link, so that it is paused."""
    links = (Link(0, 4), Link(1, 4), Link(2, 5), Link(3, 5, 10.0), Link(4, 5))
    flows = (
        Flow(0, 2, 1_000_000, start_ps=100_000_000, priority=first),
        Flow(1, 3, 2_000_000, priority=second),
    )
    return Scenario(
        "trunk",
        Topology(4, 2, links),
        flows,
        buffers=Buffers(total=1_200_000),
        priorities=priorities,
    )


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_a_pause_is_of_one_priority(timing: str) -> None:
    """The first flow waits at most for one packet in transmission on the trunk, whatever its
    number; in one queue it stands behind the paused one."""
    left = 8  # the trunk's port at the first switch
    shared = run(_trunk(Priorities(1), 0, 0), Fixed(start_gbps=40), timing=timing)
    alone = replace(_trunk(Priorities(2), 0, 1), flows=_trunk(Priorities(2), 0, 1).flows[:1])
    least = run(alone, Fixed(start_gbps=40), timing=timing).fct_us[0]
    assert shared.pauses > 0
    assert shared.fct_us[0] > least + 100
    for first, second in ((0, 1), (1, 0)):
        result = run(_trunk(Priorities(2), first, second), Fixed(start_gbps=40), timing=timing)
        assert result.finished
        assert result.drops == 0
        assert result.paused_us[left, second] > 100
        assert result.paused_us[left, first] == 0
        assert least <= result.fct_us[0] <= least + _TX * 1e-3 + 1e-9


def test_marks_are_of_one_priority() -> None:
    """The same incast in both: one marks early, the other not; DCTCP slows down in one alone."""
    flows = tuple(Flow(h, 0, 500_000, priority=h % 2) for h in (1, 2, 3, 4))
    priorities = Priorities(2, "drr", ecn=(Ecn(5_000, 5_000), Ecn(2_000_000, 2_000_000)))
    result = run(Scenario("marks", star(5), flows, priorities=priorities), Dctcp())
    early = (result.sample_flow == 1) | (result.sample_flow == 3)  # hosts 2 and 4: priority 0
    assert result.sample_rate_gbps[early].min() < 50
    assert (result.sample_rate_gbps[~early] == 100).all()


@pytest.mark.parametrize("cc", [Fixed(), Dctcp(), Hpcc(), Dcqcn(preset="vendor")], ids=str)
@pytest.mark.parametrize("timing", ["exact", "ns3"])
@pytest.mark.parametrize("schedule", ["strict", "drr"])
def test_one_of_several_is_the_only_one(cc: CongestionControl, timing: str, schedule: str) -> None:
    """Without PFC, whose headroom is of each, an unused priority changes no time at all."""
    plain = replace(
        incast(sizes=[60_000] * 6),
        buffers=Buffers(total=200_000, pfc="off"),
        recovery=Recovery(nack_us=20.0, timeout_us=300.0),
    )
    flows = tuple(replace(flow, priority=1) for flow in plain.flows)
    several = replace(plain, priorities=Priorities(3, schedule), flows=flows)
    a, b = (run(scenario, cc, timing=timing) for scenario in (plain, several))
    assert a.finished
    assert a.fct_us.tolist() == b.fct_us.tolist()
    assert a.sample_rtt_ps.tolist() == b.sample_rtt_ps.tolist()


def test_headroom_is_of_each() -> None:
    scenario = replace(incast("hundredth"), buffers=Buffers(total=1_500_000))
    assert run(scenario, Fixed()).finished
    with pytest.raises(ValueError, match="B are left to share after headroom and reserve: enlarge"):
        run(replace(scenario, priorities=Priorities(3)), Fixed())


def test_bad_numbers() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"count": 0}, r"priorities must be 1\.\.8, not 0"),
        ({"count": 9}, r"priorities must be 1\.\.8, not 9"),
        ({"schedule": "wfq"}, "schedule must be one of strict, drr, not 'wfq'"),
        ({"count": 2, "weights": (1, 2)}, "weights must be of schedule drr, not of 'strict'"),
        (
            {"count": 2, "schedule": "drr", "weights": (1.0,)},
            "weights must be as many as the 2 priorities, not 1",
        ),
        (
            {"count": 2, "schedule": "drr", "weights": (1.0, 0.0)},
            r"weight must be above 0 and finite, not 0\.0",
        ),
        ({"ecn": (Ecn(1, 2), Ecn(1, 2))}, "markings must be as many as the 1 priorities, not 2"),
    ]
    for fields, message in cases:
        with pytest.raises(ValueError, match=message):
            Priorities(**fields)
    with pytest.raises(ValueError, match="flow 0 must have one of the 2 priorities from 0 on, no"):
        Scenario("x", star(2), (Flow(1, 0, 9, priority=2),), priorities=Priorities(2))
