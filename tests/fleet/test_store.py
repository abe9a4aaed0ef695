"""Stores: what is taken, what is refused and why, marks, expiry, revocation, disk."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.short_disk import short_disk

from precog_fleet import shelf as shelves
from precog_fleet.bodies import Membership, Report, Skill
from precog_fleet.hosting import write_status
from precog_fleet.outcome import Outcome, Row
from precog_fleet.records import AUTHORITY
from precog_fleet.shelf import Shelf
from precog_fleet.store import Store

from .support import MINUTE, NOW, YEAR, key_of, membership, record, sealed, stats, store


def test_only_newer_records_are_taken() -> None:
    held = store("host0")
    second = sealed(record(version=2))
    assert held.receive(second, NOW) is Outcome.ACCEPTED
    assert held.receive(second, NOW) is Outcome.KNOWN
    assert held.receive(sealed(record(version=1)), NOW) is Outcome.STALE
    other = record(version=2, body=Report(stats(n=9)))
    assert held.receive(sealed(other), NOW) is Outcome.CONFLICT
    assert held.receive(sealed(record(version=3)), NOW) is Outcome.ACCEPTED
    entry = held.entry("host0", "dst/10.0.0.7")
    assert entry is not None
    assert entry.record.version == 3
    assert held.outcomes == {
        Outcome.ACCEPTED: 3,  # with the membership
        Outcome.KNOWN: 1,
        Outcome.STALE: 1,
        Outcome.CONFLICT: 1,
    }


@given(st.lists(st.integers(1, 6), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_count(versions: list[int], rng) -> None:  # type: ignore[no-untyped-def]
    frames = [sealed(record(version=version)) for version in versions]
    one, other = store("host0"), store("host0")
    for frame in frames:
        one.receive(frame, NOW)
    rng.shuffle(frames)
    for frame in frames:
        other.receive(frame, NOW)
    assert one.pairs(["dst/"]) == other.pairs(["dst/"])
    assert one.mark("host0", "dst/10.0.0.7") == max(versions, default=0)


def test_time_is_taken_with_a_tolerance() -> None:
    held = store("host0", skew_ms=1000)
    assert held.receive(sealed(record(t0=NOW + 1001)), NOW) is Outcome.FUTURE
    assert held.receive(sealed(record(t0=NOW - MINUTE - 1001)), NOW) is Outcome.EXPIRED
    assert held.receive(sealed(record(t0=NOW + 1000)), NOW) is Outcome.ACCEPTED
    old = record(key="dst/b", t0=NOW - MINUTE - 1000)
    assert held.receive(sealed(old), NOW) is Outcome.ACCEPTED


def test_a_mark_outlives_every_record_below_it() -> None:
    """A short record must not let a long one of a smaller version in again."""
    held = store("host0", skew_ms=0)
    long = sealed(record(version=1, life=10 * MINUTE))
    assert held.receive(long, NOW) is Outcome.ACCEPTED
    assert held.receive(sealed(record(version=2, life=1)), NOW) is Outcome.ACCEPTED
    assert held.expire(NOW + MINUTE) == 1
    assert held.receive(long, NOW + MINUTE) is Outcome.STALE
    held.expire(NOW + 10 * MINUTE + 1)
    assert held.mark("host0", "dst/10.0.0.7") == 0
    assert held.receive(long, NOW + 10 * MINUTE + 1) is Outcome.EXPIRED


def test_who_may_sign_what() -> None:
    held = store("host0")
    assert held.receive(membership("router0", role="router"), NOW) is Outcome.ACCEPTED
    assert held.receive(sealed(record("router0")), NOW) is Outcome.FORBIDDEN
    assert held.receive(sealed(record(AUTHORITY)), NOW) is Outcome.FORBIDDEN
    assert held.receive(sealed(record("host9")), NOW) is Outcome.STRANGER
    assert held.receive(membership(AUTHORITY), NOW) is Outcome.FORBIDDEN
    own = held.members["host0"]
    promotion = record("host0", "member/host0", 2, body=replace(own, role="trainer"))
    assert held.receive(sealed(promotion), NOW) is Outcome.FORBIDDEN
    assert held.receive(sealed(promotion, key=key_of("x")), NOW) is Outcome.FORGED


def test_a_revocation_takes_what_was_signed() -> None:
    held = store("host0", "host1")
    for name in ("host0", "host1"):
        assert held.receive(sealed(record(name)), NOW) is Outcome.ACCEPTED
    assert held.receive(membership("host0", version=2, revoked=True), NOW) is Outcome.ACCEPTED
    assert [entry.record.origin for entry in held.entries("dst/10.0.0.7")] == ["host1"]
    assert held.receive(sealed(record(version=2)), NOW) is Outcome.REVOKED
    assert held.receive(membership("host0"), NOW) is Outcome.STALE  # it cannot be undone by replay
    assert held.receive(membership("host0", version=3), NOW) is Outcome.ACCEPTED
    assert held.receive(sealed(record(version=2)), NOW) is Outcome.ACCEPTED


def test_models_that_do_not_run_here() -> None:
    bases = {5}
    held = store("host0", bases=lambda: bases)
    other = record(body=Report(stats(), base_crc=6, delta=b"x"))
    assert held.receive(sealed(other), NOW) is Outcome.WRONG_BASE
    assert held.seen("host0", other.key) == 1  # peers need not send it again,
    assert held.mark("host0", other.key) == 0  # but it is not held
    bases.add(6)
    held.reconsider()
    assert held.seen("host0", other.key) == 0
    assert held.receive(sealed(other), NOW) is Outcome.ACCEPTED
    foreign = record(version=2, body=Report(stats(), contract=1))
    assert held.receive(sealed(foreign), NOW) is Outcome.WRONG_CONTRACT
    skill = record(key="skill/0000002a", body=Skill(100, 250_000, 370_000))
    assert held.receive(sealed(skill), NOW) is Outcome.ACCEPTED
    assert held.skills("0000002a") == {"host0": skill.body}


def test_an_origin_has_so_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precog_fleet.store._MAX_KEYS", 2)
    held = store("host0", skew_ms=0)
    frames = [sealed(record(key=f"dst/{n}")) for n in range(3)]
    found = [held.receive(frame, NOW) for frame in frames]
    assert found == [Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.FULL]
    held.expire(NOW + MINUTE + 1)
    later = record(key="dst/2", t0=NOW + MINUTE)
    assert held.receive(sealed(later), NOW + MINUTE + 1) is Outcome.ACCEPTED


def saved(held: Store, path: Path) -> Store:
    """What a new process finds."""
    with Shelf(path) as shelf:
        shelf.keep(held)
    return found(path)


def found(path: Path, now: int = NOW) -> Store:
    again = store()
    with Shelf(path) as shelf:
        assert again.restore(shelf.rows(), now) == 0
    return again


def test_a_thing_said_often_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each version of a record that lasts an hour would wait for its end."""
    monkeypatch.setattr("precog_fleet.store._MAX_KEYS", 4)
    held = store("host0")
    for version in range(1, 200):
        frame = sealed(record(version=version, t0=NOW + version))
        assert held.receive(frame, NOW) is Outcome.ACCEPTED
        assert len(held._ends) <= 4 * (2 + 4)  # two pairs
    assert held.expire(NOW + 3 * MINUTE) == 1
    assert held.mark("host0", "dst/10.0.0.7") == 0


def test_disk_gives_marks_and_records_back(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    held = store("host0", "host1")
    held.receive(sealed(record(version=5)), NOW)
    held.receive(sealed(record("host1")), NOW)
    again = saved(held, path)
    assert again.pairs(["dst/", "member/"]) == held.pairs(["dst/", "member/"])
    assert again.receive(sealed(record(version=4)), NOW) is Outcome.STALE
    held.receive(membership("host0", version=2, revoked=True), NOW)
    again = saved(held, path)
    assert again.receive(membership("host0"), NOW) is Outcome.STALE
    assert again.receive(sealed(record(version=6)), NOW) is Outcome.REVOKED
    assert again.mark("host0", "dst/10.0.0.7") == 5
    held.expire(NOW + 2 * YEAR)
    saved(held, path)
    with Shelf(path) as shelf:  # the revocation stays
        assert [(row.origin, row.key, row.version) for row in shelf.rows()] == [
            (AUTHORITY, "member/host0", 2)
        ]


def test_what_a_full_disk_did_not_take_goes_with_the_next_save(tmp_path: Path) -> None:
    held = store("host0")
    with Shelf(tmp_path / "s") as shelf:
        shelf.keep(held)
        shelf._db.execute("PRAGMA max_page_count = 1")  # SQLite's own way to be full
        for n in range(40):
            held.receive(sealed(record(key=f"dst/{n}", version=5)), NOW)
        with pytest.raises(OSError, match="No space left on device: make room"):
            shelf.keep(held)
        assert not held.keeps("host0")
        shelf._db.execute("PRAGMA max_page_count = 1000")
        shelf.keep(held)
        assert held.keeps("host0")
    again = found(tmp_path / "s")
    assert again.pairs(["dst/"]) == held.pairs(["dst/"])
    assert again.receive(sealed(record(key="dst/7", version=4)), NOW) is Outcome.STALE


# --- attacks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("years", [-1, 20])
def test_a_clock_that_is_set_brings_no_revoked_member_back(tmp_path: Path, years: int) -> None:
    """Forward, all would be forgotten; back, the revocation would be of the future."""
    held, skewed = store("host0"), NOW + years * YEAR
    assert held.receive(membership("host0", version=2, revoked=True), skewed) is Outcome.ACCEPTED
    held.expire(skewed)
    for one in (held, saved(held, tmp_path / "s"), found(tmp_path / "s", skewed)):
        assert one.receive(membership("host0"), NOW) is Outcome.STALE
        assert one.receive(sealed(record(version=9)), NOW) is Outcome.REVOKED
        assert one.receive(membership("host0", version=3), NOW) is Outcome.ACCEPTED


def test_a_thief_of_a_key_does_not_silence_the_next_one() -> None:
    """It used up all versions; a membership with another key makes a new start."""
    held = store("host0", "host1")
    last = (1 << 53) - 1
    for name in ("host0", "host1"):
        assert held.receive(sealed(record(name, version=last)), NOW) is Outcome.ACCEPTED
    assert held.receive(membership("host0", version=2, revoked=True), NOW) is Outcome.ACCEPTED
    body = Membership(key_of("other").public, "agent")
    anew = sealed(record(AUTHORITY, "member/host0", 3, life=YEAR, body=body))
    assert held.receive(anew, NOW) is Outcome.ACCEPTED
    assert held.receive(sealed(record(version=last)), NOW) is Outcome.FORGED
    assert held.receive(sealed(record(version=1), key=key_of("other")), NOW) is Outcome.ACCEPTED
    assert held.receive(sealed(record("host1", version=1)), NOW) is Outcome.STALE


def test_a_flood_of_records_of_no_use_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precog_fleet.store._MAX_KEYS", 5)
    held = store("host0", "host1", skew_ms=0)
    foreign = Report(stats(), contract=1)
    for name, keys in (("host0", 50), ("host1", 3)):
        for n in range(keys):
            frame = sealed(record(name, f"dst/{n}", body=foreign))
            assert held.receive(frame, NOW) is Outcome.WRONG_CONTRACT
    listed = held.pairs(["dst/"])
    assert sum(pair[0] == "host0" for pair in listed) == 5
    assert sum(pair[0] == "host1" for pair in listed) == 3
    held.expire(NOW + MINUTE + 1)
    assert held.pairs(["dst/"]) == {}


def test_a_damaged_row_is_fetched_again(tmp_path: Path) -> None:
    held = store("host0")
    frame = sealed(record(version=5))
    held.receive(frame, NOW)
    with Shelf(tmp_path / "s") as shelf:
        shelf.keep(held)
        rows = shelf.rows()
    broken = [replace(row, frame=b"PFR1junk") if row.origin == "host0" else row for row in rows]
    again = store()
    assert again.restore(broken, NOW) == 1
    assert again.receive(frame, NOW) is Outcome.ACCEPTED


def test_versions_rise_over_crashes(tmp_path: Path) -> None:
    path = tmp_path / "s"
    seen = 0
    for _ in range(3):
        shelf = Shelf(path)
        for _ in range(1030):  # more than one reservation
            version = shelf.next_version(NOW)
            assert version > seen
            seen = version
        shelf.close()
    assert Shelf(tmp_path / "lost").next_version(NOW + MINUTE) > seen


def test_a_full_disk_reserves_no_versions(tmp_path: Path) -> None:
    """A version that is not reserved on disk would be given again after a crash."""
    path = tmp_path / "s"
    with Shelf(path) as shelf:
        pages = shelf._db.execute("PRAGMA page_count").fetchone()[0]
        shelf._db.execute(f"PRAGMA max_page_count = {pages}")
        large = "INSERT INTO pairs VALUES ('', '', 1, 1, zeroblob(100000))"
        shelf._db.execute(f"CREATE TEMP TRIGGER t AFTER INSERT ON reserved BEGIN {large}; END")
        for _ in range(2):
            with pytest.raises(OSError, match="No space left on device: make room") as error:
                shelf.next_version(NOW)
            assert error.value.filename == str(path)
        assert shelf.rows() == []
        shelf._db.execute("DROP TRIGGER t")
        version = shelf.next_version(NOW)
    with Shelf(path) as shelf:
        assert shelf.next_version(NOW) > version


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(ValueError, match="must be a store of records, but: file is not a database"):
        Shelf(path)


def test_a_batch_is_saved_as_a_whole(tmp_path: Path) -> None:
    with Shelf(tmp_path / "s") as shelf:
        good = Row("a", "dst/b", 1, NOW, None)
        with pytest.raises(sqlite3.IntegrityError):
            shelf.save([good, Row("a", "dst/c", None, NOW, None)])  # type: ignore[arg-type]
        assert shelf.rows() == []


def test_a_full_disk_is_told_until_it_takes_records(tmp_path: Path) -> None:
    with Shelf(tmp_path / "s") as shelf:
        mine = store("host0")
        shelf.keep(mine)
        pages = shelf._db.execute("PRAGMA page_count").fetchone()[0]
        shelf._db.execute(f"PRAGMA max_page_count = {pages}")
        for n in range(200):
            mine.receive(sealed(record(key=f"dst/10.0.0.{n}")), NOW)
        assert not shelf.try_to_keep(mine)
        problem = "No space left on device: make room for it, then try again"
        assert shelf.error == f"[Errno 28] {problem}: '{tmp_path / 's'}'"
        shelf._db.execute("PRAGMA max_page_count = 1000")
        assert shelf.try_to_keep(mine)
        assert shelf.error == ""
        assert len(shelf.rows()) == 201


def test_a_store_that_cannot_be_made_says_that_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        shelves, "_SCHEMA", "PRAGMA max_page_count = 1; CREATE TABLE a(x); CREATE TABLE b(x);"
    )
    with pytest.raises(OSError, match="No space left on device") as error:
        Shelf(tmp_path / "s")
    assert error.value.filename == str(tmp_path / "s")


def test_a_status_that_is_cut_is_not_left(tmp_path: Path) -> None:
    with short_disk(100):
        write_status(tmp_path / "status.json", {"name": "x" * 200})
    assert list(tmp_path.iterdir()) == []
