"""Reciprocal, gap and the rest of a gap: bit for bit."""

import random
from typing import Any

from precog_hw.pace.gap import GapUnit
from precog_hw.pace.layouts import DUE_BITS
from precog_hw.pace.reciprocal import RateReciprocal
from precog_hw.pace.rescale import Rescaler
from precog_models.pace.reciprocal import gap, reciprocal, rescaled
from precog_spec.contract import TICK_FRAC_BITS

from ..packet.bench import run

COUNT = 60


def some_rate(rng: random.Random) -> int:
    edge = (1 << rng.randrange(32)) + rng.choice([0, 0, 1])
    return rng.choice([1, (1 << 32) - 1, edge, rng.getrandbits(rng.randrange(1, 33)) | 1])


async def wait(ctx: Any, done: Any) -> int:
    """Cycles until `done`."""
    cycles = 1
    while not ctx.get(done):
        await ctx.tick()
        cycles += 1
    return cycles


def test_reciprocal(seed: int) -> None:
    rng, dut = random.Random(seed), RateReciprocal()

    async def bench(ctx: Any) -> None:
        for _ in range(COUNT):
            rate = some_rate(rng)
            ctx.set(dut.rate, rate)
            ctx.set(dut.stb, 1)
            await ctx.tick()
            ctx.set(dut.stb, 0)
            assert await wait(ctx, dut.done) == dut.CYCLES - 1
            assert (ctx.get(dut.o.mantissa), ctx.get(dut.o.exponent)) == reciprocal(rate)

    run(dut, bench, cycles=COUNT * dut.CYCLES + 10)


def test_the_rest_of_a_gap(seed: int) -> None:
    rng, dut = random.Random(seed), Rescaler()

    async def bench(ctx: Any) -> None:
        for _ in range(COUNT):
            old, (mantissa, exponent) = some_rate(rng), reciprocal(some_rate(rng))
            most = gap(4096 + 255, *reciprocal(old))
            pending = rng.choice([1, most, rng.randrange(1, most + 1)])
            ctx.set(dut.pending, pending)
            ctx.set(dut.old_rate, old)
            ctx.set(dut.reciprocal, {"mantissa": mantissa, "exponent": exponent})
            ctx.set(dut.stb, 1)
            await ctx.tick()
            ctx.set(dut.stb, 0)
            assert await wait(ctx, dut.done) <= dut.CYCLES
            left = rescaled(pending, old, mantissa, exponent)
            assert (ctx.get(dut.left), ctx.get(dut.sooner)) == (left, left < pending)

    run(dut, bench, cycles=COUNT * (dut.CYCLES + 2) + 10)


def test_gap(seed: int) -> None:
    """One per cycle, on time and late by anything."""
    rng, dut = random.Random(seed), GapUnit(16)
    wanted: list[tuple[int, int]] = []

    async def source(ctx: Any) -> None:
        for _ in range(8 * COUNT):
            mantissa, exponent = reciprocal(some_rate(rng))
            size, t = rng.choice([1, 64, rng.randrange(1, 4352), 4351]), rng.getrandbits(40)
            behind = gap(size, mantissa, exponent)
            late = rng.choice([0, 1, behind, behind + 1, max(0, behind - 1), rng.getrandbits(55)])
            qp = rng.randrange(16)
            job = {"mantissa": mantissa, "exponent": exponent}
            ahead = -late % (1 << DUE_BITS)
            ctx.set(
                dut.i.payload, {"qp": qp, "size": size, "reciprocal": job, "ahead": ahead, "t": t}
            )
            ctx.set(dut.i.valid, 1)
            due = ((t << TICK_FRAC_BITS) + max(behind - late, 0)) % (1 << DUE_BITS)
            wanted.append((qp, due))
            await ctx.tick()
        ctx.set(dut.i.valid, 0)

    async def sink(ctx: Any) -> None:
        await ctx.tick().repeat(dut.LATENCY)
        for n in range(8 * COUNT):
            assert ctx.get(dut.o.valid)
            found = ctx.get(dut.o.payload)
            assert (found.qp, found.due) == wanted[n]
            await ctx.tick()
        assert not ctx.get(dut.o.valid)

    run(dut, source, sink, cycles=8 * COUNT + 30)
