"""The Etherbone bridge: LiteX's datagrams byte for byte, tickets, broken datagrams."""

import random

import pytest

from precog_models.bridge.etherbone import EtherboneBridge, Record, decode, encode
from precog_spec.frames.bridge import EtherboneFault, Status, Window, is_stale

from .test_uartbone import Memory


def test_datagrams_are_litex_s() -> None:
    """What LiteX's etherbone.py makes of the examples in its test_etherbone.py, by its fields."""
    assert encode(Record(0x4000_0000, (0x1234_5678,))).hex() == (
        "4e6f104400000000" "000f0100" "40000000" "12345678"
    )  # fmt: skip
    assert encode(Record(reads=(0x4000_0000,))).hex() == (
        "4e6f104400000000" "000f0001" "00000000" "40000000"
    )  # fmt: skip


def test_write_then_read_in_one_record() -> None:
    memory = Memory()
    bridge = EtherboneBridge(memory)
    record = Record(0x20, (5, 6), 0x1_0001, (0x20, 0x24, 0x2000, Window.STATUS.address))
    assert decode(encode(record)) == record
    answer = decode(bridge.receive(encode(record)))
    assert answer == Record(0x1_0001, (5, 6, 0, Status(5, 2).word()))
    assert bridge.receive(encode(Record(0x30, (1,)))) == b""
    assert memory.log == [(0x20, 5), (0x24, 6), (0x30, 1)]
    assert decode(bridge.receive(encode(Record(reads=(0x30,))))) == Record(0, (1,))


def test_a_ticket_is_executed_once() -> None:
    memory = Memory()
    bridge = EtherboneBridge(memory)
    first = encode(Record(0x20, (5,), 0x7_FFFF, (Window.STATUS.address,)))
    later = encode(Record(0x20, (6,), 0x7_0000, (Window.STATUS.address,)))  # the count wraps
    other = encode(Record(0x20, (7,), 0x8_0001, (Window.STATUS.address,)))
    answer = bridge.receive(first)
    assert bridge.receive(first) == answer
    assert bridge.receive(later)
    assert bridge.receive(first) == b""  # a copy that was late
    assert bridge.receive(other)
    assert memory.log == [(0x20, 5), (0x20, 6), (0x20, 7)]
    assert bridge.window.faults[EtherboneFault.STALE] == 1
    assert not is_stale(5, 5)


def test_a_probe_is_answered() -> None:
    answer = EtherboneBridge(Memory()).receive(bytes.fromhex("4e6f114400000000"))
    assert answer.hex() == "4e6f124400000000"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda d: d[:-1], EtherboneFault.LENGTH),
        (lambda d: d + b"\0", EtherboneFault.LENGTH),
        (lambda d: d[:11], EtherboneFault.LENGTH),
        (lambda d: b"", EtherboneFault.LENGTH),
        (lambda d: b"\x4e\x6e" + d[2:], EtherboneFault.HEADER),
        (lambda d: d[:2] + b"\x20" + d[3:], EtherboneFault.HEADER),
        (lambda d: d[:3] + b"\x88" + d[4:], EtherboneFault.HEADER),
        (lambda d: d[:9] + b"\x07" + d[10:], EtherboneFault.PARTIAL),
        (lambda d: d[:8] + b"\x40" + d[9:], EtherboneFault.PARTIAL),
        (lambda d: encode(Record(0, (1,) * 65)), EtherboneFault.LENGTH),
    ],
)
def test_a_broken_datagram_does_nothing(change: object, fault: EtherboneFault) -> None:
    assert callable(change)
    memory = Memory()
    bridge = EtherboneBridge(memory)
    assert bridge.receive(change(encode(Record(0x20, (5,), 9, (0x20,))))) == b""
    assert memory.log == []
    assert bridge.window.faults[fault] == 1
    assert sum(bridge.window.faults) == 1


def test_garbage_never_wedges(seed: int) -> None:
    rng = random.Random(seed)
    bridge = EtherboneBridge(Memory())
    good = encode(Record(0x20, (5,), 0, (0x20,)))
    for _ in range(500):
        data = bytearray(good if rng.random() < 0.7 else rng.randbytes(rng.randrange(60)))
        for _ in range(rng.randrange(4)):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        bridge.receive(bytes(data))
        assert decode(bridge.receive(encode(Record(reads=(0x44,))))).writes == (
            bridge.window.read(0x44),
        )
