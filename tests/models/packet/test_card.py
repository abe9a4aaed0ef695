"""Two cards: what the collector measures is the path, thesis (1) exactly; CNPs answer marks."""

import random
from fractions import Fraction

import pytest

from precog_models.packet.card import Card, CardConfig, ticks_from_ns
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.parser import parse
from precog_spec.contract import Outcome
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.opcodes import CNP

from .frames import A_ADDRESS, A_QP, B_ADDRESS, B_QP, SLOT4, packet

PSNS = 1 << 24


def host(local: str, config: CardConfig) -> Card:
    """The card of host "A" or "B" with the connection to the other."""
    own = Card(8, config)
    peer, numbers = (B_ADDRESS, (B_QP, A_QP)) if local == "A" else (A_ADDRESS, (A_QP, B_QP))
    own.add(SLOT4, peer, *numbers, score=37)
    return own


@pytest.mark.parametrize("corrected", [True, False])
def test_the_peers_turnaround_cancels(seed: int, corrected: bool) -> None:
    """One-way delays and turnarounds at random; the two clocks have nothing in common."""
    rng = random.Random(seed)
    config = CardConfig(timeout=10**7, corrected=corrected)
    a, b = host("A", config), host("B", config)
    clock_b = rng.getrandbits(40)
    t, first = 0, rng.randrange(PSNS)
    for n in range(300):
        psn = (first + n) % PSNS
        there, stay, back = rng.randrange(1, 5000), rng.randrange(1, 90_000), rng.randrange(1, 5000)
        t += rng.randrange(100_000, 200_000)
        sent = a.transmit(packet(bytes(64), psn=psn, bth={"ackreq": 1}), t, t)
        at_b = t + there + clock_b
        b.receive(sent.frame, at_b, at_b)
        ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": n})
        answer = b.transmit(ack, at_b + stay, at_b + stay)
        end = t + there + stay + back
        got = a.receive(answer.frame, end, end)
        assert got.icrc_ok
        assert got.rtt == (there + back if corrected else there + stay + back)
    assert a.collector.counts[Outcome.CORRECTED] == 300 * corrected


def test_a_mark_is_answered_once() -> None:
    config = CardConfig(cnp=CnpConfig(interval_ticks=1000, mode_c=True))
    a, b = host("A", config), host("B", config)
    answers = []
    for n, t in enumerate((0, 400, 999, 1000, 1500)):
        sent = a.transmit(packet(bytes(64), psn=n, ip={"tos": 3}), t, t)
        answers.append(b.receive(sent.frame, t, t).cnp)
    assert [answer is not None for answer in answers] == [True, False, False, True, False]
    assert answers[0] is not None
    assert parse(answers[0], Direction.TX).descriptor.opcode == CNP
    arrived = a.receive(b.transmit(answers[0], 2000, 2000).frame, 2100, 2100)
    assert arrived.received.frame == answers[0]
    assert arrived.icrc_ok
    assert arrived.received.score == 37


@pytest.mark.parametrize("tick_ps", [1, 800, 1000, 3103, 4000, 8000])
def test_ticks(tick_ps: int, seed: int) -> None:
    rng = random.Random(seed)
    for ns in (0, 1, (1 << 24) - 1, *(rng.getrandbits(24) for _ in range(500))):
        assert abs(ticks_from_ns(ns, tick_ps) - Fraction(1000 * ns, tick_ps)) <= ns / 2**17 + 1
        if tick_ps == 1000:
            assert ticks_from_ns(ns, tick_ps) == ns


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"timeout must be 0\.\.4294967295 ticks, not -1"):
        CardConfig(timeout=-1)
    with pytest.raises(ValueError, match="tick_ps must be positive, not 0"):
        CardConfig(tick_ps=0)
