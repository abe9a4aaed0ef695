"""The opcodes, against the standard's own table, written out here once more.

Source: InfiniBand Architecture Specification Volume 1, section 9.2.1, table "OpCode field"
(operation and headers of each), and section 9.7.5.1: every packet of a READ response acknowledges
all PSNs before its own, whether it has an AETH (First, Last, Only) or none (Middle). XRC has the
same operations (Annex A14). No name of the tables under test is used to write it.
"""

from precog_models.measure.rtt_collector import RttCollector
from precog_models.packet.parser import Descriptor
from precog_spec.contract import Outcome
from precog_spec.frames import opcodes
from precog_spec.frames.descriptor import Direction, Reason

#: Operation (lower five bits): who sends it, bytes of extension headers in RC.
REQUEST, RESPONSE = "requester", "responder"
TABLE: dict[int, tuple[str, int]] = {
    0b00000: (REQUEST, 0),  # SEND First
    0b00001: (REQUEST, 0),  # SEND Middle
    0b00010: (REQUEST, 0),  # SEND Last
    0b00011: (REQUEST, 4),  # SEND Last with Immediate
    0b00100: (REQUEST, 0),  # SEND Only
    0b00101: (REQUEST, 4),  # SEND Only with Immediate
    0b00110: (REQUEST, 16),  # RDMA WRITE First
    0b00111: (REQUEST, 0),  # RDMA WRITE Middle
    0b01000: (REQUEST, 0),  # RDMA WRITE Last
    0b01001: (REQUEST, 4),  # RDMA WRITE Last with Immediate
    0b01010: (REQUEST, 16),  # RDMA WRITE Only
    0b01011: (REQUEST, 20),  # RDMA WRITE Only with Immediate
    0b01100: (REQUEST, 16),  # RDMA READ Request
    0b01101: (RESPONSE, 4),  # RDMA READ response First
    0b01110: (RESPONSE, 0),  # RDMA READ response Middle
    0b01111: (RESPONSE, 4),  # RDMA READ response Last
    0b10000: (RESPONSE, 4),  # RDMA READ response Only
    0b10001: (RESPONSE, 4),  # Acknowledge
    0b10010: (RESPONSE, 12),  # ATOMIC Acknowledge
    0b10011: (REQUEST, 28),  # CmpSwap
    0b10100: (REQUEST, 28),  # FetchAdd
    0b10110: (REQUEST, 4),  # SEND Last with Invalidate
    0b10111: (REQUEST, 4),  # SEND Only with Invalidate
}
RC, XRC, XRC_HEADER = 0b000, 0b101, 4  # bytes, of requests
RELIABLE = {base << 5 | operation: base for base in (RC, XRC) for operation in TABLE}
NO_AETH = 0b01110
SLOT, SENT, CAME = 1, 1000, 5000


def of_responder(opcode: int) -> bool:
    return opcode in RELIABLE and TABLE[opcode & 31][0] == RESPONSE


def request(opcode: int, psn: int, *, ack_req: bool = False) -> Descriptor:
    return Descriptor(
        Direction.TX, False, False, Reason.NONE, opcode=opcode, psn=psn, ack_req=ack_req,
        dma_length=3 * 1024,
    )  # fmt: skip


def answer(opcode: int, psn: int, syndrome: int) -> Descriptor:
    return Descriptor(
        Direction.RX, False, False, Reason.NONE, opcode=opcode, psn=psn, syndrome=syndrome
    )


def test_who_sends_what() -> None:
    for opcode in range(256):
        reliable = opcode in RELIABLE
        assert opcodes.is_reliable(opcode) == reliable, hex(opcode)
        assert (opcode in opcodes.ACKNOWLEDGES) == of_responder(opcode), hex(opcode)
        request = reliable and not of_responder(opcode)
        assert (opcode in opcodes.RELIABLE_REQUESTS) == request, hex(opcode)


def test_bytes_of_extension_headers() -> None:
    for opcode, base in RELIABLE.items():
        sender, size = TABLE[opcode & 31]
        more = XRC_HEADER if base == XRC and sender == REQUEST else 0
        assert opcodes.extension_bytes(opcode) == size + more, hex(opcode)


def test_what_acknowledges_the_packets_before_it() -> None:
    """A SEND is timed, a READ follows, and the answer to the SEND itself is lost."""
    for opcode in range(256):
        collector = RttCollector(2, 1 << 20)
        collector.sent(SLOT, request(0b00100, 10, ack_req=True), SENT)
        collector.sent(SLOT, request(0b01100, 11), SENT)
        rtt = collector.received(SLOT, answer(opcode, 12, syndrome=0), CAME)
        assert rtt == (CAME - SENT if of_responder(opcode) else None), hex(opcode)
        assert collector.counts[Outcome.COALESCED] == of_responder(opcode), hex(opcode)


def test_a_response_without_aeth_cannot_refuse() -> None:
    """A Middle's bytes where the AETH would be are payload: 0x60 there is no NAK."""
    collector = RttCollector(2, 1 << 20)
    collector.sent(SLOT, request(0b01100, 10), SENT)
    assert collector.received(SLOT, answer(NO_AETH, 11, syndrome=0x60), CAME) == CAME - SENT
