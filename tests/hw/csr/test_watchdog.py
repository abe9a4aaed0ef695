"""The watchdog: when precisely it holds advice, and when no more."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.csr.watchdog import Watchdog


@pytest.mark.parametrize("period", [1, 2, 50])
def test_expires_and_recovers(period: int) -> None:
    dut = Watchdog()

    async def bench(ctx: Any) -> None:
        for _ in range(2 * period):
            await ctx.tick()
            assert not ctx.get(dut.expired)
        ctx.set(dut.period, period)
        for _ in range(3):
            ctx.set(dut.kick, 1)
            await ctx.tick()
            ctx.set(dut.kick, 0)
            assert not ctx.get(dut.expired)
            for cycle in range(1, 2 * period + 5):
                await ctx.tick()
                assert ctx.get(dut.expired) == (cycle > period), cycle
        ctx.set(dut.period, 0)
        await ctx.tick()
        assert not ctx.get(dut.expired)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


def test_kicks_in_time_keep_it_quiet() -> None:
    dut = Watchdog()

    async def bench(ctx: Any) -> None:
        ctx.set(dut.period, 10)
        for cycle in range(200):
            ctx.set(dut.kick, cycle % 10 == 9)
            await ctx.tick()
            assert not ctx.get(dut.expired)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
