"""A NIC with packets and a law engine: programs hear the wire, in RTL as in the emulator."""

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from precog_host.device import Device
from precog_hw.rate.law_events import LawEvents
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.senders import SendersConfig
from precog_sim.rtl.packet_block import Wire
from precog_spec.contract import DECISION_FIELDS, Flag
from precog_spec.law_fields import ACK_FIELDS, LEVEL_ALONE, RING_PLACES, SENDERS_AT, EventKind

from ..models.packet.frames import A_ADDRESS, A_QP, B_QP, packet
from .law_cards import (
    APART,
    CONFIG,
    HINTED,
    PEER,
    RELAXED,
    SLOTS,
    answer,
    arm,
    heard_alike,
    lose,
    same,
    same_records,
    scored_cnp,
)
from .packet_bench import TICK_PS, Pair, check_registers, open_pair

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("law_packet_nic")]

_FLAGS = [name for name, _ in DECISION_FIELDS].index("flags")
_BYTES = [name for name, _ in ACK_FIELDS].index("bytes")


@pytest.fixture(params=[CONFIG, RELAXED], ids=["small", "relaxed"])
def pair(request: pytest.FixtureRequest, volume: int) -> Iterator[Pair]:
    if request.param is RELAXED and volume == 1:
        pytest.skip("only with --volume: the second NIC takes a minute")
    with open_pair(request.param) as both:
        yield both


def test_programs_hear_every_acknowledgement(pair: Pair, seed: int, volume: int) -> None:
    """ACKs one by one or coalesced, marks, scores, notifications, packets that are sent again."""
    rng = random.Random(seed)
    arm(pair.rtl, pair.golden)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    for slot in SLOTS:
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
    following = {slot: -20 for slot in SLOTS}
    acked, heard, lost = dict(following), 0, 0
    for _ in range(40 * volume):
        slot = rng.choice(list(SLOTS))
        for _ in range(rng.choice([1, 1, 4, 16])):
            psn = following[slot] % (1 << 24)
            frame = packet(
                bytes(rng.randrange(300)), psn=psn, bth={"ackreq": 1, "dqpn": B_QP + slot}
            )
            there = peer.receive(pair.transmit(frame), following[slot] + 20, 0)
            assert there.received.frame == frame
            if rng.random() < 0.1:
                pair.transmit(frame)  # once more: it has no round trip
            following[slot] += 1
        while acked[slot] < following[slot]:
            acked[slot] += rng.randrange(1, following[slot] - acked[slot] + 1)
            ack = answer(slot, (acked[slot] - 1) % (1 << 24), becn=rng.randrange(2))
            peer.cps.slots[slot].score = rng.choice([None, rng.randrange(101)])
            assert pair.receive(peer.transmit(ack, acked[slot] + 20, 0).frame) == ack
            heard += heard_alike(pair, slot)
            if (not lost or rng.random() < 0.1) and acked[slot] < following[slot]:
                lost += lose(pair, peer, slot, acked[slot], score=rng.choice([None, 50]))
        if rng.random() < 0.1:
            cnp = packet(opcode=0x81, back=True, bth={"dqpn": A_QP + slot}, payload=bytes(16))
            assert pair.receive(cnp) == cnp
    counters = same(pair)
    assert counters["samples"] > 20
    assert heard > counters["samples"]
    assert lost > 0
    assert counters["ignored"] == 0
    assert pair.golden.law is not None
    assert pair.golden.law.state().counters["events"] == counters["decisions"]


def test_programs_hear_losses(pair: Pair, seed: int) -> None:
    """NAKs and packets that are sent again, with scores; one loss for all that is in flight."""
    rng = random.Random(seed)
    arm(pair.rtl, pair.golden)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    for slot in SLOTS:
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)

    def send(slot: int, psn: int) -> int:
        pair.transmit(packet(bytes(200), psn=psn, bth={"ackreq": 1, "dqpn": B_QP + slot}))
        return len(pair.nic.decisions(pair.nic.last))

    for base in range(0, 4 * 8, 8):
        slot = rng.choice(list(SLOTS))
        for path in pair.paths():
            path.unbind(slot)
            path.bind(slot, PEER, remote_qp=B_QP + slot, local_qp=A_QP + slot, score=37)
        assert not any(send(slot, base + n) for n in range(8))
        assert pair.receive(answer(slot, base + 1)) is not None
        rates = pair.golden.qp(slot).status()
        for forged in (base + 9, base + 1):
            assert not lose(pair, peer, slot, forged)
        assert lose(pair, peer, slot, base + 3, score=rng.choice([None, 40]))
        if SLOTS[slot][0] == "swift":
            assert pair.golden.qp(slot).status() != rates
        assert not any(send(slot, base + n) for n in range(3, 8))
        assert not lose(pair, peer, slot, base + 5)
        assert pair.receive(answer(slot, base + 7)) is not None
        assert send(slot, base + 8) == 0
        assert send(slot, base + 8) == 1  # the time-out
        assert not lose(pair, peer, slot, base + 8)
    same(pair)


def test_a_receiver_s_word_of_n_cuts_lockstep_hints(pair: Pair) -> None:
    """The level of a shim reaches the program, alone or with a score; lockstep goes on."""
    arm(pair.rtl, pair.golden, slots=HINTED, init_gbps=100.0)
    for device in (pair.rtl, pair.golden):
        assert device.senders is not None
        device.senders.set_parameters(heed=True)
    peer = Card(4, CardConfig(tick_ps=TICK_PS, senders=True))
    assert peer.senders is not None
    peer.senders.config = SendersConfig(say=True, least=1, epoch=15)
    for slot in range(4):
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)

    def send(slot: int, psn: int) -> None:
        frame = packet(bytes(1000), psn=psn, bth={"ackreq": 1, "dqpn": B_QP + slot})
        peer.receive(pair.transmit(frame, settle=APART), 20, 0)

    def acked(slot: int, psn: int, *, score: int | None = None) -> list[int]:
        peer.cps.slots[slot].score = score
        pair.receive(peer.transmit(answer(slot, psn), 20, 0).frame, settle=APART)
        events = pair.nic.events(pair.nic.last)
        return [row[3] for row in events if row[:2] == (EventKind.SCORE, slot)]

    for slot in HINTED:
        send(slot, 0)
        # Two queue pairs send to the peer from the second on.
        level = slot - 1
        assert acked(slot, 0) == ([LEVEL_ALONE | level << SENDERS_AT] if level else [])
    for n in range(1, 9):
        for slot in HINTED:
            send(slot, n)
    for slot in range(4):  # two more, which are no queue pairs of this card
        there = packet(bytes(1000), psn=99, bth={"dqpn": B_QP + slot})
        peer.receive(there, 20, 0)
    word = 2 << SENDERS_AT
    assert acked(1, 4) == [LEVEL_ALONE | word]
    assert acked(2, 4, score=40) == [40 | word]
    assert acked(1, 8, score=60) == [60 | word]
    assert acked(2, 8) == []
    cut, goes_on = (pair.golden.qp(slot).status() for slot in HINTED)
    assert cut.rate_gbps < goes_on.rate_gbps
    assert cut.window_bytes < goes_on.window_bytes
    # A score without a shim leaves the level in force.
    pair.receive(scored_cnp(1, 70), settle=APART)
    assert [row[3] for row in pair.nic.events(pair.nic.last) if row[0] == EventKind.SCORE] == [
        70 | word
    ]
    # Two flows of the card's own are more than half of the peer's two senders.
    peer.senders.config = SendersConfig(say=True, least=1, epoch=14)
    for device in (pair.rtl, pair.golden):
        assert device.senders is not None
        device.senders.set_parameters(least=1, hold_us=0.0, epoch_us=8000.0)
    for slot in HINTED:
        send(slot, 9)
    assert acked(1, 9) == [LEVEL_ALONE]
    for device in (pair.rtl, pair.golden):
        assert device.senders is not None
        assert device.senders.own().count == 2
        device.senders.set_parameters(own=False)
    assert acked(2, 9) == [LEVEL_ALONE | 1 << SENDERS_AT]
    same(pair)


def test_a_belief_is_heard_before_the_first_packet(pair: Pair) -> None:
    """Programs and the card hold it until the receiver's first word, whatever that says.

    The driver refuses a belief that is not heeded; the register is written then, too.
    """
    arm(pair.rtl, pair.golden, slots=HINTED, init_gbps=100.0)
    peer = Card(4, CardConfig(tick_ps=TICK_PS, senders=True))
    for slot in range(4):
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
    pair.nic.watches = True
    for heeds in (False, True):
        for device in (pair.rtl, pair.golden):
            assert device.senders is not None
            device.senders.set_parameters(heed=heeds)
            device.senders.registers.write_fields("SENDERS", "BELIEF", qp=1, level=3)
        missed, run = pair.nic.missed(), pair.nic.run(settle=APART)
        events = [row for made in (missed, run) for row in pair.nic.events(made)]
        word = LEVEL_ALONE | 3 << SENDERS_AT
        assert [(row[0], row[1], row[3]) for row in events] == [(EventKind.SCORE, 1, word)] * heeds
        decisions = [row for made in (missed, run) for row in pair.nic.decisions(made)]
        assert pair.emulator.packets is not None
        assert decisions == [tuple(row) for row in pair.emulator.packets.decided.tolist()]
    believed = pair.golden.qp(1).status()
    pair.nic.watches = False
    for psn, news in ((0, [LEVEL_ALONE]), (1, [])):
        frame = packet(bytes(1000), psn=psn, bth={"ackreq": 1, "dqpn": B_QP + 1})
        peer.receive(pair.transmit(frame, settle=APART), 20, 0)
        pair.receive(peer.transmit(answer(1, psn), 20, 0).frame, settle=APART)
        run = pair.nic.last
        assert [row[3] for row in pair.nic.events(run) if row[0] == EventKind.SCORE] == news
    assert pair.golden.qp(1).status().window_bytes > believed.window_bytes
    same(pair)


def test_back_to_back(pair: Pair, seed: int) -> None:
    """ACKs at line rate: what waits is merged, no byte is lost, each decision is the golden one."""
    rng = random.Random(seed)
    arm(pair.rtl, pair.golden)
    golden = pair.emulator
    size, count = 60, RING_PLACES
    told = sent = heard = 0
    for first in range(0, 5 * count, count):
        order = [slot for slot in SLOTS for _ in range(count)]
        rng.shuffle(order)
        following = dict.fromkeys(SLOTS, first)
        frames = {slot: iter(range(first, first + count)) for slot in SLOTS}
        tx = [
            Wire(
                packet(bytes(size), psn=next(frames[slot]), bth={"dqpn": B_QP + slot, "ackreq": 1})
            )
            for slot in order
        ]
        pair.nic.run(tx=tx)
        rx = []
        for slot in order:
            rx.append(Wire(answer(slot, following[slot])))
            following[slot] += 1
        run = pair.nic.run(rx=rx, settle=20_000)
        sent += size * len(order)
        acks = pair.nic.acknowledgements(run)
        samples = pair.nic.samples(run)
        assert samples
        told += sum(row[_BYTES] for row in acks)
        heard += len(acks)
        assert told == sent
        assert {row[0] for row in acks} == set(SLOTS)
        decisions = pair.nic.decisions(run)
        assert len(decisions) == len(acks) + len(samples)
        of_acks = {slot: iter([row for row in acks if row[0] == slot]) for slot in SLOTS}
        of_samples = {slot: iter([row for row in samples if row[0] == slot]) for slot in SLOTS}
        for row in decisions:
            if row[_FLAGS] >> Flag.EVENT & 1:
                want = golden.acknowledge(np.array(next(of_acks[row[0]])))
            else:
                want = golden.decide(np.array([next(of_samples[row[0]])]))
            assert [row] == [tuple(decision) for decision in want.tolist()]
    assert pair.rtl.law is not None
    merged = pair.rtl.law.state().counters["merged"]
    assert 0 < merged == 2 * 5 * count - heard
    if pair.rtl.trace is not None:
        same_records(pair)


@pytest.mark.parametrize("scored", [False, True])
def test_timely_and_dcqcn_hear_the_wire(pair: Pair, scored: bool, seed: int) -> None:
    """Samples move one, CNPs, bytes and time the other; PSCHED both, by the scores of shims."""
    rng = random.Random(seed)
    arm(pair.rtl, pair.golden)
    made = compile_law(load("dcqcn"))
    values = made.law.integers("paper", TICK_PS, rate_ticks=20.0, byte_count=1000)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    for slot in SLOTS:
        peer.add(slot, A_ADDRESS, A_QP + slot, B_QP + slot)
    for device in (pair.rtl, pair.golden):
        assert device.law is not None
        device.law.load(made.program, values, slot=3)
        device.set_parameters(psched_skill=0)
        for slot, law in ((1, "timely"), (2, "dcqcn")):
            device.qp(slot).configure(preset="precog", algorithm=law, init_gbps=40.0, psched=scored)
            assert device.qp(slot).status().algorithm == law
        assert [one.law for one in device.law.slots()][3:] == ["dcqcn", None, None, None, "timely"]
    rates: dict[int, list[float]] = {slot: [] for slot in SLOTS}

    def note() -> None:
        for slot in SLOTS:
            rates[slot].append(pair.golden.qp(slot).status().rate_gbps)

    for psn in range(25):
        for slot in SLOTS:
            bth = {"ackreq": 1, "dqpn": B_QP + slot}
            frame = packet(bytes(rng.randrange(300)), psn=psn, bth=bth)
            peer.receive(pair.transmit(frame), 20, 0)
            if rng.random() < 0.4:
                cnp = packet(opcode=0x81, back=True, bth={"dqpn": A_QP + slot}, payload=bytes(16))
                assert pair.receive(cnp) == cnp
            if rng.random() < 0.7:
                peer.cps.slots[slot].score = rng.choice([None, rng.randrange(101)])
                assert pair.receive(peer.transmit(answer(slot, psn), 20, 0).frame) is not None
            note()
    counters = same(pair)
    assert counters["ignored"] == 0
    assert bool(counters["scored"]) == bool(counters["congested"]) == scored
    assert len(set(rates[1])) > 3
    assert any(later < sooner for sooner, later in pairwise(rates[2]))
    assert any(later > sooner for sooner, later in pairwise(rates[2]))


def test_a_cnp_that_arrives_is_an_event(pair: Pair) -> None:
    """It cuts the rate, though the NIC makes none itself."""
    arm(pair.rtl, pair.golden)
    made = compile_law(load("dcqcn"))
    for device in (pair.rtl, pair.golden):
        assert device.law is not None
        device.law.load(made.program, made.law.integers("paper", TICK_PS), slot=0)
        device.law.configure(timer_ticks=0)
        device.qp(1).configure(preset="precog", enable=True, algorithm="dcqcn", init_gbps=40.0)
    cnp = packet(opcode=0x81, back=True, bth={"dqpn": A_QP + 1}, payload=bytes(16))
    run = pair.nic.run(rx=[Wire(cnp)], settle=2000)
    assert [wire.data for wire in run.sinks["m_axis_rx"].frames] == [cnp]
    events = pair.nic.events(run)
    assert [(kind, qp) for kind, qp, _, _ in events] == [(EventKind.CNP, 1)]
    (expected,) = pair.emulator.happen(np.array(events[0])).tolist()
    assert pair.nic.decisions(run) == [tuple(expected)]
    assert pair.golden.qp(1).status().rate_gbps < 40.0
    if pair.rtl.trace is not None:
        same_records(pair, heard_at_once=True)


def test_time_passes_for_programs(pair: Pair) -> None:
    """LAW.TIMER has each queue pair told four times in its period: it raises dcqcn's rate."""
    arm(pair.rtl, pair.golden)
    made = compile_law(load("dcqcn"))
    values = made.law.integers("paper", TICK_PS, rate_ticks=20.0)
    for device in (pair.rtl, pair.golden):
        assert device.law is not None
        device.law.load(made.program, values, slot=0)
        for slot in SLOTS:
            device.qp(slot).configure(preset="precog", algorithm="dcqcn", init_gbps=40.0)
    cnp = packet(opcode=0x81, back=True, bth={"dqpn": A_QP + 2}, payload=bytes(16))
    assert pair.receive(cnp) == cnp
    pair.nic.watches = True
    assert pair.rtl.law is not None
    pair.rtl.law.configure(timer_ticks=20_000_000 // TICK_PS)
    pair.nic.missed()  # none of dcqcn's periods has passed yet
    golden = pair.emulator.nic
    told: list[tuple[int, int]] = []
    decided: list[tuple[int, ...]] = []
    expected: list[tuple[int, ...]] = []
    for _ in range(10):
        run = pair.nic.run(rx=[], settle=4500)
        for (cycle, _), row in zip(run.events["law_event_stb"], pair.nic.events(run), strict=True):
            assert row[0] == EventKind.SWEEP
            told.append((row[1], cycle))
            decision = golden.happen(*row)
            assert decision is not None
            expected.append(tuple(decision))
        decided += pair.nic.decisions(run)
        assert decided == expected[: len(decided)]
    assert len(decided) >= len(expected) - 2  # a run may end while the engine is at work
    rates = [row[1] for row in decided if row[0] == 2]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]
    assert {qp for qp, _ in told} == set(SLOTS)
    for slot in SLOTS:
        cycles = [cycle for qp, cycle in told if qp == slot]
        gaps = {later - sooner for sooner, later in pairwise(cycles)}
        quarter, qps = 20_000_000 // TICK_PS // 4, pair.golden.sizes.qps
        assert gaps == {(max(quarter // qps, LawEvents.MIN_GAP) + 1) * qps}


def test_a_queue_pair_that_goes_takes_its_packets_along(pair: Pair) -> None:
    """Bytes in flight when it is released are not those of the one that comes."""
    arm(pair.rtl, pair.golden)
    for again in range(2):
        for path in pair.paths():
            if again:
                path.unbind(1)
                path.bind(1, PEER, remote_qp=B_QP + 1, local_qp=A_QP + 1)
        for psn in range(3):
            pair.transmit(packet(bytes(100), psn=psn, bth={"ackreq": 1, "dqpn": B_QP + 1}))
    ack = answer(1, 1)
    assert pair.receive(ack) == ack
    ((_, _, _, told, *_),) = pair.nic.acknowledgements(pair.nic.last)
    assert told == 200
    same(pair)


def test_a_reset_leaves_nothing_behind(pair: Pair) -> None:
    """Memories keep their words over a reset: bytes in flight, and ACKs that no program heard."""
    arm(pair.rtl, pair.golden)
    frames = [packet(bytes(100), psn=psn, bth={"dqpn": B_QP + 1}) for psn in range(8)]
    pair.nic.run(tx=[Wire(frame) for frame in frames])
    acks = [answer(1, psn) for psn in range(6)]
    pair.nic.run(rx=[Wire(ack) for ack in acks], settle=60)
    block = pair.nic.block
    block.poke(rst=1)
    block.tick(2)
    block.poke(rst=0)
    block.tick()
    arm(Device(pair.nic))
    tx = [packet(bytes(70), psn=psn, bth={"dqpn": B_QP + 1}) for psn in (6, 7)]
    pair.nic.run(tx=[Wire(frame) for frame in tx])
    for psn in (6, 7):
        told = pair.nic.acknowledgements(pair.nic.run(rx=[Wire(answer(1, psn))]))
        assert [row[_BYTES] for row in told] == [70]


def test_register_suite(seed: int) -> None:
    """Generated from the map, on the RTL; no register of another part answers or changes."""
    check_registers(CONFIG, TICK_PS, seed)
