"""Two cards and the time field: what the collector measures is the path, thesis (1) exactly."""

import random

from precog_models.measure.rtt_collector import NO_TURNAROUND, Outcome, RttCollector
from precog_models.packet.cps_rx import Received, receive
from precog_models.packet.cps_tx import transmit
from precog_models.packet.wire.cps import ShimType

from .frames import SLOT4, card, packet

PSNS = 1 << 24


def turnaround(got: Received) -> int:
    """T2 - T1 in ticks of 1 ns."""
    shim = got.shim
    if shim is None or shim.type is not ShimType.ACKNOWLEDGE or shim.time is None:
        return NO_TURNAROUND
    return shim.time


def test_the_peers_turnaround_cancels(seed: int) -> None:
    """One-way delays and turnarounds at random; the two clocks have nothing in common."""
    rng = random.Random(seed)
    a, b = card("A"), card("B")
    collector = RttCollector(8, 10**7)
    clock_b = rng.getrandbits(40)
    t, first = 0, rng.randrange(PSNS)
    for n in range(300):
        psn = (first + n) % PSNS
        there, stay, back = rng.randrange(1, 5000), rng.randrange(1, 90_000), rng.randrange(1, 5000)
        t += rng.randrange(100_000, 200_000)
        sent = transmit(a, packet(bytes(64), psn=psn, bth={"ackreq": 1}), t)
        assert sent.slot == SLOT4
        assert collector.sent(sent.slot, sent.descriptor, t) == Outcome.STARTED
        receive(b, sent.frame, t + there + clock_b)
        ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": n})
        answer = transmit(b, ack, t + there + stay + clock_b)
        end = t + there + stay + back
        got = receive(a, answer.frame, end)
        assert got.slot == SLOT4
        assert collector.received(got.slot, got.descriptor, end, turnaround(got)) == there + back
    assert collector.counts[Outcome.CORRECTED] == 300
