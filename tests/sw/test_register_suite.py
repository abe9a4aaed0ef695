"""The register suite, generated from the map, on every transport."""

import asyncio
import random

from tests.hw.csr.register_suite import OKAY, SLVERR, Suite

from precog_host.device import Device
from precog_host.transport import BusError
from precog_hw.regmap.precog import build_map

_CODES = {"SLVERR": SLVERR}


def test_suite(device: Device, refuses: bool, seed: int) -> None:
    async def read(address: int) -> tuple[int, int]:
        try:
            return OKAY, device.transport.read32(address)
        except BusError as error:
            return _CODES[error.response], 0

    async def write(address: int, value: int) -> int:
        try:
            device.transport.write32(address, value)
        except BusError as error:
            return _CODES[error.response]
        return OKAY

    async def run() -> None:
        suite = Suite(build_map(device.sizes, device.identity), read, write, random.Random(seed))
        await suite.reset_values()
        await suite.bit_bash()
        await suite.no_aliases()
        await suite.read_only()
        if refuses:
            await suite.unmapped()
        await suite.misaligned()

    asyncio.run(run())
