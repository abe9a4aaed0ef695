"""The register suite through cocotb on a bank's Verilog (run by `test_cocotb.py`)."""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from tests.hw.csr.maps import SMALL
from tests.hw.csr.register_suite import SLVERR, Suite


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def registers(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.rst.value = 1
    for port in (dut.w1c_set, dut.load, dut.load_data, dut.count):
        port.value = 0
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0

    def pauses() -> Iterator[bool]:
        while True:
            yield rng.random() < 0.3

    for channel in (
        master.write_if.aw_channel,
        master.write_if.w_channel,
        master.write_if.b_channel,
        master.read_if.ar_channel,
        master.read_if.r_channel,
    ):
        channel.set_pause_generator(pauses())

    async def read(address: int) -> tuple[int, int]:
        answer = await master.read(address, 4)
        return int(answer.resp), int.from_bytes(answer.data, "little")

    async def write(address: int, data: int) -> int:
        answer = await master.write(address, data.to_bytes(4, "little"))
        return int(answer.resp)

    hardware = json.loads(os.environ["PRECOG_HARDWARE"])
    suite = Suite(SMALL, read, write, rng, hardware)
    await suite.reset_values()
    await suite.bit_bash()
    await suite.no_aliases()
    await suite.commands_read_as_zero()
    await suite.read_only()
    await suite.unmapped()

    # The bus functional model aligns addresses and makes strobes of what is left: one to three.
    word = suite.stored()[0][0]
    before = await read(word.address)
    for first in range(4):
        for length in range(1, 4 - first + (first > 0)):
            answer = await master.write(word.address + first, bytes(length))
            assert int(answer.resp) == SLVERR, (first, length)
            assert await read(word.address) == before
