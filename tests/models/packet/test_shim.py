"""The shim's bytes, and what insertion writes compared with scapy's own computation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.all import IP, UDP, Ether, IPv6, raw

from precog_models.packet.parser import parse
from precog_models.packet.shim import Shim, decode, encode, insert, remove
from precog_spec.frames.cps import SHIM, SHIM_PORT, ShimFault, ShimType
from precog_spec.frames.crc import crc8
from precog_spec.frames.descriptor import Direction

from .frames import packet, synthetic

SCORES = st.none() | st.integers(0, 100)
SHIMS = st.builds(
    Shim,
    st.sampled_from(ShimType),
    SCORES,
    SCORES,
    st.none() | st.integers(0, 2**24 - 1),
    st.integers(0, 15),
)


def test_bytes_of_the_design() -> None:
    assert encode(Shim(ShimType.DATA, 37, 80, 0x123456))[:7].hex() == "11e02550123456"
    assert encode(Shim(ShimType.DATA, 37, 80, 0x123456, 6))[:7].hex() == "11e62550123456"
    assert encode(Shim(ShimType.ACKNOWLEDGE))[:7].hex() == "1200ffff000000"


@given(shim=SHIMS)
def test_decode_reads_what_encode_wrote(shim: Shim) -> None:
    assert decode(encode(shim)) == (ShimFault.NONE, shim, 0)


@given(shim=SHIMS, at=st.integers(0, 63))
def test_every_changed_bit_is_found(shim: Shim, at: int) -> None:
    data = bytearray(encode(shim))
    data[at // 8] ^= 0x80 >> at % 8
    fault, read, _ = decode(data)
    assert read is None
    assert fault is not ShimFault.NONE


@given(data=st.binary(min_size=8, max_size=8))
def test_any_eight_bytes(data: bytes) -> None:
    fault, shim, clamped = decode(data)
    assert (fault is ShimFault.NONE) == (shim is not None)
    assert 0 <= clamped <= 2


def crafted(**fields: int) -> bytes:
    body = SHIM.pack(**{"version": 1, "type": 1, **fields})[:7]
    return body + bytes([crc8(body)])


def test_faults_in_order_and_scores_out_of_range() -> None:
    assert decode(crafted(version=2, type=9))[0] is ShimFault.VERSION
    assert decode(crafted(type=3))[0] is ShimFault.TYPE
    assert decode(crafted()[:7] + b"\0")[0] is ShimFault.CRC
    assert decode(crafted(v=1, score=101, e=1, echo=254))[1:] == (
        Shim(ShimType.DATA, 100, 100),
        2,
    )
    assert decode(crafted(v=1, score=255, e=1, echo=255))[1:] == (Shim(ShimType.DATA), 0)
    assert decode(crafted(v=0, score=200))[1:] == (Shim(ShimType.DATA), 0)
    # The zero bit is for later versions of ours: not looked at.
    assert decode(crafted(zero=1))[0] is ShimFault.NONE


def test_values_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"score must be 0\.\.100 or None, not 101"):
        encode(Shim(ShimType.DATA, 101))
    with pytest.raises(ValueError, match=r"echo must be 0\.\.100 or None, not -1"):
        encode(Shim(ShimType.DATA, 1, -1))
    with pytest.raises(ValueError, match="CPS shim time must be 24 bits unsigned"):
        encode(Shim(ShimType.DATA, time=1 << 24))
    with pytest.raises(ValueError, match="CPS shim senders must be 4 bits unsigned"):
        encode(Shim(ShimType.DATA, senders=16))


def test_scapy_computes_the_same_headers(seed: int) -> None:
    """Lengths and checksums after insertion are what scapy computes from nothing."""
    rng = random.Random(seed)
    for name, frame in synthetic(rng).items():
        if name.startswith("wrong"):
            continue
        parsed = parse(frame, Direction.TX)
        shim = encode(Shim(ShimType.DATA, rng.randrange(101), None, rng.randrange(1 << 24)))
        out = insert(frame, parsed, shim, SHIM_PORT)
        whole = out[: parsed.end + SHIM.size]
        again = Ether(whole)
        ip = again[IPv6 if parsed.descriptor.ipv6 else IP]
        if parsed.descriptor.ipv6:
            ip.plen = None
        else:
            ip.len = ip.chksum = None
        again[UDP].len = None
        if again[UDP].chksum:
            again[UDP].chksum = None
        assert raw(again) == whole, name
        assert again[UDP].dport == SHIM_PORT
        assert out[parsed.bth : parsed.bth + 8] == shim
        assert out[parsed.bth + 8 :] == frame[parsed.bth :]


@given(
    payload=st.binary(max_size=80),
    shim=SHIMS,
    ipv6=st.booleans(),
    tags=st.integers(0, 2),
    udp_checksum=st.integers(0, 0xFFFF),
    ip_checksum=st.integers(0, 0xFFFE),
    port=st.integers(1, 0xFFFF).filter(lambda port: port != 4791),
)
def test_remove_restores(payload, shim, ipv6, tags, udp_checksum, ip_checksum, port) -> None:
    """Every byte, for checksums right, wrong and absent."""
    frame = packet(
        payload,
        ipv6=ipv6,
        tags=tags,
        udp={"chksum": udp_checksum},
        ip={} if ipv6 else {"chksum": ip_checksum},
    )
    out = insert(frame, parse(frame, Direction.TX), encode(shim), port)
    back = parse(out, Direction.RX, shim_port=port)
    assert back.descriptor.shim
    assert remove(out, back) == frame
    assert (out[back.l4 + 6 : back.l4 + 8] == b"\0\0") == (udp_checksum == 0)
