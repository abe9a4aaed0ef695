"""Snapshots: a device that hangs fails, and is not waited for without end."""

import pytest

from precog_host.device import Device
from precog_host.transport import DeviceError


def test_a_device_that_is_never_idle_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Device.open("emu:qps=4") as device:
        emulator, state = device.transport, device.registers.address("COUNTERS", "STATE")
        read, polls = emulator.read32, []

        def answer(address: int, value: int) -> int:
            polls.append(address)
            return value if address == state else read(address)

        monkeypatch.setattr(emulator, "read32", lambda address: answer(address, 0))
        assert device.counters()["samples"] == 0
        with (
            pytest.raises(DeviceError, match="must be idle in one of 1000 snapshots"),
            device.one_instant(idle=True),
        ):
            pass
        monkeypatch.setattr(emulator, "read32", lambda address: answer(address, 1))
        polls.clear()
        refusal = "snapshot of its counters stays busy after 10000 reads: reset the card"
        with pytest.raises(DeviceError, match=refusal):
            device.counters()
        assert len(polls) == 10_000
