"""Cards with packets whose queue pairs run programs: what their tests do with both of a pair."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv6Address

from precog_host.device import Device
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_models.packet.card import Card
from precog_spec.config import PRESETS
from precog_spec.contract import TraceKind
from precog_spec.engine.events import Kind
from precog_spec.frames.cps import CNP_MARK
from precog_spec.frames.headers import CNP_PAYLOAD
from precog_spec.law_fields import EventKind

from ..models.packet.frames import A_QP, B_ADDRESS, B_QP, packet
from .packet_bench import TICK_PS, Pair, same_numbers

CONFIG = replace(
    PRESETS["tiny"],
    width=64,
    law_cores=1,
    senders=True,
    ecc=False,
    ipv6=False,
    destinations=False,
    cnps=False,
    icrc=False,
    trace=True,
)
#: What the ECPIX-5 has inside, but the receiver, which has a test of its own: a command and a
#: sample have no order here. Packets wait for no grant, and nothing watches their queues.
RELAXED = replace(
    PRESETS["ecp5-85"],
    dsp="generic",
    receiver=False,
    grants=False,
    wire=0,
    profile=False,
    forecast=False,
)
PEER = str(IPv6Address(B_ADDRESS).ipv4_mapped)
SLOTS = {1: ("lockstep", 0), 2: ("swift", 1)}
HINTED = {1: ("lockstep_hints", 0), 2: ("lockstep", 1)}
CHANGES = {"lockstep_hints": {"sign": 0.1}}  # us: round trips are short here
APART = 4500  # cycles between frames of which the laws shall see nearly the same round trips


def arm(
    *devices: Device, slots: Mapping[int, tuple[str, int]] = SLOTS, init_gbps: float = 10.0
) -> None:
    """Two connections to one peer, each with a program; time alone tells them nothing."""
    for device in devices:
        assert device.packet is not None
        assert device.law is not None
        for slot in slots:
            device.packet.bind(slot, PEER, remote_qp=B_QP + slot, local_qp=A_QP + slot, score=37)
        device.apply_preset("thesis")
        device.set_parameters(psched_score_us=0.0)
        device.law.configure(timer_ticks=0)
        if device.trace is not None:
            device.trace.configure(kinds=["decision", "program"])
        for slot, (law, number) in slots.items():
            made = compile_law(load(law))
            values = made.law.integers("default", TICK_PS, **CHANGES.get(law, {}))
            device.law.load(made.program, values, slot=number)
            device.qp(slot).configure(
                preset="precog", enable=True, algorithm=f"law:{number}", init_gbps=init_gbps
            )


def answer(slot: int, psn: int, *, becn: int = 0, syndrome: int = 0x1F) -> bytes:
    """An ACK from the peer of a slot, or a NAK."""
    bth = {"dqpn": A_QP + slot, "becn": becn}
    return packet(opcode=0x11, psn=psn, back=True, bth=bth, aeth={"syndrome": syndrome, "msn": 0})


def scored_cnp(slot: int, score: int) -> bytes:
    """A notification of the peer's, with a score in its reserved bytes."""
    payload = CNP_PAYLOAD.pack(mark=CNP_MARK, score=score)
    return packet(opcode=0x81, back=True, bth={"dqpn": A_QP + slot}, payload=payload)


def lose(pair: Pair, peer: Card, slot: int, psn: int, *, score: int | None = None) -> bool:
    """A NAK comes; whether a program heard of a loss, with the packet's own time."""
    peer.cps.slots[slot].score = score
    nak = answer(slot, psn % (1 << 24), syndrome=0x60)
    assert pair.receive(peer.transmit(nak, 20, 0).frame) == nak
    run = pair.nic.last
    events = [row for row in pair.nic.events(run) if row[0] == EventKind.LOSS]
    t = run.sources["s_axis_rx"].first[0]
    assert events in ([], [(EventKind.LOSS, slot, t, 0)])
    return bool(events)


def same(pair: Pair) -> dict[str, int]:
    """Both show the same, and no decision is late; the core's counters."""
    assert not pair.nic.decisions(pair.nic.run())
    same_numbers(pair)
    assert pair.rtl.law is not None
    assert pair.golden.law is not None
    assert pair.rtl.law.state() == pair.golden.law.state()
    if pair.rtl.trace is not None:
        same_records(pair)
    for slot in SLOTS:
        assert pair.rtl.qp(slot).status() == pair.golden.qp(slot).status()
    return pair.golden.counters()


def same_records(pair: Pair, *, heard_at_once: bool = False) -> None:
    """Both recorded the same words: each decision, and what a program did for it.

    A score or a notification is an event once it is heard, to the golden card when its packet came,
    unless `heard_at_once`.
    """
    drained = []
    for device in (pair.rtl, pair.golden):
        assert device.trace is not None
        drained.append([*device.trace.drain()])
    records = drained[0]
    assert {one["kind"] for one in records} == {TraceKind.DECISION, TraceKind.PROGRAM}
    for decision, ran in zip(records[::2], records[1::2], strict=True):
        assert (decision["kind"], ran["kind"]) == (TraceKind.DECISION, TraceKind.PROGRAM)
        assert (decision["qp"], decision["t"]) == (ran["qp"], ran["t"])
    if not heard_at_once:
        for card in drained:
            for decision, ran in zip(card[::2], card[1::2], strict=True):
                if ran["event"] in (Kind.SCORE, Kind.CNP):
                    del decision["t"], ran["t"]
    assert drained[1] == records


def heard_alike(pair: Pair, slot: int) -> bool:
    """Whether a program heard of the packet that came last; both cards told it the same."""
    assert pair.emulator.packets is not None
    run, ack = pair.nic.last, pair.emulator.packets.card.collector.ack
    t = run.sources["s_axis_rx"].first[0]
    assert pair.nic.acknowledgements(run) == ([] if ack is None else [(slot, t, *ack)])
    return ack is not None
