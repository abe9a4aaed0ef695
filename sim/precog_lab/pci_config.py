"""Configuration space of the card as a PCI function: who it is, one BAR, one interrupt pin.

Layout: PCI Local Bus Specification 3.0, section 6.1, header type 0.
"""

__all__ = ["CLASS", "DEVICE_ID", "VENDOR_ID", "ConfigSpace"]

#: No vendor's: QEMU's own devices without a number use it, too.
VENDOR_ID = 0x1234

#: Second half of "CP", which register blocks have as their vendor, and a one.
DEVICE_ID = 0x5001

#: Network controller, of no closer kind.
CLASS = 0x028000

_SIZE = 256
_VENDOR, _DEVICE, _COMMAND, _STATUS, _REVISION, _CLASS = 0x00, 0x02, 0x04, 0x06, 0x08, 0x09
_BAR, _SUBSYSTEM, _LINE, _PIN = 0x10, 0x2C, 0x3C, 0x3D
_MEMORY, _MASTER, _NO_INTERRUPT = 1 << 1, 1 << 2, 1 << 10  # bits of the command register
_INTERRUPT = 1 << 3  # a bit of the status register
_SMALLEST_BAR = 4096


class ConfigSpace:
    """What configuration reads return, and what writes change.

    Parameters
    ----------
    bytes_wanted : int
        Of registers; the BAR is the next power of two, 4096 at least.

    Attributes
    ----------
    bar_size : int
        Bytes.
    """

    def __init__(self, bytes_wanted: int) -> None:
        self.bar_size = max(_SMALLEST_BAR, 1 << (bytes_wanted - 1).bit_length())
        self._data = bytearray(_SIZE)
        self._writable = bytearray(_SIZE)
        self._put(_VENDOR, 2, VENDOR_ID)
        self._put(_DEVICE, 2, DEVICE_ID)
        self._put(_REVISION, 1, 1)
        self._put(_CLASS, 3, CLASS)
        self._put(_SUBSYSTEM, 2, VENDOR_ID)
        self._put(_SUBSYSTEM + 2, 2, DEVICE_ID)
        self._put(_PIN, 1, 1)
        self._allow(_COMMAND, 2, _MEMORY | _MASTER | _NO_INTERRUPT)
        self._allow(_BAR, 4, -self.bar_size & 0xFFFF_FFFF)
        self._allow(_LINE, 1, 0xFF)

    @property
    def bar(self) -> int | None:
        """Address of the BAR in the guest; None while its memory space is disabled."""
        if not self.read(_COMMAND, 2) & _MEMORY:
            return None
        return self.read(_BAR, 4)

    @property
    def masked(self) -> bool:
        """The host has disabled the interrupt pin."""
        return bool(self.read(_COMMAND, 2) & _NO_INTERRUPT)

    def pend(self, pending: bool) -> None:
        """Show in the status register whether an interrupt is pending."""
        self._put(_STATUS, 2, _INTERRUPT if pending else 0)

    def reset(self) -> None:
        """All that software wrote is gone."""
        for at, mask in enumerate(self._writable):
            self._data[at] &= ~mask & 0xFF

    def read(self, address: int, size: int) -> int:
        """`size` bytes at `address`.

        Raises
        ------
        ValueError
            They do not lie in configuration space.
        """
        self._check(address, size)
        return int.from_bytes(self._data[address : address + size], "little")

    def write(self, address: int, size: int, value: int) -> None:
        """Change what may be changed.

        Raises
        ------
        ValueError
            The bytes do not lie in configuration space.
        """
        self._check(address, size)
        new = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        for at, byte in enumerate(new, address):
            mask = self._writable[at]
            self._data[at] = self._data[at] & ~mask & 0xFF | byte & mask

    def _check(self, address: int, size: int) -> None:
        if size not in (1, 2, 4) or address % size or not 0 <= address <= _SIZE - size:
            raise ValueError(
                f"configuration access must be 1, 2 or 4 aligned bytes below {_SIZE}, "
                f"not {size} at {address:#x}"
            )

    def _put(self, at: int, size: int, value: int) -> None:
        self._data[at : at + size] = value.to_bytes(size, "little")

    def _allow(self, at: int, size: int, mask: int) -> None:
        self._writable[at : at + size] = mask.to_bytes(size, "little")
