"""The driver's register accesses as AXI4-Lite transactions on the pins of a Verilated NIC."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from precog_host.transport import BusError

from .block import RtlBlock
from .library import RtlError

__all__ = ["AxilTransport", "PinTransport"]

_AXIL_CYCLES = 100  # that an access may take
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


class PinTransport(AxilTransport):
    """The pins are those of a block that is clocked by hand.

    Parameters
    ----------
    block : RtlBlock
        Closed with the transport.
    address_bits : int
    """

    def __init__(self, block: RtlBlock, address_bits: int) -> None:
        super().__init__(address_bits)
        self._pins = block
        block.poke(s_axil_bready=1, s_axil_rready=1)

    def axil_read(self, address: int) -> tuple[int, int]:
        """One transaction: the word and RRESP."""
        self._pins.poke(s_axil_araddr=address, s_axil_arvalid=1)
        self._until("s_axil_arready")
        self._pins.poke(s_axil_arvalid=0)
        value, response = self._until("s_axil_rvalid", also=("s_axil_rdata", "s_axil_rresp"))
        return value, response

    def axil_write(self, address: int, value: int) -> int:
        """One transaction: BRESP."""
        self._pins.poke(s_axil_awaddr=address, s_axil_awvalid=1)
        self._until("s_axil_awready")
        self._pins.poke(s_axil_awvalid=0, s_axil_wdata=value, s_axil_wstrb=0xF, s_axil_wvalid=1)
        self._until("s_axil_wready")
        self._pins.poke(s_axil_wvalid=0)
        (response,) = self._until("s_axil_bvalid", also=("s_axil_bresp",))
        return response

    def _tick(self) -> None:
        """One cycle of an access."""
        self._pins.tick()

    def close(self) -> None:
        """Free the RTL."""
        self._pins.close()

    def _until(self, name: str, *, also: Sequence[str] = ()) -> tuple[int, ...]:
        """Clock until `name` is up, and through that cycle; what `also` said in it.

        Raises
        ------
        RtlError
            It stays down.
        """
        for _ in range(_AXIL_CYCLES):
            up = self._pins.peek(name)
            seen = tuple(self._pins.peek(other) for other in also)
            self._tick()
            if up:
                return seen
        raise RtlError(f"{name} must rise within {_AXIL_CYCLES} cycles")
