"""The count of senders in a whole NIC: the same host software on RTL and golden device."""

import random
from collections.abc import Iterator

import pytest

from precog_host.driver.senders import SendersDriver
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, mutate, packet
from .law_cards import CONFIG
from .packet_bench import TICK_PS, Pair, open_pair, same_numbers

pytestmark = pytest.mark.xdist_group("law_packet_nic")

_EPOCH_TICKS = 1 << 16


@pytest.fixture
def pair() -> Iterator[Pair]:
    with open_pair(CONFIG) as opened:
        for path in opened.paths():
            for slot in range(4):
                path.bind(slot, "10.1.200.77", remote_qp=B_QP + slot, local_qp=A_QP + slot)
        yield opened


def _drivers(pair: Pair) -> tuple[SendersDriver, SendersDriver]:
    assert pair.rtl.senders is not None
    assert pair.golden.senders is not None
    return pair.rtl.senders, pair.golden.senders


def _same(pair: Pair) -> None:
    rtl, golden = _drivers(pair)
    assert rtl.parameters() == golden.parameters()
    assert rtl.count() == golden.count()
    assert rtl.own() == golden.own()
    assert rtl.counters() == golden.counters()
    for slot in range(4):
        assert rtl.told(slot) == golden.told(slot)
    same_numbers(pair)


def _within_an_epoch(pair: Pair) -> None:
    """Wait at the end of one: the golden device hears of time by packets only."""
    assert pair.emulator.packets is not None
    left = _EPOCH_TICKS - pair.nic.block.cycles % _EPOCH_TICKS
    if left < 20_000:
        pair.nic.block.tick(left + 50)
        pair.emulator.packets.sweep(pair.nic.block.cycles)


def test_packets_count_and_say_so(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    for driver in _drivers(pair):
        epoch_us = _EPOCH_TICKS * TICK_PS / 1e6
        driver.set_parameters(say=True, heed=True, own=False, epoch_us=epoch_us, least=0)
    peer = Card(4, CardConfig(senders=True))
    assert peer.senders is not None
    peer.senders.config = SendersConfig(say=True)
    for slot in range(4):
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
    for n in range(60):
        _within_an_epoch(pair)
        slot = rng.randrange(4)
        if rng.random() < 0.5:
            there = packet(bytes(64), opcode=0x01, psn=n, bth={"dqpn": B_QP + slot, "ackreq": 1})
            peer.receive(pair.transmit(there), n, n)
            back = packet(
                opcode=0x11,
                psn=n,
                back=True,
                bth={"dqpn": A_QP + slot},
                aeth={"syndrome": 0x1F, "msn": n},
            )
        else:
            back = packet(bytes(64), opcode=0x01, psn=n, back=True, bth={"dqpn": A_QP + slot})
        sent = peer.transmit(back, n, n).frame
        pair.receive(mutate(rng, sent) or b"\0" if rng.random() < 0.2 else sent)
        if n % 10 == 0:
            _within_an_epoch(pair)
            _same(pair)
        if n == 30:
            assert any(_drivers(pair)[1].told(slot).most for slot in range(4))
            for driver in _drivers(pair):
                driver.set_parameters(own=True)
        if n == 40:
            for device in (pair.rtl, pair.golden):
                device.reset.begin(["rtt"])
    _, golden = _drivers(pair)
    counters = golden.counters()
    assert counters["joined"] > 4
    assert counters["risen"] >= 3
    assert counters["outnumbered"] > 0
    for driver in _drivers(pair):
        driver.believe(3, 9)
    assert golden.told(3).believed
    _same(pair)
