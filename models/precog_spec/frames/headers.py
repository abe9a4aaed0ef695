"""Headers from Ethernet to the InfiniBand transport, and the numbers that link them.

Sources: IEEE 802.3, 802.1Q; RFC 791, 8200, 768; InfiniBand Architecture Specification 1, chapter 9,
with annex A17 (RoCEv2). All offsets follow from the widths.
"""

from enum import IntEnum

from precog_spec.frames.layout import Header

__all__ = [
    "AETH",
    "ATOMIC_ACK_ETH",
    "ATOMIC_ETH",
    "BTH",
    "CNP_PAYLOAD",
    "DETH",
    "ETHERNET",
    "ETHERTYPE_IPV4",
    "ETHERTYPE_IPV6",
    "ICRC_BYTES",
    "ICRC_MASKED",
    "IETH",
    "IMM_DT",
    "IPV4",
    "IPV4_WORDS",
    "IPV6",
    "IPV6_EXTENSIONS",
    "MAX_TAGS",
    "MIN_FRAME",
    "PATH_MTUS",
    "PROTOCOL_UDP",
    "PSN_BITS",
    "RETH",
    "ROCE_PORT",
    "TPIDS",
    "UDP",
    "VLAN",
    "Ecn",
]

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
TPIDS = (0x8100, 0x88A8)  # 802.1Q tag; 802.1ad service tag (QinQ)
MAX_TAGS = 2
MIN_FRAME = 60  # bytes without FCS: Ethernet pads a shorter packet behind its IP length
PATH_MTUS = (256, 512, 1024, 2048, 4096)  # bytes of payload
PROTOCOL_UDP = 17
ROCE_PORT = 4791
ICRC_BYTES = 4  # the last of the UDP payload, least significant byte first
PSN_BITS = 24
IPV4_WORDS = 5  # header length without options

#: IPv6 next-header numbers that are extension headers (IANA), fragment 44 and ESP 50 among them.
IPV6_EXTENSIONS = (0, 43, 44, 50, 51, 60, 135, 139, 140, 253, 254)


class Ecn(IntEnum):
    """RFC 3168's two bits."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3


ETHERNET = Header("Ethernet", ("destination", 48), ("source", 48), ("type", 16))
#: What follows a TPID: the tag's control information and the next type.
VLAN = Header("VLAN", ("pcp", 3), ("dei", 1), ("vid", 12), ("type", 16))
IPV4 = Header(
    "IPv4",
    ("version", 4),
    ("ihl", 4),  # header length in 32-bit words
    ("dscp", 6),
    ("ecn", 2),
    ("total_length", 16),
    ("identification", 16),
    ("reserved", 1),
    ("dont_fragment", 1),
    ("more_fragments", 1),
    ("fragment_offset", 13),
    ("ttl", 8),
    ("protocol", 8),
    ("checksum", 16),
    ("source", 32),
    ("destination", 32),
)
IPV6 = Header(
    "IPv6",
    ("version", 4),
    ("dscp", 6),
    ("ecn", 2),
    ("flow_label", 20),
    ("payload_length", 16),
    ("next_header", 8),
    ("hop_limit", 8),
    ("source", 128),
    ("destination", 128),
)
UDP = Header("UDP", ("source_port", 16), ("destination_port", 16), ("length", 16), ("checksum", 16))
BTH = Header(
    "BTH",
    ("opcode", 8),
    ("solicited", 1),
    ("migration", 1),
    ("pad", 2),  # bytes between the payload and the ICRC
    ("version", 4),
    ("p_key", 16),
    ("fecn", 1),
    ("becn", 1),
    ("resv6", 6),  # masked in the ICRC with FECN and BECN; mode R's place
    ("dest_qp", 24),
    ("ack_req", 1),
    ("resv7", 7),  # covered by the ICRC
    ("psn", PSN_BITS),
)
DETH = Header("DETH", ("q_key", 32), ("reserved", 8), ("source_qp", 24))
RETH = Header("RETH", ("address", 64), ("r_key", 32), ("dma_length", 32))
AETH = Header("AETH", ("syndrome", 8), ("msn", 24))
ATOMIC_ETH = Header("AtomicETH", ("address", 64), ("r_key", 32), ("swap_add", 64), ("compare", 64))
ATOMIC_ACK_ETH = Header("AtomicAckETH", ("original", 64))
IMM_DT = Header("ImmDt", ("data", 32))
IETH = Header("IETH", ("r_key", 32))

#: Fields that routers and switches may change: the ICRC is computed with ones in their place.
ICRC_MASKED: tuple[tuple[Header, tuple[str, ...]], ...] = (
    (IPV4, ("dscp", "ecn", "ttl", "checksum")),
    (IPV6, ("dscp", "ecn", "flow_label", "hop_limit")),
    (UDP, ("checksum",)),
    (BTH, ("fecn", "becn", "resv6")),
)
#: A CNP's 16 reserved bytes; mode C puts a mark and the score into the first two.
CNP_PAYLOAD = Header("CNP payload", ("mark", 8), ("score", 8), ("reserved", 112))
