"""The whole NIC with packets: the driver on the RTL and on the golden device, frame by frame."""

import random
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv6Address

import numpy as np
import pytest

from precog_host.device import Device
from precog_host.driver.packet import PacketDriver
from precog_host.transport import DeviceError
from precog_models.packet.card import Card, CardConfig
from precog_models.packet.shim import decode
from precog_models.rate.receiver import Receiver
from precog_models.trace import pack, unpack
from precog_sim.rtl.packet_block import Wire
from precog_spec.contract import TraceKind
from precog_spec.frames.cps import Mode
from precog_spec.law_fields import EventKind
from precog_spec.receiver_fields import Act

from ..models.packet.frames import (
    A6_ADDRESS,
    A_ADDRESS,
    A_QP,
    B_ADDRESS,
    B_QP,
    mutate,
    packet,
    synthetic,
)
from .packet_bench import (
    CONFIG,
    SHIM_AT,
    TICK_PS,
    Pair,
    arm,
    check_registers,
    open_pair,
    same_numbers,
)

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("packet_nic")]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with open_pair() as both:
        yield both


def test_a_conversation_from_the_wire_to_decisions(pair: Pair, seed: int) -> None:
    """Requests leave, ACKs with a shim and CE marks come: samples, decisions, CNPs, counters."""
    conversation(pair, random.Random(seed))


@pytest.mark.xdist_group("packet_nic_relaxed")
def test_a_conversation_of_the_relaxed_form(seed: int, volume: int) -> None:
    """As a NIC with its queues in block RAM has it."""
    if volume == 1:
        pytest.skip("only with --volume: a library takes minutes to build")
    with open_pair(replace(CONFIG, relaxed=True)) as pair:
        conversation(pair, random.Random(seed))


def conversation(pair: Pair, rng: random.Random) -> None:
    arm(pair)
    for path in pair.paths():
        path.set_parameters(echo_enabled=1)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP, B_QP, score=64)
    for n in range(40):
        psn = (n - 20) % (1 << 24)
        frame = packet(bytes(rng.randrange(300)), psn=psn, bth={"ackreq": 1})
        there = peer.receive(pair.transmit(frame), n, n)
        assert there.received.frame == frame
        ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": n})
        back = peer.transmit(ack, n, n).frame
        assert pair.receive(back) == ack
        marked = packet(bytes(100), psn=n, back=True, ip={"tos": 3})
        assert pair.receive(marked) == marked
        for becn in (1, 0):
            said, wanted = (
                packet(opcode=0x11, psn=n, bth={"becn": bit}, aeth={"syndrome": 0x1F, "msn": n})
                for bit in (0, becn)
            )
            assert peer.receive(pair.transmit(said), n, n).received.frame == wanted
    counters = same_numbers(pair)
    assert counters["events"]["rtt_samples"] == 40
    assert counters["events"]["cnp_sent"] > 1
    assert counters["events"]["marks_heard"] == counters["events"]["marks_echoed"] == 40
    assert counters["tx"]["inserted"] >= 40
    assert pair.rtl.counters()["decisions"] == 40
    assert pair.rtl.qp(1).status() == pair.golden.qp(1).status()
    status = pair.paths()[0].destination(3, clear=True)
    assert (status.samples, status.score) == (40, 64)
    assert pair.paths()[0].destination(3).samples == 0


def test_every_kind_of_packet_and_mutations_are_counted_alike(
    pair: Pair, seed: int, volume: int
) -> None:
    rng = random.Random(seed)
    arm(pair)
    for path in pair.paths():
        path.set_parameters(
            max_frame=1200, drop_malformed=1, ack_enabled=1, ack_dscp=46, echo_enabled=1
        )
        # The other ends, so that what leaves comes back as somebody's.
        four, six = IPv6Address(A_ADDRESS).ipv4_mapped, IPv6Address(A6_ADDRESS)
        assert four is not None
        path.bind(3, four, remote_qp=A_QP, local_qp=B_QP, mode=Mode.R, score=9, destination=3)
        path.bind(0, six, remote_qp=A_QP, local_qp=B_QP, score=10)
    pool = list(synthetic(rng).values())
    for frame in [*pool, *(mutate(rng, rng.choice(pool)) or b"\0" for _ in range(150 * volume))]:
        error = rng.random() < 0.1
        out = pair.transmit(frame, error=error)
        if rng.random() < 0.5 and len(out) > 14:
            out = mutate(rng, out) or b"\0"
        pair.receive(out, error=rng.random() < 0.1)
    counters = same_numbers(pair)
    assert sum(counters["tx"].values()) >= len(pool) + 150 * volume
    assert counters["events"]["tx_errors"] > 0


def test_an_answer_that_never_comes_is_swept(pair: Pair) -> None:
    """Without any further packet of the queue pair."""
    arm(pair)
    for path in pair.paths():
        path.set_parameters(timeout=2000)
    pair.transmit(packet(bytes(9), psn=1, bth={"ackreq": 1}))
    pair.nic.block.tick(2500)
    assert pair.emulator.packets is not None
    pair.emulator.packets.sweep(pair.paths()[0].ticks())
    events = same_numbers(pair)["events"]
    assert (events["rtt_started"], events["rtt_timeout"], events["rtt_swept"]) == (1, 1, 1)
    assert pair.paths()[0].destination(3).losses == 1


def test_the_host_finds_what_it_wrote_before(pair: Pair) -> None:
    """A driver that starts anew reads queue pairs out of the device; both devices show the same."""
    arm(pair)
    bound = pair.paths()[0].bindings()
    assert [binding.slot for binding in bound] == [1, 2]
    assert bound[0].remote == IPv6Address(B_ADDRESS).ipv4_mapped
    for device in (pair.nic, pair.emulator):
        path = Device(device).packet
        assert path is not None
        assert path.bindings() == bound
        with pytest.raises(ValueError, match="slot must be free, not in use like 1"):
            path.bind(1, "10.0.0.9", remote_qp=1, local_qp=2)
        with pytest.raises(ValueError, match="TX key must belong to one slot, not to 1 and 3"):
            path.bind(3, str(bound[0].remote), remote_qp=B_QP, local_qp=99)
        path.unbind(1)
        path.set_score(2, None)
        path.enable_destination(200, enable=False)
        assert [(b.slot, b.score) for b in path.bindings()] == [(2, None)]
        assert not path.destination(200).enable
    frame = packet(bytes(20), psn=5)
    assert pair.transmit(frame) == frame  # of no slot any more
    same_numbers(pair)


def test_what_no_card_can_work_with_does_not_take_effect(pair: Pair) -> None:
    arm(pair)
    for device, path in zip((pair.rtl, pair.golden), pair.paths(), strict=True):
        for values in ({"shim_port": 4791}, {"shim_port": 0}, {"max_frame": 67}):
            with pytest.raises(ValueError, match="must be"):
                path.set_parameters(**values)
        with pytest.raises(ValueError, match=r"parameter 'port' must be one of shim_port, "):
            path.set_parameters(port=1)
        # Past the driver's checks.
        device.registers.write_fields("PACKET", "SHIM", shim_port=4791, max_frame=60)
        assert device.registers.fields("PACKET", "ERROR") == {"shim": 1}
    frame = packet(bytes(20), psn=5)
    assert len(pair.transmit(frame)) == len(frame) + 8
    for device in (pair.rtl, pair.golden):
        for block, fields in (
            ("PACKET_QP", {"index": 4}),
            ("DESTINATION", {"index": 256}),
        ):
            device.registers.write_fields(block, "SELECT", **fields)
            device.registers.write_fields(block, "COMMAND", fetch=1)
            assert device.registers.fields(block, "ERROR") == {"range": 1, "overrun": 0}
        for place in ({"way": 3, "row": 0}, {"way": 0, "row": 4}):
            device.registers.write_fields("LOOKUP", "PLACE", **place)
            device.registers.write_fields("LOOKUP", "COMMAND", apply=1)
            assert device.registers.fields("LOOKUP", "ERROR")["range"] == 1
    same_numbers(pair)


def test_a_reset_leaves_nothing_behind(pair: Pair) -> None:
    """Memories keep their words over a reset; the NIC empties them before packets may come."""
    arm(pair)
    pair.transmit(packet(bytes(20), psn=5, bth={"ackreq": 1}))
    block = pair.nic.block
    block.poke(rst=1)
    block.tick(2)
    block.poke(rst=0)
    block.tick()
    fresh = Device(pair.nic)
    assert fresh.packet is not None
    assert fresh.packet.bindings() == []
    assert all(not n for table in fresh.packet.counters().values() for n in table.values())
    frame = packet(bytes(20), psn=6)
    (out,) = pair.nic.run(tx=[Wire(frame)]).sinks["m_axis_tx"].frames
    assert out.data == frame
    assert fresh.packet.counters()["tx"]["unknown_qp"] == 1


def test_line_rate_while_the_host_works(pair: Pair, seed: int) -> None:
    """Packets back to back both ways: one beat per cycle, and every sample is decided on."""
    arm(pair)
    frames = [Wire(packet(bytes(200), psn=n, bth={"ackreq": 1})) for n in range(60)]
    data = Wire(packet(bytes(200), psn=7, back=True))
    acks = [  # behind their requests: as long a packet before each, and two ahead
        Wire(packet(opcode=0x11, psn=n, back=True, aeth={"syndrome": 0x1F, "msn": n}))
        for n in range(60)
    ]
    back = [data, data, *(wire for ack in acks for wire in (ack, data))]
    run = pair.nic.run(tx=frames, rx=back, seed=seed)
    out = run.sinks["m_axis_tx"]
    assert len(out.frames) == 60
    beats = sum(-(-len(wire.data) // 8) for wire in out.frames)
    assert out.last[-1] - out.first[0] + 1 == beats
    samples, decisions = pair.nic.samples(run), pair.nic.decisions(run)
    assert 0 < len(samples) == len(decisions)
    rows = pair.emulator.decide(np.array(samples, dtype=np.int64))
    assert decisions == [tuple(row) for row in rows.tolist()]


def test_a_device_without_packets_says_so() -> None:
    with Device.open("emu:") as device:
        assert device.packet is None
        with pytest.raises(DeviceError, match="device has no packet path"):
            PacketDriver(device.registers)


def test_psched_hears_the_wire(pair: Pair, seed: int) -> None:
    """Scores in shims move a queue pair's rate; when they cease, it is the law's again."""
    rng = random.Random(seed)
    arm(pair)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP, B_QP)
    for device in (pair.rtl, pair.golden):
        # A sweep finds scores that are too old.
        device.set_parameters(psched="precog", psched_skill=0, psched_score_us=8.0)
        device.qp(1).configure(enable=True, algorithm="fixed", init_gbps=40.0, psched=True)
    golden = pair.emulator.nic
    decided: list[tuple[int, ...]] = []
    expected: list[tuple[int, ...]] = []
    scores: list[int] = []
    for n in range(120):
        rx = []
        if n < 60 and rng.random() < 0.7:
            scores.append(rng.choice([10, 72, 95]))
            peer.cps.slots[0].score = scores[-1]
            frame = packet(bytes(rng.randrange(200)), psn=n, back=True)
            rx = [Wire(peer.transmit(frame, n, n).frame)]
        run = pair.nic.run(rx=rx)
        for kind, qp, t, value in pair.nic.events(run):
            assert qp == 1
            decision = golden.happen(kind, qp, t, value)
            assert decision is not None
            expected.append(tuple(decision))
            if kind == EventKind.SCORE:
                assert value == scores[-1]
        decided += pair.nic.decisions(run)
        assert decided == expected[: len(decided)]
    assert len(decided) >= len(expected) - 2
    rates = {row[1] for row in decided}
    law = golden.configuration(1)["init_rate"]
    assert min(rates) < law < max(rates)
    assert decided[-1][1] == law


def test_the_receiver_hears_the_wire(pair: Pair, seed: int) -> None:
    """Scores in shims move bands: commands to the law, quotas, an echo; all of it traced."""
    rng = random.Random(seed)
    arm(pair)
    peer = Card(4, CardConfig(tick_ps=TICK_PS))
    peer.add(0, A_ADDRESS, A_QP, B_QP)
    for device in (pair.rtl, pair.golden):
        receiving, tracing = device.receiver, device.trace
        assert receiving is not None
        assert tracing is not None
        device.set_parameters(psched="precog", psched_skill=0)
        device.qp(1).configure(enable=True, algorithm="fixed", init_gbps=40.0, psched=True)
        receiving.set_parameters(score_us=16.0, window_us=0)
        receiving.configure(1, commands=True, grows=True, base_quota=10)
        tracing.configure(kinds=["receiver", "decision"])
    golden, replay = pair.emulator.nic, Receiver(CONFIG.qps)
    assert pair.emulator.receiver is not None
    replay.parameters |= pair.emulator.receiver.receiver.parameters
    replay.configs[:] = pair.emulator.receiver.receiver.configs
    told: list[tuple[int, int]] = []
    events: list[tuple[int, int]] = []
    decided: list[tuple[int, ...]] = []
    records: list[dict[str, int]] = []
    quotas: list[tuple[int, ...]] = []
    decisions: list[tuple[int, ...]] = []
    for n in range(90):
        rx = []
        if n < 45:
            score = rng.choice([10, 24, 26, 72, 74, 76, 95])
            peer.cps.slots[0].score = score
            frame = packet(bytes(rng.randrange(200)), psn=n, back=True)
            rx = [Wire(peer.transmit(frame, n, n).frame)]
        run = pair.nic.run(rx=rx)
        for event, result in pair.nic.received(run):
            assert event["qp"] == 1 or not result["acts"]
            expected = replay.happen(**event)
            assert result == expected
            acts = Act(expected["acts"])
            if Act.COMMAND in acts:
                told.append((event["qp"], expected["score"] | expected["command"] << 8))
            if Act.QUOTA in acts:
                quotas.append((event["qp"], expected["quota"]))
            if acts:
                body = {k: v for k, v in expected.items() if k != "acts"}
                head = {"kind": int(TraceKind.RECEIVER), "qp": event["qp"], "t": event["t"]}
                records.append(unpack(pack({**head, **body, "flags": int(acts)})))
        for kind, qp, t, value in pair.nic.events(run):
            if kind == EventKind.SCORE:
                events.append((qp, value))
            decision = golden.happen(kind, qp, t, value)
            assert decision is not None
            decided.append(tuple(decision))
        decisions += pair.nic.decisions(run)
        shown_quotas = pair.nic.quotas(run)
        assert shown_quotas == quotas[: len(shown_quotas)]
        del quotas[: len(shown_quotas)]
    assert not quotas
    assert events == told
    assert decisions == decided[: len(decisions)]
    assert len(decisions) >= len(decided) - 1
    sent = pair.nic.run(tx=[Wire(packet(bytes(20), psn=99))]).sinks["m_axis_tx"].frames[0].data
    _, shim, _ = decode(sent[SHIM_AT : SHIM_AT + 8])
    assert shim is not None
    assert shim.echo == score  # the last one goes back
    receiving, tracing = pair.rtl.receiver, pair.rtl.trace
    assert receiving is not None
    assert tracing is not None
    traced = [*tracing.drain()]
    assert [record["serial"] for record in traced] == list(range(len(traced)))
    of_receiver = [{**r, "serial": 0} for r in traced if r["kind"] == TraceKind.RECEIVER]
    assert of_receiver == records
    of_decisions = [r for r in traced if r["kind"] == TraceKind.DECISION]
    shown = [(r["qp"], r["rate"], r["flags"]) for r in of_decisions[: len(decisions)]]
    assert shown == [(row[0], row[1], row[7]) for row in decisions]
    counters = receiving.counters()
    assert counters["scores"] == 45
    assert counters["aged"] == 1
    assert counters["reduced"] + counters["held"] == sum(value >> 8 != 0 for _, value in told)
    assert not receiving.registers.fields("RECEIVER", "ERROR")["range"]
    assert receiving.qp(1).base_quota == 10


def test_register_suite(seed: int) -> None:
    """Generated from the map, on the RTL; no register of another part answers or changes."""
    check_registers(CONFIG, TICK_PS, seed)
