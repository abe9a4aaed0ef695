"""A serial line that loses, damages and repeats: an access is made once and right, or it fails."""

import random
from pathlib import Path

import pytest

from precog_host.opening import open_transport
from precog_host.transport import BusError, DeviceError
from precog_host.uart import UartTransport

from .links import SCRATCH, LoggedCard, serial_peer


def uart(path: str, **options: int) -> UartTransport:
    link = open_transport(
        f"uart:{path}@4000000?" + "&".join(f"{k}={v}" for k, v in options.items())
    )
    assert isinstance(link, UartTransport)
    return link


def test_a_disturbed_line_is_noticed(card: LoggedCard, seed: int) -> None:
    """Bytes are flipped, lost and added in both directions: no access is silently wrong."""
    rng = random.Random(seed)
    chance = 0.0

    def disturb(data: bytes) -> bytes:
        if rng.random() >= chance:
            return data
        at = rng.randrange(len(data))
        kind = rng.randrange(3)
        middle = (bytes((data[at] ^ 1 << rng.randrange(8),)), b"", data[at : at + 1] * 2)[kind]
        return data[:at] + middle + data[at + 1 :]

    with serial_peer(card) as peer:
        link = uart(peer.path, timeout_ms=60)
        peer.to_bridge = peer.to_host = disturb
        made = failed = 0
        for n in range(60):
            chance = 0.05
            value = rng.getrandbits(32)
            card.log.clear()
            try:
                link.write32(SCRATCH, value)
            except DeviceError:
                failed += 1
                continue
            assert card.log == [(SCRATCH, value)], f"write {n}"
            try:
                assert link.read32(SCRATCH) == value
            except DeviceError:
                failed += 1
                continue
            made += 1
        chance = 0.0
        assert made, "a line that is disturbed now and then must get something through"
        for _ in range(2):  # the first may find what the last error left behind
            try:
                link.write32(SCRATCH, 77)
            except DeviceError:
                continue
        assert link.read32(SCRATCH) == 77
        link.close()


def test_an_answer_that_is_lost(card: LoggedCard) -> None:
    """The write was made: it is not made again. A read is."""
    with serial_peer(card) as peer:
        link = uart(peer.path, timeout_ms=50)
        lose = 1

        def once(data: bytes) -> bytes:
            nonlocal lose
            lose -= 1
            return b"" if lose == 0 else data

        peer.to_host = once
        link.write32(SCRATCH, 5)
        assert card.log == [(SCRATCH, 5)]
        lose = 1
        assert link.read32(SCRATCH) == 5
        lose = 1
        with pytest.raises(BusError, match="answered SLVERR"):
            link.write32(0x7C, 1)
        link.close()


def test_somebody_else_at_the_bridge_is_noticed(card: LoggedCard) -> None:
    with serial_peer(card) as peer:
        link = uart(peer.path)
        link.write32(SCRATCH, 5)
        peer.bridge.window.write(SCRATCH, 6)
        with pytest.raises(DeviceError, match="2 accesses where one was asked for: it was reset"):
            link.read32(SCRATCH)
        assert link.read32(SCRATCH) == 6  # once told, it goes on
        assert link.faults() == {"framing": 0, "timeout": 0, "command": 0, "overflow": 0}
        link.close()
        with pytest.raises(DeviceError, match="baud rate must be a whole number"):
            open_transport(f"uart:{peer.path}@fast")


def test_no_bridge_answers(card: LoggedCard, tmp_path: Path) -> None:
    with serial_peer(card) as peer:
        peer.to_bridge = lambda data: b""
        with pytest.raises(DeviceError, match=r"0 of 4 bytes came back .* same baud rate"):
            uart(peer.path, timeout_ms=10, tries=1)
        peer.to_bridge = bytes
        peer.to_host = lambda data: data[:-1]
        with pytest.raises(DeviceError, match="3 of 4 bytes came back"):
            uart(peer.path, timeout_ms=10, tries=1)
    with pytest.raises(DeviceError, match="port /dev/ttyNONE does not exist"):
        open_transport("uart:/dev/ttyNONE")
    for uri, message in (
        ("uart:", "uart device must be uart:/dev/ttyX@BAUD"),
        ("uart:/dev/ttyS9@1", r"uart baud rate must be a whole number in 50\.\."),
        ("uart:/dev/ttyS9?speed=1", "uart option must be one of timeout_ms=, tries=, not 'speed'"),
        ("uart:/dev/ttyS9?tries=1&tries=2", "uart option tries must be given once"),
        (f"uart:{tmp_path}", "cannot be opened"),
    ):
        with pytest.raises(DeviceError, match=message):
            open_transport(uri)
