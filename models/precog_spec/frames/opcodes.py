"""Opcodes of the BTH, the headers that follow each, and what a packet of one does.

Source: InfiniBand Architecture Specification 1, section 9.2.1, table "OpCode field". The upper
three bits name the transport, the lower five the operation.
"""

from precog_spec.frames.headers import (
    AETH,
    ATOMIC_ACK_ETH,
    ATOMIC_ETH,
    CNP_PAYLOAD,
    DETH,
    IETH,
    IMM_DT,
    RETH,
)
from precog_spec.frames.layout import Header

__all__ = [
    "ACKNOWLEDGE",
    "ACKNOWLEDGES",
    "ANNOUNCED",
    "ANNOUNCES",
    "ATOMICS",
    "ATOMIC_ACKNOWLEDGE",
    "CNP",
    "EXTENSIONS",
    "FULL",
    "NAMES",
    "NO_DATA",
    "PLAIN_ACKNOWLEDGES",
    "READ_REQUEST",
    "READ_RESPONSES",
    "RELIABLE_REQUESTS",
    "SOLICITED_ALWAYS",
    "SYNDROME_ACK",
    "SYNDROME_NAK",
    "SYNDROME_RESERVED",
    "SYNDROME_RNR",
    "SYNDROME_SEQUENCE_ERROR",
    "UNTOLD",
    "WHOLE",
    "extension_bytes",
    "is_reliable",
    "solicits",
    "syndrome_kind",
]

_RC, _UC, _UD, _XRC = 0x00, 0x20, 0x60, 0xA0

# Operation: name, headers behind the BTH.
_OPERATIONS: dict[int, tuple[str, tuple[Header, ...]]] = {
    0x00: ("SEND First", ()),
    0x01: ("SEND Middle", ()),
    0x02: ("SEND Last", ()),
    0x03: ("SEND Last with Immediate", (IMM_DT,)),
    0x04: ("SEND Only", ()),
    0x05: ("SEND Only with Immediate", (IMM_DT,)),
    0x06: ("RDMA WRITE First", (RETH,)),
    0x07: ("RDMA WRITE Middle", ()),
    0x08: ("RDMA WRITE Last", ()),
    0x09: ("RDMA WRITE Last with Immediate", (IMM_DT,)),
    0x0A: ("RDMA WRITE Only", (RETH,)),
    0x0B: ("RDMA WRITE Only with Immediate", (RETH, IMM_DT)),
    0x0C: ("RDMA READ Request", (RETH,)),
    0x0D: ("RDMA READ response First", (AETH,)),
    0x0E: ("RDMA READ response Middle", ()),
    0x0F: ("RDMA READ response Last", (AETH,)),
    0x10: ("RDMA READ response Only", (AETH,)),
    0x11: ("Acknowledge", (AETH,)),
    0x12: ("ATOMIC Acknowledge", (AETH, ATOMIC_ACK_ETH)),
    0x13: ("CmpSwap", (ATOMIC_ETH,)),
    0x14: ("FetchAdd", (ATOMIC_ETH,)),
    0x16: ("SEND Last with Invalidate", (IETH,)),
    0x17: ("SEND Only with Invalidate", (IETH,)),
}
_XRCETH = Header("XRCETH", ("reserved", 8), ("xrc_srq", 24))
_XRC_REQUESTS = (*range(0x0D), 0x13, 0x14, 0x16, 0x17)

CNP = 0x81

#: Opcode: name as Wireshark and the standard write it.
NAMES: dict[int, str] = {
    **{_RC | op: f"RC {name}" for op, (name, _) in _OPERATIONS.items()},
    **{_UC | op: f"UC {_OPERATIONS[op][0]}" for op in range(0x0C)},
    **{_UD | op: f"UD {_OPERATIONS[op][0]}" for op in (0x04, 0x05)},
    **{_XRC | op: f"XRC {name}" for op, (name, _) in _OPERATIONS.items()},
    CNP: "CNP",
}

#: Opcode: headers between the BTH and the payload. An opcode that is not here has none known.
EXTENSIONS: dict[int, tuple[Header, ...]] = {
    **{_RC | op: headers for op, (_, headers) in _OPERATIONS.items()},
    **{_UC | op: _OPERATIONS[op][1] for op in range(0x0C)},
    **{_UD | op: (DETH, *_OPERATIONS[op][1]) for op in (0x04, 0x05)},
    **{
        _XRC | op: (_XRCETH, *headers) if op in _XRC_REQUESTS else headers
        for op, (_, headers) in _OPERATIONS.items()
    },
    CNP: (CNP_PAYLOAD,),
}


def _reliable(*operations: int) -> frozenset[int]:
    return frozenset(base | op for base in (_RC, _XRC) for op in operations)


def _named(*operations: int) -> frozenset[int]:
    """Opcodes of these operations, in every service that has them."""
    return frozenset(op for op in NAMES if op != CNP and op & 0x1F in operations)


ACKNOWLEDGE = _reliable(0x11)
ATOMIC_ACKNOWLEDGE = _reliable(0x12)
READ_REQUEST = _reliable(0x0C)
READ_RESPONSES = _reliable(0x0D, 0x0E, 0x0F, 0x10)
#: First and Middle: more follows, so their payload is as long as the path MTU.
FULL = _reliable(0x00, 0x01, 0x06, 0x07, 0x0D, 0x0E)
ATOMICS = _reliable(0x13, 0x14)
#: Answers without payload: nothing that a sender could slow down.
PLAIN_ACKNOWLEDGES = ACKNOWLEDGE | ATOMIC_ACKNOWLEDGE
#: A mark of theirs says nothing of the peer's data.
NO_DATA = PLAIN_ACKNOWLEDGES | {CNP}
#: Answers of a responder: their PSN acknowledges.
ACKNOWLEDGES = PLAIN_ACKNOWLEDGES | READ_RESPONSES

# AETH syndrome bits 6:5; bits 4:0 are a credit count, a timer or a NAK code.
SYNDROME_ACK, SYNDROME_RNR, SYNDROME_RESERVED, SYNDROME_NAK = 0, 1, 2, 3
#: Bits 6:0 of the NAK that names the packet which the responder lacks.
SYNDROME_SEQUENCE_ERROR = SYNDROME_NAK << 5


def syndrome_kind(syndrome: int) -> int:
    """One of the SYNDROME numbers."""
    return (syndrome >> 5) & 3


def extension_bytes(opcode: int) -> int:
    """Bytes between the BTH and the payload."""
    return sum(header.size for header in EXTENSIONS.get(opcode, ()))


def is_reliable(opcode: int) -> bool:
    """Whether the opcode is one of a reliable connection's (RC or XRC): these are acknowledged."""
    return opcode in NAMES and opcode & 0xE0 in (_RC, _XRC)


#: By what a packet with payload says of its message's length. RETH has it; the packets behind go by
#: that one; of a message in one packet it is the payload; of the others it is unknown.
ANNOUNCES = _named(0x06, 0x0A, 0x0B)
ANNOUNCED = _named(0x07, 0x08, 0x09)
WHOLE = _named(0x04, 0x05, 0x10, 0x17)
UNTOLD = _named(0x00, 0x01, 0x02, 0x03, 0x0D, 0x0E, 0x0F, 0x16)
#: Requests of reliable services: solicited by their AckReq bit, or always.
RELIABLE_REQUESTS = frozenset(op for op in NAMES if is_reliable(op)) - ACKNOWLEDGES
SOLICITED_ALWAYS = READ_REQUEST | ATOMICS


def solicits(opcode: int, ack_req: bool) -> bool:
    """Whether a request makes the responder answer with the request's own PSN.

    READ and ATOMIC requests do without the AckReq bit; datagrams and unreliable connections never
    do, although some senders set the bit in them.
    """
    return opcode in SOLICITED_ALWAYS or (ack_req and opcode in RELIABLE_REQUESTS)
