"""Captures, read and written: pcap and pcapng, microseconds and nanoseconds, times as integers.

The blocks are dpkt's. Its readers are not used: they give times as floating-point seconds, in which
a nanosecond is lost, and leave out the length on the wire and every interface but the first.
"""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dpkt import pcap, pcapng

from precog_models.durable import write_durably
from precog_models.limits import brief

__all__ = ["CutOff", "Frame", "read", "suffix_of", "write"]

_ETHERNET = 1  # LINKTYPE of both formats
_LINKTYPE_MASK = 0xFFFF  # of pcap's word, which may say above it that frames end with their FCS
_NS = 10**9
_END_S = 1 << 32  # of times that pcap can write: the year 2106
_SNAPLEN = 0x40000
_MIN_BLOCK = 12
_BLOCK_SIMPLE = 3
_TSRESOL_NS = 9


class Frame(NamedTuple):
    """One captured frame."""

    time_ns: int  # since 1970
    data: bytes  # without FCS
    wire_length: int  # more than len(data) if the capture cut the frame


class CutOff(ValueError):
    """The file ends inside a packet or a block, as when the program that wrote it was killed."""


class _Interface(NamedTuple):
    """A pcapng interface: its unit of time as ticks a second, and an offset in seconds."""

    linktype: int
    rate: int
    offset: int


def read(path: Path | str) -> Iterator[Frame]:
    """Frames of a capture in their order.

    Raises
    ------
    CutOff
        The file ends inside a packet; the frames in front of that place were given.
    ValueError
        The file is neither pcap nor pcapng, a packet's link layer is not Ethernet, it has no time,
        or a time or a length is damaged; frames in front of that place were given.
    """
    with Path(path).open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        number = int.from_bytes(magic, "big")
        if number in pcap.MAGIC_TO_PKT_HDR:
            yield from _read_pcap(file, path, number)
        elif number == pcapng.PCAPNG_BT_SHB:
            yield from _read_pcapng(file, path)
        else:
            raise ValueError(f"capture must be pcap or pcapng, not {path} that begins {magic!r}")


def write(path: Path | str, frames: Iterable[Frame]) -> int:
    """Write a capture with times in nanoseconds; returns the number of frames.

    Raises
    ------
    ValueError
        `suffix_of` refuses the name.
    """
    plain = suffix_of(path) == ".pcap"
    packets = [_pcap_packet(frame) if plain else _pcapng_packet(frame) for frame in frames]
    data = b"".join([_pcap_head() if plain else _pcapng_head(), *packets])
    target = Path(path)
    if target.exists() and not target.is_file():
        target.write_bytes(data)  # a pipe
    else:
        write_durably(target, data)
    return len(packets)


def suffix_of(path: Path | str) -> str:
    """The format to write, .pcap or .pcapng.

    Raises
    ------
    ValueError
        The name ends in neither, or is a folder's.
    """
    suffix = Path(path).suffix
    if suffix not in (".pcap", ".pcapng") or Path(path).is_dir():
        raise ValueError(f"capture to write must be a .pcap or .pcapng file, not {path}")
    return suffix


def _take(file: BinaryIO, size: int, path: Path | str, what: str) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise CutOff(f"capture must be whole, not end inside {what} like {path}")
    return data


def _sane(captured: int, wire: int, what: str, path: Path | str) -> None:
    if max(captured, wire) > _SNAPLEN:
        raise ValueError(
            f"{what} of {path} must have {_SNAPLEN} bytes or less, not {max(captured, wire)}; "
            "the file is damaged there"
        )


def _link(path: Path | str, linktype: int) -> None:
    if linktype != _ETHERNET:
        raise ValueError(f"link type of {path} must be {_ETHERNET} (Ethernet), not {linktype}")


def _read_pcap(file: BinaryIO, path: Path | str, magic: int) -> Iterator[Frame]:
    swapped = magic in (pcap.PMUDPCT_MAGIC, pcap.PMUDPCT_MAGIC_NANO, pcap.PACPDOM_MAGIC)
    kind = pcap.LEFileHdr if swapped else pcap.FileHdr
    head = kind(_take(file, kind.__hdr_len__, path, "the file header"))
    _link(path, head.linktype & _LINKTYPE_MASK)
    nano = magic in (pcap.TCPDUMP_MAGIC_NANO, pcap.PMUDPCT_MAGIC_NANO)
    packet = pcap.MAGIC_TO_PKT_HDR[magic]
    number = 0
    while first := file.read(1):
        number += 1
        what = f"packet {number}"
        header = packet(first + _take(file, packet.__hdr_len__ - 1, path, what))
        _sane(header.caplen, header.len, what, path)
        unit = 1 if nano else 1000
        if header.tv_usec * unit >= _NS:
            raise ValueError(
                f"time of {what} of {path} must have less than a second in "
                f"{'ns' if nano else 'µs'}, not {header.tv_usec}; the file is damaged there"
            )
        time = header.tv_sec * _NS + header.tv_usec * unit
        yield Frame(time, _take(file, header.caplen, path, what), header.len)


def _read_pcapng(file: BinaryIO, path: Path | str) -> Iterator[Frame]:
    little = True
    interfaces: list[_Interface] = []
    number = 0
    while first := file.read(1):
        number += 1
        what = f"block {number}"
        start = first + _take(file, _MIN_BLOCK - 1, path, what)
        if int.from_bytes(start[:4], "big") == pcapng.PCAPNG_BT_SHB:  # reads the same both ways
            little = start[8:12] == pcapng.BYTE_ORDER_MAGIC.to_bytes(4, "little")
            interfaces = []
        kind, length = struct.unpack("<II" if little else ">II", start[:8])
        if length < _MIN_BLOCK:
            raise ValueError(f"{what} of {path} must have {_MIN_BLOCK} bytes or more, not {length}")
        block = start + _take(file, length - _MIN_BLOCK, path, what)
        if kind == pcapng.PCAPNG_BT_IDB:
            interfaces.append(_interface(block, little, path))
        elif kind in (pcapng.PCAPNG_BT_EPB, pcapng.PCAPNG_BT_PB):
            yield _enhanced(block, kind, little, interfaces, what, path)
        elif kind == _BLOCK_SIMPLE:
            raise ValueError(f"packets of {path} must have times, not be in simple blocks ({what})")


def _parsed(kind: Any, block: bytes, what: str) -> Any:
    try:
        return kind(block)
    except (pcapng.dpkt.Error, struct.error) as error:
        raise ValueError(f"{what} must be well-formed, not {error}") from error


def _interface(block: bytes, little: bool, path: Path | str) -> _Interface:
    kind = pcapng.InterfaceDescriptionBlockLE if little else pcapng.InterfaceDescriptionBlock
    found = _parsed(kind, block, f"interface of {path}")
    rate, offset = 10**6, 0
    for option in found.opts:
        if option.code == pcapng.PCAPNG_OPT_IF_TSRESOL:
            if len(option.data) != 1:
                raise ValueError(f"time unit of {path} must be one byte, not {option.data!r}")
            exponent = option.data[0] & 0x7F
            rate = 2**exponent if option.data[0] & 0x80 else 10**exponent
        elif option.code == pcapng.PCAPNG_OPT_IF_TSOFFSET:
            offset = int.from_bytes(option.data, "little" if little else "big", signed=True)
    return _Interface(found.linktype, rate, offset)


def _enhanced(
    block: bytes,
    kind: int,
    little: bool,
    interfaces: list[_Interface],
    what: str,
    path: Path | str,
) -> Frame:
    if kind == pcapng.PCAPNG_BT_EPB:
        made = pcapng.EnhancedPacketBlockLE if little else pcapng.EnhancedPacketBlock
    else:
        made = pcapng.PacketBlockLE if little else pcapng.PacketBlock
    found = _parsed(made, block, f"{what} of {path}")
    if found.iface_id >= len(interfaces):
        raise ValueError(
            f"interface of {what} of {path} must be described before, not be number "
            f"{found.iface_id} of {len(interfaces)}"
        )
    interface = interfaces[found.iface_id]
    _link(path, interface.linktype)
    _sane(len(found.pkt_data), found.pkt_len, what, path)
    ticks = found.ts_high << 32 | found.ts_low
    time = ticks * _NS // interface.rate + interface.offset * _NS
    if not 0 <= time < _END_S * _NS:
        raise ValueError(
            f"time of {what} of {path} must be 0..{_END_S - 1} seconds after 1970, not "
            f"{brief(time // _NS)}"
        )
    return Frame(time, bytes(found.pkt_data), found.pkt_len)


def _pcap_head() -> bytes:
    return bytes(pcap.LEFileHdr(magic=pcap.TCPDUMP_MAGIC_NANO, snaplen=_SNAPLEN))


def _pcap_packet(frame: Frame) -> bytes:
    second, ns = divmod(frame.time_ns, _NS)
    header = pcap.LEPktHdr(tv_sec=second, tv_usec=ns, caplen=len(frame.data), len=frame.wire_length)
    return bytes(header) + frame.data


def _pcapng_head() -> bytes:
    resolution = pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_IF_TSRESOL, data=bytes([_TSRESOL_NS]))
    end = pcapng.PcapngOptionLE(code=pcapng.PCAPNG_OPT_ENDOFOPT, data=b"")
    interface = pcapng.InterfaceDescriptionBlockLE(snaplen=_SNAPLEN, opts=[resolution, end])
    return bytes(pcapng.SectionHeaderBlockLE()) + bytes(interface)


def _pcapng_packet(frame: Frame) -> bytes:
    # dpkt's block would write the captured length in the place of the wire's: packed here.
    size, pad = len(frame.data), -len(frame.data) % 4
    total = 32 + size + pad
    head = struct.pack(
        "<7I",
        pcapng.PCAPNG_BT_EPB,
        total,
        0,
        frame.time_ns >> 32,
        frame.time_ns & 0xFFFFFFFF,
        size,
        frame.wire_length,
    )
    return head + frame.data + bytes(pad) + struct.pack("<I", total)
