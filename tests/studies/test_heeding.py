"""Hosts in the loop: each heeds a source by its own trial, as a host with a card does."""

import random
from copy import deepcopy
from dataclasses import replace
from ipaddress import ip_address
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from precog_host.rdma_follow import Follower
from precog_host.trial import EVIDENCE
from precog_models.forecast.starts import CROWDED
from precog_net.workloads import Traffic
from precog_sim.network import Result
from precog_studies.prediction.__main__ import _arms
from precog_studies.prediction.arms import ARMS, EARLIER, FALSE, HOSTS, WITHOUT_MODEL
from precog_studies.prediction.cases import closed_loop
from precog_studies.prediction.page import page
from precog_studies.prediction.starts.heeding import Hosts
from precog_studies.prediction.starts.predictors import predictors
from precog_studies.prediction.starts.windows import known
from precog_studies.prediction.trials import hosts_after

from ..sw.belief_host import OTHER, PEER, Host, Says, one_list

_US = 1_000_000


def _run(
    start: list[int], dst: list[int], heard: list[int], us: float = 10.0, src: int = 1
) -> tuple[Result, Traffic]:
    """Flows of 50 KB that take `us` each, starts in us."""
    count = len(start)
    at = np.array(start, dtype=np.int64)
    full = np.full(count, src)
    size = np.full(count, 50_000)
    traffic = Traffic(at * _US, full, np.array(dst), size, ("a",) * count)
    result = SimpleNamespace(
        heard=np.array(heard), start_us=at.astype(float), fct_us=np.full(count, us)
    )
    return cast(Result, result), traffic


def test_an_outcome_counts_once_its_flow_has_ended() -> None:
    """Eight others and eight crowded starts; the source is right."""
    levels = [0] * EVIDENCE + [4] * EVIDENCE + [4]
    starts = [100 * n for n in range(len(levels))]
    result, traffic = _run(starts, [0] * len(levels), levels)
    guesses = np.array(levels)
    assert Hosts().heeds(result, traffic, guesses).tolist() == [False] * 16 + [True]
    slow, _ = _run(starts, [0] * len(levels), levels, us=101.0)
    assert not Hosts().heeds(slow, traffic, guesses).any()
    ends_then, _ = _run(starts, [0] * len(levels), levels, us=100.0)
    assert Hosts().heeds(ends_then, traffic, guesses)[-1]
    slow.fct_us[3] = np.nan  # a flow that never ends says nothing
    again = Hosts()
    again.heeds(slow, traffic, guesses)
    assert again.heeds(slow, traffic, guesses).any()
    small = Traffic(traffic.start_ps, traffic.src, traffic.dst, np.full(17, 30_000), traffic.kind)
    assert not Hosts().heeds(result, small, guesses).any()


def test_hosts_learn_from_one_run_for_the_next_each_for_itself() -> None:
    levels = [0] * EVIDENCE + [4] * EVIDENCE
    result, traffic = _run([100 * n for n in range(16)], [0] * 16, levels)
    hosts, guesses = Hosts(), np.array(levels)
    assert not hosts.heeds(result, traffic, guesses).any()
    assert deepcopy(hosts).heeds(result, traffic, guesses).all()
    _, others = _run([100 * n for n in range(16)], [0] * 16, levels, src=2)
    assert not hosts.heeds(result, others, guesses).any()
    inverted = Hosts()
    inverted.heeds(result, traffic, 4 - guesses)
    assert not inverted.heeds(result, traffic, 4 - guesses).any()


def test_hosts_may_be_told_what_became_of_a_source_elsewhere() -> None:
    """Four receivers of other hosts lend eight crowded starts, and others."""
    levels = [4, 4, 0, 0] * 4
    result, traffic = _run([100 * n for n in range(16)], sorted([0, 1, 2, 3] * 4), levels)
    others, guesses = Hosts(), np.array(levels)
    assert not others.heeds(result, traffic, guesses)[:8].any()
    _, elsewhere = _run([100 * n for n in range(16)], [9] * 16, levels, src=2)
    assert len(others.outcomes()) == 4
    told = Hosts(others.outcomes()).heeds(result, elsewhere, guesses)
    assert told.tolist() == [False] * 2 + [True] * 14
    bare = Hosts().heeds(result, elsewhere, guesses)
    assert bare.sum() < told.sum()
    lied = Hosts(others.outcomes()).heeds(result, elsewhere, 4 - guesses)
    assert not lied.any()


def test_a_host_with_a_card_heeds_the_same_starts(seed: int) -> None:
    """The same starts through `Beliefs` on an emulated card, and through the study's hosts."""
    rng = random.Random(seed)
    host, model = Host(), Says()
    beliefs = host.beliefs(model)
    follower = Follower(host.device, mode="s", beliefs=beliefs)
    one_list(host, follower, 0, 0)  # sizes are known then
    one_list(host, follower, 0, 0, peer=OTHER)
    peers, heard, guesses, heeded, beliefs_then = [], [], [], [], []
    for _ in range(90):
        peer, level = rng.choice([PEER, OTHER]), rng.choice([0, 1, CROWDED, 4])
        model.next = level if rng.random() < 0.85 else 4 - level
        guess, _ = one_list(host, follower, 0, level, peer=peer)
        peers.append(0 if peer == PEER else 1)
        heard.append(level)
        guesses.append(guess.level)
        heeded.append(guess.heeded)
        beliefs_then.append(guess.belief or 0)
    run, traffic = _run([100 * n for n in range(90)], peers, heard)
    assert Hosts().heeds(run, traffic, np.array(guesses)).tolist() == heeded
    assert 20 < sum(heeded) < 85
    told = known(traffic, run.heard, run.start_us + 5)
    assert Hosts().beliefs(run, traffic, np.array(guesses), told).tolist() == beliefs_then
    assert {0, CROWDED, 4} == set(beliefs_then)


class _First(Hosts):
    def heeds(self, result: Result, traffic: Traffic, guesses: np.ndarray) -> np.ndarray:
        return np.arange(len(traffic)) < 4


def test_starts_go_by_the_guess_or_by_the_last_level() -> None:
    result, traffic = _run([100 * n for n in range(8)], [0] * 8, [0] * 8)
    guesses, told = np.array([0, 1, 2, 5] * 2), np.array([3, 3, 3, 1, 0, 1, 2, 3])
    beliefs = _First().beliefs(result, traffic, guesses, told)
    assert beliefs.tolist() == [0, 0, 2, 5, 0, 0, 2, 3]


class _None(Hosts):
    def heeds(self, result: Result, *args: object) -> np.ndarray:
        return np.zeros(len(result.scenario.flows), dtype=np.bool_)


class _All(Hosts):
    def heeds(self, result: Result, *args: object) -> np.ndarray:
        return np.ones(len(result.scenario.flows), dtype=np.bool_)


def test_a_run_is_that_of_what_its_hosts_heed() -> None:
    tree = predictors()["tree"]
    last, traffic, _ = closed_loop(
        "rounds", ARMS[WITHOUT_MODEL], 0, predictors()[HOSTS[WITHOUT_MODEL][0]]
    )
    alone, *_ = closed_loop("rounds", ARMS["tree_cold"], 0, tree, _None())
    assert (alone.fct_us == last.fct_us).all()
    echo, *_ = closed_loop("rounds", ARMS["echo"], 0)
    assert (alone.fct_us != echo.fct_us).any()
    heeding, *_ = closed_loop("rounds", ARMS["tree_cold"], 0, tree, _All())
    free, *_ = closed_loop("rounds", ARMS["tree"], 0, tree)
    assert (heeding.fct_us == free.fct_us).all()
    false, *_ = closed_loop("rounds", FALSE["random_warm"], 0, None, _All())
    counts = traffic.size > 30_000
    drawn = np.array(FALSE["guess_random"].hints(traffic, {}, 0).guesses)
    believed = counts & (drawn >= CROWDED)
    assert (np.array(false.scenario.hints.guesses) == np.where(believed, drawn, 0)).all()


def test_trials_of_earlier_runs_are_in_the_run_and_stay_as_they_are(volume: int) -> None:
    """Four runs before are enough for every host to have seen crowded starts."""
    runs = 4 if volume < 2 else EARLIER
    assert hosts_after("rounds", ARMS["tree_cold"])._trials == {}
    told = hosts_after("rounds", replace(ARMS["tree_fleet"], earlier=runs))
    assert told._trials == {}
    assert told._trials[1].lent(ip_address("10.0.0.1")) > 8
    arm = replace(ARMS["tree_warm"], earlier=runs)
    assert len(hosts_after("rounds", arm)._trials) == 64
    hosts = hosts_after("services", arm)
    before = deepcopy(hosts)
    result, traffic, moving = closed_loop("services", arm, 3001, predictors()["tree"], hosts)
    assert moving == 0
    guesses = np.array(result.scenario.hints.guesses)
    assert (guesses >= CROWDED).any()
    one = np.full(len(traffic), 4)
    assert (before.heeds(result, traffic, one) == hosts.heeds(result, traffic, one)).all()


@pytest.mark.parametrize(
    ("case", "arms"),
    [
        ("services", {*HOSTS, "random_warm", "inverted_warm", "split_warm"}),
        ("rounds", {*HOSTS, "guess_random"}),
        ("ring", set()),
    ],
)
def test_cases_have_hosts_where_their_nics_have_seen_receivers(case: str, arms: set[str]) -> None:
    hosts = {name for name, arm in {**ARMS, **FALSE}.items() if arm.earlier is not None}
    named = set(_arms(case, None))
    assert arms <= named
    assert (hosts | {"persistence_host", "guess_random"}) & named == arms


def test_the_page_says_what_hosts_are_where_it_has_them() -> None:
    one = {"figures": {}, "met": {}, "unfinished": 0}
    said = {"command": "a", "commit": "b", "seeds": 2}
    case = {"title": "c", "prior": {}, "against": {}}
    cases = [
        {"services": {**case, "arms": {"off": one, **{arm: one for arm in arms}}}}
        for arms in ((), ("random_warm",))
    ]
    without, there = (page({**said, "cases": each}, "r") for each in cases)
    assert "`tree_warm`" not in without
    assert "`tree_warm`" in there
    title = "guesses at random, tried by each host for 16 runs before; persistence where it has not"
    assert f"| `random_warm` | {title} passed |" in there
