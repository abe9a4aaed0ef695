"""The UART bridge, byte by byte: commands as LiteX writes them, the window, broken lines."""

import random
import struct
import zlib

import pytest

from precog_models.bridge.uartbone import UartBridge
from precog_spec.frames.bridge import BRIDGE_ID, Status, UartFault, Window, unpack_faults


class Memory:
    """A bus with words below 0x1000; reads beyond are refused."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.log: list[tuple[int, int]] = []

    def read(self, address: int) -> tuple[int, int]:
        return (0, self.words.get(address, address * 3 + 1)) if address < 0x1000 else (2, 0)

    def write(self, address: int, value: int) -> int:
        if address >= 0x1000:
            return 2
        self.words[address] = value
        self.log.append((address, value))
        return 0


def say(bridge: UartBridge, data: bytes) -> bytes:
    return b"".join(bridge.receive(byte) for byte in data)


def read(address: int, words: int = 1, command: int = 2) -> bytes:
    return struct.pack(">BBI", command, words, address // 4)


def write(address: int, *words: int, command: int = 1) -> bytes:
    return struct.pack(f">BBI{len(words)}I", command, len(words), address // 4, *words)


def window(bridge: UartBridge, *registers: Window) -> list[int]:
    return [int.from_bytes(say(bridge, read(r.address)), "big") for r in registers]


def test_bursts_and_fixed_addresses() -> None:
    memory = Memory()
    bridge = UartBridge(memory)
    assert say(bridge, write(0x40, 7, 8, 9)) == b""
    assert say(bridge, read(0x40, 4)) == struct.pack(">4I", 7, 8, 9, 0x4C * 3 + 1)
    assert say(bridge, write(0x40, 1, 2, command=3)) == b""
    assert memory.log == [(0x40, 7), (0x44, 8), (0x48, 9), (0x40, 1), (0x40, 2)]
    assert say(bridge, read(0x40, 3, command=4)) == struct.pack(">3I", 2, 2, 2)


def test_the_window_says_what_became_of_the_last_access() -> None:
    bridge = UartBridge(Memory(), address_bits=16)
    assert window(bridge, Window.ID, Window.STATUS) == [BRIDGE_ID, 0]
    say(bridge, write(0x40, 0xDEADBEEF))
    status, address, data = window(bridge, Window.STATUS, Window.ADDRESS, Window.DATA)
    assert (Status.of(status), address, data) == (Status(1, 0, write=True), 0x40, 0xDEADBEEF)
    say(bridge, read(0x2000))
    assert Status.of(window(bridge, Window.STATUS)[0]) == Status(2, 2)
    say(bridge, write(0x1_0000, 5))  # beyond the bus
    assert Status.of(window(bridge, Window.STATUS)[0]) == Status(3, 3, write=True)
    say(bridge, struct.pack(">BBI", 2, 1, 0xFFFF_FFFF))  # beyond 32 bits
    assert Status.of(window(bridge, Window.STATUS)[0]) == Status(4, 3)
    say(bridge, write(Window.STATUS.address, 77))
    assert Status.of(window(bridge, Window.STATUS)[0]).done == 4
    assert window(bridge, Window.FAULTS) == [0]


def test_the_crc_is_of_both_directions() -> None:
    bridge = UartBridge(Memory())
    for _ in range(3):
        sent = read(0x10, 2)
        check = read(Window.STATUS.address, 2)
        first = say(bridge, sent)
        answer = say(bridge, check)
        assert answer[4:] == zlib.crc32(sent + first + check + answer[:4]).to_bytes(4, "big")


@pytest.mark.parametrize("garbage", [b"\x00", b"\xff" + write(0, 1), b"\x01\x00", b"\x05\x01"])
def test_after_a_byte_that_is_no_command_only_silence_helps(garbage: bytes) -> None:
    memory = Memory()
    bridge = UartBridge(memory)
    assert say(bridge, garbage + write(0x20, 3)) == b""
    assert memory.log == []
    bridge.silence()
    say(bridge, write(0x20, 3))
    assert memory.log == [(0x20, 3)]
    assert unpack_faults(window(bridge, Window.FAULTS)[0], UartFault) == {
        "framing": 0,
        "timeout": 0,
        "command": 1,
        "overflow": 0,
    }


def test_a_command_that_ends_early_is_forgotten() -> None:
    memory = Memory()
    bridge = UartBridge(memory)
    whole = write(0x20, 3, 4)
    for length in range(1, len(whole)):
        say(bridge, whole[:length])
        bridge.silence()
        bridge.silence()  # once is enough: no second fault
    assert set(memory.log) == {(0x20, 3)}  # the first word was whole in four of them
    assert len(memory.log) == 4
    faults = unpack_faults(window(bridge, Window.FAULTS)[0], UartFault)
    assert faults["timeout"] == len(whole) - 1
    bridge.damaged()
    assert say(bridge, read(0)) == b""
    bridge.silence()
    assert unpack_faults(window(bridge, Window.FAULTS)[0], UartFault)["framing"] == 1


def test_garbage_never_wedges(seed: int) -> None:
    rng = random.Random(seed)
    bridge = UartBridge(Memory())
    for _ in range(300):
        say(bridge, rng.randbytes(rng.randrange(40)))
        bridge.silence()
        assert window(bridge, Window.ID) == [BRIDGE_ID]
