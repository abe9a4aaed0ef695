"""The packet path in RTL against the golden card, at 8, 64 and 512 bits."""

import random

import pytest

from precog_models.packet.card import CardConfig
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.wire.cps import Mode
from precog_sim.rtl.card_pair import CardPair

from ..models.packet.frames import (
    A6_ADDRESS,
    A_ADDRESS,
    A_QP,
    B6_ADDRESS,
    B_ADDRESS,
    B_QP,
    SLOT4,
    SLOT6,
    mutate,
    packet,
    synthetic,
)

SLOTS = 16
WIDTHS = [8, 64, 512]


def cards(
    width: int, config: CardConfig, seed: int, *, mode: Mode = Mode.S, score: int | None = 37
) -> tuple[CardPair, CardPair]:
    """The cards of hosts A and B with their connections, IPv4 and IPv6."""
    made = []
    for n, (own, peer) in enumerate(((A_QP, B_QP), (B_QP, A_QP))):
        pair = CardPair.build(width, SLOTS, config, seed + n)
        four, six = ((B_ADDRESS, B6_ADDRESS), (A_ADDRESS, A6_ADDRESS))[n]
        pair.add(SLOT4, four, peer, own, mode=mode, score=score)
        pair.add(SLOT6, six, peer, own, mode=mode, score=score, destination=7)
        made.append(pair)
    return made[0], made[1]


def check(*pairs: CardPair) -> None:
    """Nothing differed."""
    for pair in pairs:
        pair.close()
        assert not pair.differences, "\n".join(pair.differences[:5])


@pytest.mark.parametrize("width", WIDTHS)
def test_every_kind_of_packet(width: int, seed: int) -> None:
    rng = random.Random(seed)
    config = CardConfig(cnp=CnpConfig(interval_ticks=2000, mode_c=True), timeout=10**6)
    a, b = cards(width, config, seed)
    t = 1000
    for name, frame in synthetic(rng).items():
        t += rng.randrange(100, 3000)
        sent = a.transmit(frame, t, t)
        arrived = b.receive(sent.frame, t + 500, t + 500)
        assert arrived.received.frame == frame, name
    assert b.golden.notification.sent > 1
    check(a, b)


@pytest.mark.parametrize(("width", "count"), [(8, 30), (64, 400), (512, 150)])
@pytest.mark.parametrize("mode", [Mode.S, Mode.R])
def test_mutated_packets(width: int, count: int, mode: Mode, seed: int) -> None:
    rng = random.Random(seed)
    config = CardConfig(
        CpsConfig(max_frame=1200, drop_malformed=rng.random() < 0.5),
        CnpConfig(interval_ticks=2000),
        tick_ps=1000,
        timeout=5000,
        any_packet=True,
    )
    a, b = cards(width, config, seed, mode=mode)
    pool = list(synthetic(rng).values())
    t = 1000
    for _ in range(count):
        t += rng.randrange(100, 3000)
        frame = mutate(rng, rng.choice(pool)) or b"\0"
        there = a.transmit(frame, t, t, error=rng.random() < 0.1).frame
        if rng.random() < 0.5 and len(there) > 14:
            there = mutate(rng, there) or b"\0"
        b.receive(there, t, t, error=rng.random() < 0.1)
    check(a, b)


def test_round_trips(seed: int) -> None:
    """RTTs of a conversation, echoes and turnarounds over two cards; PSNs wrap."""
    rng = random.Random(seed)
    a, b = cards(64, CardConfig(timeout=10**6), seed, score=12)
    t, samples, lost = 1000, 0, True
    for n in range(150):
        psn = (n - 75) % (1 << 24)
        t += rng.randrange(500, 5000)
        there = a.transmit(packet(bytes(64), psn=psn, bth={"ackreq": 1}), t, t)
        b.receive(there.frame, t + 300, t + 300)
        if rng.random() < 0.1:
            lost = True  # the ACK: the next one answers both packets
            continue
        kind = {"syndrome": rng.choice((0x1F, 0x1F, 0x1F, 0x60, 0x2E)), "msn": n}
        ack = packet(opcode=0x11, psn=psn, back=True, aeth=kind)
        stay = rng.randrange(50, 4000)
        back = b.transmit(ack, t + 300 + stay, t + 300 + stay)
        arrived = a.receive(back.frame, t + 700 + stay, t + 700 + stay)
        if arrived.rtt is not None and not lost:
            samples += 1
            assert arrived.rtt == 700
        lost = kind["syndrome"] != 0x1F
        t += stay
    assert samples > 30
    check(a, b)
