# amaranth: UnusedElaboratable=no
"""Counters in block RAM: nothing is lost, and both halves are of one instant."""

import random
from typing import Any

import pytest
from amaranth.hdl import unsigned

from precog_hw.csr.block_counters import (
    ASKED_APART,
    BlockClassCounters,
    BlockCounters,
    CounterRows,
)

from ..packet.bench import run

Parts = CounterRows | BlockCounters | BlockClassCounters


class Host:
    """Asks for counters, as close to each other as the bus does or less, and reads both halves."""

    def __init__(self, ctx: Any, dut: Parts, count: int, rng: random.Random) -> None:
        self._ctx, self._dut, self._count, self._rng = ctx, dut, count, rng
        self._wait, self._asked, self._low = 0, False, 0
        self.index = 0
        self.may_clear = False

    def step(self) -> tuple[int, int] | None:
        """A cycle; an index and what it held 2 cycles ago, in the cycle behind that of `read`."""
        ctx, dut = self._ctx, self._dut
        held = None
        if ctx.get(dut.read):
            held = self.index, ctx.get(dut.high) << 32 | self._low
        ctx.set(dut.read, self._asked)
        if self._asked:
            self._low = ctx.get(dut.low)
        if not self._wait:
            self._wait = ASKED_APART + self._rng.randrange(4)
            self.index = self._rng.randrange(self._count)
            ctx.set(dut.index, self.index)
        self._wait -= 1
        self._asked = self._wait == ASKED_APART - 2
        ctx.set(dut.asked, self._asked)
        self.may_clear = not self._wait  # the bus is its own, too
        return held


@pytest.mark.parametrize("count", [2, 24])
def test_rows_are_changed_between_the_questions(count: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = CounterRows(count, unsigned(40))
    reads = []

    async def bench(ctx: Any) -> None:
        host = Host(ctx, dut, count, rng)
        held = [0] * count
        asked = [0] * count  # when the host asked
        waits, most = 0, 0
        for _ in range(4000):
            if not ctx.get(dut.stb) and rng.random() < 0.7:
                ctx.set(dut.stb, 1)
                ctx.set(dut.row, host.index if rng.random() < 0.5 else rng.randrange(count))
            ctx.set(dut.by, rng.getrandbits(40))

            if held_then := host.step():
                index, value = held_then
                assert value == asked[index]
                reads.append(value)
            clear = host.may_clear and rng.random() < 0.03
            ctx.set(dut.clear, clear)
            if ctx.get(dut.asked):
                asked = list(held)
            waits += 1
            row, by, done = ctx.get(dut.row), ctx.get(dut.by), ctx.get(dut.done)
            if done:
                held[row] = (held[row] + by) % (1 << 64)
                most = max(most, waits)
            if clear:
                held = [0] * count
                asked = [0] * count
            await ctx.tick()
            if done or not ctx.get(dut.stb):
                ctx.set(dut.stb, 0)
                waits = 0
        assert most == 4

    run(dut, bench, cycles=4100)
    assert len(reads) > 400
    assert max(reads) >> 32


@pytest.mark.parametrize("load", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 29])
def test_every_event_shows_in_time(count: int, load: float, seed: int) -> None:
    rng = random.Random(seed)
    dut = BlockCounters(count)
    late = dut.latency_of(count)
    reads = []

    async def bench(ctx: Any) -> None:
        host = Host(ctx, dut, count, rng)
        history = [[0] * count]
        for cycle in range(2000 + 2 * late):
            counts = list(history[-1])
            events = [cycle < 2000 and rng.random() < load for _ in range(count)]
            ctx.set(dut.events, sum(bit << n for n, bit in enumerate(events)))

            if held := host.step():
                index, value = held
                first = max(0, len(history) - 3 - late)
                known = [counts[index] for counts in history[first:-2]]
                assert min(known) <= value <= max(known)
                reads.append(value)
                if cycle >= 2000 + late + 3:
                    assert value == history[-1][index]
            clear = host.may_clear and cycle < 2000 and rng.random() < 0.02
            ctx.set(dut.clear, clear)
            counts = [0 if clear else n + bit for n, bit in zip(counts, events, strict=True)]
            if clear:  # nothing of before shows again
                history = [counts] * (late + 4)
            history.append(counts)
            await ctx.tick()

    run(dut, bench, cycles=2100 + 2 * late)
    assert len(reads) > 200


@pytest.mark.parametrize("count", [2, 24])
def test_classes_are_counted_one_at_a_time(count: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = BlockClassCounters(count)
    apart = dut.COUNT_CYCLES
    reads = []

    async def bench(ctx: Any) -> None:
        assert ctx.get(dut.ready)
        assert not ctx.get(dut.busy)
        host = Host(ctx, dut, count, rng)
        history = [[0] * count for _ in range(apart + 3)]
        wait = 0
        for _ in range(3000):
            stb = not wait and rng.random() < 0.8
            of = host.index if rng.random() < 0.5 else rng.randrange(count)
            wait = apart - 1 if stb else max(0, wait - 1)
            ctx.set(dut.stb, stb)
            ctx.set(dut.of, of)

            if held := host.step():
                index, value = held
                assert value in {counts[index] for counts in history[-3 - apart : -2]}
                reads.append(value)
            clear = host.may_clear and rng.random() < 0.03
            ctx.set(dut.clear, clear)
            counts = list(history[-1])
            counts[of] += stb
            history.append(counts)
            if clear:
                history = [[0] * count for _ in range(apart + 3)]
            await ctx.tick()

    run(dut, bench, cycles=3100)
    assert len(reads) > 300
    assert max(reads) > 3


def test_a_second_count_that_comes_too_early_is_an_error() -> None:
    dut = BlockClassCounters(4)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.stb, 1)
        for _ in range(4):
            await ctx.tick()

    with pytest.raises(AssertionError, match="one count at a time"):
        run(dut, bench, cycles=10)


def test_sizes_that_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        BlockCounters(0)
    with pytest.raises(ValueError, match="count must be at least 2, not 1"):
        BlockClassCounters(1)
