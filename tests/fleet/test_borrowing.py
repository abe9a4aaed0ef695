"""Heads of neighbours: whose is tried next, and how many refusals are remembered."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from precog_fleet.bodies import Report
from precog_fleet.borrowing import borrow
from precog_fleet.lineup import Lineup, Rules
from precog_fleet.memory import Memory
from precog_fleet.outcome import Outcome

from .support import NOW, record, sealed, stats, store


def test_ever_new_heads_of_one_member_keep_no_others_out() -> None:
    held = store("host0", "host1", "host2")
    asked: list[bytes] = []

    def offer(now: int, qp: int, delta: bytes, base_crc: int) -> bool:
        new = delta not in asked
        asked.append(delta)
        return new

    seating: Any = SimpleNamespace(
        origin="host2",
        tried=Counter(),
        borrow=offer,
        lineup=SimpleNamespace(live=object(), shadow=None),
        card=SimpleNamespace(observer=SimpleNamespace(destinations={0: "10.0.0.7"})),
    )
    for version in range(1, 4):
        for name in ("host0", "host1"):
            delta = f"{name} {version if name == 'host0' else 1}".encode()
            made = record(name, version=version, body=Report(stats(), base_crc=1, delta=delta))
            assert held.receive(sealed(made), NOW) is Outcome.ACCEPTED
        assert borrow(seating, held, NOW)
    assert seating.tried == {"host0": 2, "host1": 1}


def test_so_many_refusals_are_remembered(tmp_path: Path) -> None:
    lineup = Lineup(Rules())
    for n in range(1030):
        lineup.refused[n.to_bytes(32)] = "worse"
    Memory(tmp_path, "card").save(lineup, {})
    assert len(lineup.refused) == 1024
    assert list(Memory(tmp_path, "card").refused)[-1] == (1029).to_bytes(32)
