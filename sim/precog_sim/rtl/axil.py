"""The driver's register accesses as AXI4-Lite transactions on the pins of a Verilated NIC."""

from abc import ABC, abstractmethod

from precog_host.transport import BusError

__all__ = ["AxilTransport"]

_RESPONSES = {1: "EXOKAY", 2: "SLVERR", 3: "DECERR"}


class AxilTransport(ABC):
    """32-bit registers; a response other than OKAY raises `BusError`.

    Parameters
    ----------
    address_bits : int
        Of the NIC's pins: an address that they cannot carry reaches no device.
    """

    def __init__(self, address_bits: int) -> None:
        self._address_bits = address_bits

    @abstractmethod
    def axil_read(self, address: int) -> tuple[int, int]:
        """One transaction: the word and RRESP."""

    @abstractmethod
    def axil_write(self, address: int, value: int) -> int:
        """One transaction: BRESP."""

    def read32(self, address: int) -> int:
        """The word at `address`; `BusError` where there is none."""
        self._check("read", address)
        value, response = self.axil_read(address)
        if response:
            raise BusError("read", address, _RESPONSES[response])
        return value

    def write32(self, address: int, value: int) -> None:
        """Set the word at `address`; `BusError` where there is none."""
        if not 0 <= value < 1 << 32:
            raise ValueError(f"a register's value must have 32 bits, not {value!r}")
        self._check("write", address)
        response = self.axil_write(address, value)
        if response:
            raise BusError("write", address, _RESPONSES[response])

    def _check(self, access: str, address: int) -> None:
        if not 0 <= address < 1 << self._address_bits:
            raise BusError(access, address, _RESPONSES[3])
