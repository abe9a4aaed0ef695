"""UART bridge: UARTBone commands, byte by byte; `hw/precog_hw/bridge/uartbone.py` is the RTL."""

import zlib
from enum import Enum, auto

from precog_spec.frames.bridge import Command, UartFault, Window

from .window import BridgeWindow, Bus

__all__ = ["UartBridge"]

_READS = (Command.READ, Command.READ_FIXED)
_FIXED = (Command.WRITE_FIXED, Command.READ_FIXED)


class _Phase(Enum):
    COMMAND = auto()
    LENGTH = auto()
    ADDRESS = auto()
    DATA = auto()
    DEAF = auto()  # until the line has been silent


class UartBridge:
    """The bridge between bytes and a bus.

    A byte that is no command, one that is damaged, and one for which there was no room make it
    deaf until the line has been silent for the time-out: what follows them may be the middle of a
    write. A command of no words counts as unknown.

    Parameters
    ----------
    bus : Bus
    address_bits : int
        Of the bus.
    """

    def __init__(self, bus: Bus, address_bits: int = 16) -> None:
        self.window = BridgeWindow(bus, address_bits)
        self._phase = _Phase.COMMAND
        self._command = Command.WRITE
        self._words = 0
        self._bytes = bytearray()
        self._address = 0
        self._crc = 0

    def receive(self, byte: int) -> bytes:
        """Take a byte from the line; what the bridge sends because of it."""
        if self._phase is _Phase.DEAF:
            return b""
        self._crc = zlib.crc32(bytes((byte,)), self._crc)
        if self._phase is _Phase.COMMAND:
            if byte in set(Command):
                self._command, self._phase = Command(byte), _Phase.LENGTH
            else:
                self._refuse(UartFault.COMMAND)
        elif self._phase is _Phase.LENGTH:
            self._words, self._phase = byte, _Phase.ADDRESS
            self._bytes.clear()
            if not byte:
                self._refuse(UartFault.COMMAND)
        else:
            self._bytes.append(byte)
            if len(self._bytes) == 4:
                word = int.from_bytes(self._bytes, "big")
                self._bytes.clear()
                return self._word(word)
        return b""

    def silence(self) -> None:
        """Nothing has come for the time-out: a broken command is forgotten."""
        if self._phase is _Phase.COMMAND:
            return
        if self._phase is not _Phase.DEAF:
            self.window.fault(UartFault.TIMEOUT)
        self._phase = _Phase.COMMAND
        self._crc = 0

    def damaged(self, kind: UartFault = UartFault.FRAMING) -> None:
        """A byte came that is none, or was lost."""
        self._refuse(kind)

    def _refuse(self, kind: UartFault) -> None:
        self.window.fault(kind)
        self._phase = _Phase.DEAF

    def _word(self, word: int) -> bytes:
        if self._phase is _Phase.ADDRESS:
            self._address = 4 * word
            if self._command not in _READS:
                self._phase = _Phase.DATA
                return b""
            self._phase = _Phase.COMMAND
            return b"".join(self._read() for _ in range(self._words))
        self.window.write(self._address, word)
        self._next()
        self._words -= 1
        if not self._words:
            self._phase = _Phase.COMMAND
        return b""

    def _read(self) -> bytes:
        sent = self.window.read(self._address, self._crc).to_bytes(4, "big")
        own = self._address == Window.CRC.address
        self._crc = 0 if own else zlib.crc32(sent, self._crc)
        self._next()
        return sent

    def _next(self) -> None:
        if self._command not in _FIXED:
            self._address += 4
