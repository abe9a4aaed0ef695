"""A card whose trace holds forecasts, Verilated and emulated, and the same traffic for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from precog_fleet.practice import Practice
from precog_host.device import Device
from precog_host.transport import QueueTransport
from precog_spec.config import OPTIONS, PRESETS

__all__ = ["EMULATED", "SIMULATED", "opened", "traffic"]

#: What agents need, and the law engine of `test_queue_models`, so that both share one library.
SIMULATED = "sim:fleet,law_cores=1"
_FLEET = replace(PRESETS["fleet"], law_cores=1)
EMULATED = "emu:" + ",".join(f"{name}={int(getattr(_FLEET, name))}" for name in OPTIONS)


@contextmanager
def opened() -> Iterator[tuple[Device, Device]]:
    """The RTL and the golden device, just reset."""
    with Device.open(SIMULATED) as rtl, Device.open(EMULATED) as golden:
        yield rtl, golden


def traffic(device: Device, qps: tuple[int, ...], seed: int) -> Practice:
    """Queues that swing, and RTTs that follow them."""
    assert isinstance(device.transport, QueueTransport)
    return Practice(device.transport, qps, seed)
