"""The register suite, generated from the map, on our bank and on PeakRDL-regblock's, in RTL."""

import asyncio
import random
from functools import cache
from pathlib import Path

import pytest
from tests.hw.csr import bench, regblock
from tests.hw.csr.maps import SMALL
from tests.hw.csr.pins import Pins
from tests.hw.csr.register_suite import Rules, Suite
from tests.hw.csr.side_suite import SideSuite
from tests.spec.registers.configurations import MAPS

from precog_sim.rtl.block import RtlBlock, block_library
from precog_spec.registers.model import RegisterMap

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("banks")]

_MAPS = {"small": SMALL, **MAPS}
#: The others with --volume 2.
_ALWAYS = (("ours", "small"), ("ours", "all"), ("regblock", "small"))


@cache
def library(bank: str, name: str) -> Path:
    """The Verilated bench."""
    make = bench.bank_verilog if bank == "ours" else regblock.regblock_verilog
    text = make(_MAPS[name], RtlBlock.TOP)
    return block_library(text, "event_harness", label=f"{bank} register bank, {name}")


def rules(bank: str, regmap: RegisterMap) -> Rules:
    """Of the bank's bus."""
    return Rules() if bank == "ours" else regblock.rules(regmap)


@pytest.mark.parametrize("name", _MAPS)
@pytest.mark.parametrize("bank", ["ours", "regblock"])
def test_bank(bank: str, name: str, seed: int, volume: int) -> None:
    if (bank, name) not in _ALWAYS and volume < 2:
        pytest.skip("this map on this bank only with --volume 2")
    regmap, rng = _MAPS[name], random.Random(seed)
    block = RtlBlock(library(bank, name))
    pins = Pins(block, rng)
    hardware = bench.hardware(regmap) if bank == "ours" else regblock.hardware(regmap)

    async def read(address: int) -> tuple[int, int]:
        return pins.read(address)

    async def write(address: int, data: int, strb: int = 15) -> int:
        return pins.write(address, data, strb)

    kept = rules(bank, regmap)
    try:
        asyncio.run(Suite(regmap, read, write, rng, hardware, kept).run())
        side = SideSuite(regmap, pins, rng, kept)
        side.run()
        if bank == "ours":
            side.counters()
    finally:
        block.close()
