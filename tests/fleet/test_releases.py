"""Releases by TUF: what is published arrives; TUF's list of attacks is refused and counted."""

import functools
import http.server
import itertools
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tuf.api.metadata import Metadata

from precog_fleet.clock import now_ms
from precog_fleet.fetching import BoundedFetcher, checked_source
from precog_fleet.modelset import MANIFEST, Manifest, ModelSet, Queue
from precog_fleet.releases import Refusal, RefusedError, Releases
from precog_fleet.repository import Repository, Roles
from precog_fleet.signing import SigningKey

from .breaking import Killed, breaking
from .released import model_set, publish, repository

DAY = 86_400_000
QUEUES = (Queue("host0", "emu0", 0), Queue("host0", "emu0", 3), Queue("host1", "emu0", 0))


@pytest.fixture
def made(tmp_path: Path) -> Repository:
    return repository(tmp_path)


def member(made: Repository, tmp_path: Path, name: str = "member") -> Releases:
    return Releases(tmp_path / name, str(made.folder), root=made.root_bytes)


def refused(work: Callable[[], object], *reasons: Refusal) -> None:
    with pytest.raises(RefusedError) as caught:
        work()
    assert caught.value.reason in reasons


def metadata(made: Repository) -> Path:
    return made.folder / "metadata"


def test_what_is_released_arrives(made: Repository, tmp_path: Path) -> None:
    models = model_set(1, QUEUES)
    number, digest = publish(made, models, skill="0.31")
    client = member(made, tmp_path)
    listed = client.update()
    assert number == 1
    assert {n: (one.digest, one.about) for n, one in listed.items()} == {
        1: (digest, {"skill": "0.31"})
    }
    got = client.fetch(1, digest, "host0")
    assert got.base.to_bytes() == models.base.to_bytes()
    assert got.heads == {q: d for q, d in models.heads.items() if q.origin == "host0"}
    assert client.evaluation(1) == {"passed": True}
    assert publish(made, model_set(2)) == (2, Manifest.parse(model_set(2).files()[MANIFEST]).digest)
    assert sorted(client.update()) == [1, 2]
    assert client.fetch(1, digest, "host1").heads.keys() == {QUEUES[2]}  # a rollback finds it
    assert client.counts == {"updates": 2, "fetched": 2}


def test_a_member_that_runs_on_finds_the_next_release(made: Repository, tmp_path: Path) -> None:
    client = member(made, tmp_path)
    client.fetch(*publish(made, model_set(1, QUEUES)), "host0")
    number, digest = publish(made, model_set(2, QUEUES))
    assert client.fetch(number, digest, "host0").base.weights.version == 102
    refused(lambda: client.fetch(7, digest, "host0"), Refusal.ABSENT)


@pytest.fixture
def server(made: Repository) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(made.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}/"
        running.shutdown()
        thread.join()


def test_a_static_http_server_will_do(made: Repository, tmp_path: Path, server: str) -> None:
    models = model_set(1, QUEUES)
    number, digest = publish(made, models)
    client = Releases(tmp_path / "member", server, root=made.root_bytes)
    assert client.fetch(number, digest, "host1").heads.keys() == {QUEUES[2]}
    again = Releases(tmp_path / "member", server)  # the root is pinned
    assert list(again.update()) == [1]
    gone = Releases(tmp_path / "member", "http://127.0.0.1:9")
    refused(gone.update, Refusal.UNREACHABLE)


def test_old_releases_are_dropped_and_numbers_never_come_again(
    made: Repository, tmp_path: Path
) -> None:
    for k in range(10):
        publish(made, model_set(k))
    assert list(made.releases()) == list(range(3, 11))
    again = Repository(made.folder, [tmp_path / "keys"], now_ms)
    assert publish(again, model_set(11))[0] == 11


# --- TUF's attacks -------------------------------------------------------------------------------


def test_rollback(made: Repository, tmp_path: Path) -> None:
    """An old repository, genuine in all of its parts."""
    publish(made, model_set(1))
    old = tmp_path / "old"
    shutil.copytree(made.folder, old)
    publish(made, model_set(2))
    client = member(made, tmp_path)
    client.update()
    behind = Releases(tmp_path / "member", str(old))
    refused(behind.update, Refusal.ROLLBACK)
    assert behind.counts == {Refusal.ROLLBACK: 1}
    assert sorted(Releases(tmp_path / "member", str(made.folder)).update()) == [1, 2]


def test_freeze(tmp_path: Path) -> None:
    """Nobody has renewed the timestamp: whoever answers hides what is new."""
    frozen = repository(tmp_path, lambda: now_ms() - 2 * DAY)
    publish(frozen, model_set(1))
    client = member(frozen, tmp_path)
    refused(client.update, Refusal.EXPIRED)
    refused(lambda: client.fetch(1, bytes(32), "host0"), Refusal.EXPIRED)
    renewed = Repository(frozen.folder, [tmp_path / "keys"], now_ms)
    assert renewed.renew() == ["timestamp"]
    assert list(client.update()) == [1]


def test_mix_and_match(made: Repository, tmp_path: Path) -> None:
    """Parts that were genuine at different times do not go together."""
    publish(made, model_set(1))
    early = (metadata(made) / "2.targets.json").read_bytes()
    snapshot = (metadata(made) / "2.snapshot.json").read_bytes()
    publish(made, model_set(2))
    target = metadata(made) / "3.targets.json"
    genuine = target.read_bytes()
    target.write_bytes(early)
    client = member(made, tmp_path)
    refused(client.update, Refusal.MISMATCH)
    target.write_bytes(genuine)
    (metadata(made) / "3.snapshot.json").write_bytes(snapshot)
    other = member(made, tmp_path, "other")
    refused(other.update, Refusal.MISMATCH)
    assert client.counts == other.counts == {Refusal.MISMATCH: 1}


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_wrong_keys(made: Repository, tmp_path: Path, role: str) -> None:
    publish(made, model_set(1))
    client = member(made, tmp_path)
    client.update()
    for path in (tmp_path / "keys").glob(f"{role}-*.pem"):
        path.unlink()
        SigningKey.generate().save(path)
    with pytest.raises(ValueError, match=rf"{role} needs \d of its \d keys, found 0 in"):
        publish(made, model_set(2))
    # A thief of the other keys goes on without the check.
    name = "timestamp.json" if role == "timestamp" else f"3.{role}.json"
    (tmp_path / "keys-of-thief").mkdir()
    thief = Repository.create(tmp_path / "thief", tmp_path / "keys-of-thief", now_ms)
    for k in range(3):
        publish(thief, model_set(k))
    shutil.copy(thief.folder / "metadata" / name, metadata(made) / name)
    if role == "timestamp":
        refused(client.update, Refusal.UNSIGNED)
    else:
        shutil.copy(thief.folder / "metadata" / "timestamp.json", metadata(made))
        refused(client.update, Refusal.UNSIGNED)


def test_one_stolen_targets_key_releases_nothing(made: Repository, tmp_path: Path) -> None:
    publish(made, model_set(1))
    path = metadata(made) / "2.targets.json"
    told = json.loads(path.read_bytes())
    told["signatures"] = told["signatures"][:1]
    path.write_bytes(json.dumps(told).encode())
    client = member(made, tmp_path)
    refused(client.update, Refusal.MISMATCH, Refusal.UNSIGNED)
    del told["signatures"][:]
    path.write_bytes(json.dumps(told).encode())
    refused(client.update, Refusal.MISMATCH, Refusal.UNSIGNED)
    (tmp_path / "keys" / "targets-2.pem").unlink()
    with pytest.raises(ValueError, match="targets needs 2 of its 2 keys, found 1"):
        publish(made, model_set(2))


def test_another_root_is_another_fleet(made: Repository, tmp_path: Path) -> None:
    publish(made, model_set(1))
    (tmp_path / "b").mkdir()
    other = repository(tmp_path / "b")
    publish(other, model_set(1))
    member(made, tmp_path).update()
    with pytest.raises(ValueError, match="root must be the one that is pinned"):
        Releases(tmp_path / "member", str(other.folder), root=other.root_bytes)
    refused(Releases(tmp_path / "member", str(other.folder)).update, Refusal.UNSIGNED)
    with pytest.raises(ValueError, match=r"root of .* must be given the first time: --root"):
        Releases(tmp_path / "new", str(other.folder))


@pytest.mark.parametrize("name", ["timestamp.json", "2.snapshot.json", "2.targets.json"])
def test_endless_metadata(made: Repository, tmp_path: Path, name: str) -> None:
    publish(made, model_set(1))
    with (metadata(made) / name).open("ab") as file:
        file.write(b" " * (3 << 20))
    client = member(made, tmp_path)
    refused(client.update, Refusal.OVERSIZED, Refusal.MISMATCH)


def test_endless_targets(made: Repository, tmp_path: Path) -> None:
    models = model_set(1, QUEUES)
    number, digest = publish(made, models)
    for path in (made.folder / "targets" / "r1").iterdir():
        with path.open("ab") as file:
            file.write(bytes(1 << 20))
    client = member(made, tmp_path)
    refused(lambda: client.fetch(number, digest, "host0"), Refusal.OVERSIZED)
    files = models.files() | {"manifest.json": b" " * (1 << 20)}
    number = made.publish(files, {})  # signed, and too large all the same
    client.update()
    refused(lambda: client.fetch(number, digest, "host0"), Refusal.OVERSIZED)


def test_another_file_under_the_same_name(made: Repository, tmp_path: Path) -> None:
    number, digest = publish(made, model_set(1, QUEUES))
    (base,) = (made.folder / "targets" / "r1").glob("*.base.safetensors")
    data = bytearray(base.read_bytes())
    data[-5] ^= 1
    base.write_bytes(data)
    client = member(made, tmp_path)
    refused(lambda: client.fetch(number, digest, "host0"), Refusal.MISMATCH)
    base.unlink()
    refused(lambda: client.fetch(number, digest, "host0"), Refusal.UNREACHABLE)


@pytest.fixture(params=["headers", "file"])
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that sends for ever, a byte now and then."""
    stop = threading.Event()

    class Drips(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if request.param == "file":
                self.send_response(200)
                self.end_headers()
            with suppress(OSError):
                while not stop.wait(0.02):
                    self.wfile.write(b" ")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Drips) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}/"
        stop.set()
        running.shutdown()
        thread.join()


def test_a_server_that_drips(made: Repository, tmp_path: Path, dripping: str) -> None:
    """Bytes that come in time, one by one: no socket ever times out."""
    client = Releases(tmp_path / "member", dripping, root=made.root_bytes, limit_s=0.1)
    began = time.monotonic()
    for _ in range(6):  # threads that still wait for the server have a bound, too
        refused(client.update, Refusal.SLOW)
    assert time.monotonic() - began < 5.0
    assert sum(thread.name == "download" for thread in threading.enumerate()) <= 4
    assert client.counts == {Refusal.SLOW: 6}


def test_slow_retrieval(tmp_path: Path) -> None:
    """Each byte comes in time, all of them do not."""
    path = tmp_path / "file"
    path.write_bytes(bytes(200_000))
    times = iter(range(0, 100, 4))
    fetcher = BoundedFetcher(10.0, lambda: float(next(times)))
    with pytest.raises(Exception, match="takes too long"):
        list(fetcher.fetch(path.as_uri()))


# --- what is signed, and wrong ------------------------------------------------------------------


def test_a_release_must_be_the_one_that_the_rollout_names(made: Repository, tmp_path: Path) -> None:
    number, digest = publish(made, model_set(1))
    client = member(made, tmp_path)
    refused(lambda: client.fetch(number, bytes(32), "host0"), Refusal.WRONG_DIGEST)
    refused(lambda: client.fetch(7, digest, "host0"), Refusal.ABSENT)
    files = model_set(1).files()
    manifest = files[MANIFEST].replace(
        str(json.loads(files[MANIFEST])["contract"]).encode(), b"4711"
    )
    number = made.publish(files | {MANIFEST: manifest}, {})
    client.update()
    refused(lambda: client.fetch(number, bytes(32), "host0"), Refusal.WRONG_CONTRACT)
    number = made.publish(files | {MANIFEST: b"{}"}, {})
    client.update()
    refused(lambda: client.fetch(number, bytes(32), "host0"), Refusal.MALFORMED)


def test_a_head_that_does_not_fit_is_refused(made: Repository, tmp_path: Path) -> None:
    whole = model_set(1, QUEUES[:1])
    broken = ModelSet(whole.base, {QUEUES[0]: b"no delta"})
    number, digest = publish(made, broken)
    refused(lambda: member(made, tmp_path).fetch(number, digest, "host0"), Refusal.MALFORMED)


def test_a_damaged_cache_is_fetched_again(made: Repository, tmp_path: Path) -> None:
    number, digest = publish(made, model_set(1, QUEUES))
    client = member(made, tmp_path)
    client.fetch(number, digest, "host0")
    for path in (tmp_path / "member").rglob("*"):
        if path.is_file() and path.name != "pinned-root.json":
            path.write_bytes(b"torn")
    again = Releases(tmp_path / "member", str(made.folder))
    assert again.fetch(number, digest, "host0").heads.keys() == set(QUEUES[:2])


# --- the repository ------------------------------------------------------------------------------


def whole(client: Releases) -> list[int]:
    """Numbers of the releases that a member finds, each of which it can fetch and run."""
    listed = client.update()
    for number, one in listed.items():
        client.fetch(number, one.digest, "host0")
    return list(listed)


def test_a_kill_at_any_write_leaves_a_release_whole_or_absent(
    tmp_path: Path, volume: int, seed: int
) -> None:
    seen = set()
    every = 1 if volume > 1 else 4  # steps of one write
    for steps in itertools.count(seed % every, every):
        made = repository(tmp_path / str(steps))
        publish(made, model_set(1))
        client = member(made, tmp_path / str(steps))
        with breaking() as disk:
            disk.kill_after = steps
            with suppress(Killed):
                publish(made, model_set(2))
        found = whole(client)
        again = Repository(made.folder, [tmp_path / str(steps) / "keys"], now_ms)
        assert list(again.releases()) == found
        seen.add(tuple(found))
        if disk.kill_after is not None:
            break
        number, digest = publish(again, model_set(3))
        assert number == found[-1] + 1
        assert whole(client) == [*found, number]
        assert client.update()[number].digest == digest
    assert seen == {(1,), (1, 2)}


@pytest.mark.parametrize("name", ["manifest", "base", "targets", "snapshot", "timestamp"])
def test_a_full_disk_releases_nothing_not_even_later(tmp_path: Path, name: str) -> None:
    """Whatever the process signs next must not offer what it could not publish."""
    now = now_ms()
    made = repository(tmp_path, lambda: now)
    publish(made, model_set(1))
    client = member(made, tmp_path)
    with breaking() as disk:
        disk.full = lambda path: f"{name}." in path.name
        with pytest.raises(OSError, match=f"No space left on device: .*{name}"):
            publish(made, model_set(2))
        assert disk.refused == 1
    assert whole(client) == list(made.releases()) == [1]
    now += DAY * 3 // 5
    assert made.renew() == ["timestamp"]
    assert whole(client) == list(made.releases()) == [1]
    assert publish(made, model_set(3))[0] == 2
    assert whole(client) == [1, 2]


def test_renewal(tmp_path: Path) -> None:
    now = now_ms()
    made = repository(tmp_path, lambda: now)
    publish(made, model_set(1))
    assert made.renew() == []
    now += DAY * 3 // 5
    assert made.renew() == ["timestamp"]
    now += 4 * DAY
    assert made.renew() == ["snapshot", "timestamp"]
    now += 50 * DAY
    assert made.renew() == ["targets", "snapshot", "timestamp"]
    found = Metadata.from_file(str(metadata(made) / "timestamp.json"))
    assert found.signed.version == 5


def test_folders_in_use(made: Repository, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"folder must be new, but .* is a repository"):
        Repository.create(made.folder, tmp_path / "k", now_ms)
    with pytest.raises(ValueError, match=r"folder must be new, but .* is a folder of a rep"):
        Repository.create(tmp_path / "n", tmp_path / "keys", now_ms)
    with pytest.raises(ValueError, match="must be a repository, but is not there: make one with"):
        Repository(tmp_path / "none", [], now_ms)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "keys").iterdir())


@pytest.mark.parametrize(("keys", "threshold"), [(0, 0), (1, 2), (17, 1), (3, 0)])
def test_thresholds(keys: int, threshold: int) -> None:
    with pytest.raises(ValueError, match="targets threshold must be in"):
        Roles(targets=(keys, threshold))


@pytest.mark.parametrize(
    "source", ["ftp://a/b", "http://", "https://a/b?c", "/no/such/folder", "http://a/#x"]
)
def test_sources(source: str) -> None:
    with pytest.raises(
        ValueError, match=r"releases must be|must be a repository, but is not there"
    ):
        checked_source(source)
