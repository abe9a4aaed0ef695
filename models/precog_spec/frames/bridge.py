"""What travels between a host and a bridge, and the bridge's own registers (standard library only).

Two protocols of LiteX, so that its tools speak to our bridges too:

* UARTBone (``litex/soc/cores/uart.py``): a command byte, a length in words, a 32-bit *word*
  address, then data; all with the most significant byte first. Writes are not answered.
* Etherbone as LiteEth has it (``liteeth/frontend/etherbone.py``): one record in a UDP datagram, 32
  bits wide, *byte* addresses.

Neither says whether an access was refused, and UARTBone has neither acknowledgement nor checksum. A
bridge of ours has both in a window of registers at the end of the address space (`Window`), which
never reaches the bus behind the bridge. A host reads it right after each access:

* ``STATUS`` counts accesses (so that none is lost or done twice unnoticed) and has the last one's
  response;
* ``ADDRESS`` and ``DATA`` are those of the last access;
* ``CRC`` (UART only) is the CRC-32 of every byte that the bridge took from the line and gave to
  it, in the order in which it handled them, since CRC was last read; reading it starts anew, and
  its own four bytes do not count. So does each silence that ended a broken command.

An Etherbone request may carry a *ticket* in its ``base_ret_addr``, which the answer repeats (LiteX
sends 0: no ticket). The upper half names a client, the lower half counts its requests. A request
with the ticket of the last answer is answered again and not executed again, an older one of the
same client is dropped: a host may repeat a request that was not answered, whatever it writes.
"""

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "BRIDGE_ID",
    "ETHERBONE_MAGIC",
    "ETHERBONE_PORT",
    "ETHERBONE_SIZES",
    "ETHERBONE_VERSION",
    "MOST_WORDS",
    "PACKET_HEADER",
    "RECORD_HEADER",
    "RESPONSES",
    "TIMEOUT_MS",
    "WINDOW_BASE",
    "Command",
    "EtherboneFault",
    "Status",
    "UartFault",
    "Window",
    "is_stale",
    "pack_faults",
    "unpack_faults",
]


class Command(IntEnum):
    """First byte of a UARTBone command; FIXED: each word goes to the same address."""

    WRITE = 1
    READ = 2
    WRITE_FIXED = 3
    READ_FIXED = 4


TIMEOUT_MS = 100  #: silence after which a UART bridge forgets a command, as LiteX's does
BRIDGE_ID = 0x50425231  #: "PBR1"
WINDOW_BASE = 0xFFFF_FF00  #: byte address of `Window.ID`


class Window(IntEnum):
    """Registers of the bridge, in words from `WINDOW_BASE` on; the others up to 64 read 0.

    Writing ID tells a server that the client is done with the device; else writes do nothing. FED
    is 1 where a server feeds the device samples by itself, and 0 everywhere else.
    """

    ID = 0
    FAULTS = 1
    ADDRESS = 2
    DATA = 3
    STATUS = 4
    CRC = 5
    FED = 6

    @property
    def address(self) -> int:
        """Byte address."""
        return WINDOW_BASE + 4 * self


class UartFault(IntEnum):
    """Which byte of FAULTS counts what, modulo 256."""

    FRAMING = 0  #: a byte without a stop bit
    TIMEOUT = 1  #: a command that silence ended
    COMMAND = 2  #: an unknown command, or one of no words
    OVERFLOW = 3  #: a byte for which there was no room


class EtherboneFault(IntEnum):
    """Which byte of FAULTS counts what, modulo 256."""

    HEADER = 0  #: a datagram that is not Etherbone's, or not 32 bits wide
    LENGTH = 1  #: one that is shorter or longer than its record says, or than fits
    PARTIAL = 2  #: a record that is not of whole words, or of an address space that is not there
    STALE = 3  #: a ticket older than its client's last one


#: Responses of AXI4-Lite.
RESPONSES = ("OKAY", "EXOKAY", "SLVERR", "DECERR")


@dataclass(frozen=True)
class Status:
    """Fields of STATUS.

    Attributes
    ----------
    done : int
        Accesses so far, modulo 65536: all but those to the window.
    response : int
        AXI4-Lite's, of the last access; DECERR also when the bus did not answer.
    write : bool
        The last access was a write.
    busy : bool
        A server's device is in another client's hands: nothing was executed.
    sealed : bool
        A server takes only what is sealed under its token: nothing was executed.
    """

    done: int
    response: int = 0
    write: bool = False
    busy: bool = False
    sealed: bool = False

    def word(self) -> int:
        """As the register reads."""
        flags = int(self.write) << 18 | int(self.sealed) << 30 | int(self.busy) << 31
        return self.done | self.response << 16 | flags

    @classmethod
    def of(cls, word: int) -> "Status":
        """Fields of the register's word."""
        write, sealed, busy = (bool(word >> bit & 1) for bit in (18, 30, 31))
        return cls(word & 0xFFFF, word >> 16 & 3, write, busy, sealed)


def pack_faults(counts: list[int]) -> int:
    """FAULTS of four counts."""
    return sum((count & 0xFF) << 8 * n for n, count in enumerate(counts))


def unpack_faults(word: int, kinds: type[UartFault] | type[EtherboneFault]) -> dict[str, int]:
    """Counts by name."""
    return {kind.name.lower(): word >> 8 * kind & 0xFF for kind in kinds}


# --- Etherbone ------------------------------------------------------------------------------------

ETHERBONE_PORT = 1234  #: LiteX's
ETHERBONE_MAGIC = 0x4E6F
ETHERBONE_VERSION = 1
ETHERBONE_SIZES = 0x44  #: addresses and data of 32 bits
PACKET_HEADER = 8  #: bytes: magic, version << 4 | flags, sizes, padding
RECORD_HEADER = 4  #: bytes: flags, byte enables, words written, words read
MOST_WORDS = 64  #: that a bridge of ours writes or reads in one record


def is_stale(ticket: int, last: int) -> bool:
    """Whether a ticket is older than its client's last one."""
    same = ticket >> 16 == last >> 16
    return same and 0 < (last - ticket) & 0xFFFF < 0x8000
