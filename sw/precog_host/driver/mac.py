"""Gigabit ports of a board: what they count."""

from precog_spec.registers.mac import MAC_EVENTS

from ..registers import Registers
from ..transport import DeviceError
from ..windows import Windows

__all__ = ["MacDriver"]


class MacDriver(Windows):
    """MAC's side of a device.

    Parameters
    ----------
    registers : Registers
        Of a device with MACs.

    Raises
    ------
    DeviceError
        The device has none.
    """

    def __init__(self, registers: Registers) -> None:
        if not registers.sizes.macs:
            raise DeviceError("device has no Gigabit ports: it was built without (macs=0)")
        super().__init__(registers)
        macs = registers.sizes.macs
        #: Names of the ports, in their order.
        self.names = ("host", "network")[-macs:]

    def counters(self) -> dict[str, dict[str, int]]:
        """Frames of each port by what became of them, since power-up or the last reset."""
        names = [f"{port} {name}" for port in self.names for name, _ in MAC_EVENTS]
        found = self.registers.snapshots.read("MAC", "COUNTERS", names)
        return {
            port: {name: found[f"{port} {name}"] for name, _ in MAC_EVENTS} for port in self.names
        }
