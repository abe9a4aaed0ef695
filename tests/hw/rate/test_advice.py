"""Advice that is late, held or without skill: the base law alone, in bounded time."""

from typing import Any

import pytest

from precog_hw.rate.unit import RateUnit
from precog_spec.contract import Algorithm, Flag

from .bench import RateBench, random_config, random_parameters


def _plain(bench: RateBench) -> dict[str, int]:
    config = random_config(bench.rng)
    return config | {"algorithm": Algorithm.PREDPID, "win": 0}


@pytest.mark.parametrize("cycles", [1, 2, 70])
def test_decision_comes_within_the_deadline(cycles: int, seed: int) -> None:
    """Three decisions without advice, then their advice, which is nobody's, then one with."""
    bench = RateBench(4, seed)
    dut, rng = bench.dut, bench.rng
    par = random_parameters(rng) | {"advice_hold": 0, "skill_monitor": 0}

    async def main(ctx: Any) -> None:
        bench.set_parameters(ctx, par | {"advice_deadline": cycles})
        for qp in range(4):
            await bench.command(ctx, qp, _plain(bench), clear=True)
        late = {"valid": 0, "rtt_pred": 0, "late": 1}
        for _ in range(3):
            sample = bench.sample()
            await bench.give(ctx, dut.i, sample)
            waited = 1  # give's tick
            while not ctx.get(dut.o.valid):
                await ctx.tick()
                waited += 1
            assert waited == 24 + cycles + RateUnit.LATENCY
            want = bench.golden(sample, late)
            assert want["flags"] >> Flag.LATE & 1
            assert bench.offered(ctx) == want
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
        ctx.set(dut.parameters.advice_deadline, 0)
        sample = bench.sample()
        await bench.give(ctx, dut.i, sample)
        ctx.set(dut.command.payload, {"qp": 1, "clear": 1})
        for _ in range(3):
            assert ctx.get(dut.owing)
            await bench.give(ctx, dut.i_advice, bench.advice(sample["rtt"]))
        await ctx.tick()
        assert not ctx.get(dut.owing)
        advice = bench.advice(sample["rtt"]) | {"valid": 1}
        await bench.give(ctx, dut.i_advice, advice)
        await ctx.tick().until(dut.o.valid)
        assert bench.offered(ctx) == bench.golden(sample, advice)

    bench.run(main)


def test_a_command_waits_for_advice_that_is_owed(seed: int) -> None:
    """Whoever clears a queue pair must not meet its old predictions."""
    bench = RateBench(2, seed)
    dut = bench.dut

    async def main(ctx: Any) -> None:
        bench.set_parameters(ctx, random_parameters(bench.rng) | {"advice_deadline": 3})
        await bench.command(ctx, 0, _plain(bench), clear=True)
        await bench.give(ctx, dut.i, bench.sample() | {"qp": 0})
        ctx.set(dut.o.ready, 1)
        await ctx.tick().until(dut.o.valid)
        ctx.set(dut.command.payload, {"qp": 0, "clear": 1})
        ctx.set(dut.command.valid, 1)
        for _ in range(100):
            assert not ctx.get(dut.command.ready)
            await ctx.tick()
        await bench.give(ctx, dut.i_advice, bench.advice(5000))
        await ctx.tick().until(dut.command.ready)

    bench.run(main)


def test_hold_acts_on_the_next_decision(seed: int) -> None:
    bench = RateBench(2, seed)
    dut = bench.dut

    async def main(ctx: Any) -> None:
        par = random_parameters(bench.rng) | {"advice_hold": 0, "skill_monitor": 0}
        bench.set_parameters(ctx, par)
        await bench.command(ctx, 0, _plain(bench), clear=True)
        for held in (0, 1, 0):
            ctx.set(dut.hold, held)
            bench.set_parameters(ctx, par)
            await bench.give(ctx, dut.i, bench.sample() | {"qp": 0})
            await bench.give(ctx, dut.i_advice, bench.advice(5000) | {"valid": 1})
            ctx.set(dut.o.ready, 1)
            await ctx.tick().until(dut.o.valid)
            flags = ctx.get(dut.o.payload.flags)
            assert (flags >> Flag.HELD & 1, flags >> Flag.PREDICTED & 1) == (held, 1 - held)

    bench.run(main)
