"""Agents on emulated cards: windows that came true, models that rise and fall, faults."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from precog_fleet.agent import Agent
from precog_fleet.assignments import skill_key
from precog_fleet.bodies import Report
from precog_fleet.card import Card
from precog_fleet.delta import head_delta
from precog_fleet.lineup import Rules
from precog_fleet.modelset import ModelSet, Queue
from precog_fleet.releases import Releases
from precog_fleet.seating import Seating
from precog_fleet.telemetry import read_part
from precog_fleet.timing import Timing
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.serve import EtherboneServer
from precog_host.transport import DeviceError
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image, pretrained

from .flock import QPS, SIZES, Flock, shipped, spoiled
from .released import model_set, publish, repository
from .support import NOW

GOOD = ModelSet(
    Image(replace(pretrained("queue-4rtt").weights, version=5), pretrained("queue-4rtt").card)
)


@contextmanager
def flock(folder: Path, count: int, seed: int, **options: object) -> Iterator[Flock]:
    made = Flock(folder, count, seed=seed, start=NOW, **options)
    try:
        yield made
    finally:
        for agent in made.agents.values():
            agent.close(made.now)


def only(of: Flock) -> tuple[Agent, Seating]:
    agent = of.agents["host0"]
    return agent, agent.seatings[0]


def live_versions(of: Flock, name: str = "host0") -> set[int]:
    """Of the sets that the card's slots stand for."""
    return {m.version for m in Device(of.cards[name]).model.sets() if m.slots}


def test_windows_tell_what_came_true(tmp_path: Path, seed: int) -> None:
    """Rows hold the queue's true lengths, and the card's forecasts are the golden model's."""
    with flock(tmp_path, 1, seed) as of:
        of.run(25)
        agent, seating = only(of)
        agent.telemetry.flush(of.now)
        assert seating.card.tallies()["lost"] == 0
        assert seating.counts["unlike"] == 0
        history = of.traffic["host0"].history
    parts = sorted((tmp_path / "host0" / "telemetry").glob("*.parquet"))
    rows = [row for part in parts for row in read_part(part).to_pylist()]
    assert len(rows) == agent.telemetry.counts["rows"] > 200
    forecaster = Forecaster(pretrained("queue-4rtt"))
    by_queue = {qp: [*of_.values()] for qp, of_ in history.items()}
    for row in rows:
        signals = np.array(row["signals"]).reshape(1, 8, 4)
        seen = [*signals[0, :, 0], row["later"][0], row["later"][1]]
        true = by_queue[row["qp"]]
        fits = [
            n
            for n in range(len(true) - 11)
            if all(
                0 <= b - a <= b / 1000
                for a, b in zip(seen, [*true[n : n + 9], true[n + 11]], strict=True)
            )
        ]
        assert len(fits) >= 1, row
        assert row["highest"][1] >= max(row["later"])
        assert (row["origin"], row["device"], row["destination"]) == (
            *("host0", "card0"),
            f"10.0.0.{row['qp']}",
        )
        if row["model"]:
            assert row["model"] == pretrained("queue-4rtt").crc32
            assert row["predicted"] == forecaster.distributions(signals)[0].tolist()
    assert sum(row["model"] != 0 for row in rows) > len(rows) * 0.9


def test_a_better_release_rises_and_a_worse_one_falls(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 1, seed) as of:
        agent, seating = only(of)
        of.run(2)
        assert live_versions(of) == {1}
        of.roll_out(1, spoiled(version=7))
        while seating.lineup.shadow is None:
            of.run(1)
        assert live_versions(of) == {1}
        of.run(40)
        assert seating.counts["fallen"] == 1
        assert live_versions(of) == {1}
        assert agent.store.entry("host0", skill_key(1)) is not None  # what its windows said
        assert not seating.wants(bytes([1]) * 32)
        of.roll_out(2, GOOD)
        of.run(80)
        # No better than the shipped one, which it equals: it rises when patience is over.
        assert (seating.counts["risen"], live_versions(of)) == (1, {5})
        assert agent.health().release == 2
        skill = agent.store.skills("r2")["host0"]
        assert skill.score < skill.reference
        of.roll_out(0, shipped(), previous=2)  # the trainer takes it back
        of.run(20)
        assert (seating.counts["rollbacks"], live_versions(of)) == (1, {1})


def test_a_model_that_the_old_one_beats_is_taken_back(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 1, seed) as of:
        agent, seating = only(of)
        of.run(2)
        of.roll_out(1, spoiled(version=7))
        while seating.lineup.shadow is None:
            of.run(1)
        seating.card.switch(of.now, seating.lineup.shadow.sets)  # as if luck had let it rise
        seating.lineup.rise()
        assert live_versions(of) == {7}
        of.run(60)
        assert live_versions(of) == {1}
        assert seating.counts["rollbacks"] == 1
        assert bytes([1]) * 32 in seating.lineup.refused
        assert agent.health().rollbacks == 1


def test_lost_skill_asks_for_new_models(tmp_path: Path, seed: int) -> None:
    rules = Rules(least=8, patience=10_000, kept=100, drift=0.05)
    with flock(tmp_path, 1, seed, rules=rules) as of:
        agent, seating = only(of)
        of.run(50)
        assert agent.counts["drifts"] == 0
        traffic = of.traffic["host0"]
        traffic.wave = 3  # what no window of 8 samples can foresee
        of.run(150)
        assert agent.counts["drifts"] > 0
        entry = agent.store.entry("host0", "drift/host0")
        assert entry is not None
        assert seating.lineup.live is not None


def test_who_falls_back_where_traffic_has_changed_still_asks(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 1, seed) as of:
        agent, seating = only(of)
        of.run(2)
        of.roll_out(1, GOOD)
        while agent.health().release != 1:
            of.run(1)
        of.run(40)
        lineup = seating.lineup
        lineup._best = 0.99  # as if it had been that good on the traffic of before
        assert lineup.drifted() is not None
        seating._back(of.now, "worse than the one before")
        assert agent.health().release == 0
        assert lineup.drifted() is not None
        assert lineup._best == 0.99


def test_restart_keeps_the_live_model_and_what_was_flushed(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 1, seed) as of:
        of.run(2)
        of.roll_out(1, spoiled(version=7))
        of.run(60)
        agent, seating = only(of)
        assert seating.counts["fallen"] == 1
        of.roll_out(2, GOOD)
        of.run(80)
        assert live_versions(of) == {5}
        waiting, rows = agent.telemetry.waiting, agent.telemetry.counts["rows"]
        mapped = Device(of.cards["host0"]).model.sets()
        agent.shelf.close()  # the process is killed: nothing is flushed
        os.close(agent.telemetry._lock)
        of.agents["host0"] = again = of.start("host0")
        of.run(3)
        assert Device(of.cards["host0"]).model.sets() == mapped
        seating = again.seatings[0]
        assert seating.counts["reloaded"] == 0
        assert [*seating.lineup.refused] == [bytes([1]) * 32]
        assert seating.lineup.live is not None
        assert (seating.lineup.live.release, again.following.counts["fetched"]) == (2, 0)
        parts = (tmp_path / "host0" / "telemetry").glob("*.parquet")
        assert sum(len(read_part(part)) for part in parts) >= rows
        assert waiting < 200
        # A card that lost power gets its model again.
        of.cards["host0"].nic.map_slot(1, 0, enable=False)
        again.seatings[0].card._fail(DeviceError("power"), of.now)
        of.run(20)
        assert live_versions(of) == {5}
        assert again.seatings[0].counts["reloaded"] == 1


def test_faults_end_nothing(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with flock(tmp_path, 1, seed) as of:
        agent, seating = only(of)
        of.run(5)
        emulator = of.cards["host0"]
        true = emulator.read32

        def broken(address: int) -> int:
            raise DeviceError("no answer")

        monkeypatch.setattr(emulator, "read32", broken)
        of.run(5)
        assert (agent.health().up, agent.health().faults) == (0, 1)
        assert "no answer" in seating.card.error
        monkeypatch.setattr(emulator, "read32", true)
        agent.link.cut = True  # type: ignore[attr-defined]

        def full(path: Path, data: bytes) -> None:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(agent.telemetry, "_write", full)
        of.run(60)
        assert agent.health().up == 1
        assert agent.speaker.counts["unsent"] > 0
        assert agent.telemetry.counts["failed"] > 0
        agent.link.cut = False  # type: ignore[attr-defined]
        of.run(20)
        assert agent.speaker.counts["published"] > 0
        assert of.hub.store.entry("host0", "health/host0") is not None
        assert seating.lineup.live is not None
        monkeypatch.undo()


@pytest.mark.parametrize(
    "damage", [b"", b"[]", b'{"refused": {}, "live": [1], "previous": null}', b"\xff"]
)
def test_damaged_state_counts_as_none(tmp_path: Path, seed: int, damage: bytes) -> None:
    state = tmp_path / "host0" / "models" / "card0.json"
    state.parent.mkdir(parents=True)
    state.write_bytes(damage)
    with flock(tmp_path, 1, seed) as of:
        of.run(3)
        _, seating = only(of)
        assert (seating.counts["damaged"], live_versions(of)) == (1, {1})


@pytest.mark.parametrize(("later", "up"), [(999, False), (1000, True), (-3_600_000, True)])
def test_a_card_is_opened_again_whatever_the_clock_does(later: int, up: bool) -> None:
    """After its pause, or at once when the clock has been set back."""
    card = Card("card0", lambda: Device(Emulator(SIZES)), {})
    assert card.up(NOW)
    card._fail(DeviceError("no answer"), NOW)
    assert card.up(NOW + later) == up
    card.close()


def test_candidates_that_do_not_fit_are_refused(tmp_path: Path, seed: int) -> None:
    """Other bins or another horizon; a repository that fails; a release that nobody has."""
    with flock(tmp_path, 1, seed) as of:
        agent, seating = only(of)
        of.run(3)
        of.roll_out(1, ModelSet(pretrained("queue-1rtt")))
        of.run(20)
        assert seating.counts["refused"] == 1
        assert "bins, horizon and inputs of the live one" in agent.following.error
        body = of.roll_out(2, GOOD)
        del of.releases[body.digest]
        of.run(30)
        assert agent.following.counts["unfetched"] > 0
        assert live_versions(of) == {1}
        assert len(seating.lineup.refused) == 1


def test_a_neighbours_head_runs_only_if_it_is_better_here(tmp_path: Path, seed: int) -> None:
    """Of two neighbours one has learned well and one badly, upon a base that all share."""
    base = spoiled(version=9).base
    heads = {
        name: head_delta(base.payload, models.base.payload)
        for name, models in (("host1", spoiled(version=8, seed=3)), ("host2", GOOD))
    }
    first = {
        f"host{n}": ModelSet(
            base, {Queue(f"host{n}", "card0", qp): heads[f"host{n}"] for qp in QPS} if n else {}
        )
        for n in range(3)
    }
    timing = Timing(borrow=200)
    with flock(tmp_path, 3, seed, first=first, timing=timing) as of:
        agent, seating = only(of)
        of.run(3)
        assert live_versions(of) == {9}
        assert live_versions(of, "host2") == {5}
        for _ in range(12):
            of.run(20)
            if live_versions(of) == {5}:
                break
        assert live_versions(of) == {5}
        assert seating.counts["risen"] >= 2
        assert seating.counts["borrowed"] > seating.counts["risen"] or not seating.lineup.refused
        assert live_versions(of, "host2") == {5}
        assert not seating.wants(bytes(32))  # it is still the release that it was
        assert seating.head(0) == (base.crc32, heads["host2"])
        entry = agent.store.entry("host0", "dst/10.0.0.0")
        assert entry is not None
        assert isinstance(entry.record.body, Report)
        of.run(12)
        again = agent.store.entry("host0", "dst/10.0.0.0")
        assert again is not None
        assert isinstance(again.record.body, Report)
        assert again.record.body.delta == heads["host2"]  # and passes it on
        # Noise instead of a head is refused once, and nothing else happens.
        before = seating.counts["refused"]
        assert not seating.borrow(of.now, 0, b"noise", base.crc32)
        assert not seating.borrow(of.now, 0, b"noise", base.crc32)
        assert not seating.borrow(of.now, 0, heads["host1"], 1)
        assert seating.counts["refused"] == before + 1
        assert live_versions(of) == {5}


def test_a_release_by_tuf_reaches_a_card_behind_udp(tmp_path: Path, seed: int) -> None:
    """Nothing is stood in for: repository, keys and metadata, and registers over Etherbone."""
    offers = repository(tmp_path / "trainer")
    queues = tuple(Queue("host0", "card0", qp) for qp in QPS)
    number, digest = publish(offers, model_set(7, queues, base=GOOD.base))
    source = Releases(tmp_path / "seen", str(offers.folder), root=offers.root_bytes)
    emulator = Emulator(SIZES)
    server = EtherboneServer(emulator)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        uri = f"udp:127.0.0.1:{server.port}"
        with flock(
            tmp_path,
            1,
            seed,
            cards={"host0": emulator},
            opener=lambda: Device.open(uri),
            source=source,
            rules=Rules(least=4, patience=6, z=1000.0),  # it rises with time alone
        ) as of:
            _, seating = only(of)
            of.run(4, periods=8)
            assert seating.card.error == ""
            of.announce(number, digest)
            for _ in range(60):
                of.run(1, periods=24)
                if seating.counts["risen"]:
                    break
            assert (seating.counts["risen"], source.counts["fetched"]) == (1, 1)
            assert seating.counts["unlike"] == 0
            assert {m.version for m in Device(emulator).model.sets() if m.slots} == {107}
            assert len({seating.head(qp) for qp in QPS} - {None}) == 2
    finally:
        server.stop()
        thread.join()
        server.close()


def test_a_card_that_cannot_be_watched_is_down(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 1, seed) as of:
        of.cards["host0"] = Emulator(replace(SIZES, trace=False))
        of.agents["host0"].close(of.now)
        of.agents["host0"] = of.start("host0")
        of.agents["host0"].step(of.now)
        agent, _ = only(of)
        assert agent.health().up == 0
        assert "agent needs trace, forecasts and queue profiler" in agent.seatings[0].card.error


def test_twenty_agents_share_what_they_see(tmp_path: Path, seed: int) -> None:
    with flock(tmp_path, 20, seed) as of:
        of.run(25, periods=4)
        for agent in of.agents.values():
            for qp in QPS:
                entries = [*agent.store.entries(f"dst/10.0.0.{qp}")]
                assert len(entries) == 20
                for entry in entries:
                    assert isinstance(entry.record.body, Report)
                    stats = entry.record.body.stats
                    assert stats.n == 1
                    assert 5000 <= stats.mean <= stats.p99 < 25_000
        assert all(a.health().windows > 0 for a in of.agents.values())
        assert all(not a.errors for a in of.agents.values())
