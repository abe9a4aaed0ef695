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


def test_a_class_that_does_not_exclude_others() -> None:
    with pytest.raises(ValueError, match="count must be at least 2, not 1"):
        ClassCounters(1)
