"""Telemetry: parts on disk, their bound, crashes, damage, and disks that take nothing."""

import errno
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from precog_fleet.telemetry import SCHEMA, Observation, Telemetry, read_part
from precog_models.durable import write_durably
from precog_spec.contract import CONTRACT_HASH

from .support import NOW
from .windows import observation


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    given = [observation(rng, t=NOW + k, qp=k, destination="10.0.0.7") for k in range(5)]
    with_none = observation(rng, model=0)
    writer = Telemetry(tmp_path, "host0", rows=6)
    writer.add([*given, with_none], NOW)
    (path,) = parts(tmp_path)
    table = read_part(path)
    assert table.schema.equals(SCHEMA)
    rows = table.to_pylist()
    assert {row["origin"] for row in rows} == {"host0"}
    assert {row["contract"] for row in rows} == {CONTRACT_HASH}
    for row, one in zip(rows, [*given, with_none], strict=True):
        assert np.array_equal(np.reshape(row["signals"], (8, 4)), one.signals)
        for name in ("predicted", "later", "highest"):
            assert row[name] == getattr(one, name).tolist()
        for name in ("t", "device", "qp", "destination", "set", "version", "model"):
            assert row[name] == getattr(one, name)
    assert writer.counts == Counter(parts=1, rows=6)


def test_parts_by_rows_and_by_age(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    writer = Telemetry(tmp_path, "host0", rows=3, age_ms=1000)
    writer.add([observation(rng)] * 2, NOW)
    writer.poll(NOW + 999)
    assert (writer.waiting, len(parts(tmp_path))) == (2, 0)
    writer.poll(NOW + 1000)
    assert (writer.waiting, len(parts(tmp_path))) == (0, 1)
    writer.add([observation(rng)], NOW + 1001)
    writer.poll(NOW - 5)  # the clock was set back
    assert len(parts(tmp_path)) == 2
    writer.add([observation(rng)] * 3, NOW - 4)
    names = [int(path.stem) for path in parts(tmp_path)]
    assert len(names) == 3
    assert names[0] < names[1] < names[2]  # whatever the clock says
    writer.add([observation(rng)], NOW)
    writer.close(NOW)
    assert len(parts(tmp_path)) == 4


def test_oldest_parts_give_way(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    one = Telemetry(tmp_path / "one", "host0", rows=8)
    one.add([observation(rng) for _ in range(8)], NOW)
    limit = int(one.size * 3.5)
    writer = Telemetry(tmp_path / "two", "host0", rows=8, max_bytes=limit)
    for k in range(20):
        writer.add([observation(rng) for _ in range(8)], NOW + k)
    kept = parts(tmp_path / "two")
    assert sum(path.stat().st_size for path in kept) == writer.size <= limit
    assert len(kept) == 3
    assert [int(path.stem) for path in kept] == [NOW + 17, NOW + 18, NOW + 19]
    assert writer.counts["parts_evicted"] == 17


def test_many_rows_after_a_full_disk_are_parts_within_the_bound(tmp_path: Path) -> None:
    """More may have waited than a part may have: none is lost but by age."""
    rng = np.random.default_rng(5)
    disk = Disk(tmp_path, 0)
    options: dict[str, Any] = {"rows": 8, "age_ms": 1000, "pending": 400}
    writer = Telemetry(tmp_path, "host0", max_bytes=1 << 16, write=disk.write, **options)
    waiting = [observation(rng, t=NOW + n) for n in range(400)]
    writer.add(waiting, NOW)
    assert (writer.waiting, parts(tmp_path)) == (400, [])
    disk.free = 1 << 30
    writer.poll(NOW + 1001)
    assert (writer.waiting, writer.error, writer.counts["rows_lost"]) == (0, "", 0)
    assert writer.counts["rows"] == 400
    kept = parts(tmp_path)
    assert 1 << 14 < writer.size <= 1 << 16
    assert len(kept) == writer.counts["parts"] - writer.counts["parts_evicted"] > 1
    times = [t for path in kept for t in read_part(path)["t"].to_pylist()]
    assert times == [one.t for one in waiting[-len(times) :]]


def test_a_crash_loses_what_waited_and_damage_is_set_aside(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    writer = Telemetry(tmp_path, "host0", rows=2)
    for k in range(3):
        writer.add([observation(rng)] * 2, NOW + k)
    writer.add([observation(rng)], NOW)  # only memory has it
    os.close(writer._lock)  # as the kernel does when a process dies
    first, second, third = parts(tmp_path)
    second.write_bytes(second.read_bytes()[:-7])
    (tmp_path / "x.parquet.12.part").write_bytes(b"half")
    (tmp_path / "stranger.parquet").write_bytes(first.read_bytes())
    again = Telemetry(tmp_path, "host0", rows=1)
    assert again.counts == {"damaged": 2}
    assert parts(tmp_path) == [first, third]
    assert len(list(tmp_path.glob("*.damaged"))) == 1  # they need no room without a bound
    assert not list(tmp_path.glob("*.part"))
    again.add([observation(rng)], NOW - 10**6)
    assert int(parts(tmp_path)[-1].stem) == NOW + 3


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    Telemetry(tmp_path, "host0", rows=64).add([observation(rng) for _ in range(64)], NOW)
    (path,) = parts(tmp_path)
    good, rows = path.read_bytes(), read_part(path).to_pylist()
    for at in rng.integers(4, len(good) - 8, 40).tolist():
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1 :])
        with suppress(ValueError):  # a bit of a name or a statistic may change nothing
            assert read_part(path).to_pylist() == rows
    path.write_bytes(good[:-7])
    with pytest.raises(ValueError, match=r"must be a Parquet file, but is damaged"):
        read_part(path)


def test_one_writer_a_folder(tmp_path: Path) -> None:
    writer = Telemetry(tmp_path, "host0")
    with pytest.raises(ValueError, match="must have one writer"):
        Telemetry(tmp_path, "host1")
    writer.close(NOW)
    Telemetry(tmp_path, "host1").close(NOW)


class Disk:
    """A disk of some bytes, which others may fill."""

    def __init__(self, folder: Path, free: int) -> None:
        self.folder, self.free = folder, free
        self.tries = 0

    def write(self, path: Path, data: bytes) -> None:
        self.tries += 1
        used = sum(part.stat().st_size for part in parts(self.folder))
        if used + len(data) > self.free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_durably(path, data)


def test_a_full_disk_costs_old_parts_then_rows_and_never_the_agent(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    disk = Disk(tmp_path, 1 << 30)
    writer = Telemetry(tmp_path, "host0", rows=4, age_ms=1000, pending=6, write=disk.write)
    for k in range(5):
        writer.add([observation(rng) for _ in range(4)], NOW + k)
    disk.free = writer.size
    writer.add([observation(rng) for _ in range(4)], NOW + 5)
    assert writer.counts["parts_evicted"] in (1, 2)  # parts differ by some bytes
    assert (writer.waiting, writer.error) == (0, "")
    before, evicted = len(parts(tmp_path)), writer.counts["parts_evicted"]
    disk.free = 0  # somebody else writes: giving way would cost everything and gain nothing
    writer.add([observation(rng) for _ in range(4)], NOW + 6)
    assert "No space left on device" in writer.error
    assert before - len(parts(tmp_path)) == writer.counts["parts_evicted"] - evicted <= 3
    tries = disk.tries
    writer.add([observation(rng) for _ in range(4)], NOW + 7)
    assert disk.tries == tries  # it waits before it tries again
    assert (writer.waiting, writer.counts["rows_lost"]) == (6, 2)
    disk.free = 1 << 30
    writer.poll(NOW + 6 + 1001)
    assert (writer.waiting, writer.error) == (0, "")
    assert read_part(parts(tmp_path)[-1]).num_rows == 6


def test_another_fault_of_the_disk_deletes_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)

    def broken(path: Path, data: bytes) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    Telemetry(tmp_path, "host0", rows=1).add([observation(rng)], NOW)
    os.truncate(tmp_path / "lock", 0)
    folder = tmp_path / "b"
    writer = Telemetry(folder, "host0", rows=1, write=broken)
    writer.add([observation(rng)], NOW)
    assert (writer.waiting, writer.counts["parts_evicted"], writer.counts["failed"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signals": np.zeros((8, 3), dtype=np.int64)}, r"signals must have shape \(8, 4\)"),
        ({"later": np.array([-1, 0])}, "later must not be negative, not -1"),
        ({"predicted": np.full(16, 7)}, "predicted must be 32768 in all, or zeros, not 112"),
        ({"qp": 70_000}, r"qp must be in 0\.\.65535, not 70000"),
        ({"set": 256}, r"set must be in 0\.\.255, not 256"),
    ],
)
def test_observations_are_checked(changes: dict[str, object], message: str) -> None:
    good = observation(np.random.default_rng(1))
    with pytest.raises(ValueError, match=message):
        Observation(**(vars(good) | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows must be at least 1, not 0"),
        ({"max_bytes": 0}, "max_bytes must be at least 16384, not 0"),
        ({"rows": 9, "pending": 8}, "pending must be at least rows, 9, not 8"),
    ],
)
def test_bounds_are_checked(tmp_path: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Telemetry(tmp_path, "host0", **options)
