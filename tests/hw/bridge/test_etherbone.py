"""The Etherbone bridge in RTL is the golden one, payload for payload; no wedge."""

import random
import socket
import threading
from collections.abc import Iterator

import pytest
from tests.models.bridge.test_uartbone import Memory

from precog_host.device import Device
from precog_host.emulator.opening import open_emulator
from precog_host.serve import TransportBus
from precog_host.transport import BusError
from precog_models.bridge.etherbone import EtherboneBridge, Record, decode, encode
from precog_spec.frames.bridge import EtherboneFault, Status, Window, unpack_faults

from .bench import EtherboneRtl

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("uart-bridge")]

_ADDRESSES = (0x10, 0x40, 0xFFC, 0x1000, 0x8000, 0x1_0000, 0x41, 0xFFFF_FFFC)


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def rtl(memory: Memory, seed: int) -> Iterator[EtherboneRtl]:
    made = EtherboneRtl(memory, seed)
    yield made
    made.close()


def random_payload(rng: random.Random, tickets: list[int]) -> bytes:
    """A request, one that was there before, a probe, a broken one or garbage."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randrange(1, 40))
    if rng.random() < 0.05:
        return bytes.fromhex("4e6f1144") + rng.randbytes(rng.choice((0, 3, 4, 8)))
    window = [register.address for register in Window]
    kinds = rng.choices((0, 1, 2, 3, rng.randrange(60, 70)), k=2)
    ticket = 0
    if rng.random() < 0.7:
        tickets.append(rng.choice((1, 2)) << 16 | (0xFFF0 + len(tickets)) & 0xFFFF)
        ticket = rng.choice(tickets[-3:])
    payload = encode(
        Record(
            rng.choice((*_ADDRESSES, Window.DATA.address)),
            tuple(rng.getrandbits(32) for _ in range(kinds[0])),
            ticket,
            tuple(rng.choice((*_ADDRESSES, *window)) for _ in range(kinds[1])),
        )
    )
    if rng.random() < 0.15:
        spoiled = bytearray(payload)
        spoiled[rng.randrange(12)] ^= 1 << rng.randrange(8)
        payload = bytes(spoiled)
    if rng.random() < 0.1:
        return payload[: rng.randrange(1, len(payload))]
    return payload + rng.randbytes(rng.randrange(1, 5)) if rng.random() < 0.05 else payload


def test_the_bridge_is_the_golden_one(
    memory: Memory, rtl: EtherboneRtl, seed: int, volume: int
) -> None:
    rng = random.Random(seed)
    twin = Memory()
    golden = EtherboneBridge(twin, 16)
    tickets: list[int] = []
    answers = 0
    for _ in range(200 * volume):
        payload = random_payload(rng, tickets)
        answer = rtl.receive(payload)
        assert answer == golden.receive(payload), payload.hex()
        assert memory.log == twin.log
        answers += bool(answer)
    every = encode(Record(reads=tuple(register.address for register in Window)))
    assert rtl.receive(every) == golden.receive(every)
    print(f"{answers} answers, faults {golden.window.faults}")


def test_a_damaged_payload_is_dropped(memory: Memory, rtl: EtherboneRtl) -> None:
    request = encode(Record(0x40, (5,), 9, (0x40,)))
    assert rtl.receive(request, error=True) == b""
    assert memory.log == []
    assert decode(rtl.receive(request)).writes == (5,)
    faults = decode(rtl.receive(encode(Record(reads=(Window.FAULTS.address,))))).writes[0]
    assert unpack_faults(faults, EtherboneFault)["length"] == 1


@pytest.mark.parametrize("length", [1, 3, 4, 2061, 5000])
def test_a_payload_of_any_length_is_taken(memory: Memory, rtl: EtherboneRtl, length: int) -> None:
    whole = encode(Record(0x40, tuple(range(64)), 0, (0x40,)))
    assert rtl.receive((whole + bytes(length))[:length]) == b""
    assert decode(rtl.receive(whole)).writes == (0,)
    assert len(memory.log) == 64


def test_a_bus_that_does_not_answer_holds_nobody(memory: Memory, rtl: EtherboneRtl) -> None:
    status = Window.STATUS.address
    rtl.mute = True
    answer = decode(rtl.receive(encode(Record(0x20, (5,), 0, (0x10, status)))))
    assert answer.writes == (0, Status(2, 3).word())
    rtl.mute = False
    answer = decode(rtl.receive(encode(Record(0x24, (6,), 0, (0x24, status)))))
    assert answer.writes[0] in (0, 6)  # the late answer may still have been on its way
    answer = decode(rtl.receive(encode(Record(0x28, (7,), 0, (0x28, status)))))
    assert answer.writes == (7, Status(6, 0).word())


def test_the_driver_through_the_rtl(seed: int) -> None:
    """``udp:`` at one end of a socket, the bridge's RTL at the other, a card behind."""
    rtl = EtherboneRtl(TransportBus(open_emulator("qps=8,sets=4")), seed)
    far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far.bind(("127.0.0.1", 0))
    far.settimeout(0.05)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            try:
                request, client = far.recvfrom(2048)
            except TimeoutError:
                continue
            answer = rtl.receive(request)
            if answer:
                far.sendto(answer, client)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with Device.open(f"udp:127.0.0.1:{far.getsockname()[1]}?timeout_ms=2000") as device:
            device.apply_preset("precog")
            device.qp(3).configure(preset="precog", enable=True, algorithm="pid")
            assert device.qp(3).status().enable
            with pytest.raises(BusError, match="SLVERR"):
                device.transport.read32(0x7C)
            with pytest.raises(BusError, match="DECERR"):
                device.transport.write32(0x10_0000, 1)
    finally:
        ended.set()
        thread.join()
        far.close()
        rtl.close()
