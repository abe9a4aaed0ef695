# amaranth: UnusedElaboratable=no
"""A restart of the predictor in the core: exact where it works, no loss where it is stuck."""

from typing import Any

import pytest
from tests.differing import same

from precog_models.nic import Decision
from precog_spec.config import NicConfig
from precog_spec.contract import Flag

from .core_bench import CONFIG, PARAMETERS, CoreBench
from .forecast_bench import MICRO, OF_TREES
from .sticking import BEFORE
from .test_core import made

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("core_forecast")]


async def restart(ctx: Any, bench: CoreBench) -> None:
    dut = bench.dut
    ctx.set(dut.command.payload, {"forget": 1})
    ctx.set(dut.command.valid, 1)
    await ctx.tick().until(dut.command.ready)
    ctx.set(dut.command.valid, 0)


@pytest.mark.parametrize(("config", "count"), [(OF_TREES, 24), (MICRO, 10)])
def test_it_acts_after_what_has_begun_and_all_of_it_has_left(
    config: NicConfig, count: int, seed: int
) -> None:
    """Contexts are empty then, for models that look back."""
    bench = made(seed, config)
    dut, rng = bench.dut, bench.rng
    samples = [
        (rng.randrange(CONFIG.qps), rng.randrange(4000, 6500), 100 * n) for n in range(count)
    ]
    decisions: list[Decision] = []
    restarts: list[int] = []  # decisions before each

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        for sample in samples:
            await bench.give(ctx, *sample)
            if rng.random() < 0.4:
                for _ in range(rng.choice([3, 10, 14, 20, 40, 60])):
                    await ctx.tick()
                await restart(ctx, bench)
                restarts.append(len(decisions))

    async def sink(ctx: Any) -> None:
        ctx.set(dut.o_decision.ready, 1)
        while len(decisions) < count:
            if ctx.get(dut.o_decision.valid):
                decisions.append(bench.offered(ctx))
            await ctx.tick()

    bench.run(main, sink)
    assert restarts
    for n, (sample, got) in enumerate(zip(samples, decisions, strict=True)):
        if n in restarts:
            bench.golden.restart_predictor()
        want = bench.golden.decide(*sample)
        same("core.o_decision", got, want, at=f"decision {n}", inputs=samples[: n + 1])


def test_no_word_of_a_load_is_lost(seed: int) -> None:
    """Restarts while models are loaded: what these decide is golden."""
    bench = made(seed)
    dut = bench.dut
    restarts, loading = 0, True

    async def main(ctx: Any) -> None:
        nonlocal loading
        await bench.start(ctx)
        loading = False
        for n in range(2 * CONFIG.qps):
            sample = (n % CONFIG.qps, 5000 + 10 * n, 1000 * n)
            await bench.give(ctx, *sample)
            await ctx.tick().until(dut.o_decision.valid)
            assert bench.offered(ctx) == bench.golden.decide(*sample)

    async def restarter(ctx: Any) -> None:
        nonlocal restarts
        ctx.set(dut.o_decision.ready, 1)
        while loading:
            if ctx.get(dut.word_stb):  # after the last one nothing else commands for 20 cycles
                await restart(ctx, bench)
                restarts += 1
            await ctx.tick()

    bench.run(main, restarter)
    assert restarts > 20


@pytest.mark.parametrize(
    ("deadline", "config", "count"),
    [(0, OF_TREES, 9), (400, OF_TREES, 9), (0, MICRO, 6), (400, MICRO, 6)],
)
def test_what_a_stuck_engine_owes_is_decided_without_it(
    deadline: int, config: NicConfig, count: int, seed: int
) -> None:
    """Every sample gets its decision; those that found the engine stuck follow the base law."""
    bench = made(seed, config)
    bench.simulation.poke(stuck=1)
    dut, rng = bench.dut, bench.rng
    samples = [(n % CONFIG.qps, rng.randrange(4000, 6500), 100 * n) for n in range(count)]
    decisions: list[Decision] = []

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        ctx.set(dut.parameters, PARAMETERS | {"advice_deadline": deadline})
        for sample in samples:
            await bench.give(ctx, *sample)
        for _ in range(3000 if config.micro else 1500):
            await ctx.tick()
        assert len(decisions) < count - 1
        await restart(ctx, bench)
        while len(decisions) < count:
            await ctx.tick()
        # It works again: all contexts are empty, as the golden ones are.
        bench.golden.restart_predictor()
        before = len(decisions)
        more = [(n % CONFIG.qps, 5000 + 10 * n, 100_000 + 100 * n) for n in range(4)]
        for given, sample in enumerate(more, 1):  # each runs its whole window: one by one
            await bench.give(ctx, *sample)
            while len(decisions) < before + given:
                await ctx.tick()

    async def sink(ctx: Any) -> None:
        ctx.set(dut.o_decision.ready, 1)
        for _ in range(60_000):
            if ctx.get(dut.o_decision.valid):
                decisions.append(bench.offered(ctx))
            if len(decisions) == count + 4:
                return
            await ctx.tick()
        raise TimeoutError(f"{len(decisions)} decisions")

    bench.run(main, sink)
    assert [row.qp for row in decisions[:count]] == [qp for qp, _, _ in samples]
    without = [row.flags >> Flag.NO_MODEL & 1 | row.flags >> Flag.LATE & 1 for row in decisions]
    assert without[:BEFORE] == [0] * BEFORE
    assert any(without)
    assert without[count:] == [0] * 4
    assert any(row.flags >> Flag.LATE & 1 for row in decisions) == bool(deadline)


@pytest.mark.parametrize(("config", "count"), [(OF_TREES, 9), (MICRO, 6)])
def test_a_command_ahead_keeps_no_restart_of_a_stuck_engine_out(
    config: NicConfig, count: int, seed: int
) -> None:
    """The command waits for the samples that the engine has; then it is taken."""
    bench = made(seed, config)
    bench.simulation.poke(stuck=1)
    dut, rng = bench.dut, bench.rng
    taken: list[int] = []

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        ctx.set(dut.parameters, PARAMETERS | {"advice_deadline": 0})
        ctx.set(dut.o_decision.ready, 1)
        for n in range(count):
            await bench.give(ctx, n % CONFIG.qps, rng.randrange(4000, 6500), 100 * n)
        await ctx.tick().repeat(3000 if config.micro else 1500)
        ctx.set(dut.restart_waits, 1)
        await bench.command(ctx, 1, bench.config(1), clear=True)
        await restart(ctx, bench)
        taken.append(1)

    bench.run(main)
    assert taken
