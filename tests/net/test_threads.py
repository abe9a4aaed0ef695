"""One run on several threads: partitions and threads change nothing that happens."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_host import cli
from precog_net.campaign import threads_left
from precog_net.laws import law
from precog_net.topologies import topology
from precog_sim.network import (
    Answers,
    Buffers,
    CongestionControl,
    Ecn,
    Failure,
    Fixed,
    Flow,
    Link,
    Mixed,
    PredPid,
    Priorities,
    Record,
    Recovery,
    Scenario,
    Topology,
    partition,
    prepare,
    run,
    star,
)
from precog_sim.network.hearing import Hearing
from precog_sim.network.result import Result, SimulationError

_QUIET = Record(probe_us=0.0, packets=False, depth_us=1.0)
_TREE = "fattree:k=4"
_LEAVES = "leafspine:leaves=3,spines=2,hosts=4"
#: What says how a run was made, not what happened.
_MANNER = {"scenario", "cpu_s", "buffer_rules", "partitions", "whole_because"}


def _scenario(text: str, seed: int, **others: Any) -> Scenario:
    """Random flows on all hosts, and an incast that fills buffers."""
    network = topology(text)
    rng = np.random.default_rng(seed)
    flows = []
    for _ in range(60):
        src, dst = rng.choice(network.hosts, 2, replace=False).tolist()
        size, start = int(rng.integers(1, 100_000)), int(rng.integers(60_000_000))
        flows.append(Flow(src, dst, size, start_ps=start))
    flows += [Flow(src, 0, 40_000, start_ps=20_000_000) for src in range(1, network.hosts)]
    return Scenario(text, network, tuple(flows), horizon_us=20_000.0, **others)


def _same(a: Result, b: Result) -> None:
    for one in fields(Result):
        if one.name not in _MANNER:
            left, right = (np.asarray(getattr(result, one.name)) for result in (a, b))
            assert left.dtype == right.dtype, one.name
            equal_nan = left.dtype.kind == "f"
            assert np.array_equal(left, right, equal_nan=equal_nan), one.name


def _features(name: str, scenario: Scenario) -> Scenario:
    changed: dict[str, Any] = {
        "plain": {},
        "pfc": {"buffers": Buffers(total=1_000_000, alpha_shift=6), "ecn": Ecn(2000, 4000, 0.2)},
        "static": {
            "buffers": Buffers(pfc="static", pfc_bytes=20_000, total=4_000_000),
            "ecn": Ecn(5000, 15_000, 0.2),
        },
        "drops": {
            "buffers": Buffers(pfc="off", drop="dynamic", total=100_000),
            "recovery": Recovery(timeout_us=200.0, nack_us=5.0),
        },
        "losses": {
            "loss_data": 0.01,
            "loss_ack": 0.02,
            "recovery": Recovery(mode="selective", timeout_us=200.0),
            "answers": Answers(4, 5.0),
        },
        "random": {
            "spray": "random",
            "recovery": Recovery(mode="selective", reorder=16, timeout_us=200.0),
            "hearing": Hearing(noise_ns=200.0, base="learnt"),
        },
        "turns": {"spray": "turns", "recovery": Recovery(mode="selective", timeout_us=300.0)},
    }[name]
    return replace(scenario, **changed)


def _whole(text: Topology) -> Any:
    return partition.whole(text)


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """A run in one part."""

    def go(*arguments: Any, **others: Any) -> Result:
        with monkeypatch.context() as patch:
            patch.setattr(prepare, "partition", _whole)
            return run(*arguments, **others)

    return go


@pytest.mark.parametrize(
    ("text", "cc", "features"),
    [
        (_TREE, "hpcc", "plain"),
        (_TREE, "hpcc", "pfc"),
        (_TREE, "dcqcn-barre", "static"),
        (_TREE, "swift", "losses"),
        (_LEAVES, "dcqcn", "drops"),
        (_LEAVES, "dctcp", "turns"),
        (_LEAVES, "timely", "random"),
        (_LEAVES, "hpcc-pint", "pfc"),
        ("dumbbell:pairs=4", "powertcp", "plain"),
        ("parkinglot:hops=3", "hpcc", "losses"),
    ],
)
def test_threads_and_partitions_change_nothing(
    whole: Callable[..., Result], text: str, cc: str, features: str, seed: int
) -> None:
    scenario = _features(features, _scenario(text, seed))
    control = law(cc)
    want = whole(scenario, control, seed=seed, record=_QUIET)
    assert want.partitions == 1
    found = [run(scenario, control, seed=seed, record=_QUIET, threads=n) for n in (1, 2, 3)]
    for one in found:
        assert one.partitions > 1
        assert one.whole_because == ""
        _same(one, want)
    if features in ("pfc", "static"):
        assert want.pauses > 0
    if features == "drops":
        assert want.drops > 0
    if features == "losses":
        assert want.lost > 0


def test_links_that_fail(whole: Callable[..., Result], seed: int) -> None:
    """Routes change in all partitions at one time."""
    scenario = _scenario(_LEAVES, seed)
    links = [
        n
        for n, link in enumerate(scenario.topology.links)
        if min(link.a, link.b) >= scenario.topology.hosts
    ]
    scenario = replace(
        scenario,
        failures=(Failure(links[0], 15.0, 40.0), Failure(links[3], 25.0), Failure(2, 20.0, 30.0)),
        detect_us=5.0,
        recovery=Recovery(timeout_us=100.0),
    )
    want = whole(scenario, law("dctcp"), seed=seed, record=_QUIET)
    assert want.cut > 0
    assert want.finished
    for threads in (1, 2, 3):
        _same(run(scenario, law("dctcp"), seed=seed, record=_QUIET, threads=threads), want)


def test_classes_mixed_laws_jitter_and_a_ring(whole: Callable[..., Result], seed: int) -> None:
    scenario = _scenario(_TREE, seed, priorities=Priorities(2, "drr", (1.0, 3.0)))
    flows = [
        replace(flow, priority=n % 2, rtt_jitter_ps=200_000 * (n % 3 == 0))
        for n, flow in enumerate(scenario.flows)
    ]
    first = len(flows)
    hosts = range(scenario.topology.hosts)
    flows += [Flow(h, (h + 1) % len(hosts), 5000) for h in hosts]
    flows += [
        Flow(h, (h + 1) % len(hosts), 5000, after=(first + (h - 1) % len(hosts),)) for h in hosts
    ]
    scenario = replace(scenario, flows=tuple(flows))
    control = Mixed(laws=[law("hpcc"), law("dcqcn")], of=[n % 2 for n in range(len(flows))])
    want = whole(scenario, control, seed=seed, record=_QUIET)
    assert want.finished
    for threads in (1, 2, 3):
        found = run(scenario, control, seed=seed, record=_QUIET, threads=threads)
        assert found.partitions > 1
        _same(found, want)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"timing": "ns3"}, "ns3 timing"),
        ({"record": Record()}, "records of packets"),
    ],
)
def test_what_cannot_be_divided_says_so(changed: dict[str, Any], why: str, seed: int) -> None:
    """And is the same on two threads."""
    scenario = _scenario("dumbbell:pairs=2", seed)
    arguments = {"record": _QUIET, **changed}
    one, two = (run(scenario, law("hpcc"), threads=n, **arguments) for n in (1, 2))
    assert one.partitions == two.partitions == 1
    assert why in one.whole_because
    _same(one, two)


def test_a_flow_that_waits_far_away_keeps_a_run_whole() -> None:
    network = topology("dumbbell:pairs=2")
    near = (Flow(0, 2, 1000), Flow(2, 0, 1000, after=(0,)))
    far = (Flow(0, 2, 1000), Flow(0, 3, 1000, after=(0,)))
    results = [run(Scenario("x", network, f), Fixed(), record=_QUIET) for f in (near, far)]
    assert [result.partitions for result in results] == [2, 1]
    assert "flow 1 waits for what happens far from its host" in results[1].whole_because


def test_an_error_is_the_same_on_any_number_of_threads(seed: int) -> None:
    scenario = _scenario(_LEAVES, seed)
    said = []
    for threads in (1, 3):
        with pytest.raises(SimulationError, match="packet pool must hold more than 300") as caught:
            run(scenario, Fixed(), record=_QUIET, pool=300, threads=threads)
        said.append(str(caught.value)[:40])
    assert said[0] == said[1]


@pytest.mark.parametrize("threads", [0, -1, 65])
def test_bad_numbers_of_threads_are_refused(threads: int) -> None:
    scenario = Scenario("x", star(2), (Flow(0, 1, 1000),))
    with pytest.raises(ValueError, match=f"threads must be in 1..64, not {threads}"):
        run(scenario, Fixed(), threads=threads)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("fat320", 20),
        (_TREE, 8),
        (_LEAVES, 3),
        ("dumbbell", 2),
        ("parkinglot:hops=3", 4),
        ("star:hosts=9", 1),
        ("fattree:k=16", 32),
    ],
)
def test_partitions_are_whole_switches_with_their_hosts(text: str, count: int) -> None:
    network = topology(text)
    split = partition.partition(network)
    assert split.count == count
    assert set(split.of.tolist()) == set(range(count))
    for link in network.links:
        if split.of[link.a] != split.of[link.b]:
            assert min(link.a, link.b) >= network.hosts
            assert link.delay_ps >= split.lookahead_ps


def test_short_links_do_not_cross() -> None:
    links = (Link(0, 2, 100.0, 1_000_000), Link(1, 3, 100.0, 1_000_000), Link(2, 3, 100.0, 1000))
    assert partition.partition(Topology(2, 2, links)).count == 1
    longer = (*links[:2], Link(2, 3, 100.0, 200_000))
    split = partition.partition(Topology(2, 2, longer))
    assert (split.count, split.lookahead_ps) == (2, 200_000)


def test_the_command_has_threads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """They change no figure; what cannot be divided is said."""
    small = ("--topology", _LEAVES, "--workload", "rpc:0.2", "--duration-ms", "0.1", "--jobs", "1")

    def go(folder: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        with pytest.raises(SystemExit) as caught:
            cli.main(["sim", "fabric", "-o", str(tmp_path / folder), "-j", *small, *arguments])
        said = capsys.readouterr()
        return int(caught.value.code or 0), json.loads(said.out or "{}"), said.err

    found = []
    for threads in ("1", "2"):
        status, data, said = go(threads, "--threads", threads)
        assert status == 0
        assert "cannot be divided" not in said
        for one in data["results"]["hpcc"]["seeds"]:
            one.pop("cpu_s")
        data["results"]["hpcc"].pop("cpu_s", None)
        found.append(data)
    assert found[0] == found[1]
    status, _, said = go("ns3", "--threads", "2", "--timing", "ns3")
    assert status == 0
    assert "one thread each: runs of hpcc cannot be divided" in said
    status, _, said = go("bad", "--threads", "65")
    assert status != 0
    assert "threads must be in 1..64, not 65" in said


def test_threads_are_the_cores_that_processes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, jobs, workers, threads in (
        (2, 1, 2, 2),
        (2, 2, 2, 1),
        (8, 3, 8, 2),
        (8, 20, 4, 2),
        (4, 20, 8, 1),
        (200, 1, 8, 64),
    ):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert threads_left(jobs, workers, None) == threads
        assert threads_left(jobs, workers, "local") == 1


def test_a_law_of_its_own_runs_on_threads(seed: int) -> None:
    """A program of a researcher, compiled, and a fixed rate."""
    controls: tuple[CongestionControl, ...] = (law("theta-powertcp"), Fixed(start_gbps=20.0))
    scenario = _scenario(_LEAVES, seed)
    for control in controls:
        one, two = (run(scenario, control, record=_QUIET, threads=n) for n in (1, 2))
        assert one.partitions == 3
        _same(one, two)


def test_threads_do_not_share_the_predictor_s_scratch() -> None:
    network = topology("fattree:k=4")
    flows = tuple(Flow(h, (h + 5) % 16, 500_000) for h in range(16) for _ in range(2))
    weights = np.random.default_rng(1).normal(0, 0.5, 1169)
    cc, scenario = PredPid(weights=weights), Scenario("predicted", network, flows)
    _same(*(run(scenario, cc, threads=threads, record=_QUIET) for threads in (1, 2)))
