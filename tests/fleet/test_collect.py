"""Collecting: what many agents wrote becomes one set; its card says what is in it and what not."""

import errno
import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from precog_fleet import collect as collecting
from precog_fleet.collect import CARD, WINDOWS, ForeignContractError, collect, find_parts
from precog_fleet.dataset import load_dataset
from precog_fleet.errors import FleetError
from precog_fleet.telemetry import SCHEMA, Telemetry, read_part
from precog_spec.contract import CONTRACT_HASH

from .support import NOW
from .windows import observation, telemetry


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"host{k}" for k in range(2)]
    for k, folder in enumerate(made):
        telemetry(folder, f"host{k}", k, samples=300)
    return made


def foreign(folder: Path) -> Path:
    """A part of another contract, as a newer version would write it."""
    rng = np.random.default_rng(1)
    Telemetry(folder, "host9", rows=1).add([observation(rng)], NOW)
    (path,) = folder.glob("*.parquet")
    table = read_part(path)
    other = pa.array([CONTRACT_HASH ^ 1], pa.uint32())
    at = SCHEMA.get_field_index("contract")
    pq.write_table(table.set_column(at, SCHEMA.field(at), other), path)
    return path


def test_many_agents_become_one_set(tmp_path: Path, folders: list[Path]) -> None:
    card = collect(folders, tmp_path / "set")
    rows = [row for f in folders for p in f.glob("*.parquet") for row in read_part(p).to_pylist()]
    got = read_part(tmp_path / "set" / WINDOWS).to_pylist()
    keys = [(row["origin"], row["device"], row["qp"], row["t"]) for row in got]
    assert keys == sorted(keys)
    assert sorted(got, key=repr) == sorted(rows, key=repr)
    assert json.loads((tmp_path / "set" / CARD).read_bytes()) == card
    assert card["windows"] == len(rows)
    assert (card["queues"], card["destinations"]) == (4, 2)
    assert (card["t0"], card["t1"]) == (min(r["t"] for r in rows), max(r["t"] for r in rows))
    assert card["contract"] == f"{CONTRACT_HASH:#010x}"
    assert set(card["origins"]) == {"host0", "host1"}
    queued = [row["signals"][28] for row in rows]
    assert card["ranges"]["queued_bytes"] == {
        "min": min(queued),
        "median": float(np.median(queued)),
        "max": max(queued),
    }
    assert card["left_out"] == {"windows": 0, "damaged": {}, "foreign": {}}


@pytest.mark.parametrize("name", ["t=5", "qp=x", "origin=b", "q[12]", "q*", "?1"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    """DuckDB takes such names for values of columns, or for others' folders."""
    for folder, origin in (("q1", "other"), (name, "host0")):
        telemetry(tmp_path / "all" / folder, origin, 0, samples=60)
    card = collect([tmp_path / "all" / name], tmp_path / "set")
    got = read_part(tmp_path / "set" / WINDOWS)
    (part,) = (tmp_path / "all" / name).glob("*.parquet")
    assert got.sort_by("t") == read_part(part).sort_by("t")
    assert set(card["origins"]) == {"host0"}


def test_a_part_that_goes_while_it_is_read(
    tmp_path: Path, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_parts(folders)
    found.sound[0].unlink()
    monkeypatch.setattr(collecting, "find_parts", lambda _: found)
    with pytest.raises(FleetError, match="parts must stay as they are while they are read"):
        collect(folders, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_a_full_disk_leaves_no_part_of_a_set(
    tmp_path: Path, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("precog_models.durable.os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/set/windows\.parquet'"):
        collect(folders, tmp_path / "set")
    assert not list((tmp_path / "set").iterdir())


def test_the_order_of_folders_changes_nothing(tmp_path: Path, folders: list[Path]) -> None:
    one = collect(folders, tmp_path / "a")
    two = collect(folders[::-1] + folders[:1], tmp_path / "b")  # one of them twice
    assert one["sha256"] == two["sha256"]
    assert two["left_out"]["windows"] == one["origins"]["host0"]["windows"]


def test_equal_windows_of_one_part_are_all_taken(tmp_path: Path, folders: list[Path]) -> None:
    """An idle queue has many of them in a millisecond."""
    same = observation(np.random.default_rng(1))
    idle = Telemetry(tmp_path / "host7", "host7")
    idle.add([same] * 5, NOW)
    idle.close(NOW)
    twice = tmp_path / "copy"
    twice.mkdir()
    for part in (tmp_path / "host7").glob("*.parquet"):
        (twice / part.name).write_bytes(part.read_bytes())
    card = collect([*folders, tmp_path / "host7", twice], tmp_path / "set")
    assert card["origins"]["host7"]["windows"] == 5
    assert card["left_out"]["windows"] == 5


def test_times_bound_what_is_taken(tmp_path: Path, folders: list[Path]) -> None:
    card = collect(folders, tmp_path / "set", since=NOW + 10, until=NOW + 20)
    assert (card["t0"], card["t1"], card["windows"]) == (NOW + 10, NOW + 19, 20)
    with pytest.raises(FleetError, match="no window between 5 and 6 ms is plausible"):
        collect(folders, tmp_path / "set", since=5, until=6)


def test_another_contract_is_refused(tmp_path: Path, folders: list[Path]) -> None:
    path = foreign(tmp_path / "host9")
    message = f"telemetry must be for contract {CONTRACT_HASH:#010x}, but .*{path.name} is for "
    with pytest.raises(ForeignContractError, match=message):
        collect([*folders, tmp_path / "host9"], tmp_path / "set")
    assert not (tmp_path / "set").exists()
    card = collect([*folders, tmp_path / "host9"], tmp_path / "set", skip_foreign=True)
    assert card["left_out"]["foreign"] == {str(path): f"{CONTRACT_HASH ^ 1:#010x}"}
    assert set(card["origins"]) == {"host0", "host1"}


def test_damaged_and_implausible_windows_are_left_out(tmp_path: Path, folders: list[Path]) -> None:
    whole = collect(folders, tmp_path / "a")
    path = next(folders[0].glob("*.parquet"))
    lost = read_part(path).num_rows
    path.write_bytes(path.read_bytes()[:-20])
    liar = observation(np.random.default_rng(2))
    liar.signals[0, 0] = 1 << 40  # no register holds that
    Telemetry(tmp_path / "host2", "host2", rows=1).add([liar], NOW)
    card = collect([*folders, tmp_path / "host2"], tmp_path / "b")
    assert card["windows"] == whole["windows"] - lost
    assert card["left_out"]["windows"] == 1
    assert list(card["left_out"]["damaged"]) == [str(path)]


def test_a_part_that_expands_without_end_is_left_out(tmp_path: Path, folders: list[Path]) -> None:
    """A few kB from one member must not take the memory of the trainer."""
    folder = tmp_path / "host9"
    Telemetry(folder, "host9", rows=1).add([observation(np.random.default_rng(1))], NOW)
    (path,) = folder.glob("*.parquet")
    one = read_part(path)
    at = SCHEMA.get_field_index("origin")
    long = pa.array(["x" * 256], pa.string())
    bombs = {
        "origin must have at most 255 characters": one.set_column(at, SCHEMA.field(at), long),
        "at most 65536 rows, not 65537": pa.concat_tables([one] * 65_537).combine_chunks(),
    }
    for said, table in bombs.items():
        pq.write_table(table, path, compression="zstd")
        with pytest.raises(ValueError, match=said):
            read_part(path)
    with pytest.raises(FleetError, match=r"of 1 damaged parts the first: .* at most 65536 rows"):
        collect([folder], tmp_path / "none")
    (tmp_path / "set").mkdir()
    card = collect([*folders, folder], tmp_path / "set")
    assert list(card["left_out"]["damaged"]) == [str(path)]


def test_nothing_to_collect(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="telemetry must be a folder that is there"):
        collect([tmp_path / "none"], tmp_path / "set")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FleetError, match=r"no window in .*empty"):
        collect([tmp_path / "empty"], tmp_path / "set")


def test_a_set_is_split_by_time(tmp_path: Path, folders: list[Path]) -> None:
    card = collect(folders, tmp_path / "set")
    data = load_dataset(tmp_path / "set")
    assert data.card == card
    assert [queue.origin for queue in data.queues] == ["host0", "host0", "host1", "host1"]
    sizes = {name: len(part) for name, part in data.parts.items()}
    assert 0 < card["windows"] - sum(sizes.values()) <= 4  # what lies on the borders
    assert sizes["train"] > 4 * sizes["test"] > 0
    spans = [data.times[name] for name in ("train", "validation", "test")]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))
    rows = read_part(tmp_path / "set" / WINDOWS).to_pylist()
    last = [row for row in rows if row["t"] >= spans[2][0]]
    assert np.array_equal(
        data.parts["test"].signals, [np.reshape(row["signals"], (8, 4)) for row in last]
    )
    assert np.array_equal(data.parts["test"].later, [row["later"] for row in last])


def test_a_clock_that_is_ahead_makes_no_block_of_its_own(
    tmp_path: Path, folders: list[Path]
) -> None:
    """Of two blocks, one of a single window, the interval of any skill would be that window's."""
    made = Telemetry(tmp_path / "ahead", "ahead")
    made.add([observation(np.random.default_rng(1), t=NOW + 3_600_000)], NOW)
    made.close(NOW)
    collect([*folders, tmp_path / "ahead"], tmp_path / "set")
    for part in load_dataset(tmp_path / "set").parts.values():
        counts = np.bincount(part.block)
        assert len(counts) == 20
        assert counts.max() <= 2 * counts.min()


def test_a_set_that_was_changed_is_refused(tmp_path: Path, folders: list[Path]) -> None:
    collect(folders, tmp_path / "set")
    path = tmp_path / "set" / WINDOWS
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ValueError, match="must have the SHA-256 of its card"):
        load_dataset(tmp_path / "set")
    card = tmp_path / "set" / CARD
    card.write_text(card.read_text().replace(f"{CONTRACT_HASH:#010x}", "0x00000001"))
    with pytest.raises(ValueError, match="training set must be for contract"):
        load_dataset(tmp_path / "set")
    for text in ("{}", "[" * 100_000):
        card.write_text(text)
        with pytest.raises(ValueError, match="must be the card of a training set"):
            load_dataset(tmp_path / "set")


def test_a_set_of_a_moment_cannot_be_split(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    Telemetry(tmp_path / "a", "a", rows=5).add([observation(rng) for _ in range(5)], NOW)
    collect([tmp_path / "a"], tmp_path / "set")
    with pytest.raises(ValueError, match="must last long enough to be split by time, but train"):
        load_dataset(tmp_path / "set")
