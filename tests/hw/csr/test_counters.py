# amaranth: UnusedElaboratable=no
"""Counters: 64 bits, every event counted, all of them kept at one instant."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from precog_hw.csr.counters import Counters

from ..packet.bench import run

_START = 0x1_FFFF_FFC0  # soon the low half wraps


def _shown(ctx: Any, dut: Counters, count: int) -> list[int]:
    found = []
    for index in range(count):
        ctx.set(dut.index, index)
        found.append(ctx.get(dut.high) << 32 | ctx.get(dut.low))
    return found


async def _settled(ctx: Any, dut: Counters, count: int) -> None:
    """A snapshot takes `count` + 3 cycles, or 6, not one more or less."""
    for left in reversed(range(max(count, 3) + 3)):
        assert ctx.get(dut.busy) == (left > 0)
        if left:
            await ctx.tick()


@pytest.mark.parametrize("count", [1, 2, 3, 29])
def test_a_snapshot_is_of_one_instant(count: int, seed: int) -> None:
    """Of the cycles before its strobe, whatever turn it is, as close to the last one as it may be,
    across the carry, with events in every cycle, and nothing is lost between any two."""
    rng = random.Random(seed)
    dut = Counters(count, init=_START)

    async def bench(ctx: Any) -> None:
        await _settled(ctx, dut, count)
        assert _shown(ctx, dut, count) == [_START] * count
        expected = [_START] * count
        for _ in range(60):
            full = not rng.randrange(3)
            for wait in reversed(range(rng.choice((1, 1, 2, rng.randrange(1, 2 * count + 9))))):
                events = (1 << count) - 1 if full else rng.getrandbits(count)
                ctx.set(dut.events, events)
                ctx.set(dut.snapshot, not wait)
                kept = list(expected)
                expected = [n + (events >> i & 1) for i, n in enumerate(expected)]
                await ctx.tick()
            ctx.set(dut.snapshot, 0)
            while True:
                events = (1 << count) - 1 if full else rng.getrandbits(count)
                ctx.set(dut.events, events)
                if not ctx.get(dut.busy):
                    break
                expected = [n + (events >> i & 1) for i, n in enumerate(expected)]
                await ctx.tick()
            assert _shown(ctx, dut, count) == kept
        assert max(expected) > 1 << 33

    run(dut, bench, cycles=20_000)


def test_counters_of_one_event_are_equal_in_every_snapshot(seed: int) -> None:
    """At the ends and in the middle of a turn: the reading that began this showed one less."""
    rng, count = random.Random(seed), 17
    dut = Counters(count)

    async def bench(ctx: Any) -> None:
        await _settled(ctx, dut, count)
        for _ in range(200):
            for wait in reversed(range(rng.randrange(1, 12))):
                ctx.set(dut.events, ((1 << count) - 1) * (rng.random() < 0.3))
                ctx.set(dut.snapshot, not wait)
                await ctx.tick()
            ctx.set(dut.snapshot, 0)
            while ctx.get(dut.busy):
                ctx.set(dut.events, ((1 << count) - 1) * (rng.random() < 0.3))
                await ctx.tick()
            shown = _shown(ctx, dut, count)
            assert shown == [shown[0]] * count
        assert shown[0] > 1000

    run(dut, bench, cycles=8_000)


def test_the_last_event_counts_by_an_amount(seed: int) -> None:
    rng, start = random.Random(seed), 0xFFFF_F000
    dut = Counters(2, init=start, amount_bits=13)

    async def bench(ctx: Any) -> None:
        expected = [start, start]
        for _ in range(50):
            for _ in range(rng.randrange(6, 14)):
                events, amount = rng.choice((3, rng.getrandbits(2))), rng.choice((8191, 1))
                ctx.set(dut.events, events)
                ctx.set(dut.amount, amount)
                expected[0] += events & 1
                expected[1] += amount * (events >> 1)
                await ctx.tick()
            ctx.set(dut.events, 0)
            ctx.set(dut.snapshot, 1)
            await ctx.tick()
            ctx.set(dut.snapshot, 0)
            await _settled(ctx, dut, 2)
            assert _shown(ctx, dut, 2) == expected
        assert expected[1] > 1 << 32

    run(dut, bench, cycles=2_000)


def _clear(dut: Counters, _: Signal) -> Signal:
    return dut.clear


def _reset(_: Counters, reset: Signal) -> Signal:
    return reset


@pytest.mark.parametrize(("strobe", "start"), [(_clear, 0), (_reset, _START)])
def test_counters_and_their_snapshot_begin_again(
    strobe: Callable[[Counters, Signal], Signal], start: int, seed: int
) -> None:
    """In any cycle, also of a snapshot or in one that a snapshot begins in."""
    rng, count = random.Random(seed), 7
    dut, reset = Counters(count, init=_START), Signal()

    async def bench(ctx: Any) -> None:
        ctx.set(dut.events, (1 << count) - 1)
        for at in (*range(2 * count), None):
            await ctx.tick().repeat(30)
            ctx.set(dut.snapshot, 1)
            for cycle in range(at + 1 if at is not None else 1):
                ctx.set(strobe(dut, reset), cycle == at or at is None)
                await ctx.tick()
                ctx.set(dut.snapshot, 0)
            ctx.set(strobe(dut, reset), 0)
            for cycle in range(max(count, 3) + 2 + rng.randrange(3)):
                assert ctx.get(dut.busy) == (cycle < count + 2)
                await ctx.tick()
            assert _shown(ctx, dut, count) == [start] * count
            ctx.set(dut.snapshot, 1)
            expected = start + cycle + 1
            await ctx.tick()
            ctx.set(dut.snapshot, 0)
            await _settled(ctx, dut, count)
            assert _shown(ctx, dut, count) == [expected] * count

    run(ResetInserter(reset)(dut), bench, cycles=2_000)


def test_count_must_be_positive() -> None:
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        Counters(0)


def test_init_must_fit() -> None:
    with pytest.raises(ValueError, match="init must be a 64-bit unsigned number, not -1"):
        Counters(1, init=-1)
