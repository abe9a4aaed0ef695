"""An emulated card with a law engine: which packets lead to decisions of a program, in order."""

from collections.abc import Iterator
from ipaddress import IPv6Address

import pytest

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_host.emulator.packet import EmulatedPacket
from precog_models.laws.compiler.compile import compile_law
from precog_models.laws.compiler.load import load
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, Flag

from ..models.packet.frames import A_QP, B_ADDRESS, B_QP, packet

_FLAGS = [name for name, _ in DECISION_FIELDS].index("flags")


@pytest.fixture
def card() -> Iterator[tuple[Device, EmulatedPacket]]:
    """Queue pair 1 runs lockstep."""
    emulator = Emulator(NicConfig(qps=4, sets=2, width=64, law_cores=1))
    with Device(emulator) as device:
        assert device.law is not None
        assert device.packet is not None
        assert emulator.packets is not None
        peer = IPv6Address(B_ADDRESS).ipv4_mapped
        assert peer is not None
        device.packet.bind(1, str(peer), remote_qp=B_QP, local_qp=A_QP)
        made = compile_law(load("lockstep"))
        device.law.load(made.program, made.law.integers("default", 1000), slot=0)
        device.qp(1).configure(preset="precog", enable=True, algorithm="law:0")
        yield device, emulator.packets


def answered(packets: EmulatedPacket, psn: int, t: int) -> list[bool]:
    """Of each decision on an ACK of a packet, whether it is an event's."""
    packets.transmit(packet(bytes(100), psn=psn, bth={"ackreq": 1}), t)
    ack = packet(opcode=0x11, psn=psn, back=True, aeth={"syndrome": 0x1F, "msn": 0})
    packets.receive(ack, t + 5000)
    return [bool(flags >> Flag.EVENT & 1) for flags in packets.decided[:, _FLAGS]]


def test_an_acknowledgement_comes_before_its_sample(card: tuple[Device, EmulatedPacket]) -> None:
    device, packets = card
    assert answered(packets, 7, 1000) == [True, False]
    cnp = packet(opcode=0x81, back=True, payload=bytes(16))
    packets.receive(cnp, 20_000)
    assert len(packets.decided) == 1
    assert device.law is not None
    assert device.law.state().counters["events"] == 3


def test_another_law_hears_samples_alone(card: tuple[Device, EmulatedPacket]) -> None:
    device, packets = card
    device.qp(1).configure(algorithm="pid")
    assert answered(packets, 7, 1000) == [False]
    device.qp(1).configure(algorithm="law:0")
    assert answered(packets, 8, 90_000) == [True, False]
    device.qp(1).configure(enable=False)
    assert answered(packets, 9, 190_000) == []
