"""ICRC, checksums and CRC-8 against scapy, zlib, published check values and recomputation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_models.packet.checksum import fold, ipv4_checksum, udp_field, update, words
from precog_models.packet.icrc import icrc, icrc_ok
from precog_models.packet.parser import parse
from precog_spec.frames.crc import crc8, remainder
from precog_spec.frames.descriptor import Direction

from .frames import packet, synthetic


def test_scapy_says_the_same(seed: int) -> None:
    for name, frame in synthetic(random.Random(seed)).items():
        assert icrc_ok(frame, parse(frame, Direction.RX)), name


@pytest.mark.parametrize("ipv6", [False, True])
def test_masked_fields_and_no_others(ipv6: bool) -> None:
    frame = packet(bytes(32), ipv6=ipv6)
    l4 = 54 if ipv6 else 34
    # Masked: TOS, TTL, checksums, BTH byte 4; IPv6 traffic class, flow label, hop limit.
    masked = {l4 + 6, l4 + 7, l4 + 12} | ({14, 15, 16, 17, 21} if ipv6 else {15, 22, 24, 25})
    for at in range(14, len(frame)):
        changed = bytearray(frame)
        changed[at] ^= 1
        parsed = parse(changed, Direction.RX)
        if parsed.descriptor.reason:
            continue
        assert icrc_ok(changed, parsed) == (at in masked), at


def test_what_has_no_icrc() -> None:
    frame = packet(bytes(32))
    for bad in (frame[:-1], frame[:30], packet(udp={"dport": 1})):
        parsed = parse(bad, Direction.RX)
        assert not icrc_ok(bad, parsed)
        with pytest.raises(ValueError, match="must be a whole RoCEv2 packet without shim"):
            icrc(bad, parsed)


def test_published_check_values() -> None:
    digits = b"123456789"
    assert crc8(digits) == 0xDF  # AUTOSAR SWS CRC, CRC8H2F
    # A CRC that begins with zeros is the remainder of the message with zeros behind it.
    assert remainder(digits + bytes(2), 0x11021) == 0x31C3  # CRC-16/XMODEM
    assert remainder(digits + bytes(4), 0x1814141AB) == 0x3010BF7F  # CRC-32/AIXM


@given(data=st.binary(min_size=20, max_size=20))
def test_ipv4_checksum_sums_to_zero(data: bytes) -> None:
    header = bytearray(data)
    header[10:12] = ipv4_checksum(header).to_bytes(2, "big")
    assert fold(sum(words(header))) in (0, 0xFFFF)


@given(
    header=st.lists(st.integers(0, 0xFFFF), min_size=3, max_size=12),
    new=st.integers(0, 0xFFFF),
    at=st.integers(0, 2),
)
def test_update_is_recomputation(header: list[int], new: int, at: int) -> None:
    def checksum(of: list[int]) -> int:
        return fold(sum(of)) ^ 0xFFFF

    header[-1] |= 1  # a header is not all zero
    header[0 if at else 1] |= 1  # nor is what stays
    changed = [*header]
    changed[at] = new
    assert update(checksum(header), [header[at]], [new]) == checksum(changed)


@given(
    old=st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=6),
    new=st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=6),
    checksum=st.integers(0, 0xFFFF),
)
def test_an_update_can_be_taken_back(old: list[int], new: list[int], checksum: int) -> None:
    grown = [*old, 0x0100], [*new, 0x0108]  # a length is always among the words
    there, back = update(checksum, *grown), update(update(checksum, *grown), *reversed(grown))
    if checksum != 0xFFFF:
        assert there != 0xFFFF
        assert back == checksum
    if checksum != 0:
        there = udp_field(there)
        assert udp_field(update(there, *reversed(grown))) == checksum
