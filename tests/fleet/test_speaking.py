"""What a member says, and what it says if another process has its identity."""

from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from precog_fleet.commands.status import _show
from precog_fleet.health import TWIN
from precog_fleet.looking import view
from precog_fleet.outcome import Outcome
from precog_fleet.shelf import Shelf
from precog_fleet.speaking import Identity, Speaker
from precog_fleet.store import Store

from .support import MINUTE, NOW, ROOT, key_of, store

HEALTH = "health/host0"


class Wire:
    """A link whose frames every other store receives at once."""

    def __init__(self, others: list[Store]) -> None:
        self.others = others
        self.now = NOW

    def publish(self, key: str, frame: bytes) -> None:
        """To the stores, whatever they make of it."""
        for one in self.others:
            one.receive(frame, self.now)

    def pump(self, now: int, wait_s: float = 0.0) -> int:
        """Nothing waits."""
        return 0

    def ask(self, now: int) -> bool:
        """All has been told already."""
        return False

    def follow(self, interest: Iterable[str]) -> None:
        """It brings everything."""


class Process:
    """One that speaks as host0, from a folder of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.store = store("host0")
        self.wire = Wire([])
        identity = Identity("host0", key_of("host0"), ROOT.public)
        self.speaker = Speaker(identity, self.store, self.wire, Shelf(folder / "records.db"))

    def say(self, now: int) -> bool:
        self.wire.now = now
        return self.speaker.say(HEALTH, self.speaker.health(), now, MINUTE)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Process, Process, Store]:
    """Two processes with one identity, and a router."""
    older, newer, router = Process(tmp_path / "a"), Process(tmp_path / "b"), store("host0")
    older.wire.others = [router, newer.store]
    newer.wire.others = [router, older.store]
    return older, newer, router


def test_two_processes_with_one_identity_are_told(pair: tuple[Process, Process, Store]) -> None:
    """The older one was mute for its next 1,024 records, and nobody said why."""
    older, newer, router = pair
    assert older.say(NOW)
    assert older.say(NOW + 1000)
    assert newer.say(NOW + 5000)
    assert (older.speaker.twin, newer.speaker.twin) == ("", "")
    assert older.say(NOW + 6000)  # mute no more
    assert older.speaker.twin == (
        "host0 must be one process, but another one signs as host0, too: end one of them, and "
        "enroll its host under a name of its own (precog fleet enroll)"
    )
    assert older.speaker.counts["twin"] == 1
    assert newer.say(NOW + 7000)
    assert newer.speaker.twin == older.speaker.twin
    assert older.say(NOW + 8000)
    assert older.speaker.health().refused[TWIN] == 2
    found = view(router, NOW + 8001)
    assert found["twins"] == ["host0"]
    text = StringIO()
    with redirect_stdout(text):
        _show(found)
    assert f"error: {older.speaker.twin}\n" in text.getvalue()
    # One has ended.
    assert older.say(NOW + 8000 + MINUTE)
    assert older.speaker.twin == ""
    assert older.say(NOW + 8001 + MINUTE)
    assert TWIN not in older.speaker.health().refused
    assert view(router, NOW + 8002 + MINUTE)["twins"] == []


def test_versions_are_skipped_once_a_second(pair: tuple[Process, Process, Store]) -> None:
    """Each time is a write to disk."""
    older, newer, _ = pair
    assert older.say(NOW)
    assert newer.say(NOW + 100)
    assert older.say(NOW + 200)
    assert newer.say(NOW + 300)
    assert not older.say(NOW + 400)
    assert older.speaker.error == "own record of health/host0 was stale"
    assert older.speaker.counts == {"published": 2, "unsaid": 1, "twin": 2}
    assert older.say(NOW + 1201)


def test_a_replay_is_no_twin(pair: tuple[Process, Process, Store]) -> None:
    older, _, router = pair
    assert older.say(NOW)
    (entry,) = router.entries(HEALTH)
    assert older.say(NOW + 1)
    assert older.store.receive(entry.frame, NOW + 2) is Outcome.STALE
    assert older.say(NOW + 3)
    assert older.speaker.twin == ""
