# amaranth: UnusedElaboratable=no
"""The register bank and its front end, in pysim; what the map says is `test_register_suite`."""

import itertools
from typing import Any

import pytest
from amaranth.sim import Simulator
from tests.hw.csr.bench import BankBench
from tests.hw.csr.maps import SMALL

from precog_hw.csr.axil import AxiLiteFrontEnd
from precog_hw.csr.bank import RegisterBank, address_patterns


def simulate(dut: Any, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


def test_signed_reset_value_is_signed() -> None:
    dut = RegisterBank(SMALL)

    async def bench(ctx: Any) -> None:
        assert ctx.get(dut.a_mix_rw) == 0x13 - 32

    simulate(dut, bench)


def test_reads_and_writes_that_wait_together_alternate() -> None:
    """Neither direction starves the other, and an untaken response blocks only its own."""
    dut = BankBench(SMALL)
    axil = dut.axil
    order: list[str] = []

    async def bench(ctx: Any) -> None:
        ctx.set(axil.awaddr, 0x10)
        ctx.set(axil.araddr, 0x10)
        ctx.set(axil.wstrb, 15)
        for signal in (axil.awvalid, axil.wvalid, axil.arvalid, axil.bready, axil.rready):
            ctx.set(signal, 1)
        for _ in range(100):
            *_, b, r = await ctx.tick().sample(axil.bvalid, axil.rvalid)
            order.extend(["w"] * b + ["r"] * r)
        assert len(order) >= 12
        assert all(a != b for a, b in itertools.pairwise(order))

        ctx.set(axil.bready, 0)  # the master forgets its write
        answered = 0
        for _ in range(100):
            *_, r = await ctx.tick().sample(axil.rvalid)
            answered += r
        assert answered >= 10

    simulate(dut, bench)


def test_front_end_latency() -> None:
    """Request to response in an idle slave: what the docstrings promise."""
    dut = BankBench(SMALL)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.axil.arvalid, 1)
        await ctx.tick()
        ctx.set(dut.axil.arvalid, 0)
        cycles = 0
        while not ctx.get(dut.axil.rvalid):
            cycles += 1
            await ctx.tick()
        assert cycles == 3 + 3 - 1

    simulate(dut, bench)


def test_patterns_are_of_the_numbers_in_a_range() -> None:
    bits = 5
    for start, end in itertools.combinations(range((1 << bits) + 1), 2):
        patterns = address_patterns(start, end, bits)
        assert {len(pattern) for pattern in patterns} == {bits}
        found = [
            int("".join(number), 2)
            for pattern in patterns
            for number in itertools.product(*("01" if bit == "-" else bit for bit in pattern))
        ]
        assert found == list(range(start, end))


def test_address_bits_must_suffice() -> None:
    with pytest.raises(ValueError, match="address_bits must be at least 3, not 2"):
        AxiLiteFrontEnd(2)
