"""The UART bridge in RTL is the golden one, byte for byte; the driver through it; no wedge."""

import os
import random
import select
import threading
import tty
from collections.abc import Iterator

import numpy as np
import pytest
from tests.models.bridge.test_uartbone import Memory, read, write

from precog_host.device import Device
from precog_host.emulator.opening import open_emulator
from precog_host.serve import TransportBus
from precog_host.transport import BusError, DeviceError
from precog_models.bridge.uartbone import UartBridge
from precog_spec.frames.bridge import BRIDGE_ID, Status, UartFault, Window, unpack_faults

from .bench import BUS_TIMEOUT_CYCLES, SILENCE_CYCLES, UartRtl

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("uart-bridge")]

_QUIET = SILENCE_CYCLES + 200


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def rtl(memory: Memory, seed: int) -> Iterator[UartRtl]:
    made = UartRtl(memory, seed)
    yield made
    made.close()


def say(rtl: UartRtl, data: bytes) -> bytes:
    for byte in data:
        rtl.send(byte)
    rtl.settle()
    return rtl.take()


def faults(rtl: UartRtl) -> dict[str, int]:
    answer = say(rtl, read(Window.FAULTS.address))
    return unpack_faults(int.from_bytes(answer, "big"), UartFault)


def random_piece(rng: random.Random) -> bytes:
    """A command, a part of one, or garbage."""
    kind = rng.randrange(10)
    address = rng.choice((0x10, 0x40, 0xFFC, 0x1000, 0x8000, 0x1_0000, 0xFFFF_FFF8))
    if kind < 3:
        count = rng.randrange(1, 5)
        words = (rng.getrandbits(32) for _ in range(count))
        whole = write(address, *words, command=rng.choice((1, 3)))
    elif kind < 6:
        whole = read(address, rng.randrange(1, 7), command=rng.choice((2, 4)))
    elif kind < 9:
        whole = read(Window.ID.address, 6)  # faults, last access, status and CRC
    else:
        whole = rng.randbytes(rng.randrange(1, 9))
    cut = rng.random() < 0.1 and len(whole) > 1
    return whole[: rng.randrange(1, len(whole))] if cut else whole


def test_the_bridge_is_the_golden_one(memory: Memory, rtl: UartRtl, seed: int, volume: int) -> None:
    """Commands, broken ones, damaged bytes and garbage: equal answers, equal writes."""
    rng = random.Random(seed)
    twin = Memory()
    golden = UartBridge(twin, 16)
    answers = 0
    for _ in range(150 * volume):
        piece = random_piece(rng)
        expected = bytearray()
        spoiled = rng.randrange(len(piece)) if rng.random() < 0.1 else None
        for n, byte in enumerate(piece):
            rtl.send(byte, bad=n == spoiled)
            if n == spoiled:
                golden.damaged()
            else:
                expected += golden.receive(byte)
        rtl.settle()
        if rng.random() < 0.3:
            rtl.pause(_QUIET)
            golden.silence()
        assert rtl.take() == expected
        assert memory.log == twin.log
        answers += len(expected)
    rtl.pause(_QUIET)
    golden.silence()
    whole = read(Window.ID.address, 6)
    assert say(rtl, whole) == b"".join(golden.receive(byte) for byte in whole)
    print(f"{answers} bytes of answers, faults {golden.window.faults}")


def test_bytes_without_room_are_counted_and_nothing_of_their_command_is_done(
    memory: Memory, rtl: UartRtl
) -> None:
    for byte in read(0x40, 60):
        rtl.send(byte)
    for _ in range(12):  # while 240 bytes of answer leave, 120 more come
        for byte in write(0x80, 1):
            rtl.send(byte)
    rtl.settle()
    assert len(rtl.take()) == 240
    rtl.pause(_QUIET)
    assert faults(rtl)["overflow"] >= 1
    assert 0 < len(memory.log) < 12
    assert set(memory.log) == {(0x80, 1)}
    memory.log.clear()
    say(rtl, write(0x44, 9))
    assert memory.log == [(0x44, 9)]


@pytest.mark.parametrize("how", ["deaf", "mute"])
def test_a_bus_that_does_not_answer_holds_nobody(memory: Memory, rtl: UartRtl, how: str) -> None:
    setattr(rtl, how, True)
    assert say(rtl, read(0x10)) == b""
    rtl.pause(BUS_TIMEOUT_CYCLES)
    rtl.settle()
    assert rtl.take() == bytes(4)
    check = read(Window.STATUS.address)
    assert Status.of(int.from_bytes(say(rtl, check), "big")) == Status(1, 3)
    say(rtl, write(0x20, 5))  # not begun while the bus owes an answer
    assert Status.of(int.from_bytes(say(rtl, check), "big")) == Status(2, 3, write=True)
    setattr(rtl, how, False)
    rtl.settle()
    say(rtl, write(0x20, 6))
    assert Status.of(int.from_bytes(say(rtl, check), "big")) == Status(3, 0, write=True)
    assert memory.log == [(0x20, 6)]
    assert say(rtl, read(0x20)) == (6).to_bytes(4, "big")


def test_a_command_that_stops_is_forgotten(memory: Memory, rtl: UartRtl) -> None:
    for length in (1, 3, 9):
        assert say(rtl, write(0x20, 3)[:length]) == b""
        rtl.pause(_QUIET)
    assert say(rtl, read(Window.ID.address)) == BRIDGE_ID.to_bytes(4, "big")
    assert faults(rtl) == {"framing": 0, "timeout": 3, "command": 0, "overflow": 0}
    assert memory.log == []


def test_the_driver_through_the_rtl(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """``uart:`` at one end of a pseudo-terminal, the bridge's RTL at the other, a card behind."""
    card = open_emulator("qps=8,sets=4")
    rtl = UartRtl(TransportBus(card), seed)
    far, near = os.openpty()
    tty.setraw(near)
    tty.setraw(far)
    wake, end = os.pipe()

    def run() -> None:
        while True:
            ready, _, _ = select.select([far, wake], [], [], 0.02)
            if wake in ready:
                return
            for byte in os.read(far, 4096) if ready else b"":
                rtl.send(byte)
            if not ready:
                rtl.pause(_QUIET)  # the line's clock is not the wall's
            rtl.settle()
            said = rtl.take()
            if said:
                os.write(far, said)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with Device.open(f"uart:{os.ttyname(near)}@4000000") as device:
            assert device.identity.contract_hash
            device.apply_preset("precog")
            device.qp(3).configure(preset="precog", enable=True, algorithm="pid")
            card.decide(np.array([[3, 5000, 9]]))
            assert device.qp(3).status().samples == 1
            with pytest.raises(BusError, match="SLVERR"):
                device.transport.read32(0x7C)
            with pytest.raises(BusError, match="DECERR"):
                device.transport.write32(0x10_0000, 1)
            rtl.mute = True
            with pytest.raises((BusError, DeviceError)):
                device.transport.read32(0)
            rtl.mute = False
            assert device.qp(3).status().samples == 1
    finally:
        os.write(end, b"!")
        thread.join()
        rtl.close()
        for descriptor in (far, near, wake, end):
            os.close(descriptor)
