"""The rate unit against its golden model: every option, extremes, latency, resets."""

from typing import Any

import pytest
from tests.differing import same

from precog_hw.csr.layouts import PARAMETERS, QP_CONFIG_LAYOUT
from precog_hw.rate.unit import RateUnit
from precog_models.nic import PARAMETERS as GOLDEN_PARAMETERS
from precog_models.rate.unit import QP_CONFIG
from precog_spec.contract import Algorithm
from precog_spec.trial_fields import TRIAL_PARAMETERS

from .bench import RateBench, random_config, random_parameters

PREPARE = RateUnit.PREPARE


def test_names_are_those_of_the_register_map() -> None:
    assert tuple(name for name, _ in (*PARAMETERS, *TRIAL_PARAMETERS)) == GOLDEN_PARAMETERS
    assert tuple(name for name, _ in QP_CONFIG_LAYOUT) == QP_CONFIG


@pytest.mark.parametrize("qps", [2, 8])
def test_exact_with_latency(qps: int, seed: int) -> None:
    bench = RateBench(qps, seed)
    dut, rng = bench.dut, bench.rng

    async def main(ctx: Any) -> None:
        for n in range(350):
            if n % 25 == 0:
                bench.set_parameters(ctx, random_parameters(rng))
            for qp in range(qps):
                if n == 0 or rng.random() < 0.02:
                    config = random_config(rng) if n == 0 or rng.random() < 0.7 else None
                    await bench.command(ctx, qp, config, clear=bool(rng.randrange(2)))
            sample = bench.sample()
            advice = bench.advice(sample["rtt"])
            await bench.give(ctx, dut.i, sample)
            for _ in range(rng.choice([0, PREPARE - 1, PREPARE, 40])):
                assert not ctx.get(dut.o.valid)
                await ctx.tick()
            await bench.give(ctx, dut.i_advice, advice)
            cycle = 1
            while not ctx.get(dut.o.valid):
                await ctx.tick()
                cycle += 1
            want = bench.golden(sample, advice)
            config = dict(zip(QP_CONFIG, bench.configs[sample["qp"]], strict=True))
            limited = config["win"] and config["algorithm"] <= Algorithm.PREDPID
            late = RateUnit.WINDOW_LATENCY if limited else 0
            assert cycle == RateUnit.LATENCY + late
            for _ in range(rng.randrange(3)):  # a stalled decision holds
                same("rate.o", bench.offered(ctx), want, at=f"sample {n}", inputs=[sample, advice])
                await ctx.tick()
            same("rate.o", bench.offered(ctx), want, at=f"sample {n}", inputs=[sample, advice])
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert not ctx.get(dut.o.valid)

    bench.run(main)


def test_ready_for_advice_after_its_preparation(seed: int) -> None:
    bench = RateBench(2, seed)
    dut = bench.dut

    async def main(ctx: Any) -> None:
        await bench.give(ctx, dut.i, bench.sample())
        for cycle in range(1, PREPARE):
            assert not ctx.get(dut.i_advice.ready), cycle
            await ctx.tick()
        assert ctx.get(dut.i_advice.ready)

    bench.run(main)


def test_stream_of_colliding_queue_pairs(seed: int) -> None:
    """Samples, advice and decisions each at their own pace; two queue pairs, so most collide."""
    bench = RateBench(2, seed)
    dut, rng, count = bench.dut, bench.rng, 120
    samples = [bench.sample() for _ in range(count)]
    advices = [bench.advice(sample["rtt"]) for sample in samples]
    got: list[dict[str, int]] = []
    started: list[bool] = []

    async def source(ctx: Any) -> None:
        bench.set_parameters(ctx, random_parameters(rng))
        for qp in range(2):
            await bench.command(ctx, qp, random_config(rng), clear=True)
        started.append(True)
        for sample in samples:
            await bench.give(ctx, dut.i, sample)

    async def advise(ctx: Any) -> None:
        while not started:
            await ctx.tick()
        for advice in advices:
            for _ in range(rng.choice([0, 0, 50])):
                await ctx.tick()
            await bench.give(ctx, dut.i_advice, advice)

    async def sink(ctx: Any) -> None:
        while len(got) < count:
            ctx.set(dut.o.ready, rng.random() < 0.5)
            await ctx.delay(1e-10)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                got.append(bench.offered(ctx))
            await ctx.tick()
        ctx.set(dut.o.ready, 1)
        for _ in range(60):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()

    bench.run(source, advise, sink)
    assert got == [bench.golden(s, a) for s, a in zip(samples, advices, strict=True)]


def test_command_waits_for_the_sample_in_flight(seed: int) -> None:
    """It acts after the samples that were taken before it and before those that wait."""
    bench = RateBench(2, seed)
    dut, rng = bench.dut, bench.rng

    async def decide(ctx: Any, sample: dict[str, int], advice: dict[str, int]) -> None:
        while not ctx.get(dut.o.valid):
            await ctx.tick()
        assert bench.offered(ctx) == bench.golden(sample, advice)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        ctx.set(dut.o.ready, 0)

    async def main(ctx: Any) -> None:
        bench.set_parameters(ctx, random_parameters(rng))
        for qp in range(2):
            await bench.command(ctx, qp, random_config(rng), clear=True)
        for delay in (0, 1, 5, 12, 18, 25, 30):
            sample, advice = bench.sample(), bench.advice(5000)
            await bench.give(ctx, dut.i, sample)
            ctx.set(dut.i_advice.payload, advice)
            ctx.set(dut.i_advice.valid, 1)
            for _ in range(delay):
                if ctx.get(dut.i_advice.ready):
                    await ctx.tick()
                    ctx.set(dut.i_advice.valid, 0)
                else:
                    await ctx.tick()
            config = random_config(rng)
            ctx.set(
                dut.command.payload,
                {"qp": sample["qp"], "apply": 1, "clear": 1, "config": config},
            )
            ctx.set(dut.command.valid, 1)
            waiting = bench.sample() | {"qp": sample["qp"]}
            ctx.set(dut.i.payload, waiting)
            ctx.set(dut.i.valid, 1)
            while not ctx.get(dut.o.valid):
                assert not ctx.get(dut.command.ready)
                assert not ctx.get(dut.i.ready)
                taken = ctx.get(dut.i_advice.valid) and ctx.get(dut.i_advice.ready)
                await ctx.tick()
                if taken:
                    ctx.set(dut.i_advice.valid, 0)
            await decide(ctx, sample, advice)
            await ctx.tick().until(dut.command.ready)
            ctx.set(dut.command.valid, 0)
            bench.configs[sample["qp"]] = [config[name] for name in QP_CONFIG]
            bench.states[sample["qp"]] = 0
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            await bench.give(ctx, dut.i_advice, advice)
            await decide(ctx, waiting, advice)

    bench.run(main)
