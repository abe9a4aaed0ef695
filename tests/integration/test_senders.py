"""The receiver's word about its senders: RTL against the golden card, friendly and hostile."""

import random
from collections import Counter

import pytest

from precog_models.packet.card import CardConfig
from precog_models.packet.senders import SendersConfig, level_of
from precog_models.packet.shim import decode
from precog_sim.rtl.card_pair import CardPair
from precog_spec.frames.cps import SHIM, Mode, ShimFault

from ..models.packet.frames import (
    A_ADDRESS,
    B_ADDRESS,
    mutate,
    packet,
    passing,
    synthetic,
)
from .packet_bench import SHIM_AT

SLOTS = 16
_CONFIG = CardConfig(senders=True)
_OWN, _PEER = 0x100, 0x900  # and slot: QP numbers of A and of B


def _cards(
    width: int, seed: int, *, relaxed: bool = False, own: bool = False
) -> tuple[CardPair, CardPair]:
    """Hosts A and B with a connection in each slot; at A the last one's is off."""
    made = []
    for n, peer in enumerate((B_ADDRESS, A_ADDRESS)):
        pair = CardPair.build(width, SLOTS, _CONFIG, seed + n, relaxed=relaxed)
        for slot in range(SLOTS):
            numbers = (_PEER + slot, _OWN + slot)
            mode = Mode.OFF if n == 0 and slot == SLOTS - 1 else Mode.S
            remote, local = numbers if n == 0 else reversed(numbers)
            pair.add(slot, peer, remote, local, mode=mode, destination=slot % 4)
        pair.senders(SendersConfig(say=True, heed=True, own=own, epoch=4, least=1000, hold=100_000))
        made.append(pair)
    return made[0], made[1]


def _data(slot: int, psn: int, size: int = 64, opcode: int = 0x01) -> bytes:
    bth = {"dqpn": _PEER + slot, "ackreq": 1}
    return packet(bytes(size), opcode=opcode, psn=psn, bth=bth)


def _ack(slot: int, psn: int, syndrome: int = 0x1F) -> bytes:
    kind = {"syndrome": syndrome, "msn": psn}
    return packet(opcode=0x11, psn=psn, back=True, bth={"dqpn": _OWN + slot}, aeth=kind)


def _write(slot: int, psn: int, announced: int, size: int = 64) -> bytes:
    reth = bytes(12) + announced.to_bytes(4, "big")
    bth = {"dqpn": _PEER + slot}
    return packet(reth + bytes(size), opcode=0x06, psn=psn, bth=bth)


def _level(frame: bytes) -> int:
    shim = decode(frame[SHIM_AT : SHIM_AT + SHIM.size])[1]
    assert shim is not None
    return shim.senders


def _end(*pairs: CardPair) -> None:
    for pair in pairs:
        pair.close()
        assert not pair.differences, "\n".join(pair.differences[:5])


@pytest.mark.xdist_group("card-64")
@pytest.mark.parametrize("relaxed", [False, True])
def test_every_sender_hears_of_an_incast(relaxed: bool, seed: int, volume: int) -> None:
    """Each queue pair's first packet of data; ACKs say 1, 2, 2, 3..; two epochs later all is over.

    Laws hear of each rise once.
    """
    if relaxed and volume == 1:
        pytest.skip("only with --volume: a library takes a minute to build")
    a, b = _cards(64, seed, relaxed=relaxed)
    t, heard = 1 << 20, []
    for slot in range(SLOTS - 1):
        there = a.transmit(_data(slot, 7), t, t)
        b.receive(there.frame, t + 2, t + 2)
        back = b.transmit(_ack(slot, 7), t + 4, t + 4)
        assert _level(back.frame) == level_of(slot + 1)
        heard.append(a.receive(back.frame, t + 6, t + 6).senders)
        t += 10
    assert heard == [level_of(n + 1) or None for n in range(SLOTS - 1)]
    there = a.transmit(_data(0, 8), t, t)
    b.receive(there.frame, t, t)
    back = b.transmit(_ack(0, 8), t, t)
    assert a.receive(back.frame, t, t).senders == 4
    t += 2 << 12
    assert _level(b.transmit(_ack(0, 8), t, t).frame) == 0
    _end(a, b)


@pytest.mark.xdist_group("card-64")
def test_what_may_not_act_says_nothing(seed: int) -> None:
    """A wrong CRC, a wrong ICRC, a QP that is off, a strange peer or one that is not enabled, a PSN
    that is not in flight, a reserved syndrome, an old ACK again: no level is heard, none of them is
    counted."""
    a, b = _cards(64, seed)
    t = 1 << 20
    for slot in range(SLOTS - 1):
        b.receive(a.transmit(_data(slot, 7), t, t).frame, t, t)
    good = b.transmit(_ack(1, 7), t, t).frame
    lies = {
        "CRC": bytes(x ^ (n == SHIM_AT + 1) * 0x0F for n, x in enumerate(good)),
        "ICRC": good[:-1] + bytes([good[-1] ^ 1]),
        "PSN": b.transmit(_ack(1, 900), t, t).frame,
        "syndrome": b.transmit(_ack(1, 7, 0x40), t, t).frame,
        "stranger": bytes(x ^ (n == 29) for n, x in enumerate(good)),
    }
    for name, frame in lies.items():
        assert a.receive(frame, t, t).senders is None, name
    a.enable(1, enable=False)
    assert a.receive(good, t, t).senders is None
    a.enable(1, enable=True)
    assert a.receive(good, t, t).senders == 4
    a.transmit(_data(1, 8), t, t)
    a.receive(b.transmit(_ack(1, 8), t, t).frame, t, t)
    t += (1 << 30) + (5 << 12)  # longer than HOLD: that the PSN is old keeps it out now
    heard = a.golden.senders.heard if a.golden.senders else 0
    assert a.receive(good, t, t).senders is None
    assert a.golden.senders is not None
    assert a.golden.senders.heard == heard
    a.transmit(_data(SLOTS - 1, 3), t, t)
    off = b.transmit(_ack(SLOTS - 1, 3), t, t).frame
    assert len(off) > len(_ack(SLOTS - 1, 3))
    assert a.receive(off, t, t).received.fault is ShimFault.UNTRUSTED
    assert a.golden.senders.heard == heard
    _end(a, b)


@pytest.mark.xdist_group("card-64")
def test_short_messages_do_not_count(seed: int) -> None:
    a, b = _cards(64, seed)
    t = 1 << 20
    counts = []
    assert b.golden.senders is not None
    for slot, frame in enumerate(
        (
            _write(0, 1, 999),
            _write(1, 1, 1000),
            _data(2, 1, 64, 0x04),
            _data(3, 1, 1024, 0x04),
            _data(0, 2, 1024, 0x07),
            _data(1, 2, 1024, 0x07),
            _data(4, 1, 64, 0x00),
            _data(5, 1, 0, 0x00),
        )
    ):
        b.receive(a.transmit(frame, t + slot, t + slot).frame, t + slot, t + slot)
        counts.append(b.golden.senders.count(t + slot))
    assert counts == [0, 1, 1, 2, 2, 2, 3, 3]
    _end(a, b)


@pytest.mark.xdist_group("card-64")
def test_a_sender_with_many_flows_of_its_own_heeds_no_level(seed: int) -> None:
    """Eight queue pairs send to B. A heeds that while four of them are its own, and not with five.

    Two epochs without data are the end of its flows.
    """
    a, b = _cards(64, seed, own=True)
    t, heard = 1 << 20, []
    assert a.golden.senders is not None
    for slot in range(8):  # some other sender's
        b.receive(a.golden.transmit(_data(slot, 7), t, t).frame, t, t)
    for slot in range(8):
        a.golden.senders.reset(slot)
    for slot in range(5):
        a.transmit(_write(slot, 8, 999), t, t)
        a.transmit(_data(slot, 9), t, t)
        assert a.golden.senders.own(t) == slot + 1
        heard.append(a.receive(b.transmit(_ack(slot, 9), t, t).frame, t, t).senders)
    assert heard == [3, 3, 3, 3, None]
    a.transmit(_write(6, 8, 999), t, t)
    a.transmit(_data(6, 9, 0), t, t)
    assert a.golden.senders.own(t) == 5
    t += 2 << 12
    a.transmit(_data(6, 10, 0), t, t)
    assert a.golden.senders.own(t) == 0
    _end(a, b)


@pytest.mark.parametrize(
    "width", [pytest.param(w, marks=pytest.mark.xdist_group(f"card-{w}")) for w in (64, 512)]
)
def test_any_packets(width: int, seed: int, volume: int) -> None:
    """Random streams, mutated on the way; registers, enables and resets change; time jumps."""
    if width == 512 and volume == 1:
        pytest.skip("only with --volume: a library takes a minute to build")
    rng = random.Random(seed)
    a, b = _cards(width, seed)
    pool = list((synthetic(rng) | passing(rng)).values())
    t, psn, levels, news = 1 << 20, 0, Counter[int](), 0
    for _ in range(300 * volume):
        t += rng.choice((5, 50, 500, 5000, 20_000))
        there, back = (a, b) if rng.random() < 0.8 else (b, a)
        slot, psn = rng.randrange(SLOTS), psn + 1
        size = rng.choice((0, 1, 64, 1000, 1024))
        if there is a:
            frame = rng.choice(
                (
                    _data(slot, psn, size, rng.choice((0, 1, 2, 4, 7, 8, 0x0E))),
                    _write(slot, psn, rng.choice((0, 999, 1000, 1 << 31))),
                    rng.choice(pool),
                )
            )
        else:
            syndrome = rng.choice((*[0x1F] * 8, 0x60, 0x40))
            frame = _ack(slot, rng.choice((psn, psn - 1, psn - 30)) % (1 << 24), syndrome)
        sent = there.transmit(frame, t, t).frame
        if there is b and len(sent) > len(frame):
            levels[_level(sent)] += 1
        if rng.random() < 0.2:
            sent = mutate(rng, sent) or b"\0"
        arrived = back.receive(sent, t + 3, t + 3)
        news += arrived.senders is not None
        kind = rng.random()
        if kind < 0.05:
            rng.choice((a, b)).reset(slot)
        elif kind < 0.1:
            config = SendersConfig(
                say=rng.random() < 0.9,
                heed=rng.random() < 0.9,
                own=rng.random() < 0.5,
                epoch=rng.choice((4, 4, 8)),
                least=rng.choice((0, 1000)),
                hold=rng.choice((0, 5000, 100_000)),
            )
            rng.choice((a, b)).senders(config)
        elif kind < 0.12:
            rng.choice((a, b)).enable(rng.randrange(4), enable=rng.random() < 0.8)
        for pair in (a, b):
            pair.rtl.block.tick(4 * SLOTS)
    assert len(levels) > 2
    assert news
    _end(a, b)
