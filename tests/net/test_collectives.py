"""Collectives: every host ends with what it is to have, no earlier than that is possible."""

import numpy as np
import pytest

from precog_net.workloads import Place, Traffic, draw, workload
from precog_net.workloads.collectives import SHAPES, Collective
from precog_sim.network import Fixed, Flow, Record, Result, Scenario, run, star

PLACE = Place(hosts=9, gbps=100.0, duration_ps=10**9)


def drawn(shape: str, degree: int, size: int) -> Traffic:
    return Collective(shape, degree, size).draw(PLACE, np.random.default_rng(0))


def simulated(traffic: Traffic, hosts: int, timing: str = "exact") -> Result:
    made = Scenario("collective", star(hosts), traffic.flows(), jitter_ns=0.0)
    return run(made, Fixed(), timing=timing, record=Record(probe_us=0.0))


def in_order(traffic: Traffic) -> list[int]:
    """Flows in an order in which all that one waits for stands before it."""
    order: list[int] = []
    left = dict(enumerate(traffic.waits))
    while left:
        ready = [f for f, after in left.items() if not set(after) & left.keys()]
        assert ready
        order += ready
        for f in ready:
            del left[f]
    return order


@pytest.mark.parametrize("hosts", [2, 3, 8])
def test_a_ring_adds_up_every_chunk_and_hands_it_out(hosts: int) -> None:
    """Sets of contributions, as flows carry them: at the end each host has all of each chunk."""
    traffic = drawn("ring", hosts, 1000 * hosts + 1)
    has = [[{host} for _ in range(hosts)] for host in range(hosts)]
    steps = [range(s * hosts, (s + 1) * hosts) for s in range(2 * (hosts - 1))]
    for step, flows in enumerate(steps):
        sent = []
        for f in flows:
            src, dst = int(traffic.src[f]), int(traffic.dst[f])
            chunk = (src - step) % hosts
            sent.append((dst, chunk, set(has[src][chunk])))
        for dst, chunk, what in sent:
            has[dst][chunk] = has[dst][chunk] | what if step < hosts - 1 else what
    assert all(chunk == set(range(hosts)) for host in has for chunk in host)
    assert traffic.size.sum() == 2 * (hosts - 1) * (1000 * hosts + 1)
    for f in range(hosts, len(traffic)):
        (before,) = traffic.waits[f]
        assert traffic.dst[before] == traffic.src[f]
        assert before // hosts == f // hosts - 1


@pytest.mark.parametrize("hosts", [2, 5, 9])
def test_a_tree_adds_up_before_it_hands_out(hosts: int) -> None:
    traffic = drawn("tree", hosts, 16_000)
    has: dict[tuple[int, int], set[int]] = {}
    count: dict[tuple[int, int], int] = {}
    for f in in_order(traffic):
        way = int(traffic.src[f]), int(traffic.dst[f])
        chunk = count[way] = count.get(way, -1) + 1
        src, dst = way
        mine = has.setdefault((src, chunk), {src})
        theirs = has.setdefault((dst, chunk), {dst})
        if src < dst:  # down
            assert mine == set(range(hosts)), "a parent hands out what it does not have"
        theirs |= mine
    assert all(has[host, c] == set(range(hosts)) for host in range(hosts) for c in range(16))


@pytest.mark.parametrize("shape", ["alltoall", "moe"])
def test_everybody_sends_to_everybody(shape: str) -> None:
    traffic = drawn(shape, 6, 10_003)
    ways = list(zip(traffic.src.tolist(), traffic.dst.tolist(), strict=True))
    assert sorted(set(ways)) == [(a, b) for a in range(6) for b in range(6) if a != b]
    assert len(ways) == 30 * (2 if shape == "moe" else 1)
    assert traffic.size[:30].sum() == 6 * 10_003
    for f in range(30, len(traffic)):
        assert {int(traffic.dst[g]) for g in traffic.waits[f]} == {int(traffic.src[f])}
        assert len(traffic.waits[f]) == 5


@pytest.mark.parametrize("timing", ["exact", "ns3"])
def test_a_ring_alone_takes_what_the_closed_form_says(timing: str) -> None:
    """2 (n - 1) steps of a chunk's data and as many ACKs, and the way's latency."""
    hosts, size = 8, 8_000_000
    traffic = drawn("ring", hosts, size)
    result = simulated(traffic, hosts, timing)
    assert result.finished
    packets = size // hosts / 1000
    data, ack = 1048 * 8 / 100, 60 * 8 / 100  # ns on a link
    if timing == "ns3":
        data, ack = data // 1, ack // 1
    step = packets * (data + ack) + data + 2000
    took = (result.start_us + result.fct_us).max()
    assert took == pytest.approx(2 * (hosts - 1) * step * 1e-3, rel=0.005)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_flow_begins_before_what_it_waits_for_has_arrived(shape: str) -> None:
    traffic = drawn(shape, 7, 70_000)
    result = simulated(traffic, 7)
    assert result.finished
    end = result.start_us + result.fct_us
    for f, after in enumerate(traffic.waits):
        for g in after:
            assert result.start_us[f] >= end[g] - result.fct_us[g] + 2.0
        if after:  # the last one's acknowledgement is still on its way
            assert result.start_us[f] < max(end[g] for g in after)


def test_a_gap_follows_the_last_arrival_to_the_picosecond() -> None:
    flows = [Flow(0, 1, 5000), Flow(2, 1, 9000), Flow(1, 0, 1000, after=(0, 1), start_ps=777)]
    again = [*flows[:2], Flow(1, 0, 1000, after=(0, 1))]
    begins = []
    for some in (flows, again):
        made = Scenario("gap", star(3), tuple(some), jitter_ns=0.0)
        result = run(made, Fixed(), record=Record(probe_us=0.0))
        begins.append(round(float(result.start_us[2]) * 1e6))
    assert begins[0] - begins[1] == 777


def test_a_flow_whose_turn_never_comes_has_no_start() -> None:
    flows = (Flow(0, 1, 10**9), Flow(1, 0, 1000, after=(0,)))
    made = Scenario("late", star(2), flows, jitter_ns=0.0, horizon_us=50.0)
    result = run(made, Fixed(), record=Record(probe_us=0.0))
    assert np.isnan(result.start_us[1])
    assert np.isnan(result.fct_us).all()


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (((1,), (0,)), "must not wait for each other in a circle: flow 0 does"),
        (((), (1,)), "in a circle: flow 1 does"),
        (((), (2,)), "flow 1 must wait for one of the 2 flows, not for 2"),
        (((), (-1,)), "flow 1 must wait for one of the 2 flows, not for -1"),
    ],
)
def test_orders_that_cannot_be(after: tuple[tuple[int, ...], ...], message: str) -> None:
    flows = (Flow(0, 1, 10, after=after[0]), Flow(1, 0, 10, after=after[1]))
    with pytest.raises(ValueError, match=message):
        Scenario("circle", star(2), flows)


def test_a_host_knows_only_of_its_own_flows() -> None:
    with pytest.raises(ValueError, match="flow 1 must wait for flows that begin or end at its so"):
        Scenario("far", star(3), (Flow(0, 1, 10), Flow(2, 1, 10, after=(0,))))


def test_collectives_on_the_command_line() -> None:
    traffic = draw(workload("rpc:0.2+ring:4x1M:spread"), PLACE, 3)
    kinds = np.array(traffic.kind)
    ring = np.flatnonzero(kinds == "ring")
    assert len(ring) == 4 * 6
    assert len(set(traffic.src[ring].tolist())) == 4
    for f in ring.tolist():
        assert all(kinds[g] == "ring" for g in traffic.waits[f])
        assert all(traffic.dst[g] == traffic.src[f] for g in traffic.waits[f])
    for text, message in (
        ("ring:4", "ring must be ring:<hosts>x<bytes>"),
        ("moe:4x1M:near", "moe must be moe:<hosts>x<bytes>"),
        ("tree:99x1M", r"tree must have 2\.\.9 hosts here, not 99"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(workload(text), PLACE, 0)
