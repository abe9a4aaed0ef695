"""Accesses through a bridge: which reach the bus, and what its own registers say of them."""

from typing import Protocol

from precog_spec.frames.bridge import BRIDGE_ID, WINDOW_BASE, Status, Window, pack_faults

__all__ = ["BridgeWindow", "Bus"]

_DECERR = 3
_MASK = 0xFFFF_FFFF


class Bus(Protocol):
    """What a bridge is a master of; a response is AXI4-Lite's."""

    def read(self, address: int) -> tuple[int, int]:
        """Response and word at a byte address."""

    def write(self, address: int, value: int) -> int:
        """Response."""


class BridgeWindow:
    """A bus and the bridge's own window.

    Parameters
    ----------
    bus : Bus
    address_bits : int
        Of the bus: an access beyond is answered DECERR and does not reach it.
    """

    def __init__(self, bus: Bus, address_bits: int = 16) -> None:
        self._bus = bus
        self._bits = address_bits
        self.status = Status(0)
        self.faults = [0, 0, 0, 0]
        self._address = 0
        self._data = 0
        #: The bridge's server feeds the device samples.
        self.fed = False

    def fault(self, kind: int) -> None:
        """Count one."""
        self.faults[kind] = (self.faults[kind] + 1) & 0xFF

    def read(self, address: int, crc: int = 0) -> int:
        """The word at byte address `address`, which may have more than 32 bits."""
        word = self._window(address)
        if word is not None:
            own = {
                Window.ID: BRIDGE_ID,
                Window.FAULTS: pack_faults(self.faults),
                Window.ADDRESS: self._address,
                Window.DATA: self._data,
                Window.STATUS: self.status.word(),
                Window.CRC: crc,
                Window.FED: int(self.fed),
            }
            return own.get(Window(word), 0) if word in set(Window) else 0
        response, data = self._bus.read(address) if self._reaches(address) else (_DECERR, 0)
        self._note(address, data, response, write=False)
        return data

    def write(self, address: int, value: int) -> None:
        """Set the word at byte address `address`."""
        if self._window(address) is not None:
            return
        response = self._bus.write(address, value) if self._reaches(address) else _DECERR
        self._note(address, value, response, write=True)

    def _reaches(self, address: int) -> bool:
        return address >> self._bits == 0

    def _note(self, address: int, data: int, response: int, *, write: bool) -> None:
        done = (self.status.done + 1) & 0xFFFF
        self.status = Status(done, response, write)
        self._address, self._data = address & _MASK, data

    @staticmethod
    def _window(address: int) -> int | None:
        inside = WINDOW_BASE <= address <= _MASK
        return (address - WINDOW_BASE) // 4 if inside else None
