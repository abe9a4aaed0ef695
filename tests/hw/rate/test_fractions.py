"""The laws' serial arithmetic and the table of powers against their golden functions."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.rate.decay import DecayTable
from precog_hw.rate.fractions import Divide, Scale
from precog_models.rate.fractions import decay_table, fraction, periods, scale

_ONE = 1 << 24


def _run(dut: Any, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


async def _call(ctx: Any, call: Any, **values: int) -> int:
    """Start; returns the cycles until `done`. Operands are junk once they have been taken."""
    for name, value in values.items():
        ctx.set(getattr(call, name), value)
    ctx.set(call.stb, 1)
    await ctx.tick()
    ctx.set(call.stb, 0)
    for name, value in values.items():
        ctx.set(getattr(call, name), ~value if name != "short" else 1 - value)
    cycles = 1
    while not ctx.get(call.done):
        await ctx.tick()
        cycles += 1
        assert cycles < 40
    return cycles


def test_products_and_their_latency(seed: int) -> None:
    rng = random.Random(seed)
    dut = Scale()

    async def bench(ctx: Any) -> None:
        for n in range(60):
            value = rng.choice([0, 1, 2**38 - 1, rng.getrandbits(38), rng.getrandbits(24)])
            factor = rng.choice([0, 1, _ONE // 2, _ONE - 1, _ONE, rng.randrange(_ONE)])
            cycles = await _call(ctx, dut.call, value=value, factor=factor)
            assert cycles == (2 if factor == _ONE else 14)
            for _ in range(n % 3):  # the result holds
                assert ctx.get(dut.call.p) == scale(value, factor)
                await ctx.tick()
                assert not ctx.get(dut.call.done)
            assert ctx.get(dut.call.p) == scale(value, factor)

    _run(dut, bench)


def test_quotients_and_their_latency(seed: int) -> None:
    rng = random.Random(seed)
    dut = Divide()

    async def bench(ctx: Any) -> None:
        for _ in range(60):
            whole = rng.choice([0, 1, 2**37 - 1, rng.getrandbits(37), rng.getrandbits(20)])
            part = rng.choice([0, whole, max(whole - 1, 0), 2**40 - 1, rng.randrange(whole + 1)])
            cycles = await _call(ctx, dut.call, part=part, whole=whole, short=0)
            assert cycles == (2 if part >= whole else 14)
            assert ctx.get(dut.call.q) == fraction(part, whole)

    _run(dut, bench)


def test_periods_and_their_latency(seed: int) -> None:
    rng = random.Random(seed)
    dut = Divide()

    async def bench(ctx: Any) -> None:
        for _ in range(60):
            period = rng.choice([1, 1000, 2**24 - 1, rng.randrange(1, 2**24)])
            count = rng.choice([0, 1, 75, 4095, 4096, rng.randrange(5000)])
            elapsed = period * count + rng.choice([0, period - 1, rng.randrange(period)])
            cycles = await _call(ctx, dut.call, part=elapsed, whole=period << 12, short=1)
            q, rest = ctx.get(dut.call.q), ctx.get(dut.call.rest)
            assert (min(q, 4095), rest) == periods(elapsed, period)
            assert cycles == (2 if count > 4095 else 8)
            assert (q == _ONE) == (count > 4095)

    _run(dut, bench)


@pytest.mark.parametrize("g", [65536, 0, _ONE - 1])
def test_table_makes_itself_once(g: int) -> None:
    m = Module()
    m.submodules.table = table = DecayTable()
    m.submodules.scale = one = Scale()
    wiring.connect(m, table.scale, one.call)

    async def make(ctx: Any) -> int:
        ctx.set(table.make, 1)
        await ctx.tick()
        ctx.set(table.make, 0)
        cycles = 1
        while not ctx.get(table.made):
            await ctx.tick()
            cycles += 1
        return cycles

    async def bench(ctx: Any) -> None:
        for value, other in ((g, True), (g, False), (g ^ 1, True)):
            ctx.set(table.g, value)
            cycles = await make(ctx)
            await ctx.tick()
            assert cycles <= 721 if other else cycles == 1
            want = decay_table(value)
            for level in range(3):
                for digit in range(16):
                    ctx.set(table.level, level)
                    ctx.set(table.digit, digit)
                    await ctx.tick()
                    assert ctx.get(table.power) == want[level, digit]

    _run(m, bench)
