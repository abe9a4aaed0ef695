"""What the parser says of a packet, and why a packet is left as it is."""

from enum import IntEnum

__all__ = ["DESCRIPTOR_FIELDS", "Direction", "Reason"]


class Direction(IntEnum):
    """Seen from the card: to the wire or from it."""

    TX = 0
    RX = 1


class Reason(IntEnum):
    """Why a packet passes unchanged. Of several, the first in this order that holds counts."""

    NONE = 0
    # The parser's, header by header. A header that the frame does not hold whole is TRUNCATED.
    TRUNCATED = 1  # the frame ends inside a header up to the BTH
    ETHERTYPE = 2  # neither IPv4 nor IPv6
    VLAN_DEPTH = 3  # a third tag
    IP_HEADER = 4  # version or header length contradict the EtherType
    IPV4_OPTIONS = 5
    FRAGMENT = 6
    IPV6_EXTENSION = 7
    PROTOCOL = 8  # not UDP
    PORT = 9  # neither 4791 nor the shim's port
    LENGTH = 10  # UDP length is not IP's, or too small for BTH, its extensions and ICRC
    # The insertion's.
    SHIM_PORT = 11  # sent to the shim's port by the host itself
    UNKNOWN_QP = 12
    QP_DISABLED = 13
    DESTINATION_DISABLED = 14
    CHECKSUM_FORM = 15  # IPv4 checksum 0xFFFF: not the form that an update can restore
    MAX_FRAME = 16  # no headroom for the shim
    RESV6_IN_USE = 17  # mode R: the host uses the six bits itself
    NO_SCORE = 18  # mode R: nothing to say


#: (name, bits): one descriptor for each packet, least significant field first. Where `reason` is
#: not 0 the fields after it are 0.
DESCRIPTOR_FIELDS = (
    ("direction", 1),
    ("error", 1),  # the stream's error flag, or the frame ends before its IP length
    ("shim", 1),  # UDP destination port is the shim's
    ("reason", 5),
    ("ipv6", 1),
    ("tags", 2),  # VLAN tags
    ("ecn", 2),
    ("remote", 128),  # the peer's address; IPv4 as ::ffff:a.b.c.d
    ("opcode", 8),
    ("dest_qp", 24),
    ("psn", 24),
    ("ack_req", 1),
    ("payload", 16),  # bytes between the extension headers and padding or ICRC
    ("syndrome", 8),  # AETH, otherwise 0
    ("msn", 24),  # AETH, otherwise 0
    ("dma_length", 32),  # RETH, otherwise 0
)
