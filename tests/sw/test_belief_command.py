"""``precog qp follow --believe --model``: what it prints, and what it refuses."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.command_line import Ran, ran
from tests.short_disk import short_disk
from tests.sw.links import udp_server

from ..models.forecast.start_models import parrot, tree
from ..models.packet.frames import A_QP, B4, B_QP
from .belief_host import Host


@pytest.fixture
def host() -> Host:
    return Host()


class _Lists(io.BytesIO):
    """Standard input of a follower: before each list something happens to the card."""

    def __init__(self, lists: Iterator[bytes]) -> None:
        super().__init__()
        self._lists = lists

    def readline(self, size: int | None = -1, /) -> bytes:
        return next(self._lists, b"")


def _entries(*numbers: int) -> bytes:
    entry = {"ifname": "rxe0", "port": 1, "type": "RC", "state": "RTS", "comm": "test"}
    rows = [entry | {"lqpn": A_QP + n, "rqpn": B_QP + n} for n in numbers]
    return json.dumps(rows).encode() + b"\n"


@dataclass
class _Follows:
    """Lists in which one queue pair comes and goes, and is told a level each time."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    image: Path

    def __call__(self, host: Host, levels: list[int], *words: str) -> Ran:
        def lists() -> Iterator[bytes]:
            for level in levels:
                yield _entries(0)
                host.send(0, 1000)
                host.say(0, level)
                yield _entries()

        class Input:
            buffer = _Lists(lists())

        self.monkeypatch.setattr("sys.stdin", Input())
        given = ["--from", "-", "--remote", B4, "--mode", "s", "--believe"]
        given += ["--model", str(self.image), *words]
        with udp_server(host.emulator) as server:
            return ran(self.capsys, "qp", "follow", *given, "-d", f"udp:127.0.0.1:{server.port}")


@pytest.fixture
def follows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> _Follows:
    image = tmp_path / "parrot.safetensors"
    parrot().save(image)
    return _Follows(capsys, monkeypatch, image)


@pytest.mark.parametrize("json_", [True, False])
def test_the_command(host: Host, follows: _Follows, json_: bool) -> None:
    levels = [4, 4, 4, 4, 0, 0, 0, 0] * 4
    done = follows(host, levels, *(["-j"] if json_ else []))
    assert done.status == 0, done.err
    if json_:
        rows = [json.loads(line) for line in done.out.splitlines()][::2]
        assert [row["guesses"]["0"]["level"] for row in rows] == [None, *levels[:-1]]
        assert [row["guesses"]["0"]["last"] for row in rows] == [None, *levels[:-1]]
        assert [row["guesses"]["0"]["heeded"] for row in rows] == [False] * 17 + [True] * 15
        assert [row["believed"] for row in rows[1:]] == [
            {"0": 4} if level == 4 else {} for level in levels[:-1]
        ]
        last = rows[-1]["guesses"]["0"]
        assert last["heeded"]
        assert last["skill"] > 0.25
        assert (last["crowded"], last["others"]) == (15, 15)
    else:
        for begin in (
            "guesses  slot 0: nothing, no queue pair that sent to its peer has ended; "
            "no skill yet: 0 of 8 ",
            "guesses  slot 0: level 0 of 1058 bytes, not believed; no skill yet: 3 of 8 crowded ",
            "believes slot 0: level 4, as its peer told those before it; the model guesses level 4 "
            "of 1058 bytes; no skill yet: 1 of 8 crowded ",
            "guesses  slot 0: level 0 of 1058 bytes, not believed; skill 0.",
            "believes slot 0: level 4, as the model guesses; skill 0.",
        ):
            assert "\n" + begin in done.out, begin


def test_a_line_has_what_the_peer_said_and_what_the_model_guesses(
    host: Host, follows: _Follows
) -> None:
    tree(1).save(follows.image)
    done = follows(host, [4, 3, 4, 2], "-j")
    assert done.status == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()[::2]]
    guesses = [row["guesses"]["0"] for row in rows]
    assert [guess["last"] for guess in guesses] == [None, 4, 3, 4]
    assert [row["believed"] for row in rows] == [{}, {"0": 4}, {"0": 3}, {"0": 4}]
    assert any(guess["level"] != guess["last"] for guess in guesses)


def test_what_one_host_saw_shortens_another_s_trial(
    host: Host, follows: _Follows, tmp_path: Path
) -> None:
    """A host's file lends two crowded starts, and its others until there are eight."""
    levels, path = [4, 4, 4, 4, 0, 0, 0, 0] * 4, tmp_path / "outcomes.json"
    done = follows(host, levels, "--outcomes", str(path))
    assert done.status == 0, done.err
    said = json.loads(path.read_text())
    counts = {"crowded": 15, "hits": 12, "others": 16, "alarms": 4}  # the first had no guess
    assert said["receivers"] == {B4: counts}
    said["receivers"] |= {f"10.0.9.{n}": counts | {"hits": 15, "alarms": 0} for n in range(2)}
    path.write_text(json.dumps(said))
    done = follows(Host(), [4, 4, 4, 4, 4], "--prior", str(path), "-j")
    assert done.status == 0, done.err
    rows = [json.loads(line)["guesses"]["0"] for line in done.out.splitlines()[::2]]
    assert [(row["crowded"], row["heeded"]) for row in rows] == [
        *((0, False), (0, False), (1, False), (2, True), (3, True)),
    ]
    assert {row["lent"] for row in rows} == {6}
    done = follows(Host(), [4, 4, 4, 4, 4], "--prior", str(path))
    assert (
        "believes slot 0: level 4, as the model guesses; heeded early: 2 of 8 crowded starts and "
        "0 of 8 others have ended, others lend 6 crowded starts" in done.out
    )


def test_a_full_disk_ends_no_following(host: Host, follows: _Follows, tmp_path: Path) -> None:
    """It is told once, and the command fails in the end."""
    path = tmp_path / "outcomes.json"
    with short_disk(20):
        done = follows(host, [4, 4, 0, 0], "--outcomes", str(path), "-j")
    assert done.status == 2
    assert len(done.out.splitlines()) == 8
    assert done.err == (
        f"file {path}: File too large; trying again\nerror: file {path}: File too large\n"
    )
    assert not path.exists()


def test_a_prior_of_another_model_is_refused(host: Host, follows: _Follows, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.json"
    path.write_text(json.dumps({"model": "ab" * 32, "receivers": {}}))
    done = follows(host, [], "--prior", str(path))
    assert done.status == 2
    assert f"not with '{'ab' * 8}': what became of other models says nothing of it" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "{tree}"], "option --model has no effect without --believe: leave it out"),
        (["--believe", "--model", "rtt-incast"], "rtt-incast: model of starts must have the head"),
        (["--believe", "--model", "nobody"], "No such file"),
        (["--believe", "--model", "{tree}"], "beliefs need a device that heeds levels"),
        (["--believe", "--prior", "{tree}"], "option --prior has no effect without --model"),
        (["--believe", "--outcomes", "o"], "option --outcomes has no effect without --model"),
        (
            ["--believe", "--model", "{tree}", "--prior", "{tree}"],
            "must be a file that precog qp follow --outcomes wrote, but",
        ),
        (["--believe", "--model", "{tree}", "--prior", "nobody"], "No such file"),
        (
            ["--believe", "--model", "{tree}", "--outcomes", "/nobody/o"],
            "file /nobody: No such folder",
        ),
        # It would be replaced by a file, and by root's command for all.
        (
            ["--believe", "--model", "{tree}", "--outcomes", "/dev/null"],
            "file /dev/null: Not a regular file",
        ),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    tree(1).save(tmp_path / "tree.safetensors")
    lists = tmp_path / "lists"
    lists.write_text("[]\n")
    given = [word.format(tree=tmp_path / "tree.safetensors") for word in words]
    done = ran(capsys, "qp", "follow", "--from", str(lists), *given, "-d", "emu:width=64,senders=1")
    assert done.status == 2
    assert message in done.err
