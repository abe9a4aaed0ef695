"""A driver that is interrupted at any write leaves a card on which another one ends the work."""

import random
from collections.abc import Callable

import pytest
from tests.command_line import Run

from precog_host import pairs
from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.opening import open_emulator
from precog_models.forecast.forecaster import Forecaster
from precog_models.image import Image, pretrained
from precog_spec.contract import HeadKind

from .support import keep_emulator

CARD = "qps=2,sets=2,width=64,forecast=1"


class InterruptedLink:
    """A card whose host is interrupted before its `left`-th write from now on."""

    def __init__(self, card: Emulator) -> None:
        self.card, self.left = card, 0

    def read32(self, address: int) -> int:
        return self.card.read32(address)

    def write32(self, address: int, value: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        self.card.write32(address, value)

    def close(self) -> None:
        pass


def bind(device: Device, slot: int) -> None:
    assert device.packet is not None
    device.packet.bind(slot, "10.0.0.9", remote_qp=100 + slot, local_qp=200 + slot)


def interrupted(card: Emulator, n: int, work: Callable[[Device], None]) -> bool:
    """Whether `work` was interrupted before its `n`-th write, its table of slots read before."""
    link = InterruptedLink(card)
    device = Device(link)
    assert device.packet is not None
    device.packet.table()
    link.left = n
    try:
        work(device)
    except KeyboardInterrupt:
        return True
    return False


def unbind(device: Device) -> None:
    assert device.packet is not None
    device.packet.unbind(1)


def keys_of(card: Emulator, slot: int) -> int:
    packet = Device(card).packet
    assert packet is not None
    return [owner for _, owner in packet.table().entries()].count(slot)


def settings_of(card: Emulator) -> tuple[list[int], float]:
    forecast = Device(card).forecast
    assert forecast is not None
    return forecast.knots(HeadKind.QUEUE).tolist(), forecast.parameters()["threshold_bin"]


def wanted(model: Image) -> tuple[list[int], float]:
    settings = Forecaster(model).settings
    return settings.knots.tolist(), settings.threshold_bin


def test_a_binding_of_which_one_key_is_there_is_made_or_taken_away(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = set()
    n = 1
    while True:
        card = keep_emulator(monkeypatch, CARD)
        bind(Device(card), 0)
        if not interrupted(card, n, lambda device: bind(device, 1)):
            break
        left.add(keys_of(card, 1))
        if keys_of(card, 1):  # no other connection gets the slot meanwhile
            ran = run("packet", "binding", "add", "1", "10.0.0.7", "--remote-qp=3", "--local-qp=4")
            assert "slot must be free, not in use like 1; remove it first" in ran.err
        if n % 2 and keys_of(card, 1):
            assert run("packet", "binding", "del", "1").status == 0
            assert keys_of(card, 1) == 0
        bind(Device(card), 1)
        packet = Device(card).packet
        assert packet is not None
        assert [(b.slot, b.remote_qp, b.local_qp) for b in packet.bindings()] == [
            (slot, 100 + slot, 200 + slot) for slot in (0, 1)
        ]
        n += 1
    assert left >= {0, 1}, "no interruption left one key"


def test_a_binding_that_is_half_taken_away_goes_with_its_queue_pair() -> None:
    left = set()
    n = 1
    while True:
        card = open_emulator(CARD)
        for slot in (0, 1):
            bind(Device(card), slot)
        if not interrupted(card, n, unbind):
            break
        left.add(keys_of(card, 1))
        if keys_of(card, 1):
            pairs.remove(Device(card), [1])
        assert (keys_of(card, 0), keys_of(card, 1)) == (2, 0)
        bind(Device(card), 1)
        assert keys_of(card, 1) == 2
        n += 1
    assert left == {0, 1, 2}


def test_a_queue_model_that_does_not_go_live_leaves_the_settings_of_the_one_before() -> None:
    old, new = pretrained("queue-1rtt"), pretrained("queue-4rtt")
    first = 512 + 5  # writes until the set is checked, and the settings' first one
    seen = set()
    for n in (*range(first, first + 340, 17), *range(first + 195, first + 205)):
        card = open_emulator("qps=2,sets=2,width=64,forecast=1")
        Device(card).model.load(old, slot=1, queue=True)
        before = settings_of(card)
        interrupted(card, n, lambda device: device.model.load(new, slot=1, queue=True))
        mapped = Device(card).model.sets()[1].slots == (1,)
        seen.add(mapped)
        assert settings_of(card) == (wanted(new) if mapped else before)
    assert seen == {False, True}
    assert before != wanted(new)


def test_two_drivers_in_turns_keep_each_other_s_bindings(seed: int) -> None:
    rng = random.Random(seed)
    card = open_emulator("qps=8,sets=2,width=64")
    drivers = [Device(card), Device(card)]
    bound: dict[int, int] = {}
    for _ in range(60):
        packet, slot, remote_qp = rng.choice(drivers).packet, rng.randrange(8), rng.randrange(20)
        assert packet is not None
        if slot in bound and rng.random() < 0.5:
            packet.unbind(slot)
            del bound[slot]
        elif slot in bound or remote_qp in bound.values():
            with pytest.raises(ValueError, match=r"must be free|must belong to one slot"):
                packet.bind(slot, "10.0.0.9", remote_qp=remote_qp, local_qp=100 + remote_qp)
        else:
            packet.bind(slot, "10.0.0.9", remote_qp=remote_qp, local_qp=100 + remote_qp)
            bound[slot] = remote_qp
    seen = Device(card).packet
    assert seen is not None
    assert {b.slot: (b.remote_qp, b.local_qp) for b in seen.bindings()} == {
        slot: (number, 100 + number) for slot, number in bound.items()
    }
