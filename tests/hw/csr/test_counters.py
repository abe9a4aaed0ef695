# amaranth: UnusedElaboratable=no
"""Counters: 64 bits, every event counted, halves of one instant."""

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from precog_hw.csr.counters import Counters


def simulate(dut: Any, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


async def read(ctx: Any, dut: Counters, index: int) -> int:
    ctx.set(dut.index, index)
    await ctx.tick()
    ctx.set(dut.read, 1)
    low = ctx.get(dut.low)
    await ctx.tick()
    ctx.set(dut.read, 0)
    return int(ctx.get(dut.high) << 32 | low)


def test_counts_of_all_events(seed: int) -> None:
    rng = random.Random(seed)
    dut = Counters(5)

    async def bench(ctx: Any) -> None:
        expected = [0] * 5
        for _ in range(200):
            events = rng.getrandbits(5)
            ctx.set(dut.events, events)
            expected = [n + (events >> i & 1) for i, n in enumerate(expected)]
            await ctx.tick()
        ctx.set(dut.events, 0)
        await ctx.tick()
        assert [await read(ctx, dut, i) for i in range(5)] == expected

    simulate(dut, bench)


def test_the_last_event_counts_by_an_amount(seed: int) -> None:
    """Across the carry of the low half, too."""
    rng, start = random.Random(seed), 0xFFFF_F000
    dut = Counters(2, init=start, amount_bits=13)

    async def bench(ctx: Any) -> None:
        expected = [start, start]
        for _ in range(50):
            events, amount = rng.getrandbits(2), rng.getrandbits(13)
            ctx.set(dut.events, events)
            ctx.set(dut.amount, amount)
            expected[0] += events & 1
            expected[1] += amount * (events >> 1)
            await ctx.tick()
        ctx.set(dut.events, 0)
        await ctx.tick().repeat(2)
        assert [await read(ctx, dut, i) for i in range(2)] == expected
        assert expected[1] > 1 << 32

    simulate(dut, bench)


def test_a_counter_is_read_exactly_in_every_cycle(seed: int) -> None:
    """Also while its row's sum is on its way, after a reset or a clear, and across the carry."""
    rng, count, start = random.Random(seed), 29, 0x1_FFFF_FFC0
    dut, reset = Counters(count, init=start), Signal()

    async def bench(ctx: Any) -> None:
        for _ in range(2):
            expected, past, most = [start] * count, [], 0
            for _ in range(600):
                index = rng.randrange(count)
                ctx.set(dut.index, index)
                for _ in range(2):
                    events = rng.getrandbits(count) | rng.getrandbits(count)
                    ctx.set(dut.events, events)
                    past.append(list(expected))
                    expected = [n + (events >> i & 1) for i, n in enumerate(expected)]
                    clear = not rng.randrange(20) and len(past) > 1500
                    if clear:  # with what is in flight, and what happens now
                        past, expected = [[0] * count] * len(past), [0] * count
                    ctx.set(dut.clear, clear)
                    await ctx.tick()
                ctx.set(dut.clear, 0)
                ctx.set(dut.read, 1)
                low = ctx.get(dut.low)
                ctx.set(dut.events, 0)
                past.append(list(expected))
                await ctx.tick()
                ctx.set(dut.read, 0)
                assert ctx.get(dut.high) << 32 | low == past[-2][index]
                most = max(most, expected[0])
            assert most > 1 << 33
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)

    simulate(ResetInserter(reset)(dut), bench)


@pytest.mark.parametrize("wait", range(6))
def test_the_high_half_is_of_the_instant_of_the_low_half(wait: int) -> None:
    """Across a carry, whichever cycle the low half is read in."""
    start = 0x1_FFFF_FFFE
    dut = Counters(1, init=start)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.events, 1)
        for _ in range(wait):
            await ctx.tick()
        assert await read(ctx, dut, 0) == start + wait
        high = ctx.get(dut.high)
        await ctx.tick().repeat(5)
        assert ctx.get(dut.high) == high, "only a read of the low half may change it"

    simulate(dut, bench)


def test_count_must_be_positive() -> None:
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        Counters(0)


def test_init_must_fit() -> None:
    with pytest.raises(ValueError, match="init must be a 64-bit unsigned number, not -1"):
        Counters(1, init=-1)
