"""Rollouts: stage by stage while agents do well, back when they do not, whatever crashes."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from precog_fleet.assignments import LIVE_KEY, Rollout, skill_key
from precog_fleet.bodies import Skill
from precog_fleet.errors import FleetError
from precog_fleet.outcome import Outcome
from precog_fleet.rollouts import Rollouts, Stages
from precog_fleet.store import Store

from .support import NOW, membership, record, sealed, store

AGENTS = [f"host{k}" for k in range(20)]
STAGES = Stages(dwell_ms=1000, patience_ms=10_000)
ONE, TWO = bytes([1]) * 32, bytes([2]) * 32


class Fleet:
    """A trainer's store, agents that report on what they are told to run, and a clock."""

    def __init__(self, path: Path, agents: list[str] | None = None) -> None:
        self.path = path / "rollouts.json"
        self.store: Store = store(*(AGENTS if agents is None else agents))
        assert self.store.receive(membership("trainer0", role="trainer"), NOW) == "accepted"
        self.now = NOW
        self.version = 0
        self.sent = True
        self.skill: dict[int, float] = {0: 0.30, 1: 0.35, 2: 0.20}
        self.said: list[Rollout] = []
        self.silent: set[str] = set()
        self.liars: dict[str, float] = {}
        self.rollouts = self.open()

    def open(self) -> Rollouts:
        return Rollouts(self.path, self.store, self.say, STAGES, random.Random(5))

    def say(self, key: str, body: Rollout, now: int, life: int) -> bool:
        if not self.sent:
            return False
        self.version += 1
        made = record("trainer0", key, self.version, t0=now, life=life, body=body)
        assert self.store.receive(sealed(made), now) is Outcome.ACCEPTED
        self.said.append(body)
        return True

    def report(self, n: int = 500) -> None:
        """Every agent tells the skill of what it runs."""
        for name in AGENTS:
            if name in self.silent:
                continue
            release = self.said[-1].assigned(name)[0] if self.said else 0
            skill = self.liars.get(name, self.skill[release]) if release else self.skill[0]
            body = Skill(n, round((1 - skill) * 100_000), 100_000)
            self.version += 1
            key = skill_key(release)
            self.store.receive(sealed(record(name, key, self.version, t0=self.now, body=body)), NOW)

    def run(self, seconds: int) -> list[str]:
        """Let time pass; what happened."""
        events = []
        for _ in range(seconds):
            self.now += 1000
            self.report()
            event = self.rollouts.step(self.now)
            events += [event] if event else []
        return events

    def running(self) -> set[str]:
        """Agents that run the release of the last rollout."""
        return {name for name in AGENTS if self.said[-1].chosen(name)}


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path)
    made.report()
    return made


def test_a_good_release_goes_to_everybody_by_stages(fleet: Fleet) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    sizes = [len(fleet.running())]
    events = []
    while fleet.rollouts.running:
        events += fleet.run(1)
        sizes.append(len(fleet.running()))
    assert sizes[0] >= 1
    assert sizes == sorted(sizes)
    assert sizes[-1] == 20
    assert len(set(sizes)) == 3
    assert events[-1] == "release 1 runs everywhere: median skill changed by +0.0500"
    assert fleet.rollouts.live == (1, ONE)
    assert [row["what"] for row in fleet.rollouts.history] == [
        "started",
        "advanced",
        "advanced",
        "done",
    ]


def test_a_bad_release_ends_with_the_first_stage(fleet: Fleet) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    fleet.run(8)
    fleet.rollouts.start(2, TWO, fleet.now)
    touched = fleet.running()
    assert 1 <= len(touched) < 10
    (event,) = fleet.run(3)
    assert event == "release 2 was rolled back: median skill fell by 0.1500"
    assert fleet.rollouts.live == (1, ONE)
    assert fleet.running() == set()
    assert {fleet.said[-1].assigned(name) for name in AGENTS} == {(1, ONE)}
    assert not fleet.rollouts.running


def test_silence_proves_nothing(fleet: Fleet) -> None:
    fleet.silent = set(AGENTS)
    fleet.rollouts.start(1, ONE, fleet.now)
    count = len(fleet.running())
    events = fleet.run(12)
    assert events == [f"release 1 was rolled back: only 0 of {count} agents reported on it"]
    assert fleet.rollouts.live == (0, bytes(32))


def test_a_report_from_before_and_one_on_few_windows_do_not_count(fleet: Fleet) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    for name in AGENTS:
        early = record(name, skill_key(1), 10**6, t0=fleet.now - 5, body=Skill(500, 1, 100_000))
        fleet.store.receive(sealed(early), NOW)
    assert fleet.rollouts.told()["reporters"] == 0
    fleet.version = 10**6
    fleet.now += 1000
    fleet.report(n=99)
    assert fleet.rollouts.told()["reporters"] == 0
    fleet.report(n=100)
    assert fleet.rollouts.told()["reporters"] == fleet.rollouts.told()["agents"]


@pytest.mark.parametrize("lie", [-5.0, 0.99])
def test_a_minority_of_liars_neither_stops_nor_carries_a_release(fleet: Fleet, lie: float) -> None:
    fleet.rollouts.stages = replace(STAGES, shares=(300, 1000))
    release, digest = (1, ONE) if lie < 0 else (2, TWO)
    fleet.rollouts.start(release, digest, fleet.now)
    order = fleet.said[-1]
    fleet.liars = dict.fromkeys(sorted(AGENTS, key=order.place)[1::3], lie)  # 7 of 20
    assert 3 <= len(fleet.running()) < 20
    (*_, last) = fleet.run(9)
    assert ("runs everywhere" in last) == (lie < 0)
    assert fleet.rollouts.live[0] == (1 if lie < 0 else 0)


def test_a_new_trainer_process_goes_on(fleet: Fleet) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    fleet.run(1)
    stage = fleet.rollouts.status(fleet.now)["rollout"]["stage"]
    fleet.rollouts = fleet.open()
    again = fleet.rollouts.status(fleet.now)
    assert again["rollout"]["stage"] == stage
    said = len(fleet.said)
    fleet.rollouts.step(fleet.now)
    assert fleet.said[said] == fleet.said[said - 1]  # said again: perhaps nobody heard it
    fleet.run(9)
    assert fleet.rollouts.live == (1, ONE)
    assert fleet.open().live == (1, ONE)


def test_what_could_not_be_said_is_said_later(fleet: Fleet) -> None:
    fleet.sent = False
    fleet.rollouts.start(1, ONE, fleet.now)
    assert fleet.said == []
    assert fleet.rollouts.status(fleet.now)["unsaid"]
    fleet.sent = True
    fleet.rollouts.step(fleet.now)
    assert fleet.said[-1].release == 1
    assert not fleet.rollouts.status(fleet.now)["unsaid"]
    assert fleet.store.entry("trainer0", LIVE_KEY) is not None


def test_rollback_by_hand(fleet: Fleet) -> None:
    with pytest.raises(FleetError, match="rollout must have been made before"):
        fleet.rollouts.rollback(fleet.now, "x")
    fleet.rollouts.start(1, ONE, fleet.now)
    fleet.run(8)
    fleet.rollouts.start(2, TWO, fleet.now)
    assert fleet.rollouts.rollback(fleet.now, "by hand") == 1
    assert fleet.rollouts.live == (1, ONE)
    with pytest.raises(FleetError, match="rollout must have been made before"):
        fleet.rollouts.rollback(fleet.now, "again")
    fleet.skill[2] = 0.5
    fleet.rollouts.start(2, TWO, fleet.now)
    fleet.run(8)
    assert fleet.rollouts.live == (2, TWO)
    assert fleet.rollouts.rollback(fleet.now, "later") == 1  # after it was done
    assert {fleet.said[-1].assigned(name) for name in AGENTS} == {(1, ONE)}


def test_one_rollout_at_a_time(fleet: Fleet, tmp_path: Path) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    with pytest.raises(FleetError, match="rollout of release 1 must end first"):
        fleet.rollouts.start(2, TWO, fleet.now)
    fleet.run(8)
    with pytest.raises(FleetError, match="release 1 must be a new one"):
        fleet.rollouts.start(1, ONE, fleet.now)
    (tmp_path / "b").mkdir()
    alone = Fleet(tmp_path / "b", [])
    with pytest.raises(FleetError, match="fleet must have agents"):
        alone.rollouts.start(1, ONE, NOW)


def test_a_clock_that_is_set_back_starts_the_stage_again(fleet: Fleet) -> None:
    fleet.rollouts.start(1, ONE, fleet.now)
    assert fleet.rollouts.step(fleet.now - 50_000) is None
    fleet.report()
    assert fleet.rollouts.step(fleet.now - 49_500) is None
    assert fleet.rollouts.running


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": 2}', '{"format": 1, "order": 3}', "[" * 100_000]
)
def test_a_damaged_state_is_named(fleet: Fleet, text: str) -> None:
    fleet.path.write_text(text)
    with pytest.raises(ValueError, match=r"rollouts\.json must be the state of rollouts"):
        fleet.open()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shares": ()}, "shares must rise"),
        ({"shares": (500,)}, "shares must rise"),
        ({"shares": (500, 500, 1000)}, "shares must rise"),
        ({"dwell_ms": 10_001}, r"dwell must be at most the patience, 10 s, not 10\.001 s"),
        ({"quorum": 0.0}, "quorum must be above 0"),
        ({"tolerance": -0.1}, r"tolerance must be in 0\.\.1"),
        ({"windows": 0}, "windows must be at least 1"),
    ],
)
def test_stages_out_of_bounds(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(STAGES, **changes)
