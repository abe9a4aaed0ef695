# amaranth: UnusedElaboratable=no
"""A wide product from two multipliers."""

import random
from typing import Any

import pytest
from amaranth.hdl import Shape, signed, unsigned
from amaranth.sim import Simulator

from precog_hw.measure.split import SplitMultiplier


@pytest.mark.parametrize("a_shape", [unsigned(24), unsigned(34), signed(27), signed(35)])
@pytest.mark.parametrize("b_shape", [unsigned(17), signed(18), unsigned(7)])
def test_product(a_shape: Shape, b_shape: Shape, seed: int) -> None:
    rng = random.Random(seed)
    dut = SplitMultiplier(a_shape, b_shape)

    def draw(shape: Shape) -> int:
        low = -(1 << (shape.width - 1)) if shape.signed else 0
        high = low + (1 << shape.width) - 1
        return rng.choice([low, high, rng.randint(low, high)])

    async def bench(ctx: Any) -> None:
        for _ in range(200):
            a, b = draw(a_shape), draw(b_shape)
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            await ctx.tick()
            assert ctx.get(dut.low) + (ctx.get(dut.high) << 17) == a * b

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "name"),
    [
        (unsigned(35), unsigned(17), "a"),
        (signed(36), signed(18), "a"),
        (signed(35), signed(19), "b"),
    ],
)
def test_too_wide(a_shape: Shape, b_shape: Shape, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must have at most"):
        SplitMultiplier(a_shape, b_shape)
