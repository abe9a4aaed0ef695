"""Every verb with wrong arguments: one line names the thing and the remedy, nothing is written."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.command_line import Ran, Run, ran
from tests.fleet.refusals import ANYTHING, FAILED, REFUSED

from precog_fleet.authority import Authority
from precog_fleet.clock import now_ms
from precog_fleet.commands import app
from precog_fleet.member import Member
from precog_fleet.modelset import ModelSet
from precog_fleet.repository import Repository
from precog_models.image import pretrained

_ENDPOINT = "tls/127.0.0.1:9"  # no server listens there
_RUNTIME = ("store.sqlite-wal", "store.sqlite-shm")  # of a database that was looked at


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Folders and files of every kind, by name."""
    root = tmp_path_factory.mktemp("places")
    authority = Authority.create(root / "authority", "lab", (_ENDPOINT,))
    roles = {"host0": "agent", "gone": "agent", "rack0": "router", "trainer0": "trainer"}
    for name, role in roles.items():
        addresses = ("127.0.0.1",) if role == "router" else ()
        asked = Member.enroll(root / name, name, role, addresses)
        given = authority.approve(asked, now_ms())
        if name == "gone":
            authority.revoke(name, now_ms())
            given = replace(given, frames=tuple(f.hex() for f in authority.frames(now_ms())))
        given.save(root / f"{name}.json")
        Member.join(root / name, given)
    Member.enroll(root / "asked", "asked", "agent")
    Repository.create(root / "repo", root / "keys", now_ms)
    ModelSet(pretrained("queue-1rtt")).save(root / "models")
    (root / "empty").mkdir()
    (root / "file").write_text("x")
    (root / "list").write_text("[1]")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield {
            **{path.name: str(path) for path in root.iterdir()},
            **{name: str(root / name) for name in ("nope", "new")},
            "root": str(root / "repo" / "metadata" / "1.root.json"),
            "endpoint": _ENDPOINT,
            "taken": str(taken.getsockname()[1]),
        }


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr("precog_fleet.looking._CONNECT_MS", 200)
    monkeypatch.setattr("precog_fleet.announce._CONNECT_MS", 200)

    def go(words: str) -> Ran:
        return ran(capsys, "fleet", *words.split())

    return go


def everything(places: dict[str, str]) -> dict[str, bytes | None]:
    """Content of every file, and every folder."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in Path(places["nope"]).parent.rglob("*")
        if path.name not in _RUNTIME
    }


def verbs(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
    for name, child in (children or {}).items():
        yield from verbs(child, f"{path} {name}".strip())


def test_each_parameter_of_each_verb_is_listed() -> None:
    """A verb or a parameter that is added without a wrong value of it fails here."""
    found = dict(verbs(typer.main.get_command(app)))
    assert set(REFUSED) == set(found)
    for path, command in found.items():
        named = {one.name: bool(getattr(one, "is_flag", False)) for one in command.params}
        named = {name: flag for name, flag in named.items() if name not in ("json_", "help")}
        needed = {name for name, flag in named.items() if not flag and (path, name) not in ANYTHING}
        assert needed <= set(REFUSED[path]) <= set(named), path


@pytest.mark.parametrize("verb", sorted(REFUSED))
def test_wrong_arguments(verb: str, run: Run, places: dict[str, str]) -> None:
    before = everything(places)
    for parameter, cases in REFUSED[verb].items():
        for words, message in cases:
            given = f"{verb} {words.format(**places)}"
            status, out, said = run(given)
            assert said.startswith("error: "), given
            assert message.format(**places) in said, f"{parameter}: {given}"
            assert (status, out) == (2, ""), f"{given}: {said}"
            assert "internal" not in said, said
            assert len(said.splitlines()) == 1, said
    assert everything(places) == before


@pytest.mark.parametrize(("words", "message"), FAILED)
def test_work_that_fails(
    words: str,
    message: str,
    run: Run,
    places: dict[str, str],
) -> None:
    before = everything(places)
    status, out, said = run(words.format(**places))
    assert message.format(**places) in said
    assert (status, out) == (1, ""), said
    assert ".rs" not in said
    assert "cargo" not in said
    assert {path for path in everything(places) if "store.sqlite" not in path} <= set(before)


def test_a_folder_that_is_in_use(run: Run, places: dict[str, str]) -> None:
    from precog_fleet.places import claimed

    for verb, name in (("router", "rack0"), ("rollout", "trainer0")):
        with claimed(Path(places[name])):
            status, _, said = run(f"{verb} {places[name]}")
        assert (status, said) == (
            2,
            f"error: {places[name]} is in use: end the process that works on it first\n",
        )
    with claimed(Path(places["host0"])):
        words = f"agent {places['host0']} -d emu:trace=1,forecast=1,profile=1"
        assert "host0 is in use: end the process" in run(words)[2]


def test_a_damaged_repository_is_one(run: Run, tmp_path: Path) -> None:
    Repository.create(tmp_path / "repo", tmp_path / "keys", now_ms)
    (tmp_path / "repo" / "metadata" / "timestamp.json").write_text(json.dumps({}))
    status, _, said = run(f"repository list {tmp_path / 'repo'}")
    assert (status, f"{tmp_path / 'repo'} must be a whole repository, but: " in said) == (2, True)
