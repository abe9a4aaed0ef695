"""The collector case by case, and against a plain account of a lossy connection."""

import random

import pytest

from precog_models.measure.rtt_collector import RttCollector
from precog_models.packet.parser import Descriptor
from precog_spec.contract import Fmt, Outcome
from precog_spec.frames.descriptor import Direction, Reason

SLOTS, SLOT, TIMEOUT = 4, 2, 100_000
PSNS = 1 << 24
SEND, READ, RESPONSE_FIRST, RESPONSE_MIDDLE, ACK = 0x04, 0x0C, 0x0D, 0x0E, 0x11
GOOD, RNR, SEQUENCE = 0x1F, 0x2E, 0x60


def tx(psn: int, *, opcode: int = SEND, ack_req: bool = True, length: int = 0) -> Descriptor:
    return Descriptor(
        Direction.TX, False, False, Reason.NONE, opcode=opcode, psn=psn % PSNS,
        ack_req=ack_req, dma_length=length,
    )  # fmt: skip


def rx(psn: int, syndrome: int = GOOD, opcode: int = ACK) -> Descriptor:
    return Descriptor(
        Direction.RX, False, False, Reason.NONE, opcode=opcode, psn=psn % PSNS, syndrome=syndrome
    )


@pytest.fixture
def collector() -> RttCollector:
    return RttCollector(SLOTS, TIMEOUT)


def test_one_sample_per_round_trip(collector: RttCollector) -> None:
    assert collector.sent(SLOT, tx(10), 0) == Outcome.STARTED
    assert collector.sent(SLOT, tx(11), 5) == Outcome(0)  # one is timed already
    assert collector.received(SLOT, rx(10), 4000) == 4000
    assert collector.received(SLOT, rx(11), 4005) is None
    assert collector.sent(SLOT, tx(12), 5000) == Outcome.STARTED
    assert collector.received(SLOT + 1, rx(12), 6000) is None  # another queue pair
    assert collector.received(SLOT, rx(12), 9100) == 4100
    assert collector.counts[Outcome.SAMPLE] == 2


def test_coalesced_acknowledge_and_turnaround(collector: RttCollector) -> None:
    for psn in (10, 11, 12):
        collector.sent(SLOT, tx(psn), psn)
    assert collector.received(SLOT, rx(9), 50) is None
    assert collector.received(SLOT, rx(12), 4010, turnaround=300) == 3700
    assert collector.counts[Outcome.COALESCED] == collector.counts[Outcome.CORRECTED] == 1


@pytest.mark.parametrize("floor", [0, 1, 30])
def test_a_turnaround_leaves_more_than_the_floor(floor: int) -> None:
    """A peer that lies does not make an RTT shorter than its path, let alone 0."""
    collector = RttCollector(SLOTS, TIMEOUT, floor=floor)
    for n, off in enumerate((0, 99 - floor, 100 - floor, 100, 101, 1 << 32, TIMEOUT)):
        collector.sent(SLOT, tx(n), 1000 * n)
        rtt = collector.received(SLOT, rx(n), 1000 * n + 100, turnaround=off)
        assert rtt == (100 - off if off < 100 - floor else 100)
    assert collector.counts[Outcome.CORRECTED] == 2
    assert collector.counts[Outcome.REFUSED_TURNAROUND] == 5
    assert collector.counts[Outcome.SAMPLE] == 7


@pytest.mark.parametrize("syndrome", [GOOD, RNR, SEQUENCE])
def test_answers_are_to_what_is_in_flight(syndrome: int, seed: int) -> None:
    """Of all PSNs those from the last acknowledged to the last sent; the others end no sample."""
    rng = random.Random(seed)
    first, flying = rng.randrange(PSNS), rng.randrange(1, 40)
    nak = int(syndrome != GOOD)
    near = [*range(first - 4, first + flying + 4)]
    far = [rng.randrange(first + flying + 1, first + PSNS - 1) for _ in range(40)]
    for psn in [*near, *far]:
        collector = RttCollector(SLOTS, TIMEOUT)
        collector.received(SLOT, rx(psn, syndrome), 0)  # nothing was sent
        assert collector.counts[Outcome.REFUSED_PSN] == 1
        collector.sent(SLOT, tx(first - 1), 0)
        collector.received(SLOT, rx(first - 1), 100)
        for n in range(flying):
            collector.sent(SLOT, tx(first + n), 1000 + n)
        collector.received(SLOT, rx(psn, syndrome), 2000)
        plausible = 0 <= psn - nak - (first - 1) <= flying
        assert collector.counts[Outcome.REFUSED_PSN] == 1 + (not plausible), psn - first
        if not plausible:
            assert collector.received(SLOT, rx(first), 3000) == 2000


def test_a_replayed_acknowledge_ends_no_later_sample(collector: RttCollector) -> None:
    for n in range(10, 20):
        collector.sent(SLOT, tx(n), 1000 * n)
        assert collector.received(SLOT, rx(n), 1000 * n + 400) == 400
    collector.sent(SLOT, tx(20), 20_000)
    for n in range(10, 20):
        assert collector.received(SLOT, rx(n), 20_050) is None
    assert collector.counts[Outcome.REFUSED_PSN] == 9  # the last one may be sent twice
    assert collector.received(SLOT, rx(20), 20_400) == 400


@pytest.mark.parametrize("ack_req", [False, True])
def test_only_packets_that_ask(ack_req: bool) -> None:
    asking, every = RttCollector(SLOTS, TIMEOUT), RttCollector(SLOTS, TIMEOUT, any_packet=True)
    assert bool(asking.sent(SLOT, tx(1, ack_req=ack_req), 0)) == ack_req
    assert every.sent(SLOT, tx(1, ack_req=ack_req), 0) == Outcome.STARTED


def test_psn_wraps(collector: RttCollector) -> None:
    collector.sent(SLOT, tx(PSNS - 1), 0)
    collector.sent(SLOT, tx(PSNS), 1)
    collector.sent(SLOT, tx(PSNS + 1), 2)
    assert collector.received(SLOT, rx(PSNS - 2), 10) is None
    assert collector.received(SLOT, rx(PSNS + 1), 30) == 30
    assert collector.sent(SLOT, tx(PSNS + 2), 40) == Outcome.STARTED


def test_the_last_psn_is_one_like_others(collector: RttCollector) -> None:
    """The next one is 0, as it is of a queue pair that has sent nothing."""
    collector.sent(SLOT, tx(PSNS - 1), 0)
    assert collector.received(SLOT, rx(PSNS - 1), 30) == 30


def test_time_wraps_and_the_sample_saturates() -> None:
    collector = RttCollector(SLOTS, 0)
    collector.sent(SLOT, tx(1), Fmt.TIME.max - 9)
    assert collector.received(SLOT, rx(1), 90) == 100
    collector.sent(SLOT, tx(2), 0)
    assert collector.received(SLOT, rx(2), 1 << 30) == Fmt.RTT.max


def test_karn(collector: RttCollector) -> None:
    for psn in (10, 11, 12):
        collector.sent(SLOT, tx(psn), psn)
    assert collector.sent(SLOT, tx(10), 500) == Outcome.DROPPED_RETRANSMISSION
    assert collector.sent(SLOT, tx(11), 501) == Outcome(0)  # sent before: never timed
    assert collector.received(SLOT, rx(11), 4000) is None
    assert collector.sent(SLOT, tx(13), 4100) == Outcome.STARTED
    assert collector.received(SLOT, rx(13), 8000) == 3900


@pytest.mark.parametrize("syndrome", [RNR, SEQUENCE])
def test_nak(collector: RttCollector, syndrome: int) -> None:
    collector.sent(SLOT, tx(10), 0)
    collector.sent(SLOT, tx(11), 1)
    assert collector.received(SLOT, rx(11, syndrome), 4000) == 4000  # 10 arrived
    collector.sent(SLOT, tx(12), 5000)
    assert collector.received(SLOT, rx(12, syndrome), 9000) is None
    assert collector.counts[Outcome.DROPPED_NAK] == 1
    assert collector.received(SLOT, rx(12), 9100) is None


def test_read_occupies_psns(collector: RttCollector) -> None:
    assert collector.sent(SLOT, tx(10, opcode=READ, ack_req=False, length=4097), 0)
    assert collector.received(SLOT, rx(10, opcode=RESPONSE_FIRST), 4000) == 4000
    assert collector.received(SLOT, rx(11, opcode=RESPONSE_MIDDLE, syndrome=0), 4001) is None
    # 4097 bytes are five packets of 1024: a READ that resumes at 14 is a retransmission.
    assert collector.sent(SLOT, tx(14, opcode=READ), 5000) == Outcome(0)
    assert collector.sent(SLOT, tx(15), 5001) == Outcome.STARTED


@pytest.mark.parametrize(
    ("length", "psns"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3)]
)
def test_a_read_occupies_as_many_psns_as_its_response(length: int, psns: int) -> None:
    """IBTA Volume 1, 9.7.2: one for each packet of the response, which has one at least."""
    for psn, outcome in ((10 + psns - 1, Outcome(0)), (10 + psns, Outcome.STARTED)):
        collector = RttCollector(SLOTS, TIMEOUT)
        collector.sent(SLOT, tx(10, opcode=READ, ack_req=False, length=length), 0)
        assert collector.received(SLOT, rx(10, opcode=RESPONSE_FIRST), 4000) == 4000
        assert collector.sent(SLOT, tx(psn), 5000) == outcome


def test_read_response_acknowledges_what_was_before(collector: RttCollector) -> None:
    collector.sent(SLOT, tx(10), 0)
    collector.sent(SLOT, tx(11, opcode=READ, length=64), 1)
    assert collector.received(SLOT, rx(11, opcode=RESPONSE_FIRST), 4000) == 4000
    assert collector.counts[Outcome.COALESCED] == 1


def test_lost_acknowledge(collector: RttCollector) -> None:
    collector.sent(SLOT, tx(10), 0)
    assert collector.received(SLOT, rx(10), TIMEOUT) is None
    assert collector.counts[Outcome.DROPPED_TIMEOUT] == 1
    collector.sent(SLOT, tx(11), TIMEOUT)
    both = collector.sent(SLOT, tx(12), 2 * TIMEOUT)
    assert both == Outcome.DROPPED_TIMEOUT | Outcome.STARTED
    assert collector.received(SLOT, rx(12), 3 * TIMEOUT - 1) == TIMEOUT - 1


def test_what_does_not_count(collector: RttCollector) -> None:
    collector.sent(SLOT, tx(10), 0)
    assert collector.received(SLOT, rx(11), 10) is None  # never sent
    assert collector.received(SLOT, rx(10, syndrome=0x40), 11) is None  # reserved syndrome
    assert collector.received(SLOT, rx(10)._replace(error=True), 12) is None
    assert collector.sent(SLOT, rx(500), 13) == Outcome(0)  # our answer to the peer's request
    for opcode in (0x24, 0x64, 0x81):  # UC, UD, CNP
        assert collector.sent(SLOT, tx(900, opcode=opcode), 14) == Outcome(0)
    counted = {outcome: n for outcome, n in collector.counts.items() if n}
    assert counted == {Outcome.STARTED: 1, Outcome.REFUSED_PSN: 1}
    assert collector.received(SLOT, rx(10), 4000) == 4000


def test_sweep(collector: RttCollector) -> None:
    assert collector.sweep(SLOT, 5) == Outcome(0)
    collector.sent(SLOT, tx(10), 1000)
    assert collector.sweep(SLOT, 900) == Outcome(0)  # another clock edge: not before T0
    assert collector.sweep(SLOT, 1000 + TIMEOUT - 1) == Outcome(0)
    assert collector.sweep(SLOT + 1, 1000 + TIMEOUT) == Outcome(0)
    assert collector.sweep(SLOT, 1000 + TIMEOUT) == Outcome.DROPPED_TIMEOUT | Outcome.SWEPT
    assert collector.sweep(SLOT, 1000 + TIMEOUT) == Outcome(0)
    assert collector.received(SLOT, rx(10), 1001 + TIMEOUT) is None
    assert collector.sent(SLOT, tx(11), 0) == Outcome.STARTED
    collector.timeout = 0
    assert collector.sweep(SLOT, 1 << 38) == Outcome(0)


def test_events_out_of_the_order_of_their_stamps(collector: RttCollector) -> None:
    """An acknowledge of something older is stamped just before T0 and comes just after."""
    collector.sent(SLOT, tx(10), 1000)
    assert collector.received(SLOT, rx(9), 999) is None
    assert collector.received(SLOT, rx(10), 999) is None
    assert collector.received(SLOT, rx(10, SEQUENCE), 999) is None
    assert collector.sent(SLOT, tx(11), 998) == Outcome(0)
    assert collector.counts[Outcome.DROPPED_TIMEOUT] == 0
    assert collector.received(SLOT, rx(10), 5000) == 4000


def test_reset(collector: RttCollector) -> None:
    collector.sent(SLOT, tx(5000), 0)
    collector.reset(SLOT)
    assert collector.received(SLOT, rx(5000), 9) is None
    assert collector.sent(SLOT, tx(3), 10) == Outcome.STARTED


def test_configuration_error() -> None:
    with pytest.raises(ValueError, match=r"mtu must be 4 numbers out of \(256, .*, not \[1024\]"):
        RttCollector(SLOTS, 0, mtu=[1024])
    with pytest.raises(ValueError, match=r"not \[256, 512, 1024, 1500\]"):
        RttCollector(SLOTS, 0, mtu=[256, 512, 1024, 1500])


def test_lossy_connection_against_a_plain_account(seed: int) -> None:
    """Go-back-N with losses: every sample is the age of a packet that was sent exactly once."""
    rng = random.Random(seed)
    collector = RttCollector(SLOTS, TIMEOUT)
    first = rng.randrange(PSNS)
    sends: dict[int, list[int]] = {}  # PSN without wrap: times of sending
    following, base, t, samples, busy = 0, 0, 0, 0, -1
    for _ in range(5000):
        t += rng.randrange(1, 50)
        kind = rng.random()
        if kind < 0.55:
            started = collector.sent(SLOT, tx(first + following), t)
            sends.setdefault(following, []).append(t)
            if Outcome.STARTED in started:
                assert len(sends[following]) == 1
                assert busy < 0 or Outcome.DROPPED_TIMEOUT in started
                busy = following
            if Outcome.DROPPED_RETRANSMISSION in started:
                busy = -1
            following += 1
        elif kind < 0.65 and following > base:
            following = base  # time-out of the transport: go back
        elif following > base:
            upto = rng.randrange(base, following)
            rtt = collector.received(SLOT, rx(first + upto), t)
            if rtt is not None:
                samples += 1
                assert busy <= upto
                assert sends[busy] == [t - rtt]
                busy = -1
            base = upto + 1
    assert samples > 200
    assert samples == collector.counts[Outcome.SAMPLE]
