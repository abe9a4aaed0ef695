"""Twenty agents with cards, and everything hostile at once: nothing is accepted, all is seen."""

from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from precog_fleet.ahead import Ahead
from precog_fleet.bodies import Report
from precog_fleet.commands.status import _show
from precog_fleet.health import Health
from precog_fleet.looking import view
from precog_fleet.outcome import Outcome
from precog_host.device import Device

from .flock import Flock
from .hostile import HOSTILE
from .support import NOW, membership, record, sealed, stats


@pytest.fixture
def besieged(tmp_path: Path, seed: int) -> Iterator[Flock]:
    """Agents that know an honest record of each of two versions, and that host19 is revoked."""
    of = Flock(tmp_path, 20, seed=seed, start=NOW, ahead=Ahead(budget_ns=20_000))
    of.run(6, periods=3)
    for agent in of.agents.values():
        for version in (2, 3):
            agent.store.receive(sealed(record(version=version)), NOW)
        agent.store.receive(membership("host19", version=2, revoked=True), NOW)
    of.hub.store.receive(membership("host19", version=2, revoked=True), NOW)
    yield of
    for agent in of.agents.values():
        agent.close(of.now)


def cards(of: Flock) -> list[object]:
    """What the siege must not change: the models of all cards."""
    return [Device(emulator).model.sets() for emulator in of.cards.values()]


def test_nothing_hostile_is_accepted_and_all_of_it_is_seen(besieged: Flock) -> None:
    besiege(besieged)
    lie_within_bounds(besieged)
    speak_for_another(besieged)
    reach_who_was_cut_off(besieged)


def besiege(of: Flock) -> None:
    """Every kind to every agent."""
    before = cards(of)
    frames = [(kind, make(), reason) for kind, (make, reason) in HOSTILE.items()]
    sent: Counter[str] = Counter()
    for agent in of.agents.values():
        agent.store.outcomes.clear()
        held = [*agent.store.entries()]
        for kind, frame, reason in frames:
            assert agent.store.receive(frame, NOW) is reason, kind
            sent[reason] += 1
        assert agent.store.outcomes[Outcome.ACCEPTED] == 0
        assert [*agent.store.entries()] == held
        # ... and every kind is told, by its name.
        refused = agent.health().refused
        for reason in {reason for _, _, reason in frames}:
            assert refused[str(reason)] == sum(one == reason for _, _, one in frames)
    assert sent.total() == 20 * len(HOSTILE)
    assert len(sent) >= 10
    of.run(12, periods=0)
    assert cards(of) == before
    found = view(of.hub.store, of.now)
    text = StringIO()
    with redirect_stdout(text):
        _show(found)
    for row in found["members"]:
        if row["role"] == "agent" and row["name"] != "host19":
            assert row["state"] == "alive"
            for reason in sent:
                assert row["refused"][str(reason)] > 0
    assert f"{Outcome.WRONG_BASE}:1" in text.getvalue()
    assert "revoked" in text.getvalue()


def lie_within_bounds(of: Flock) -> None:
    """Seven of twenty members lie in true records: the map stays within what honest ones say."""
    of.run(12, periods=3)
    key = "dst/10.0.0.1"
    agent = of.agents["host0"]
    liars = [f"host{n}" for n in range(12, 19)]
    honest = [
        entry.record.body.stats
        for entry in agent.store.entries(key)
        if isinstance(entry.record.body, Report) and entry.record.origin not in liars
    ]
    assert len(honest) >= 8
    for name in liars:
        lie = Report(stats(mean=10**9, p99=10**9, rate=1, n=65535))
        frame = sealed(record(name, key, 1 << 52, t0=of.now, body=lie))
        assert agent.store.receive(frame, of.now) is Outcome.ACCEPTED
    agent.ahead.look(agent.store, ["10.0.0.1"], of.now)
    known = agent.ahead.map["10.0.0.1"].known
    assert known is not None
    assert known.reporters > len(honest)
    for name in ("mean", "p99", "rate"):
        told = [getattr(one, name) for one in honest]
        assert min(told) <= getattr(known, name) <= max(told)


def speak_for_another(of: Flock) -> None:
    """A member that speaks of another's health is not shown as that other."""
    fake = Health(1, 1, 99, 99, 0, 0, 0, 0, 0, 0, 0)
    frame = sealed(record("host3", "health/host4", 5, t0=of.now, body=fake))
    of.hub.store.receive(frame, of.now)
    rows = {row["name"]: row for row in view(of.hub.store, of.now)["members"]}
    assert rows["host4"]["release"] == 0
    assert rows["host3"]["release"] == 0


def reach_who_was_cut_off(of: Flock) -> None:
    """A revocation comes to an agent that was cut off, and killed, when everybody else heard."""
    of.agents["host5"].link.cut = True  # type: ignore[attr-defined]
    revoked = membership("host18", version=2, revoked=True)
    assert of.hub.store.receive(revoked, of.now) is Outcome.ACCEPTED
    of.run(12, periods=0)
    agents = of.agents
    heard = {name for name, agent in agents.items() if agent.store.members["host18"].revoked}
    assert heard == set(of.names) - {"host5"}
    agents["host5"].close(of.now)
    agents["host5"] = of.start("host5")
    assert not agents["host5"].store.members["host18"].revoked
    of.run(12, periods=0)
    for agent in agents.values():
        assert agent.store.members["host18"].revoked
        assert not [e for e in agent.store.entries() if e.record.origin == "host18"]
        said = sealed(record("host18", version=1 << 52, t0=of.now))
        assert agent.store.receive(said, of.now) is Outcome.REVOKED
    of.kill_hub()  # had it not saved: others tell it
    of.run(12, periods=0)
    assert of.hub.store.members["host18"].revoked
