# amaranth: UnusedElaboratable=no
"""ClassCounters: every count of every class, in every cycle, read while it counts."""

import random
from typing import Any

import pytest

from precog_hw.csr.class_counters import ClassCounters

from ..packet.bench import run

LATENCY = 5


@pytest.mark.parametrize("count", [2, 24])
def test_counts_are_right_while_they_are_read(count: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = ClassCounters(count)
    history: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        cycles = 0
        while not ctx.get(dut.ready):
            cycles += 1
            await ctx.tick()
        assert cycles <= count + 4
        counts, index = [0] * count, 0
        for cycle in range(800):
            history.append(list(counts))
            of, stb = rng.randrange(count) if cycle % 3 else index, rng.random() < 0.8
            ctx.set(dut.stb, stb)
            ctx.set(dut.of, of)
            if cycle % 4 == 0:
                index = rng.randrange(count)
                ctx.set(dut.index, index)
            ctx.set(dut.read, cycle % 4 == 3)
            if cycle % 4 == 3 and cycle >= LATENCY:
                assert ctx.get(dut.low) == history[cycle - LATENCY + 1][index]
            counts[of] += stb
            await ctx.tick()
        assert ctx.get(dut.high) == 0

    run(dut, bench, cycles=1000)


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_a_clear_is_of_all_counters_at_once(load: float, seed: int) -> None:
    """While it counts; the sweep behind it takes nothing away, and waits for a cycle without."""
    rng, count = random.Random(seed), 5
    dut = ClassCounters(count)
    # A count takes effect 3 cycles after its strobe, a clear 2.
    early = 1

    async def bench(ctx: Any) -> None:
        while not ctx.get(dut.ready):
            await ctx.tick()
        for _ in range(6):
            strobes: list[int | None] = []
            at = rng.randrange(30, 50)
            for cycle in range(at + rng.randrange(2, 40)):
                of = rng.randrange(count) if rng.random() < load else None
                strobes.append(of)
                ctx.set(dut.stb, of is not None)
                ctx.set(dut.of, of or 0)
                ctx.set(dut.clear, cycle == at)
                await ctx.tick()
                if cycle > at and load == 1:
                    assert ctx.get(dut.busy)
            ctx.set(dut.stb, 0)
            ctx.set(dut.clear, 0)
            while ctx.get(dut.busy):
                await ctx.tick()
            await ctx.tick().repeat(LATENCY)
            for index in range(count):
                ctx.set(dut.index, index)
                await ctx.tick().repeat(2)
                assert ctx.get(dut.low) == strobes[at - early :].count(index)

    run(dut, bench, cycles=2000)


def test_a_class_that_does_not_exclude_others() -> None:
    with pytest.raises(ValueError, match="count must be at least 2, not 1"):
        ClassCounters(1)
