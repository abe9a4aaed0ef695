"""Captures: scapy reads what is written, and what scapy writes is read; bad files say why."""

import struct
from pathlib import Path

import pytest
from scapy.all import Ether, PcapNgReader, PcapReader, PcapWriter, raw

from precog_sim.capture import CutOff, Frame, read, write

FRAMES = [
    Frame(1_781_664_750_036_910_123, bytes(range(60)), 60),
    Frame(1_781_664_750_036_910_124, bytes(61), 9000),  # cut by the snap length
    Frame(0, b"\x01" * 1514, 1514),
]


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
def test_there_and_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    assert write(path, FRAMES) == 3
    assert list(read(path)) == FRAMES


@pytest.mark.parametrize(("suffix", "reader"), [(".pcap", PcapReader), (".pcapng", PcapNgReader)])
def test_scapy_reads_it(tmp_path: Path, suffix: str, reader) -> None:
    path = tmp_path / f"x{suffix}"
    write(path, FRAMES)
    with reader(str(path)) as packets:
        found = [(int(p.time * 10**9), raw(p), p.wirelen) for p in packets]
    assert found == FRAMES


@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("endianness", ["<", ">"])
def test_pcap_of_scapy(tmp_path: Path, nano: bool, endianness: str) -> None:
    path = tmp_path / "x.pcap"
    with PcapWriter(str(path), nano=nano, endianness=endianness, linktype=1) as out:
        packet = Ether(bytes(60))
        packet.time = 12.000345 if not nano else 12.5
        out.write(packet)
    assert list(read(path)) == [Frame(12_500_000_000 if nano else 12_000_345_000, bytes(60), 60)]


def block(kind: int, body: bytes, order: str) -> bytes:
    body = body.ljust(-(-len(body) // 4) * 4, b"\0")
    size = 12 + len(body)
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def section(order: str) -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str, options: bytes = b"", link: int = 1) -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)


def enhanced(order: str, number: int, ticks: int, data: bytes) -> bytes:
    head = struct.pack(order + "5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data, order)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value.ljust(-(-len(value) // 4) * 4, b"\0")


@pytest.mark.parametrize("order", ["<", ">"])
def test_units_offsets_interfaces_and_sections(tmp_path: Path, order: str) -> None:
    other = ">" if order == "<" else "<"
    path = tmp_path / "x.pcapng"
    binary = option(order, 9, b"\x8a") + option(order, 14, struct.pack(order + "q", 100))
    path.write_bytes(
        section(order)
        + interface(order)
        + interface(order, binary)
        + block(5, bytes(12), order)  # statistics: nothing to us
        + enhanced(order, 0, 3, bytes(60))
        + enhanced(order, 1, 512, bytes(61))
        + block(2, struct.pack(order + "HHIIII", 1, 0, 0, 1024, 63, 63) + bytes(63), order)
        + section(other)
        + interface(other, option(other, 9, b"\x09"))
        + enhanced(other, 0, (1 << 40) + 1, bytes(62))
    )
    assert [(f.time_ns, len(f.data)) for f in read(path)] == [
        (3_000, 60),
        (100_500_000_000, 61),
        (101_000_000_000, 63),  # an obsolete packet block
        ((1 << 40) + 1, 62),
    ]


def pcap_head(link: int) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)


BAD = {
    "must be pcap or pcapng": b"GIF89a",
    r"link type of .* must be 1 \(Ethernet\), not 113": (
        section("<") + interface("<", link=113) + enhanced("<", 0, 0, bytes(4))
    ),
    r"link type of .* must be 1 \(Ethernet\), not 101": pcap_head(101),
    "packet 1 of .* must have 262144 bytes or less, not 262145": (
        pcap_head(1) + struct.pack("<IIII", 0, 0, 60, 262145) + bytes(60)
    ),
    "time of packet 1 of .* must have less than a second in µs, not 1000000": (
        pcap_head(1) + struct.pack("<IIII", 0, 1_000_000, 60, 60) + bytes(60)
    ),
    r"time of block 3 of .* must be 0\.\.4294967295 seconds after 1970, not 4294967296": (
        section("<")
        + interface("<", option("<", 14, struct.pack("<q", 1 << 32)))
        + enhanced("<", 0, 0, bytes(4))
    ),
    r"must be 0\.\.4294967295 seconds after 1970, not -1": (
        section("<")
        + interface("<", option("<", 14, struct.pack("<q", -1)))
        + enhanced("<", 0, 0, bytes(4))
    ),
    "must be described before": section("<") + enhanced("<", 0, 0, bytes(4)),
    "must have times": section("<") + interface("<") + block(3, bytes(8), "<"),
    "not end inside block 2": section("<") + interface("<")[:-2],
    "must have 12 bytes or more, not 4": section("<") + struct.pack("<III", 1, 4, 0),
    "must be well-formed": section("<") + block(1, b"", "<"),
    "not end inside the file header": b"\xd4\xc3\xb2\xa1" + bytes(9),
    "time unit of .* must be one byte": section("<") + interface("<", option("<", 9, b"")),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files(tmp_path: Path, message: str) -> None:
    path = tmp_path / "x.cap"
    path.write_bytes(BAD[message])
    with pytest.raises(ValueError, match=message):
        list(read(path))


def test_cut_pcap_gives_the_whole_packets_first(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    write(path, FRAMES)
    path.write_bytes(path.read_bytes()[:-1])
    frames = read(path)
    assert [next(frames), next(frames)] == FRAMES[:2]
    with pytest.raises(CutOff, match="not end inside packet 3"):
        next(frames)


def test_cut_pcapng_gives_the_whole_packets_first(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    write(path, FRAMES)
    path.write_bytes(path.read_bytes()[:-1])
    frames = read(path)
    assert [next(frames), next(frames)] == FRAMES[:2]
    with pytest.raises(CutOff, match="not end inside block 5"):
        next(frames)


def test_an_interface_matters_if_a_packet_uses_it(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(
        section("<")
        + interface("<", link=113)
        + interface("<")
        + enhanced("<", 1, 7, bytes(60))
        + enhanced("<", 0, 8, bytes(60))
    )
    frames = read(path)
    assert next(frames) == Frame(7_000, bytes(60), 60)
    with pytest.raises(ValueError, match=r"must be 1 \(Ethernet\), not 113"):
        next(frames)


def test_pcap_that_says_how_long_its_fcs_is(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap_head(0x24000001) + struct.pack("<IIII", 1, 2, 60, 60) + bytes(60))
    assert list(read(path)) == [Frame(1_000_002_000, bytes(60), 60)]


def test_name_to_write(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be a \.pcap or \.pcapng file, not .*x\.cap"):
        write(tmp_path / "x.cap", FRAMES)
