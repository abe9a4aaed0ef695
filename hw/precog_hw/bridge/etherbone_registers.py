"""Registers of the Etherbone bridge, which its states share."""

from amaranth.hdl import Signal
from amaranth.lib.memory import Memory

from precog_spec.frames.bridge import PACKET_HEADER, RECORD_HEADER

from .access import BridgeAccess

__all__ = ["COUNT_BITS", "HEADER_WORDS", "ROWS", "Registers"]

HEADER_WORDS = (PACKET_HEADER + RECORD_HEADER) // 4
ROWS = 256  # words of a request: 133 at most
COUNT_BITS = 12  # bytes of a datagram; 2060 are the most that a record can say


class Registers:
    """Registers and memory ports that the states share."""

    def __init__(self, access: BridgeAccess, request: Memory, answer: Memory) -> None:
        self.access = access
        # The request: its bytes so far, the words of both headers, and its words again.
        self.count = Signal(COUNT_BITS)
        self.partial = Signal(24)
        self.heads = [Signal(32, name=f"head_{n}") for n in range(HEADER_WORDS)]
        self.store = request.write_port()
        self.writes = Signal(8)
        self.reads = Signal(8)
        self.at = Signal(range(ROWS))  # row that `word` is one cycle later
        self.fetch = request.read_port()
        self.word = self.fetch.data
        # Its execution: address and value on the bus, words done, and tickets.
        self.address = Signal(34)
        self.value = Signal(32)
        self.n = Signal(8)
        self.ticket = Signal(32)
        self.last_ticket = Signal(32)
        self.last_reads = Signal(8)
        self.stale = Signal()
        # The answer. One without a ticket does not push out the one that may be asked for again.
        self.half = Signal()
        self.keep = answer.write_port()
        self.again = answer.read_port()
        self.probe = Signal()
        self.index = Signal(8)  # of its words
        self.total = Signal(8)
        self.out = Signal(32)
        self.lane = Signal(2)
