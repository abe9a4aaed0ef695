# amaranth: UnusedElaboratable=no
"""The multiplier made of additions."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.measure.serial import SerialMultiplier


@pytest.mark.parametrize(("a_bits", "b_bits"), [(24, 16), (14, 13), (1, 1), (5, 2)])
def test_product_and_latency(a_bits: int, b_bits: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = SerialMultiplier(a_bits, b_bits)

    async def bench(ctx: Any) -> None:
        for n in range(40):
            a, b = rng.getrandbits(a_bits), rng.getrandbits(b_bits)
            if n == 0:
                a, b = (1 << a_bits) - 1, (1 << b_bits) - 1
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            ctx.set(dut.stb, 1)
            await ctx.tick()
            ctx.set(dut.stb, 0)
            ctx.set(dut.b, rng.getrandbits(b_bits))
            for _ in range(dut.latency - 1 + rng.randrange(3)):
                await ctx.tick()
            assert ctx.get(dut.p) == a * b

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize(("a_bits", "b_bits", "name"), [(0, 4, "a_bits"), (4, 0, "b_bits")])
def test_widths(a_bits: int, b_bits: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, not 0"):
        SerialMultiplier(a_bits, b_bits)
