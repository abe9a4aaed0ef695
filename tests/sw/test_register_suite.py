"""The register suite, generated from the map, on every transport and every emulated device."""

import pytest
from tests.hw.csr.live import check_device
from tests.spec.registers.configurations import CONFIGS

from precog_host.device import Device
from precog_host.emulator.device import Emulator
from precog_spec.registers.precog import build_map


def test_suite(device: Device, refuses: bool, request: pytest.FixtureRequest, seed: int) -> None:
    regmap = build_map(device.sizes, device.identity)
    # Behind a link is the emulated device.
    near = request.node.callspec.id in ("emu", "sim")
    check_device(device.transport, regmap, seed, refuses=refuses, look=2, commands=near)


@pytest.mark.parametrize("name", CONFIGS)
def test_emulated(name: str, seed: int, volume: int) -> None:
    for n in range(volume):
        emulator = Emulator(CONFIGS[name])
        check_device(emulator, emulator.map, seed + n)
