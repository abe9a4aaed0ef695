"""Headers as data: offsets of the standards, and reading and writing any field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_spec.frames import headers
from precog_spec.frames.cps import SHIM
from precog_spec.frames.headers import AETH, BTH, IPV4, IPV6, UDP
from precog_spec.frames.layout import Header
from precog_spec.frames.opcodes import EXTENSIONS, NAMES, is_reliable, solicits

ALL = [header for header in vars(headers).values() if isinstance(header, Header)] + [SHIM]


@pytest.mark.parametrize(
    ("header", "name", "byte", "shift", "bits"),
    [  # research/nic.md C1, RFC 791, RFC 8200, DESIGN section 3
        (IPV4, "ecn", 1, 0, 2),
        (IPV4, "total_length", 2, 0, 16),
        (IPV4, "more_fragments", 6, 5, 1),
        (IPV4, "checksum", 10, 0, 16),
        (IPV6, "ecn", 1, 4, 2),
        (IPV6, "next_header", 6, 0, 8),
        (UDP, "checksum", 6, 0, 16),
        (BTH, "pad", 1, 4, 2),
        (BTH, "becn", 4, 6, 1),
        (BTH, "resv6", 4, 0, 6),
        (BTH, "dest_qp", 5, 0, 24),
        (BTH, "ack_req", 8, 7, 1),
        (BTH, "psn", 9, 0, 24),
        (AETH, "msn", 1, 0, 24),
        (SHIM, "type", 0, 0, 4),
        (SHIM, "t", 1, 5, 1),
        (SHIM, "score", 2, 0, 8),
        (SHIM, "echo", 3, 0, 8),
        (SHIM, "time", 4, 0, 24),
        (SHIM, "crc", 7, 0, 8),
    ],
)
def test_offsets_of_the_standards(header, name, byte, shift, bits) -> None:
    field = header[name]
    assert (field.byte, field.shift, field.bits) == (byte, shift, bits)


def test_sizes() -> None:
    sizes = {header.name: header.size for header in ALL}
    assert sizes == {
        "Ethernet": 14,
        "VLAN": 4,
        "IPv4": 20,
        "IPv6": 40,
        "UDP": 8,
        "BTH": 12,
        "DETH": 8,
        "RETH": 16,
        "AETH": 4,
        "AtomicETH": 28,
        "AtomicAckETH": 8,
        "ImmDt": 4,
        "IETH": 4,
        "CNP payload": 16,
        "CPS shim": 8,
    }


@given(header=st.sampled_from(ALL), data=st.data())
def test_pack_and_unpack_are_inverse(header: Header, data: st.DataObject) -> None:
    raw = data.draw(st.binary(min_size=header.size, max_size=header.size))
    values = header.unpack(raw)
    assert header.pack(**values) == raw
    frame = bytearray(3) + bytearray(header.size)
    for name, value in values.items():
        header.put(frame, 3, name, value)
    assert frame[3:] == raw
    cut = data.draw(st.integers(0, header.size))
    assert header.unpack(raw[:cut]) == header.unpack(raw[:cut].ljust(header.size, b"\0"))


def test_errors() -> None:
    with pytest.raises(ValueError, match="X must be whole bytes, not 9 bits"):
        Header("X", ("a", 9))
    with pytest.raises(ValueError, match="fields of X must have different names, not 'a' twice"):
        Header("X", ("a", 4), ("a", 4))
    with pytest.raises(ValueError, match="UDP length must be 16 bits unsigned, not 65536"):
        UDP.pack(length=65536)
    with pytest.raises(ValueError, match="field of AETH must be one of syndrome, msn, not 'psn'"):
        AETH.pack(psn=1)
    with pytest.raises(ValueError, match="UDP at byte 1 must lie inside the frame"):
        UDP.put(bytearray(8), 1, "checksum", 0)


def test_opcodes() -> None:
    assert set(EXTENSIONS) == set(NAMES)
    assert NAMES[0x11] == "RC Acknowledge"
    assert NAMES[0x64] == "UD SEND Only"
    assert solicits(0x0C, ack_req=False)  # READ
    assert solicits(0x13, ack_req=False)  # CmpSwap
    assert solicits(0x04, ack_req=True)
    assert not solicits(0x04, ack_req=False)
    assert not solicits(0x64, ack_req=True)  # Soft-RoCE sets the bit in datagrams
    assert not solicits(0x11, ack_req=True)
    assert is_reliable(0xA4)
    assert not is_reliable(0x24)
