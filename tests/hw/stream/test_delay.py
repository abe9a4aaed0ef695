# amaranth: UnusedElaboratable=no
"""A delay line gives back what went in, so many cycles ago."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.stream.delay import DelayLine


@pytest.mark.parametrize(
    ("cycles", "registers"), [*((n, False) for n in (1, 2, 3, 4, 7, 16, 17)), (6, True)]
)
def test_delay(cycles: int, registers: bool, seed: int) -> None:
    rng = random.Random(seed)
    dut = DelayLine(13, cycles, registers=registers)
    values = [rng.getrandbits(13) for _ in range(100)]

    async def bench(ctx: Any) -> None:
        for n, value in enumerate(values):
            if n >= cycles:
                assert ctx.get(dut.o) == values[n - cycles]
            ctx.set(dut.i, value)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_delay_has_a_length() -> None:
    with pytest.raises(ValueError, match="1 or more, not 0"):
        DelayLine(1, 0)
