"""The card on a guest's PCI bus: its configuration space, messages of any kind, a real guest."""

import json
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from tests.command_line import ran

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_lab.pci_card import PciCard
from precog_lab.pci_config import DEVICE_ID, VENDOR_ID, ConfigSpace
from precog_lab.pci_messages import REFUSED, Command, Message, receive
from precog_lab.pci_session import session
from precog_spec.config import NicConfig

from .absent import why_not

_BAR = 0xFEB0_0000
_SIZES = NicConfig(qps=4, sets=2, width=64)


def _config(command: Command, address: int, value: int = 0, size: int = 4) -> Message:
    return Message(command, struct.pack("<IIi", address, value, size))


def _access(command: Command, address: int, value: int = 0, size: int = 4) -> Message:
    return Message(command, struct.pack("<QQIB3x", address, value, size, True))


class _Bus:
    """QEMU's end of the socket, and a card that is served at the other.

    Attributes
    ----------
    levels : list of bool
        What the pin did.
    """

    def __init__(self) -> None:
        self.levels: list[bool] = []
        self.card = PciCard(Device(Emulator(_SIZES)), self.levels.append)
        self.connect()

    def connect(self) -> None:
        """A new connection to the same card."""
        self.channel, self._theirs = socket.socketpair()
        self.channel.settimeout(10)
        self._server = threading.Thread(target=self.card.serve, args=(self._theirs,), daemon=True)
        self._server.start()

    def ask(self, message: Message) -> int:
        """The answer to a message."""
        self.channel.sendall(message.encode())
        answer = receive(self.channel)
        assert answer is not None
        assert answer.command is Command.RET
        return int.from_bytes(answer.payload, "little")

    def enable(self) -> None:
        """Give the BAR its address."""
        self.ask(_config(Command.CFG_WRITE, 0x10, _BAR))
        self.ask(_config(Command.CFG_WRITE, 4, 2, 2))

    def ended(self) -> list[str]:
        """Refusals, when the server is done with the connection."""
        self._server.join(10)
        assert not self._server.is_alive()
        self._theirs.close()
        self.channel.close()
        return self.card.refusals

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        self.ended()


@pytest.fixture
def bus() -> Iterator[_Bus]:
    made = _Bus()
    yield made
    made.close()


class _OverBus:
    """A transport through the messages, as a guest's processor has it."""

    def __init__(self, bus: _Bus) -> None:
        self._bus = bus

    def read32(self, address: int) -> int:
        return self._bus.ask(_access(Command.BAR_READ, _BAR + address)) & 0xFFFF_FFFF

    def write32(self, address: int, value: int) -> None:
        self._bus.ask(_access(Command.BAR_WRITE, _BAR + address, value))

    def close(self) -> None:
        """Nothing to give back."""


def test_configuration_space() -> None:
    config = ConfigSpace(5000)
    assert config.bar_size == 8192
    assert config.read(0, 4) == DEVICE_ID << 16 | VENDOR_ID
    assert config.read(0x2C, 4) == DEVICE_ID << 16 | VENDOR_ID
    assert config.read(0x0A, 2) == 0x0280
    assert config.read(0x3D, 1) == 1
    for at in range(0x14, 0x28, 4):  # no other BARs: their size reads as none
        config.write(at, 4, 0xFFFF_FFFF)
        assert config.read(at, 4) == 0
    config.write(0x10, 4, 0xFFFF_FFFF)
    assert config.read(0x10, 4) == 0xFFFF_E000
    assert config.bar is None
    config.write(0x10, 4, _BAR + 0x123)
    config.write(4, 2, 0xFFFF)
    assert (config.bar, config.masked) == (_BAR, True)
    assert config.read(4, 2) == 0x406
    config.pend(True)
    assert config.read(6, 2) == 8
    config.reset()
    assert (config.bar, config.masked, config.read(0x10, 4)) == (None, False, 0)
    assert config.read(6, 2) == 8  # hardware's own bit


def test_a_driver_finds_the_same_with_the_bus_and_without(bus: _Bus) -> None:
    bus.enable()
    assert session(Device(_OverBus(bus))) == session(Device(Emulator(_SIZES)))
    assert bus.card.refused == 0
    assert bus.levels == [True, False]
    assert bus.card.interrupts == 1


def test_the_pin_goes_through_the_descriptor_until_its_reason_is_gone(bus: _Bus) -> None:
    bus.enable()
    intr, seen = os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
    head = Message(Command.SET_IRQFD).encode()
    socket.send_fds(bus.channel, [head], [intr, seen])
    driver = Device(_OverBus(bus)).interrupt
    driver.bring_up(["icrc"])
    with pytest.raises(BlockingIOError):
        os.eventfd_read(intr)
    driver.enable(["icrc"])
    assert os.eventfd_read(intr) == 1
    assert bus.ask(_config(Command.CFG_READ, 6, size=2)) == 8
    os.eventfd_write(seen, 1)  # KVM lowered the line, though the cause is still there
    for _ in range(1000):
        bus.ask(_config(Command.CFG_READ, 0))
        with suppress(BlockingIOError):
            assert os.eventfd_read(intr) == 1
            break
    else:
        pytest.fail("pin must go up again")
    bus.ask(_config(Command.CFG_WRITE, 4, 0x402, 2))
    assert bus.levels == [True, False]
    bus.ask(_config(Command.CFG_WRITE, 4, 2, 2))
    assert os.eventfd_read(intr) == 1
    driver.clear(["icrc"])
    assert bus.levels == [True, False, True, False]
    for descriptor in (intr, seen):
        os.close(descriptor)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (_access(Command.BAR_READ, _BAR - 4), "BAR_READ must be in BAR 0, 0xfeb00000.*not at 0xfe"),
        (_access(Command.BAR_WRITE, _BAR + (1 << 20)), "BAR_WRITE must be in BAR 0"),
        (_access(Command.BAR_READ, 1 << 63), "BAR_READ must be in BAR 0"),
        (_access(Command.BAR_READ, _BAR + 2), "must be of 4 aligned bytes of memory, not 4 at 0x2"),
        (_access(Command.BAR_WRITE, _BAR, size=8), "4 aligned bytes of memory, not 8 at 0x0"),
        (_config(Command.CFG_READ, 256), "below 256, not 4 at 0x100"),
        (_config(Command.CFG_WRITE, 2), "aligned bytes below 256, not 4 at 0x2"),
        (_config(Command.CFG_READ, 0, size=-1), "must be 1, 2 or 4 aligned bytes .* not -1 at 0x0"),
    ],
)
def test_an_access_that_cannot_be_is_refused_and_the_next_one_served(
    bus: _Bus, message: Message, why: str
) -> None:
    bus.enable()
    assert bus.ask(message) == REFUSED
    assert bus.card.refused == 1
    assert _found(why, bus.card.refusals[0])
    assert bus.ask(_access(Command.BAR_READ, _BAR)) >> 16 == 0x4350


def test_registers_that_are_not_there_read_as_all_ones(bus: _Bus) -> None:
    bus.enable()
    assert bus.ask(_access(Command.BAR_READ, _BAR + bus.card.config.bar_size - 4)) == 0xFFFF_FFFF
    assert _found("read of register .* answered SLVERR", bus.card.refusals[0])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x05\x00", "message ended 14 bytes short, in its header"),
        (_access(Command.BAR_READ, _BAR).encode()[:-1], "ended 1 bytes short, in its BAR_READ"),
        (struct.pack("<i4xQ", 99, 0), "message's command must be 0..7, not 99"),
        (struct.pack("<i4xQ", -1, 0), "message's command must be 0..7, not -1"),
        (struct.pack("<i4xQ", 5, 1 << 60), "message BAR_READ must have 24 bytes, not 1152921504"),
        (struct.pack("<i4xQ", 3, 4) + bytes(4), "message CFG_READ must have 12 bytes, not 4"),
        (struct.pack("<i4xQ", 0, 0), "message SYNC_SYSMEM must have 192 bytes, not 0"),
    ],
)
def test_a_stream_that_makes_no_sense_ends_and_the_card_serves_the_next(
    bus: _Bus, data: bytes, why: str
) -> None:
    bus.channel.sendall(data)
    bus.channel.shutdown(socket.SHUT_WR)
    assert _found(why, bus.ended()[0])
    bus.connect()
    bus.enable()
    assert bus.ask(_access(Command.BAR_READ, _BAR)) >> 16 == 0x4350


def test_descriptors_that_cannot_be_a_pin_are_closed(bus: _Bus) -> None:
    head = Message(Command.SET_IRQFD).encode()
    bus.ask(_config(Command.CFG_READ, 0))  # the card has accepted the connection
    before = len(os.listdir("/proc/self/fd"))
    with open(__file__, "rb") as file:
        for descriptors in ([file.fileno()], [file.fileno()] * 2, [file.fileno()] * 3):
            socket.send_fds(bus.channel, [head], descriptors)
            bus.ask(_config(Command.CFG_READ, 0))
    assert len(os.listdir("/proc/self/fd")) == before
    assert bus.card.refusals == [
        "SET_IRQFD must bring 2 descriptors, not 1",
        "SET_IRQFD must bring two eventfds, not plain files",
        "SET_IRQFD must bring 2 descriptors, not 3",
    ]


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def test_options_that_have_no_sense_with_a_card(run_cli: Callable[[str], str]) -> None:
    assert "--pci must stand with no other option than" in run_cli("lab --pci --loss 0.1")


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    def run(line: str) -> str:
        done = ran(capsys, *line.split())
        assert done.status == 2
        return done.err

    return run


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is there")
def test_a_guest_drives_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    captured = ran(capsys, "lab", "--pci", "-j")
    assert not captured.status, captured.err
    found = json.loads(captured.out)
    assert found["failed"] == []
    assert f"{VENDOR_ID:04x}:{DEVICE_ID:04x}" in found["lspci"]
    assert found["words"] > 50
    assert (found["interrupts"], found["woken"]) == (2, 2)
    assert found["refused"] == 0
    assert "the card is gone" in found["gone_says"]
