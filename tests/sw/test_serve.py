"""``precog serve``: one process has the device, others reach it."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command_line import ran

from precog_host.device import Device
from precog_host.opening import open_transport
from precog_host.sealing import Refusal, Seal
from precog_host.transport import DeviceError
from precog_host.udp import TOKEN_FILE, UdpTransport
from precog_models.bridge.etherbone import Record, decode, encode
from precog_spec.frames.bridge import BRIDGE_ID, Status, Window

from .links import SCRATCH, LoggedCard, udp_server

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def go(*arguments: str) -> str:
        done = ran(capsys, *arguments, "-j")
        assert not done.status, done.err
        return done.out

    return go


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """The URI of a device that another process serves."""
    start = (  # what a shell starts in the background ignores interrupts
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from precog_host.cli import main; main()"
    )
    # Its line comes through a pipe at once, also where Python does not write unbuffered anyway.
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    server = subprocess.Popen(
        [sys.executable, "-c", start, "serve", "--udp", "0", "-j", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=plain,
    )
    watchdog = threading.Timer(60, server.kill)  # then there is no line
    watchdog.start()
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["uri"]
    finally:
        watchdog.cancel()
        server.send_signal(signal.SIGINT)
        out, errors = server.communicate(timeout=60)
    assert server.returncode == 130
    assert "has the device" in errors
    assert not out


def wait_until_free(told: list[str]) -> None:
    """Until the server's thread has heard, and told, that the client left."""
    until = time.monotonic() + 30
    while not told[-1].endswith(" has left"):
        assert time.monotonic() < until, "the client's leave must arrive"
        time.sleep(0.01)


def test_a_served_card_keeps_its_state_between_commands(run: Run, tmp_path: Path) -> None:
    token = tmp_path / "the token"
    with serving("-d", "emu:qps=8", "--token-file", str(token)) as uri:
        run("qp", "add", "3", "--algo", "pid", "-d", uri)
        shown = json.loads(run("qp", "show", "-d", uri))
        assert [(row["qp"], row["algorithm"]) for row in shown] == [(3, "pid")]
        with Device.open(uri), pytest.raises(DeviceError, match="in use by another client"):
            Device.open(f"{uri}&wait_s=0")
        with pytest.raises(DeviceError, match=rf"wants a token: .*{TOKEN_FILE}"):
            Device.open(uri.partition("?")[0])


def test_a_demo_is_served_and_watched(run: Run) -> None:
    with serving("--demo") as uri:
        shown = json.loads(run("qp", "show", "-d", uri))
        assert len({row["algorithm"] for row in shown}) > 2
        lines = run("monitor", "--demo", "--count", "3", "--interval", "0.3", "-d", uri)
        taken = [json.loads(line) for line in lines.splitlines()]
        assert all(snapshot["error"] is None for snapshot in taken)
        decisions = [snapshot["qps"][0]["decisions"] for snapshot in taken]
        # A snapshot that was late is followed by the next one at once: the two may be equal.
        assert decisions == sorted(decisions)
        assert decisions[-1] > decisions[0], "the server must feed it all the time"


def test_a_device_served_without_a_demo_says_what_to_do(
    card: LoggedCard, capsys: pytest.CaptureFixture[str]
) -> None:
    with udp_server(card) as server:
        uri = f"udp:127.0.0.1:{server.port}"
        done = ran(capsys, "monitor", "--demo", "--once", "-d", uri)
    assert done.status == 2
    assert "serve it with precog serve --demo" in done.err
    assert not card.log


def test_a_feed_that_fails_ends_and_is_told(card: LoggedCard) -> None:
    told: list[str] = []

    def feed() -> None:
        raise DeviceError("device was reset")

    with udp_server(card, feed=feed, report=told.append) as server:
        link = open_transport(f"udp:127.0.0.1:{server.port}")
        assert link.read32(SCRATCH) == 0
        link.close()
    assert told.count("device takes no more samples: device was reset; serve it again") == 1


def test_only_sealed_datagrams_are_obeyed(card: LoggedCard, tmp_path: Path) -> None:
    token = b"0123456789abcdef"
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_bytes(token)
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_bytes(token[::-1])
    write = encode(Record(SCRATCH, (7,), ticket=1, reads=(Window.STATUS.address,)))
    told: list[str] = []
    with udp_server(card, token=token, report=told.append) as server:
        at = f"udp:127.0.0.1:{server.port}?token_file="
        link = open_transport(at + str(path))
        link.write32(SCRATCH, 5)
        link.close()
        assert card.log == [(SCRATCH, 5)]
        wait_until_free(told)
        for datagram in (write, Seal(token[::-1]).seal(write)):
            refused = decode(server.handle(datagram, ("x", 1)))
            assert Status.of(refused.writes[0]) == Status(0, sealed=True)
        sealed = Seal(token).seal(write)
        assert server.handle(sealed, ("x", 1))
        server.handle(sealed, ("x", 1))
        assert card.log == [(SCRATCH, 5), (SCRATCH, 7)], "a recording must not act"
        with pytest.raises(DeviceError, match=r"refuses the token: .* clocks are within 30 s"):
            open_transport(at + str(wrong))
        counted = server.faults
    assert counted[Refusal.UNSEALED] == 1
    assert counted[Refusal.REPLAYED] == 1
    assert counted[Refusal.FORGED] > 1


def test_a_client_with_a_token_is_told_that_the_server_has_none(
    card: LoggedCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text("0123456789abcdef")
    monkeypatch.setenv(TOKEN_FILE, str(path))
    with udp_server(card) as server:
        with pytest.raises(DeviceError, match=rf"server has no token: leave .*{TOKEN_FILE} out"):
            open_transport(f"udp:127.0.0.1:{server.port}")
        assert server.answered == 0
        monkeypatch.delenv(TOKEN_FILE)
        open_transport(f"udp:127.0.0.1:{server.port}").close()
    assert not card.log


def test_a_board_that_cannot_answer_a_sealed_datagram_is_guessed(card: LoggedCard) -> None:
    with udp_server(card) as server:
        server.handle = lambda *_: b""  # type: ignore[method-assign]
        with pytest.raises(DeviceError, match="and no board, whose bridge takes no token"):
            UdpTransport("127.0.0.1", server.port, timeout_ms=20, tries=2, token=b"0" * 16)


def test_a_hog_with_a_datagram_each_half_second_shuts_nobody_out(card: LoggedCard) -> None:
    ask = encode(Record(ticket=1 << 16, reads=(Window.STATUS.address,)))
    with udp_server(card) as server:
        hog = ("127.0.0.1", 9)
        assert server.handle(ask, hog)
        done = threading.Event()

        def hold() -> None:
            while not done.wait(0.5):
                server.handle(ask, hog)

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            began = time.monotonic()
            with Device.open(f"udp:127.0.0.1:{server.port}?wait_s=5") as device:
                assert device.registers.read("ID", "SCRATCH") == 0
            assert time.monotonic() - began < 5
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize("leaves", [True, False])
def test_a_client_is_not_answered_with_what_the_one_before_it_asked(
    card: LoggedCard, leaves: bool
) -> None:
    """Clients choose tickets by themselves: the same one, or an older one, is another request."""
    leave = encode(Record(write_address=Window.ID.address, writes=(0,)))
    with udp_server(card, hold_s=60.0 if leaves else 1e-6) as server:

        def asks(client: str, ticket: int, address: int) -> int:
            answer = server.handle(encode(Record(ticket=ticket, reads=(address,))), (client, 1))
            (word,) = decode(answer).writes
            return word

        card.write32(SCRATCH, 5)
        assert asks("first", 9 << 16, SCRATCH) == 5
        assert asks("first", 9 << 16, SCRATCH) == 5  # once more: its answer was lost
        for client, ticket in (("second", 9 << 16), ("third", 8 << 16)):
            if leaves:
                server.handle(leave, ("first" if client == "second" else "second", 1))
            assert asks(client, ticket, Window.ID.address) == BRIDGE_ID


def test_no_datagram_stops_the_server_and_no_answer_is_longer(card: LoggedCard, seed: int) -> None:
    """Random bytes, and requests with random changes, from many clients."""
    rng = random.Random(seed)
    good = [
        encode(Record(rng.randrange(0, 1 << 15, 4), (rng.getrandbits(32),) * n, n << 16 | 1, reads))
        for n in range(4)
        for reads in ((), (SCRATCH,), (Window.STATUS.address,) * 64)
    ]
    with udp_server(card, hold_s=1e-6) as server:
        for n in range(3000):
            datagram = bytearray(rng.choice(good))
            if n % 3 == 0:
                datagram = bytearray(rng.randbytes(rng.randrange(0, 1500)))
            elif datagram and n % 3 == 1:
                datagram[rng.randrange(len(datagram))] ^= 1 << rng.randrange(8)
            answer = server.handle(bytes(datagram), ("x", rng.randrange(4)))
            assert len(answer) <= len(datagram)
        link = open_transport(f"udp:127.0.0.1:{server.port}")
        link.write32(SCRATCH, 5)
        assert link.read32(SCRATCH) == 5
        link.close()


def test_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    open_file = tmp_path / "open"
    open_file.write_text("0123456789abcdef0123456789abcdef")
    open_file.chmod(0o644)
    for arguments, message in (
        (("--hold", "0"), "hold must be in 0.05..1e+06 seconds, not 0.0"),
        (("--turn", "nan"), "turn must be in 0.05..1e+06 seconds, not nan"),
        (("--bind", "0.0.0.0"), "give --token-file, or --no-token to obey all that reach it"),
        (("--bind", "203.0.113.7", "--no-token"), "UDP port 1234 at '203.0.113.7' cannot be had"),
        (("--no-token", "--token-file", "x"), "token-file must be left out with --no-token"),
        (("--token-file", str(open_file)), "must be its owner's alone: chmod 600"),
        (("--udp", "65536"), "65536"),
        (("--demo", "-d", "udp:127.0.0.1:9"), "demo must be left out with udp:127.0.0.1:9"),
    ):
        done = ran(capsys, "serve", *arguments)
        assert done.status == 2
        assert message in done.err
