"""The diary of a demo: what went live where, and what destinations were like."""

from types import SimpleNamespace
from typing import Any

import pytest

from precog_fleet.demo import diary as diary_module
from precog_fleet.demo.diary import Diary
from precog_fleet.outcome import Outcome

from .support import NOW, record, sealed, store


def test_changes_and_a_look_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    held = store("host0", "host1")
    lineups = {name: SimpleNamespace(live=None) for name in ("host0", "host1")}
    lab: Any = SimpleNamespace(
        router=SimpleNamespace(store=held),
        agents={
            name: SimpleNamespace(agent=SimpleNamespace(seatings=[SimpleNamespace(lineup=one)]))
            for name, one in lineups.items()
        },
    )
    now = NOW
    monkeypatch.setattr(diary_module, "now_ms", lambda: now)
    diary = Diary(lab)
    diary.look()
    assert (diary.runs, diary.hotspots) == ([], [])
    assert held.receive(sealed(record("host0", "dst/a")), NOW) is Outcome.ACCEPTED
    for ms, name, release in ((500, "host0", 0), (900, "host1", 0), (1000, "host1", 2)):
        now = NOW + ms
        lineups[name].live = SimpleNamespace(release=release)
        diary.look()
        diary.look()
    assert diary.runs == [
        {"at": NOW + 500, "agent": "host0", "release": 0},
        {"at": NOW + 900, "agent": "host1", "release": 0},
        {"at": NOW + 1000, "agent": "host1", "release": 2},
    ]
    (one,) = diary.hotspots
    assert (one["at"], one["destination"], one["rtt_us"]) == (NOW + 1000, "a", 8.0)
    assert {"rtt_p99_us", "reporters", "rate_gbps"} < set(one)
