"""``precog qp follow --believe --model``: what it prints, and what it refuses."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import ran
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


@pytest.mark.parametrize("json_", [True, False])
def test_the_command(
    host: Host,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    json_: bool,
) -> None:
    image = tmp_path / "parrot.safetensors"
    parrot().save(image)
    levels = [4, 4, 4, 4, 0, 0, 0, 0] * 4

    def lists() -> Iterator[bytes]:
        for level in levels:
            yield _entries(0)
            host.send(0, 1000)
            host.say(0, level)
            yield _entries()

    class Input:
        buffer = _Lists(lists())

    monkeypatch.setattr("sys.stdin", Input())
    words = ["--from", "-", "--remote", B4, "--mode", "s", "--believe", "--model", str(image)]
    with udp_server(host.emulator) as server:
        uri = f"udp:127.0.0.1:{server.port}"
        done = ran(capsys, "qp", "follow", *words, "-d", uri, *(["-j"] if json_ else []))
    assert done.status == 0, done.err
    if json_:
        rows = [json.loads(line) for line in done.out.splitlines()][::2]
        assert [row["guesses"]["0"]["level"] for row in rows] == [None, *levels[:-1]]
        assert not any(row["believed"] for row in rows[:16])
        assert [row["believed"] for row in rows[20:]] == [
            {"0": 4} if level == 4 else {} for level in levels[19:-1]
        ]
        last = rows[-1]["guesses"]["0"]
        assert last["heeded"]
        assert last["skill"] > 0.25
        assert (last["crowded"], last["others"]) == (15, 15)
    else:
        for begin in (
            "guesses  slot 0: nothing, no queue pair to its peer has ended; no skill yet: 0 of 8 ",
            "guesses  slot 0: level 4 of 1058 bytes, not believed; no skill yet: 1 of 8 crowded ",
            "guesses  slot 0: level 0 of 1058 bytes, not believed; skill 0.",
            "believes slot 0: level 4, as the model guesses; skill 0.",
        ):
            assert "\n" + begin in done.out, begin


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "{tree}"], "option --model has no effect without --believe: leave it out"),
        (["--believe", "--model", "rtt-incast"], "rtt-incast: model of starts must have the head"),
        (["--believe", "--model", "nobody"], "No such file"),
        (["--believe", "--model", "{tree}"], "beliefs need a device that heeds levels"),
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
