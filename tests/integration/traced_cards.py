"""A card whose trace holds forecasts, Verilated and emulated, and the same traffic for both."""

from collections.abc import Iterator
from contextlib import contextmanager

from precog_fleet.practice import Practice
from precog_host.device import Device
from precog_host.transport import QueueTransport

__all__ = ["SIZES", "opened", "traffic"]

#: What an agent needs, with as little gateware as can be.
SIZES = "qps=4,sets=16,lanes=16,columns=1,steps=8,ecc=0,trace=1,forecast=1,profile=1"


@contextmanager
def opened() -> Iterator[tuple[Device, Device]]:
    """The RTL and the golden device, just reset."""
    with Device.open(f"sim:{SIZES}") as rtl, Device.open(f"emu:{SIZES}") as golden:
        yield rtl, golden


def traffic(device: Device, qps: tuple[int, ...], seed: int) -> Practice:
    """Queues that swing, and RTTs that follow them."""
    assert isinstance(device.transport, QueueTransport)
    return Practice(device.transport, qps, seed)
