"""Two cards: what the collector measures is the path, thesis (1) exactly; CNPs answer marks."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from scapy.contrib.roce import cnp as roce_cnp

from precog_models.packet.card import Card, CardConfig, ticks_from_ns
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.parser import parse
from precog_sim.backtoback.frames import with_ce
from precog_spec.contract import Outcome
from precog_spec.frames.cps import Mode
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import BTH
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


ACK: dict[str, Any] = {"opcode": 0x11, "back": True, "aeth": {"syndrome": 0x1F, "msn": 7}}
ECHOES = CardConfig(cps=CpsConfig(echo_enabled=True), places=8)


def becn(frame: bytes) -> int:
    parsed = parse(frame, Direction.TX)
    return BTH.get(frame, parsed.bth, "becn")


def marked(card: Card) -> None:
    """A packet with CE arrives from A."""
    card.receive(packet(bytes(64), ip={"tos": 3}), 5, 5)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("checksum", [0, None])
def test_a_mark_is_echoed_once(mode: Mode, checksum: int | None) -> None:
    """Scapy makes the acknowledgement that it must be; two marks are one echo."""
    other, b = host("B", CardConfig()), host("B", ECHOES)
    for card in (b, other):
        card.cps.slots[SLOT4].mode = mode
    made = [packet(psn=n, udp={"chksum": checksum}, bth={"becn": n != 2}, **ACK) for n in range(4)]
    plain = [packet(psn=n, udp={"chksum": checksum}, **ACK) for n in range(4)]
    wanted = [other.transmit(frame, 9, 9).frame for frame in (made[0], plain[1], plain[2], made[3])]
    marked(b)
    marked(b)
    got = [b.transmit(plain[0], 9, 9).frame, b.transmit(plain[1], 9, 9).frame]
    got.append(b.transmit(plain[2], 9, 9).frame)
    marked(b)
    got.append(b.transmit(made[3], 9, 9).frame)  # its host has set the bit itself
    assert got == wanted
    arrived = host("A", CardConfig()).receive(got[0], 20, 20)
    assert arrived.icrc_ok


def test_the_peers_program_hears_the_mark() -> None:
    a, b = host("A", ECHOES), host("B", ECHOES)
    assert a.collector.ring is not None
    a.collector.ring.listen(SLOT4, on=True)
    heard = []
    for psn, tos in enumerate((2, 3, 2)):
        sent = a.transmit(packet(bytes(64), psn=psn, bth={"ackreq": 1}, ip={"tos": 2}), 100, 100)
        there = sent.frame if tos == 2 else with_ce(sent.frame)
        b.receive(there, 200, 200)
        back = b.transmit(packet(psn=psn, **ACK), 300, 300)
        ack = a.receive(back.frame, 400, 400).ack
        assert ack is not None
        heard.append(ack.marked)
    assert heard == [False, True, False]


@pytest.mark.parametrize(
    "what", ["off", "damaged", "error", "stranger", "unmarked", "CNP", "answer", "reset"]
)
def test_what_is_not_echoed(what: str) -> None:
    config = replace(ECHOES, cps=CpsConfig(echo_enabled=what != "off"))
    b = host("B", config)
    frame = packet(bytes(64), ip={"tos": 2 if what == "unmarked" else 3})
    if what == "damaged":
        frame = frame[:-5] + bytes([frame[-5] ^ 1]) + frame[-4:]
    elif what == "stranger":
        frame = packet(bytes(64), ip={"tos": 3}, bth={"dqpn": 0x777})
    elif what == "CNP":
        frame = packet(transport=roce_cnp(B_QP), ip={"tos": 3})
    elif what == "answer":
        frame = packet(**{**ACK, "back": False}, ip={"tos": 3})
    b.receive(frame, 5, 5, error=what == "error")
    if what == "reset":
        b.reset(SLOT4)
    assert not becn(b.transmit(packet(**ACK), 9, 9).frame)
    assert not b.cps.slots[SLOT4].marked


def test_who_takes_a_mark() -> None:
    """Acknowledgements of its queue pair alone; also while no mark is echoed."""
    b = host("B", ECHOES)
    b.cps.slots[SLOT4].mode = Mode.OFF
    b.add(5, A_ADDRESS, A_QP + 1, B_QP + 1, mode=Mode.OFF)
    marked(b)
    for frame in (
        packet(bytes(64), back=True),
        packet(opcode=0x10, back=True, aeth={"syndrome": 0x1F, "msn": 7}),
        packet(bth={"dqpn": A_QP + 1}, **ACK),  # of slot 5
        packet(bth={"dqpn": 0x777}, **ACK),
    ):
        assert b.transmit(frame, 9, 9).frame == frame
    b.cps.config = CpsConfig()
    assert not becn(b.transmit(packet(**ACK), 9, 9).frame)
    b.cps.config = ECHOES.cps
    assert not becn(b.transmit(packet(**ACK), 9, 9).frame)
    marked(b)
    assert becn(b.transmit(packet(bytes(8), **{**ACK, "opcode": 0x12}), 9, 9).frame)
