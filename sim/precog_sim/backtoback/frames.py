"""RoCEv2 packets of reliable connections, as an endpoint makes and reads them."""

from dataclasses import dataclass

from precog_models.packet.checksum import ipv4_checksum
from precog_models.packet.icrc import icrc
from precog_models.packet.parser import parse
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import (
    AETH,
    BTH,
    ETHERNET,
    ETHERTYPE_IPV4,
    ICRC_BYTES,
    IPV4,
    IPV4_WORDS,
    PROTOCOL_UDP,
    ROCE_PORT,
    UDP,
    Ecn,
)

__all__ = [
    "ACK",
    "ACKNOWLEDGE",
    "BTH_AT",
    "NAK_SEQUENCE",
    "SEND_FIRST",
    "SEND_LAST",
    "SEND_MIDDLE",
    "SEND_ONLY",
    "Host",
    "Packet",
    "build",
    "markable",
    "read",
    "with_ce",
]

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
ACKNOWLEDGE = 0x11
ACK, NAK_SEQUENCE = 0x1F, 0x60  # syndromes
_IP_AT = ETHERNET.size
_UDP_AT = _IP_AT + IPV4.size
BTH_AT = _UDP_AT + UDP.size
_PAYLOAD_AT = BTH_AT + BTH.size
_DEFAULT_P_KEY = 0xFFFF
_TTL = 64


@dataclass(frozen=True)
class Host:
    """Addresses of one end."""

    mac: int
    ip: int


@dataclass(frozen=True)
class Packet:
    """What an endpoint says or hears; `payload` is empty in an acknowledgement."""

    opcode: int
    dest_qp: int
    psn: int
    ack_req: bool = False
    syndrome: int = 0
    msn: int = 0
    payload: bytes = b""


def build(packet: Packet, source: Host, destination: Host, udp_source: int) -> bytes:
    """A frame without FCS, its ICRC right; data may be marked on its way, answers may not."""
    answer = packet.opcode == ACKNOWLEDGE
    pad = -len(packet.payload) % 4
    bth = BTH.pack(
        opcode=packet.opcode,
        pad=pad,
        p_key=_DEFAULT_P_KEY,
        dest_qp=packet.dest_qp,
        ack_req=int(packet.ack_req),
        psn=packet.psn,
    )
    if answer:
        bth += AETH.pack(syndrome=packet.syndrome, msn=packet.msn)
    body = bth + packet.payload + bytes(pad) + bytes(ICRC_BYTES)
    udp = UDP.pack(source_port=udp_source, destination_port=ROCE_PORT, length=UDP.size + len(body))
    ip = bytearray(
        IPV4.pack(
            version=4,
            ihl=IPV4_WORDS,
            ecn=Ecn.NOT_ECT if answer else Ecn.ECT0,
            total_length=IPV4.size + UDP.size + len(body),
            dont_fragment=1,
            ttl=_TTL,
            protocol=PROTOCOL_UDP,
            source=source.ip,
            destination=destination.ip,
        )
    )
    IPV4.put(ip, 0, "checksum", ipv4_checksum(ip))
    l2 = ETHERNET.pack(destination=destination.mac, source=source.mac, type=ETHERTYPE_IPV4)
    frame = l2 + bytes(ip) + udp + body
    checked = icrc(frame, parse(frame, Direction.TX))
    return frame[:-ICRC_BYTES] + checked.to_bytes(ICRC_BYTES, "little")


def read(frame: bytes) -> Packet:
    """What a frame of `build`, or a CNP, says."""
    opcode = BTH.get(frame, BTH_AT, "opcode")
    payload, syndrome, msn = b"", 0, 0
    if opcode == ACKNOWLEDGE:
        syndrome = AETH.get(frame, _PAYLOAD_AT, "syndrome")
        msn = AETH.get(frame, _PAYLOAD_AT, "msn")
    else:
        end = _IP_AT + IPV4.get(frame, _IP_AT, "total_length") - ICRC_BYTES
        payload = frame[_PAYLOAD_AT : end - BTH.get(frame, BTH_AT, "pad")]
    return Packet(
        opcode,
        BTH.get(frame, BTH_AT, "dest_qp"),
        BTH.get(frame, BTH_AT, "psn"),
        bool(BTH.get(frame, BTH_AT, "ack_req")),
        syndrome,
        msn,
        payload,
    )


def markable(frame: bytes) -> bool:
    """Whether a switch may mark the frame."""
    return IPV4.get(frame, _IP_AT, "ecn") in (Ecn.ECT0, Ecn.ECT1)


def with_ce(frame: bytes) -> bytes:
    """The frame as a switch marks it."""
    out = bytearray(frame)
    IPV4.put(out, _IP_AT, "ecn", Ecn.CE)
    IPV4.put(out, _IP_AT, "checksum", 0)
    IPV4.put(out, _IP_AT, "checksum", ipv4_checksum(bytes(out[_IP_AT:_UDP_AT])))
    return bytes(out)
