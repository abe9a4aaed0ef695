# amaranth: UnusedElaboratable=no
"""Clock: ticks, nanoseconds that are exact on average, and a read of one instant."""

from typing import Any

import pytest

from precog_hw.measure.clock import Clock

from ..packet.bench import run


@pytest.mark.parametrize("tick_ps", [4, 999, 1000, 1600, 6400, 8001])
def test_nanoseconds_never_drift(tick_ps: int) -> None:
    dut = Clock(tick_ps)

    async def bench(ctx: Any) -> None:
        for ticks in range(3000):
            assert ctx.get(dut.ticks) == ctx.get(dut.low) == ticks
            assert ctx.get(dut.ns) == ticks * tick_ps // 1000
            await ctx.tick()
        ctx.set(dut.read, 1)
        await ctx.tick()
        assert ctx.get(dut.high) == 0

    run(dut, bench, cycles=3100)


def test_a_tick_takes_time() -> None:
    with pytest.raises(ValueError, match="tick_ps must be positive, not 0"):
        Clock(0)
