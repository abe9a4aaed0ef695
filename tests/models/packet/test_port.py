"""Bytes that senders have announced: the golden model against a list of messages."""

import random

import pytest

from precog_models.measure.profiler import Profiler
from precog_models.packet.parser import Descriptor
from precog_models.packet.port import PortConfig, PortEvent, PortQueue
from precog_spec.contract import QueueEvent
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.registers.port import PORT_BITS, most_bits, port_parameters

_MOST = 50_000
_EPOCH = 256
_FIRST, _MIDDLE, _LAST, _ONLY, _SEND = 0x06, 0x07, 0x08, 0x0A, 0x04


def _packet(opcode: int, payload: int = 1000, announced: int = 0) -> Descriptor:
    return Descriptor(
        Direction.RX,
        error=False,
        shim=False,
        reason=Reason.NONE,
        opcode=opcode,
        payload=payload,
        dma_length=announced,
    )


def _port(slots: int = 4, most: int = _MOST) -> tuple[PortQueue, list[PortEvent]]:
    port, events = PortQueue(slots), []
    port.config = PortConfig(enable=True, epoch=0, most=most)
    port.use = events.append
    port.pass_time(0)
    return port, events


def _sizes(events: list[PortEvent]) -> list[tuple[QueueEvent, int]]:
    made = [(event.kind, event.size) for event in events]
    events.clear()
    return made


def test_a_message_arrives_when_it_is_announced_and_departs_as_it_comes() -> None:
    port, events = _port()
    port.heard(1, _packet(_FIRST, 1000, 2500), 5)
    assert _sizes(events) == [(QueueEvent.ARRIVAL, 2500), (QueueEvent.DEPARTURE, 1000)]
    port.heard(1, _packet(_MIDDLE), 6)
    port.heard(1, _packet(_LAST, 500), 7)
    assert [event.t for event in events] == [6, 7]
    assert _sizes(events) == [(QueueEvent.DEPARTURE, 1000), (QueueEvent.DEPARTURE, 500)]
    assert port.announced == 0
    # What nobody announced is no queue.
    port.heard(1, _packet(_SEND), 8)
    assert _sizes(events) == [(QueueEvent.ARRIVAL, 1000), (QueueEvent.DEPARTURE, 1000)]
    port.heard(1, _packet(0x11, 0), 9)
    assert events == []


def test_a_rest_is_withdrawn_by_the_next_message_a_reset_and_silence() -> None:
    port, events = _port()
    port.heard(0, _packet(_FIRST, 1000, 5000), 0)
    events.clear()
    port.heard(0, _packet(_FIRST, 1000, 3000), 1)
    assert _sizes(events) == [(QueueEvent.ARRIVAL, 3000), (QueueEvent.DEPARTURE, 5000)]
    port.reset(0)
    assert _sizes(events) == [(QueueEvent.DEPARTURE, 2000)]
    port.heard(0, _packet(_FIRST, 1000, 5000), _EPOCH - 1)
    events.clear()
    port.pass_time(2 * _EPOCH - 1)
    assert port.announced == 4000
    port.pass_time(2 * _EPOCH)
    assert events == [PortEvent(QueueEvent.DEPARTURE, 4000, _EPOCH - 1)]
    assert port.announced == 0


@pytest.mark.parametrize("changed", [PortConfig(most=9), PortConfig(enable=True, epoch=3)])
def test_another_beginning_withdraws_all(changed: PortConfig) -> None:
    port, events = _port()
    for slot in (2, 1):
        port.heard(slot, _packet(_FIRST, 10, 20 + slot), 0)
    events.clear()
    port.config = changed
    assert _sizes(events) == [(QueueEvent.DEPARTURE, 11), (QueueEvent.DEPARTURE, 12)]
    port.heard(0, _packet(_FIRST, 10, 20), 0)
    assert bool(events) == changed.enable


def test_a_liar_adds_no_more_than_the_most() -> None:
    port, _ = _port()
    for _ in range(3):
        port.heard(3, _packet(_ONLY, 1, 0xFFFF_FFFF), 0)
        assert port.announced == _MOST - 1
    port.heard(3, _packet(_MIDDLE, 0xFFFF), 0)
    assert port.announced == 0


def test_the_profiler_holds_the_sum_and_no_more(seed: int) -> None:
    """Of all rests, each at most `most`; nothing departs that has not arrived."""
    rng = random.Random(seed)
    port, _ = _port()
    profiler = Profiler(8)
    sums: set[int] = set()

    def use(event: PortEvent) -> None:
        if event.kind == QueueEvent.DEPARTURE:
            assert event.size <= profiler.read(5)["occupancy"]
        profiler.observe(5, event.kind, event.size, event.t)

    port.use = use
    t = 0
    for _ in range(3000):
        t += rng.choice((0, 1, 5, 300))
        port.pass_time(t)
        if rng.random() < 0.02:
            port.reset(rng.randrange(4))
        opcode = rng.choice((_FIRST, _MIDDLE, _MIDDLE, _LAST, _ONLY, _SEND, 0x11))
        size = rng.choice((0, 1, 1000, 4096))
        announced = rng.choice((0, 999, 20_000, 0xFFFF_FFFF))
        port.heard(rng.randrange(4), _packet(opcode, size, announced), t)
        assert 0 <= port.announced <= 4 * _MOST
        assert profiler.read(5)["occupancy"] == port.announced
        sums.add(port.announced)
    assert max(sums) > 2 * _MOST
    assert 0 in sums


@pytest.mark.parametrize("qps", [2, 16, 64, 128, 1024, 1 << 15])
def test_all_rests_fit(qps: int) -> None:
    assert qps * ((1 << most_bits(qps)) - 1) < 1 << PORT_BITS
    (most,) = port_parameters(qps)[2].fields
    assert most.bits == most_bits(qps)
    assert most.reset < 1 << most.bits
    port = PortQueue(qps)
    with pytest.raises(ValueError, match=r"most must be 0\.\.\d+, not 16777216"):
        port.config = PortConfig(most=1 << 24)
