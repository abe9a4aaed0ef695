# amaranth: UnusedElaboratable=no
"""ClassCounters: every count of every class, in every cycle, all of them kept at one instant."""

import random
from typing import Any

import pytest

from precog_hw.csr.class_counters import ClassCounters

from ..packet.bench import run


async def _shown(ctx: Any, dut: ClassCounters, count: int) -> list[int]:
    found = []
    for index in range(count):
        ctx.set(dut.index, index)
        await ctx.tick()
        found.append(ctx.get(dut.high) << 32 | ctx.get(dut.low))
    return found


async def _over(ctx: Any, dut: ClassCounters) -> None:
    while ctx.get(dut.busy):
        await ctx.tick()


@pytest.mark.parametrize("count", [2, 24])
def test_it_is_ready_after_a_sweep(count: int) -> None:
    dut = ClassCounters(count)

    async def bench(ctx: Any) -> None:
        cycles = 0
        while not ctx.get(dut.ready):
            cycles += 1
            await ctx.tick()
        assert cycles <= count + 4
        await _over(ctx, dut)
        assert await _shown(ctx, dut, count) == [0] * count

    run(dut, bench, cycles=200)


@pytest.mark.parametrize("load", [0.2, 0.9])
@pytest.mark.parametrize("count", [2, 5, 24])
def test_a_snapshot_is_of_one_instant(count: int, load: float, seed: int) -> None:
    """Of the cycles before its strobe, with counts right before and behind it, of a class in
    every cycle, and while one that was asked for in vain is not over."""
    rng = random.Random(seed)
    dut = ClassCounters(count)

    async def bench(ctx: Any) -> None:
        await _over(ctx, dut)
        counts, snapshots = [0] * count, 0

        async def step(*, snapshot: bool = False, still: bool = False) -> None:
            of, stb = rng.choice((rng.randrange(count), 0)), not still and rng.random() < load
            ctx.set(dut.stb, stb)
            ctx.set(dut.of, of)
            ctx.set(dut.snapshot, snapshot)
            counts[of] += stb
            await ctx.tick()

        for _ in range(60):
            for _ in range(rng.choice((0, 1, 2, 3, rng.randrange(40)))):
                await step()
            kept = list(counts)
            await step(snapshot=True)
            while ctx.get(dut.busy):
                await step()
            for _ in range(rng.randrange(9)):
                await step()
            for index in range(count):
                ctx.set(dut.index, index)
                await step()
                assert ctx.get(dut.high) << 32 | ctx.get(dut.low) == kept[index]
            snapshots += 1
        assert snapshots == 60
        assert sum(counts) > 60 * count * load / 4

    run(dut, bench, cycles=60_000)


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_a_clear_is_of_all_counters_at_once(load: float, seed: int) -> None:
    """While it counts, and with a snapshot under way, which is then of 0; the sweep behind it takes
    nothing away, and waits for a cycle without."""
    rng, count = random.Random(seed), 5
    dut = ClassCounters(count)
    # A count takes effect 3 cycles after its strobe, a clear 2.
    early = 1

    async def bench(ctx: Any) -> None:
        await _over(ctx, dut)
        for _ in range(20):
            strobes: list[int | None] = []
            at = rng.randrange(30, 50)
            before = at - rng.randrange(10)
            for cycle in range(at + rng.randrange(2, 40)):
                of = rng.randrange(count) if rng.random() < load else None
                strobes.append(of)
                ctx.set(dut.stb, of is not None)
                ctx.set(dut.of, of or 0)
                ctx.set(dut.clear, cycle == at)
                ctx.set(dut.snapshot, cycle == before < at and not ctx.get(dut.busy))
                await ctx.tick()
                if cycle > at and load == 1:
                    assert ctx.get(dut.busy)
            ctx.set(dut.stb, 0)
            ctx.set(dut.clear, 0)
            await _over(ctx, dut)
            assert await _shown(ctx, dut, count) == [0] * count
            ctx.set(dut.snapshot, 1)
            await ctx.tick()
            ctx.set(dut.snapshot, 0)
            await _over(ctx, dut)
            counted = strobes[at - early :]
            assert await _shown(ctx, dut, count) == [counted.count(n) for n in range(count)]

    run(dut, bench, cycles=5000)


def test_a_class_that_does_not_exclude_others() -> None:
    with pytest.raises(ValueError, match="count must be at least 2, not 1"):
        ClassCounters(1)
