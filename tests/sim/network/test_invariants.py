"""Whatever a fabric does to packets: none is made or lost uncounted, none comes twice unnoticed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precog_sim.network import (
    Answers,
    Buffers,
    CongestionControl,
    Dcqcn,
    Dctcp,
    Ecn,
    Failure,
    Fixed,
    Flow,
    Hpcc,
    Link,
    Priorities,
    Record,
    Recovery,
    Scenario,
    Topology,
    run,
)

_HOSTS, _LEAVES, _SPINES = 6, 2, 2
_LAWS: tuple[CongestionControl, ...] = (Fixed(start_gbps=30), Dctcp(), Hpcc(), Dcqcn())
_QUIET = Record(probe_us=0.0, packets=False)


def _links(losses: list[float], slow: float) -> tuple[Link, ...]:
    ends = [(h, _HOSTS + h % _LEAVES) for h in range(_HOSTS)]
    ends += [
        (_HOSTS + leaf, _HOSTS + _LEAVES + spine)
        for leaf in range(_LEAVES)
        for spine in range(_SPINES)
    ]
    return tuple(
        Link(a, b, 100.0 if a >= _HOSTS else slow, 500_000, loss=loss)
        for (a, b), loss in zip(ends, losses, strict=True)
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Small fabrics with any of the features."""
    count = _HOSTS + _LEAVES * _SPINES
    loss = st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.2])
    links = _links(draw(st.lists(loss, min_size=count, max_size=count)), draw(_RATES))
    pairs = draw(st.lists(_PAIRS, min_size=1, max_size=6))
    count_of = draw(st.integers(1, 3))
    flows = tuple(
        Flow(
            src,
            dst,
            draw(st.integers(1, 60_000)),
            draw(st.integers(0, 20_000_000)),
            priority=draw(st.integers(0, count_of - 1)),
        )
        for src, dst in pairs
    )
    weight = st.floats(0.1, 10.0)
    weights = tuple(draw(st.lists(weight, min_size=count_of, max_size=count_of)))
    priorities = draw(
        st.sampled_from([Priorities(count_of), Priorities(count_of, "drr", weights=weights)])
    )
    window = draw(st.integers(4, 300))
    recovery = Recovery(
        nack_us=draw(st.sampled_from([1.0, 20.0])),
        timeout_us=200.0,
        mode=draw(st.sampled_from(["go-back-n", "selective"])),
        window=window,
        reorder=draw(st.integers(1, window)),
        low_timeout_us=draw(st.sampled_from([0.0, 40.0])),
    )
    failures = []
    for link in draw(st.lists(st.integers(0, count - 1), max_size=3, unique=True)):
        down = draw(st.floats(0.0, 40.0))
        failures.append(Failure(link, down, down + draw(st.floats(0.5, 60.0))))
    pfc = draw(st.sampled_from(["dynamic", "off"]))
    drop = draw(st.sampled_from(["tail", "dynamic"]))
    room = count_of * 600_000 if pfc == "dynamic" else 60_000
    return Scenario(
        "any",
        Topology(_HOSTS, _LEAVES + _SPINES, links),
        flows,
        buffers=Buffers(total=room, pfc=pfc, drop=drop),
        ecn=Ecn(2_000, 8_000, 0.5),
        recovery=recovery,
        answers=Answers(
            draw(st.integers(1, 6)), draw(st.sampled_from([1.0, 10.0])), draw(st.booleans())
        ),
        spray=draw(st.sampled_from(["none", "random", "turns"])),
        priorities=priorities,
        failures=tuple(failures),
        detect_us=draw(st.sampled_from([0.0, 5.0, 30.0])),
        horizon_us=200_000.0,
    )


_RATES = st.sampled_from([25.0, 100.0])
_PAIRS = st.tuples(st.integers(0, _HOSTS - 1), st.integers(0, _HOSTS - 1)).filter(
    lambda pair: pair[0] != pair[1]
)


@pytest.mark.parametrize("timing", ["exact", "ns3"])
@settings(max_examples=40)
@given(scenario=scenarios(), law=st.sampled_from(_LAWS), seed=st.integers(0, 1000))
def test_packets_are_conserved(
    timing: str, scenario: Scenario, law: CongestionControl, seed: int
) -> None:
    result = run(scenario, law, timing=timing, seed=seed, record=_QUIET)
    assert result.finished
    assert result.data_in_flight >= 0
    assert result.data_sent == result.data_got + result.data_dropped + result.data_in_flight
    assert result.data_dropped <= result.lost + result.cut + result.unreachable + result.drops
    packets = sum(-(-flow.size // scenario.payload) for flow in scenario.flows)
    if scenario.recovery.selective:
        assert result.data_got - result.duplicates == packets
        assert result.nacks == 0
    else:
        assert result.data_got - result.duplicates >= packets
    if not scenario.failures:
        assert result.cut == result.unreachable == 0
    again = run(scenario, law, timing=timing, seed=seed, record=_QUIET)
    assert again.fct_us.tolist() == result.fct_us.tolist()
    assert again.events == result.events


@settings(max_examples=25)
@given(scenario=scenarios(), law=st.sampled_from(_LAWS), seed=st.integers(0, 1000))
def test_nothing_is_reordered_that_must_not_be(
    scenario: Scenario, law: CongestionControl, seed: int
) -> None:
    """One way a flow, no losses: the first gap would be a NACK, or a packet that is repeated."""
    links = tuple(replace(link, loss=0.0) for link in scenario.topology.links)
    total = 600_000 * scenario.priorities.count
    buffers = replace(scenario.buffers, total=total, pfc="dynamic")
    scenario = replace(
        scenario,
        topology=replace(scenario.topology, links=links),
        failures=(),
        spray="none",
        buffers=buffers,
        recovery=replace(scenario.recovery, timeout_us=0.0, low_timeout_us=0.0),
    )
    result = run(scenario, law, seed=seed, record=_QUIET)
    assert result.finished
    assert result.nacks == result.retransmitted == result.duplicates == 0
