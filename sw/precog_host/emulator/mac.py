"""Gigabit ports of an emulated device: the lines are somebody else's, who tells what they bring."""

from precog_spec.registers.mac import MAC_EVENTS

from .counters import EmulatedCounters
from .register_file import RegisterFile, ignored

__all__ = ["EmulatedMac"]


class EmulatedMac:
    """Counters of the ports.

    Parameters
    ----------
    file : RegisterFile
    macs : int
        Ports.
    """

    def __init__(self, file: RegisterFile, macs: int) -> None:
        names = [f"{port} {name}" for port in range(macs) for name, _ in MAC_EVENTS]
        self._counters = EmulatedCounters(names)
        file.tables["MAC.COUNTERS"] = self._counters.read, ignored

    def happened(self, port: int, event: str, count: int = 1) -> None:
        """Something of `MAC_EVENTS` happened at a port."""
        self._counters.add(f"{port} {event}", count)
