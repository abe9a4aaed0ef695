"""Orders that wait: of each queue pair the last one, and none is lost."""

import random
from typing import Any

import pytest

from precog_hw.latest import Latest
from precog_hw.pace.layouts import order_layout

from .packet.bench import run

QPS = 16


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("qps", "patience"), [(2, 0.5), (2, 1.0), (QPS, 0.05), (QPS, 0.5)])
def test_the_last_order_of_every_queue_pair_comes_out(
    seed: int, qps: int, patience: float, relaxed: bool
) -> None:
    """Whoever takes them slowly gets fewer of them, but of each queue pair the last."""
    rng, dut = random.Random(seed), Latest(order_layout(qps), relaxed=relaxed)
    last: dict[int, tuple[int, int]] = {}
    got: dict[int, tuple[int, int]] = {}
    given = taken = merged = 0

    async def source(ctx: Any) -> None:
        nonlocal given
        await ctx.tick().repeat(qps)
        for _ in range(3000):
            qp = rng.choice([1, rng.randrange(qps)])
            order = rng.getrandbits(32), rng.getrandbits(32)
            strobe = rng.random() < 0.4
            ctx.set(dut.i_stb, strobe)
            ctx.set(dut.tells, 1)
            ctx.set(dut.i, {"qp": qp, "rate": order[0], "window": order[1]})
            if strobe:
                last[qp] = order
            given += strobe
            await ctx.tick()
        ctx.set(dut.i_stb, 0)

    async def sink(ctx: Any) -> None:
        nonlocal taken, merged
        for cycle in range(3000 + 40 * qps):
            ready = rng.random() < patience or cycle > 3000
            ctx.set(dut.o.ready, ready)
            merged += ctx.get(dut.merged)
            if ctx.get(dut.o.valid) and ready:
                order = ctx.get(dut.o.payload)
                got[order.qp] = order.rate, order.window
                taken += 1
            await ctx.tick()
        assert not ctx.get(dut.o.valid)

    run(dut, source, sink, cycles=5000)
    assert got == last
    assert given == taken + merged
    assert len(got) == qps


@pytest.mark.parametrize("relaxed", [False, True])
def test_latency(relaxed: bool) -> None:
    dut = Latest(order_layout(QPS), relaxed=relaxed)

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        ctx.set(dut.i_stb, 1)
        ctx.set(dut.tells, 1)
        for cycle in range(1, 10):
            await ctx.tick()
            ctx.set(dut.i_stb, 0)
            if ctx.get(dut.o.valid):
                assert cycle == (4 if relaxed else 7)
                return
        raise AssertionError("the word must come out")

    run(dut, bench, cycles=60)


@pytest.mark.parametrize("relaxed", [False, True])
def test_an_order_that_tells_nobody_replaces_the_one_that_waits(relaxed: bool) -> None:
    """Even one that is being offered; alone it gives no turn."""
    dut = Latest(order_layout(QPS), relaxed=relaxed)

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        for tells, rate in ((1, 7), (0, 8)):
            ctx.set(dut.i, {"qp": 5, "rate": rate, "window": 9})
            ctx.set(dut.i_stb, 1)
            ctx.set(dut.tells, tells)
            await ctx.tick()
            ctx.set(dut.i_stb, 0)
            await ctx.tick().repeat(10)
        assert ctx.get(dut.o.valid)
        order = ctx.get(dut.o.payload)
        assert (order.qp, order.rate, order.window) == (5, 8, 9)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        ctx.set(dut.i_stb, 1)
        await ctx.tick()
        ctx.set(dut.i_stb, 0)
        for _ in range(10):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()

    run(dut, bench, cycles=200)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("qps", "patience"), [(2, 0.5), (4, 1.0), (8, 0.1)])
def test_a_member_is_kept_while_a_word_waits(
    seed: int, qps: int, patience: float, relaxed: bool
) -> None:
    """A rate that is not kept is told, in the next word of its queue pair at the latest."""
    rng, dut = random.Random(seed), Latest(order_layout(qps), relaxed=relaxed, kept="rate")
    alone, cycles = 0, 2000
    rates: dict[int, int] = {}
    windows: dict[int, int] = {}
    got_windows: dict[int, int] = {}
    got_rates: dict[int, int] = {}
    mixed = 0

    async def source(ctx: Any) -> None:
        await ctx.tick().repeat(qps)
        for _ in range(cycles):
            qp, keeps = rng.randrange(qps), rng.random() < 0.6
            strobe = rng.random() < 0.4
            rate, window = alone if keeps else rng.randrange(1, 1 << 32), rng.getrandbits(32)
            ctx.set(dut.i_stb, strobe)
            ctx.set(dut.tells, 1)
            ctx.set(dut.keeps, keeps)
            ctx.set(dut.i, {"qp": qp, "rate": rate, "window": window})
            if strobe:
                windows[qp] = window
                if not keeps:
                    rates[qp] = rate
            await ctx.tick()
        ctx.set(dut.i_stb, 0)

    async def sink(ctx: Any) -> None:
        nonlocal mixed
        for cycle in range(cycles + 40 * qps):
            ready = rng.random() < patience or cycle > cycles
            ctx.set(dut.o.ready, ready)
            if ctx.get(dut.o.valid) and ready:
                order = ctx.get(dut.o.payload)
                got_windows[order.qp] = order.window
                if order.rate != alone:
                    mixed += order.rate == got_rates.get(order.qp)
                    got_rates[order.qp] = order.rate
            await ctx.tick()

    run(dut, source, sink, cycles=4000)
    assert (got_windows, got_rates) == (windows, rates)
    assert not mixed  # no rate is told twice
