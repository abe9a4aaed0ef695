"""The parser against what scapy put into the packet, and every reason to pass."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.all import TCP, IPOption_NOP, Raw

from precog_models.packet.parser import Descriptor, parse
from precog_spec.frames.descriptor import DESCRIPTOR_FIELDS, Direction, Reason

from .frames import A_ADDRESS, B6_ADDRESS, B_ADDRESS, B_QP, packet, synthetic


def test_descriptor_is_the_declared_one(seed: int) -> None:
    assert Descriptor._fields == tuple(name for name, _ in DESCRIPTOR_FIELDS)
    for frame in synthetic(random.Random(seed)).values():
        found = parse(frame, Direction.TX).descriptor
        for (name, bits), value in zip(DESCRIPTOR_FIELDS, found, strict=True):
            assert 0 <= int(value) < 1 << bits, name


@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("ipv6", [False, True])
def test_fields(tags: int, ipv6: bool) -> None:
    ip = {"tc": 2} if ipv6 else {"tos": 2}
    frame = packet(
        bytes(61), psn=0xFEDCBA, tags=tags, ipv6=ipv6, ip=ip, bth={"ackreq": 1, "padcount": 1}
    )
    parsed = parse(frame, Direction.TX)
    assert parsed.descriptor == Descriptor(
        direction=Direction.TX,
        error=False,
        shim=False,
        reason=Reason.NONE,
        ipv6=ipv6,
        tags=tags,
        ecn=2,
        remote=B6_ADDRESS if ipv6 else B_ADDRESS,
        opcode=0x04,
        dest_qp=B_QP,
        psn=0xFEDCBA,
        ack_req=True,
        payload=60,
    )
    l3 = 14 + 4 * tags
    l4 = l3 + (40 if ipv6 else 20)
    assert parsed[1:] == (l3, l4, l4 + 8, len(frame))


def test_direction_and_error() -> None:
    frame = packet(bytes(64))
    assert parse(frame, Direction.RX).descriptor.remote == A_ADDRESS
    assert parse(frame, Direction.RX, error=True).descriptor.error
    assert parse(frame[:-1], Direction.RX).descriptor.error
    assert parse(frame[:-1], Direction.RX).descriptor.reason is Reason.NONE


def test_extension_headers() -> None:
    nak = parse(packet(opcode=0x11, aeth={"syndrome": 0x60, "msn": 0x123456}), Direction.RX)
    assert (nak.descriptor.syndrome, nak.descriptor.msn) == (0x60, 0x123456)
    assert nak.descriptor.payload == 0
    assert nak.end == 14 + 20 + 8 + 12 + 4 + 4  # two bytes less than the padded frame
    read = parse(packet(bytes(12) + (70000).to_bytes(4, "big"), opcode=0x0C), Direction.RX)
    assert (read.descriptor.dma_length, read.descriptor.payload) == (70000, 0)
    write = parse(packet(bytes(16) + bytes(500), opcode=0x06), Direction.RX)
    assert write.descriptor.payload == 500
    datagram = parse(packet(bytes(8) + bytes(256), opcode=0x64), Direction.RX)
    assert datagram.descriptor.payload == 256


REASONS = {
    "ARP": (b"\xff" * 6 + bytes(6) + b"\x08\x06" + bytes(46), Reason.ETHERTYPE),
    "802.3 length": (bytes(12) + b"\x00\x2e" + bytes(46), Reason.ETHERTYPE),
    "three tags": (packet(bytes(8), tags=3), Reason.VLAN_DEPTH),
    "IPv6 in IPv4's EtherType": (packet(ip={"version": 6}), Reason.IP_HEADER),
    "header of four words": (packet(ip={"ihl": 4}), Reason.IP_HEADER),
    "IP options": (packet(bytes(8), ip={"options": [IPOption_NOP()] * 4}), Reason.IPV4_OPTIONS),
    "first fragment": (packet(bytes(8), ip={"flags": "MF"}), Reason.FRAGMENT),
    "last fragment": (packet(bytes(8), ip={"frag": 3}), Reason.FRAGMENT),
    "TCP": (packet(transport=TCP(), ip={"proto": 6}), Reason.PROTOCOL),
    "ICMPv6": (packet(ipv6=True, ip={"nh": 58}), Reason.PROTOCOL),
    "IPv6 fragment": (packet(bytes(8), ipv6=True, ip={"nh": 44}), Reason.IPV6_EXTENSION),
    "hop by hop": (packet(bytes(8), ipv6=True, ip={"nh": 0}), Reason.IPV6_EXTENSION),
    "another port": (packet(udp={"dport": 4790}), Reason.PORT),
    "UDP shorter than IP": (packet(bytes(32), udp={"len": 48}), Reason.LENGTH),
    "no room for the ICRC": (packet(transport=Raw(bytes(15))), Reason.LENGTH),
    "no room for the AETH": (packet(opcode=0x11), Reason.LENGTH),
    "cut in the BTH": (packet(bytes(64))[:53], Reason.TRUNCATED),
    "cut in the UDP header": (packet(bytes(64))[:41], Reason.TRUNCATED),
    "cut in IPv6": (packet(ipv6=True)[:53], Reason.TRUNCATED),
    "cut in a tag": (packet(tags=1)[:17], Reason.TRUNCATED),
    "empty": (b"", Reason.TRUNCATED),
}


@pytest.mark.parametrize("name", REASONS)
def test_reasons(name: str) -> None:
    frame, reason = REASONS[name]
    found = parse(frame, Direction.TX).descriptor
    assert found.reason is reason
    assert found[4:] == Descriptor(Direction.TX, False, False, reason)[4:]


@given(frame=st.binary(max_size=120), direction=st.sampled_from(Direction))
def test_no_bytes_raise(frame: bytes, direction: Direction) -> None:
    parse(frame, direction)


@given(data=st.data())
def test_no_mutation_raises(data: st.DataObject) -> None:
    frame = bytearray(packet(bytes(40), tags=data.draw(st.integers(0, 2))))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, 70))] = data.draw(st.integers(0, 255))
    cut = bytes(frame[: data.draw(st.integers(0, len(frame)))])
    parsed = parse(cut, Direction.RX)
    assert parsed.descriptor.reason or parsed.bth + 12 <= len(cut)
