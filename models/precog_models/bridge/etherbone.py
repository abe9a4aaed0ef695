"""Etherbone bridge: a datagram in, perhaps one out; and both sides' datagrams as bytes."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from precog_spec.frames.bridge import (
    ETHERBONE_MAGIC,
    ETHERBONE_SIZES,
    ETHERBONE_VERSION,
    MOST_WORDS,
    PACKET_HEADER,
    RECORD_HEADER,
    EtherboneFault,
    is_stale,
)

from .window import BridgeWindow, Bus

__all__ = ["EtherboneBridge", "EtherboneError", "Record", "decode", "encode", "is_probe"]

_PROBE, _PROBE_REPLY = 1, 2
_HEADER = struct.Struct(">HBBI")
_RECORD = struct.Struct(">BBBB")
_ADDRESS_SPACES = 0b0110_0111  # config spaces and FIFO modes; the other bits say nothing to us


class EtherboneError(ValueError):
    """A datagram that is not one.

    Parameters
    ----------
    kind : EtherboneFault
    message : str
    """

    def __init__(self, kind: EtherboneFault, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Record:
    """What one datagram asks for, or answers.

    Attributes
    ----------
    write_address : int
        Byte address of the first word written; in an answer, the ticket.
    writes : tuple of int
        Words; in an answer, those read.
    ticket : int
        In a request that reads; the answer has it as `write_address`.
    reads : tuple of int
        Byte addresses.
    """

    write_address: int = 0
    writes: tuple[int, ...] = ()
    ticket: int = 0
    reads: tuple[int, ...] = ()


def encode(record: Record) -> bytes:
    """The datagram of a record; a part without words is left out."""
    words: list[int] = []
    if record.writes:
        words += [record.write_address, *record.writes]
    if record.reads:
        words += [record.ticket, *record.reads]
    head = _HEADER.pack(ETHERBONE_MAGIC, ETHERBONE_VERSION << 4, ETHERBONE_SIZES, 0)
    counts = _RECORD.pack(0, 0xF, len(record.writes), len(record.reads))
    return head + counts + struct.pack(f">{len(words)}I", *words)


def is_probe(datagram: bytes) -> bool:
    """Whether it is a probe."""
    return (
        len(datagram) >= PACKET_HEADER
        and datagram[:2] == ETHERBONE_MAGIC.to_bytes(2, "big")
        and bool(datagram[2] & _PROBE)
    )


def decode(datagram: bytes) -> Record:
    """The record of a datagram.

    Raises
    ------
    EtherboneError
        It is not exactly one record of whole 32-bit words.
    """
    if len(datagram) < PACKET_HEADER + RECORD_HEADER:
        raise EtherboneError(EtherboneFault.LENGTH, f"datagram of {len(datagram)} bytes is short")
    magic, flags, sizes, _ = _HEADER.unpack_from(datagram)
    if magic != ETHERBONE_MAGIC or flags >> 4 != ETHERBONE_VERSION or sizes != ETHERBONE_SIZES:
        raise EtherboneError(
            EtherboneFault.HEADER, f"header {datagram[:4].hex()} is not 32-bit Etherbone's"
        )
    spaces, enables, writes, reads = _RECORD.unpack_from(datagram, PACKET_HEADER)
    count = sum(1 + n for n in (writes, reads) if n)
    wanted = PACKET_HEADER + RECORD_HEADER + 4 * count
    if len(datagram) != wanted:
        raise EtherboneError(
            EtherboneFault.LENGTH, f"datagram must have {wanted} bytes, not {len(datagram)}"
        )
    if spaces & _ADDRESS_SPACES or enables != 0xF:
        raise EtherboneError(
            EtherboneFault.PARTIAL, f"record {spaces:#04x} {enables:#04x} is not of whole words"
        )
    words = struct.unpack_from(f">{count}I", datagram, PACKET_HEADER + RECORD_HEADER)
    at = 1 + writes if writes else 0
    return Record(
        write_address=words[0] if writes else 0,
        writes=words[1:at],
        ticket=words[at] if reads else 0,
        reads=words[at + 1 :],
    )


class EtherboneBridge:
    """The bridge between datagrams and a bus; a datagram is executed whole or not at all.

    Parameters
    ----------
    bus : Bus
    address_bits : int
        Of the bus.
    """

    def __init__(self, bus: Bus, address_bits: int = 16) -> None:
        self.window = BridgeWindow(bus, address_bits)
        self._ticket = 0
        self._answer = b""

    def receive(self, datagram: bytes) -> bytes:
        """Take a datagram; the one to be sent back, or none."""
        if is_probe(datagram):
            flags = ETHERBONE_VERSION << 4 | _PROBE_REPLY
            return _HEADER.pack(ETHERBONE_MAGIC, flags, ETHERBONE_SIZES, 0)
        try:
            record = decode(datagram)
            if max(len(record.writes), len(record.reads)) > MOST_WORDS:
                raise EtherboneError(EtherboneFault.LENGTH, "record is too long")
        except EtherboneError as error:
            self.window.fault(error.kind)
            return b""
        return self.execute(record)

    def forget(self) -> None:
        """Another client comes: no ticket has been seen yet."""
        self._ticket, self._answer = 0, b""

    def execute(self, record: Record) -> bytes:
        """Do what a record asks for; the answer, or none if it reads nothing."""
        if record.ticket:
            if record.ticket == self._ticket:
                return self._answer
            if is_stale(record.ticket, self._ticket):
                self.window.fault(EtherboneFault.STALE)
                return b""
        for n, word in enumerate(record.writes):
            self.window.write(record.write_address + 4 * n, word)
        if not record.reads:
            return b""
        words = [self.window.read(address) for address in record.reads]
        answer = self.answer(record, words)
        if record.ticket:
            self._ticket, self._answer = record.ticket, answer
        return answer

    @staticmethod
    def answer(record: Record, words: Sequence[int]) -> bytes:
        """The datagram that answers a record's reads."""
        return encode(Record(write_address=record.ticket, writes=tuple(words)))
