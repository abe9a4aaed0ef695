"""Reciprocal, gap and the rest of a gap: bit for bit."""

import random
from typing import Any

import pytest

from precog_hw.pace.gap import GapUnit
from precog_hw.pace.gap_serial import SerialGap
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


@pytest.mark.parametrize("relaxed", [False, True])
def test_reciprocal(relaxed: bool, seed: int) -> None:
    rng, dut = random.Random(seed), RateReciprocal(relaxed=relaxed)

    async def bench(ctx: Any) -> None:
        for _ in range(COUNT):
            rate = some_rate(rng)
            ctx.set(dut.rate, rate)
            ctx.set(dut.stb, 1)
            await ctx.tick()
            ctx.set(dut.stb, 0)
            zeros = 32 - rate.bit_length()
            assert await wait(ctx, dut.done) == dut.CYCLES - 1 + zeros * relaxed
            assert (ctx.get(dut.o.mantissa), ctx.get(dut.o.exponent)) == reciprocal(rate)

    run(dut, bench, cycles=COUNT * (dut.CYCLES + 32) + 10)


@pytest.mark.parametrize("relaxed", [False, True])
def test_the_rest_of_a_gap(relaxed: bool, seed: int) -> None:
    rng, dut = random.Random(seed), Rescaler(relaxed=relaxed)
    most_cycles = dut.RELAXED_CYCLES if relaxed else dut.CYCLES

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
            assert await wait(ctx, dut.done) <= most_cycles
            left = rescaled(pending, old, mantissa, exponent)
            assert (ctx.get(dut.left), ctx.get(dut.sooner)) == (left, left < pending)

    run(dut, bench, cycles=COUNT * (most_cycles + 2) + 10)


def some_gap(rng: random.Random) -> tuple[dict[str, Any], int]:
    """A packet, on time or late by anything, and when its queue pair is due again."""
    mantissa, exponent = reciprocal(some_rate(rng))
    size, t = rng.choice([1, 64, rng.randrange(1, 4352), 4351]), rng.getrandbits(40)
    behind = gap(size, mantissa, exponent)
    # Also by more than half of the counter: an operator may pause a priority for hours.
    late = rng.choice([0, 1, behind, behind + 1, max(0, behind - 1), rng.getrandbits(DUE_BITS)])
    job = {
        "qp": rng.randrange(16),
        "size": size,
        "reciprocal": {"mantissa": mantissa, "exponent": exponent},
        "ahead": -late % (1 << DUE_BITS),
        "t": t,
    }
    return job, ((t << TICK_FRAC_BITS) + max(behind - late, 0)) % (1 << DUE_BITS)


def test_gap(seed: int) -> None:
    """One per cycle."""
    rng, dut = random.Random(seed), GapUnit(16)
    wanted: list[tuple[int, int]] = []

    async def source(ctx: Any) -> None:
        for _ in range(8 * COUNT):
            job, due = some_gap(rng)
            ctx.set(dut.i.payload, job)
            ctx.set(dut.i.valid, 1)
            wanted.append((job["qp"], due))
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


def test_gap_of_one_at_a_time(seed: int) -> None:
    """The latency that the rate's exponent says; `o` stays until it is taken."""
    rng, dut = random.Random(seed), SerialGap(16)

    async def bench(ctx: Any) -> None:
        for _ in range(COUNT):
            job, due = some_gap(rng)
            ctx.set(dut.i.payload, job)
            ctx.set(dut.i.valid, 1)
            assert not ctx.get(dut.busy)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
            latency = 7 + job["reciprocal"]["exponent"]
            for _ in range(latency - 1):
                assert ctx.get(dut.busy)
                assert not ctx.get(dut.o.valid)
                await ctx.tick()
            for _ in range(rng.choice([1, 3])):
                assert not ctx.get(dut.busy)
                assert ctx.get(dut.o.valid)
                found = ctx.get(dut.o.payload)
                assert (found.qp, found.due) == (job["qp"], due)
                await ctx.tick()
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert not ctx.get(dut.o.valid)

    run(dut, bench, cycles=COUNT * 50 + 10)
