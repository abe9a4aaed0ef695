"""The parser: an untouched frame in, one descriptor out.

    Ethernet ─► 0-2 VLAN tags ─► IPv4 without options or IPv6 without extensions ─► UDP
                                                               ─► [shim] ─► BTH ─► AETH, RETH

Everything up to and including the BTH decides `reason`; what follows is read where it stands, and
bytes behind the end of the frame read as 0. So a cut-through parser that has seen the BTH decides
as this does, and only `error` has to wait for the end of the frame.

No input raises. Lengths come from IP and UDP, never from the frame: short frames are padded.
"""

from typing import NamedTuple

from precog_spec.frames.cps import SHIM, SHIM_PORT
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import (
    AETH,
    BTH,
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ICRC_BYTES,
    IPV4,
    IPV4_WORDS,
    IPV6,
    IPV6_EXTENSIONS,
    MAX_TAGS,
    PROTOCOL_UDP,
    RETH,
    ROCE_PORT,
    TPIDS,
    UDP,
    VLAN,
)
from precog_spec.frames.layout import Header
from precog_spec.frames.opcodes import EXTENSIONS, extension_bytes
from precog_spec.frames.qp_key import IPV4_MAPPED

__all__ = ["Descriptor", "Parsed", "parse"]


class Descriptor(NamedTuple):
    """`wire.descriptor.DESCRIPTOR_FIELDS` by name."""

    direction: Direction
    error: bool
    shim: bool
    reason: Reason
    ipv6: bool = False
    tags: int = 0
    ecn: int = 0
    remote: int = 0
    opcode: int = 0
    dest_qp: int = 0
    psn: int = 0
    ack_req: bool = False
    payload: int = 0
    syndrome: int = 0
    msn: int = 0
    dma_length: int = 0


class Parsed(NamedTuple):
    """A descriptor and where things stand, in bytes from the frame's first.

    `end` is the byte behind the IP packet, that is behind the ICRC. `l3`, `l4`, `bth` and `end` are
    0 where the parser did not get that far.
    """

    descriptor: Descriptor
    l3: int = 0
    l4: int = 0
    bth: int = 0
    end: int = 0


class _Stop(Exception):
    """The packet passes for `reason`."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason


def parse(
    frame: bytes | bytearray,
    direction: Direction,
    *,
    shim_port: int = SHIM_PORT,
    error: bool = False,
    knows_ipv6: bool = True,
) -> Parsed:
    """Parse a frame without FCS.

    Parameters
    ----------
    frame : bytes
        From the destination address on; padding may follow the IP packet.
    direction : Direction
        Says which of the addresses is the peer's.
    shim_port : int
        UDP destination port of packets with a shim; on TX the parser says so too.
    error : bool
        The stream's error flag: FCS or length, found by the MAC.
    knows_ipv6 : bool
        Otherwise IPv6 is an EtherType like any other.
    """
    l3, tags, ethertype = 0, 0, 0
    l4 = bth = end = 0
    shim = False
    try:
        l3, tags, ethertype = _ethernet(frame, knows_ipv6)
        ipv6 = ethertype == ETHERTYPE_IPV6
        l4, end = _ipv6(frame, l3) if ipv6 else _ipv4(frame, l3)
        _whole(frame, UDP, l4)
        port = UDP.get(frame, l4, "destination_port")
        if port not in (ROCE_PORT, shim_port):
            raise _Stop(Reason.PORT)
        shim = port == shim_port
        at = l4 + UDP.size + (SHIM.size if shim else 0)
        _whole(frame, BTH, at)
        opcode = BTH.get(frame, at, "opcode")
        length = UDP.get(frame, l4, "length")
        fixed = at + BTH.size - l4 + extension_bytes(opcode) + ICRC_BYTES
        if length != end - l4 or length < fixed:
            raise _Stop(Reason.LENGTH)
        bth = at
    except _Stop as stop:
        cut = end > len(frame)
        return Parsed(Descriptor(direction, error or cut, shim, stop.reason), l3, l4, 0, end)

    header = IPV6 if ipv6 else IPV4
    address = header.get(frame, l3, "source" if direction is Direction.RX else "destination")
    extensions = _extensions(frame, bth, opcode)
    aeth, reth = extensions.get(AETH.name, {}), extensions.get(RETH.name, {})
    descriptor = Descriptor(
        direction=direction,
        error=error or end > len(frame),
        shim=shim,
        reason=Reason.NONE,
        ipv6=ipv6,
        tags=tags,
        ecn=header.get(frame, l3, "ecn"),
        remote=address if ipv6 else IPV4_MAPPED | address,
        opcode=opcode,
        dest_qp=BTH.get(frame, bth, "dest_qp"),
        psn=BTH.get(frame, bth, "psn"),
        ack_req=bool(BTH.get(frame, bth, "ack_req")),
        payload=max(0, length - fixed - BTH.get(frame, bth, "pad")),
        syndrome=aeth.get("syndrome", 0),
        msn=aeth.get("msn", 0),
        dma_length=reth.get("dma_length", 0),
    )
    return Parsed(descriptor, l3, l4, bth, end)


def _whole(frame: bytes | bytearray, header: Header, at: int) -> None:
    if at + header.size > len(frame):
        raise _Stop(Reason.TRUNCATED)


def _ethernet(frame: bytes | bytearray, knows_ipv6: bool) -> tuple[int, int, int]:
    """Byte after the tags, number of tags, EtherType."""
    _whole(frame, ETHERNET, 0)
    ethertype = ETHERNET.get(frame, 0, "type")
    at, tags = ETHERNET.size, 0
    while ethertype in TPIDS:
        if tags == MAX_TAGS:
            raise _Stop(Reason.VLAN_DEPTH)
        _whole(frame, VLAN, at)
        ethertype = VLAN.get(frame, at, "type")
        at, tags = at + VLAN.size, tags + 1
    if ethertype != ETHERTYPE_IPV4 and not (knows_ipv6 and ethertype == ETHERTYPE_IPV6):
        raise _Stop(Reason.ETHERTYPE)
    return at, tags, ethertype


def _ipv4(frame: bytes | bytearray, l3: int) -> tuple[int, int]:
    """Byte of the UDP header, byte behind the IP packet."""
    _whole(frame, IPV4, l3)
    if IPV4.get(frame, l3, "version") != 4 or IPV4.get(frame, l3, "ihl") < IPV4_WORDS:
        raise _Stop(Reason.IP_HEADER)
    if IPV4.get(frame, l3, "ihl") > IPV4_WORDS:
        raise _Stop(Reason.IPV4_OPTIONS)
    if IPV4.get(frame, l3, "more_fragments") or IPV4.get(frame, l3, "fragment_offset"):
        raise _Stop(Reason.FRAGMENT)
    if IPV4.get(frame, l3, "protocol") != PROTOCOL_UDP:
        raise _Stop(Reason.PROTOCOL)
    return l3 + IPV4.size, l3 + IPV4.get(frame, l3, "total_length")


def _ipv6(frame: bytes | bytearray, l3: int) -> tuple[int, int]:
    """Byte of the UDP header, byte behind the IP packet."""
    _whole(frame, IPV6, l3)
    if IPV6.get(frame, l3, "version") != 6:
        raise _Stop(Reason.IP_HEADER)
    follows = IPV6.get(frame, l3, "next_header")
    if follows in IPV6_EXTENSIONS:
        raise _Stop(Reason.IPV6_EXTENSION)
    if follows != PROTOCOL_UDP:
        raise _Stop(Reason.PROTOCOL)
    l4 = l3 + IPV6.size
    return l4, l4 + IPV6.get(frame, l3, "payload_length")


def _extensions(frame: bytes | bytearray, bth: int, opcode: int) -> dict[str, dict[str, int]]:
    """Extension headers of the packet by name."""
    found = {}
    at = bth + BTH.size
    for header in EXTENSIONS.get(opcode, ()):
        found[header.name] = header.unpack(frame, at)
        at += header.size
    return found
