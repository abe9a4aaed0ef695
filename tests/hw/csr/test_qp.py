"""QpWindow: atomic configuration, consistent last decisions, defined reset."""

import random
from typing import Any

import pytest
from amaranth.lib import data
from amaranth.sim import Simulator

from precog_hw.csr.layouts import DECISION, QP_CONFIG_LAYOUT, QP_STATUS_LAYOUT
from precog_hw.csr.qp import QpWindow
from precog_spec.config import NicConfig
from precog_spec.contract import Flag

CONFIG = NicConfig(qps=8, sets=2)
RELAXED = NicConfig(qps=8, sets=2, relaxed=True)


def random_struct(layout: data.StructLayout, rng: random.Random) -> dict[str, int]:
    return {name: rng.getrandbits(shape.width) for name, shape in layout.members.items()}


def simulate(dut: QpWindow, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)

    async def guard(ctx: Any) -> None:
        for _ in range(20_000):
            await ctx.tick()
        raise TimeoutError("the bench did not finish")

    sim.add_testbench(bench)
    sim.add_testbench(guard, background=True)
    sim.run()


async def idle(ctx: Any, dut: QpWindow) -> None:
    while ctx.get(dut.busy):
        await ctx.tick()


async def walk(ctx: Any, dut: QpWindow) -> None:
    ctx.set(dut.o_config.ready, 1)
    await idle(ctx, dut)


async def command(ctx: Any, dut: QpWindow, qp: int, **strobes: int) -> None:
    ctx.set(dut.index, qp)
    for name, value in strobes.items():
        ctx.set(getattr(dut, name), value)
    await ctx.tick()
    for name in strobes:
        ctx.set(getattr(dut, name), 0)


async def fetch(ctx: Any, dut: QpWindow, qp: int) -> tuple[dict[str, int], dict[str, int]]:
    await command(ctx, dut, qp, fetch=1)
    while not ctx.get(dut.load):
        await ctx.tick()
    loaded, status = ctx.get(dut.loaded), ctx.get(dut.status)
    await idle(ctx, dut)
    return (
        {name: loaded[name] for name in QP_CONFIG_LAYOUT.members},
        {name: status[name] for name in QP_STATUS_LAYOUT.members},
    )


def test_reset_disables_every_qp_in_order_and_is_busy_meanwhile() -> None:
    dut = QpWindow(CONFIG)

    async def bench(ctx: Any) -> None:
        seen = []
        ctx.set(dut.o_config.ready, 1)
        while ctx.get(dut.busy):
            assert not ctx.get(dut.ready)
            if ctx.get(dut.o_config.valid):
                item = ctx.get(dut.o_config.payload)
                assert item.apply == 1
                assert item.clear == 1
                assert item.config.as_bits() == 0
                seen.append(item.qp)
            await ctx.tick()
        assert seen == list(range(CONFIG.qps))
        assert ctx.get(dut.ready)

    simulate(dut, bench)


@pytest.mark.parametrize("made", [CONFIG, RELAXED])
def test_apply_is_one_frozen_item_and_fetch_returns_it(made: NicConfig, seed: int) -> None:
    rng = random.Random(seed)
    dut = QpWindow(made)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        expected = {qp: dict.fromkeys(QP_CONFIG_LAYOUT.members, 0) for qp in range(8)}
        for _ in range(30):
            qp = rng.randrange(8)
            config = random_struct(QP_CONFIG_LAYOUT, rng)
            clear = rng.getrandbits(1)
            stall = rng.randrange(4)
            ctx.set(dut.window, config)
            ctx.set(dut.o_config.ready, 0)
            await command(ctx, dut, qp, apply=1, clear=clear)
            await ctx.tick()  # the configuration memory has taken the window
            ctx.set(dut.window, random_struct(QP_CONFIG_LAYOUT, rng))
            ctx.set(dut.index, rng.randrange(8))
            while not ctx.get(dut.o_config.valid):
                await ctx.tick()
            for _ in range(stall):
                item = ctx.get(dut.o_config.payload)
                assert (item.qp, item.apply, item.clear) == (qp, 1, clear)
                assert {n: item.config[n] for n in config} == config
                await ctx.tick()
                assert ctx.get(dut.o_config.valid)
            assert {n: ctx.get(dut.o_config.payload.config)[n] for n in config} == config
            ctx.set(dut.o_config.ready, 1)
            await ctx.tick()
            assert not ctx.get(dut.o_config.valid)
            expected[qp] = config
            other = rng.randrange(8)
            await idle(ctx, dut)
            assert (await fetch(ctx, dut, other))[0] == expected[other]

    simulate(dut, bench)


def test_fetch_and_clear_do_not_write_a_configuration() -> None:
    dut = QpWindow(CONFIG)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        ctx.set(dut.window, {"target": 77})
        await command(ctx, dut, 3, clear=1)
        while not ctx.get(dut.o_config.valid):
            await ctx.tick()
        item = ctx.get(dut.o_config.payload)
        assert (item.qp, item.apply, item.clear) == (3, 0, 1)
        await ctx.tick()
        await idle(ctx, dut)
        config, _ = await fetch(ctx, dut, 3)
        assert config["target"] == 0

    simulate(dut, bench)


@pytest.mark.parametrize("index", [8, 0xFFFF])
def test_a_qp_out_of_range_is_reported_and_ignored(index: int) -> None:
    dut = QpWindow(CONFIG)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        ctx.set(dut.index, index)
        ctx.set(dut.apply, 1)
        assert ctx.get(dut.range_error)
        await ctx.tick()
        ctx.set(dut.apply, 0)
        for _ in range(6):
            assert not ctx.get(dut.busy)
            assert not ctx.get(dut.o_config.valid)
            assert not ctx.get(dut.range_error)
            await ctx.tick()

    simulate(dut, bench)


def test_a_command_while_busy_is_reported_and_ignored() -> None:
    dut = QpWindow(CONFIG)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        ctx.set(dut.o_config.ready, 0)
        await command(ctx, dut, 2, apply=1)
        ctx.set(dut.index, 5)
        ctx.set(dut.clear, 1)
        assert ctx.get(dut.overrun)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        while not ctx.get(dut.o_config.valid):
            await ctx.tick()
        assert ctx.get(dut.o_config.payload.qp) == 2
        assert ctx.get(dut.o_config.payload.clear) == 0

    simulate(dut, bench)


@pytest.mark.parametrize(("config", "gap"), [(CONFIG, 0), (CONFIG, 1), (RELAXED, 1), (CONFIG, 3)])
def test_what_the_last_decisions_of_every_qp_told_is_kept(
    config: NicConfig, gap: int, seed: int
) -> None:
    rng = random.Random(seed)
    dut = QpWindow(config)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        expected = {qp: dict.fromkeys(QP_STATUS_LAYOUT.members, 0) for qp in range(8)}
        for _ in range(60):
            decision = random_struct(DECISION, rng)
            decision["qp"] = rng.choice((1, 1, 1, rng.randrange(8)))
            ctx.set(dut.decision, decision)
            ctx.set(dut.decision_stb, 1)
            await ctx.tick()
            ctx.set(dut.decision_stb, 0)
            kept = expected[decision["qp"]]
            told = ("rate", "window", "flags") if decision["flags"] >> Flag.EVENT & 1 else decision
            kept |= {name: decision[name] for name in kept if name in told}
            kept["samples"] += 1
            if gap:
                await ctx.tick().repeat(gap)
        await ctx.tick().repeat(2)
        for qp in range(8):
            assert (await fetch(ctx, dut, qp))[1] == expected[qp]
            await command(ctx, dut, (qp + 1) % 8, apply=1)  # only a fetch changes what is shown
            await idle(ctx, dut)
            shown = ctx.get(dut.status)
            assert {name: shown[name] for name in QP_STATUS_LAYOUT.members} == expected[qp]

    simulate(dut, bench)


@pytest.mark.parametrize("config", [CONFIG, RELAXED])
def test_a_fetch_that_meets_a_decision(config: NicConfig) -> None:
    """It shows what was before; relaxed, where it would be garbage, what is written there."""
    dut = QpWindow(config)

    async def bench(ctx: Any) -> None:
        await walk(ctx, dut)
        shown = []
        for n, late in enumerate(range(6), 1):
            for cycle in range(12):
                ctx.set(dut.index, 5)
                ctx.set(dut.fetch, cycle == 0)
                ctx.set(dut.decision_stb, cycle == late)
                ctx.set(dut.decision, dict.fromkeys(DECISION.members, n) | {"qp": 5, "flags": 0})
                await ctx.tick()
            status = ctx.get(dut.status)
            assert status["rate"] == status["window"] == status["srtt"] == status["samples"]
            shown.append(status["rate"] - n + 1)
        last = 2 if config.relaxed else 1
        assert shown == [late <= last - 1 for late in range(6)]

    simulate(dut, bench)


def test_a_fetch_amid_decisions_never_mixes_two_of_them() -> None:
    """A decision of sample n carries n; a fetch at any time shows one n, and as many samples."""
    dut = QpWindow(CONFIG)
    finished = False

    async def decide(ctx: Any) -> None:
        n = 0
        while not finished:
            n += 1
            ctx.set(dut.decision, dict.fromkeys(DECISION.members, n) | {"qp": 5, "flags": n & 63})
            ctx.set(dut.decision_stb, 1)
            await ctx.tick()

    async def bench(ctx: Any) -> None:
        nonlocal finished
        await walk(ctx, dut)
        previous, offsets = 0, set()
        for _ in range(20):
            _, status = await fetch(ctx, dut, 5)
            assert len({status[name] for name in ("rate", "window", "srtt", "base")}) == 1
            assert status["flags"] == status["rate"] & 63
            offsets.add(status["rate"] - status["samples"])
            assert status["rate"] > previous
            previous = status["rate"]
        assert len(offsets) == 1
        finished = True

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.add_testbench(decide, background=True)
    sim.run()
