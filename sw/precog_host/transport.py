"""Ways to reach a device's registers, and their errors; `opening` finds the one of a URI."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import QueueEvent

__all__ = [
    "BusError",
    "DeviceError",
    "QueueTransport",
    "SampleTransport",
    "SharedTransport",
    "ToldQueues",
    "Transport",
]


class DeviceError(Exception):
    """The device refused something, or is not one that this driver knows."""


class BusError(DeviceError):
    """A register access was refused.

    Parameters
    ----------
    access : str
        ``"read"`` or ``"write"``.
    address : int
        Byte address.
    response : str
        What the bus answered, such as ``"SLVERR"``.
    register : str
        Name of the register, if there is one at the address.
    """

    def __init__(self, access: str, address: int, response: str, register: str = "") -> None:
        self.access = access
        self.address = address
        self.response = response
        self.register = register
        where = f"{address:#06x}" + (f" ({register})" if register else "")
        super().__init__(f"{access} of register {where} answered {response}")


class Transport(Protocol):
    """32-bit register access. An access that the bus refuses raises `BusError`."""

    def read32(self, address: int) -> int:
        """The word at byte address `address`."""

    def write32(self, address: int, value: int) -> None:
        """Set the word at byte address `address`."""

    def close(self) -> None:
        """Give the device back."""


@runtime_checkable
class SampleTransport(Transport, Protocol):
    """A transport whose device takes samples from the host: an emulated or simulated NIC."""

    def decide(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Decisions [m, 8] on samples [n, 3], in the contract's field order.

        A sample that is dropped leaves no row.
        """


class ToldQueues(Protocol):
    """A queue profiler that is told what send queues do."""

    def observe(self, qp: int, kind: QueueEvent, size: int, t: int) -> None:
        """Something happened to a queue pair's send queue, at `t` ticks."""

    def pass_time(self, t: int) -> None:
        """It is `t` ticks: each queue pair has its turn."""


@runtime_checkable
class QueueTransport(SampleTransport, Protocol):
    """A transport of samples whose device may also be told what send queues do."""

    @property
    def told_queues(self) -> ToldQueues | None:
        """None: the device watches no queues, or its own packets or grants tell it."""


@runtime_checkable
class SharedTransport(Transport, Protocol):
    """A transport to a device that others use, too, though one at a time."""

    def release(self) -> None:
        """Let others have the device until the next access."""

    def is_fed(self) -> bool:
        """Whether the device takes samples from its server."""
