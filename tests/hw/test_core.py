# amaranth: UnusedElaboratable=no
"""The core, and the core on a processor, against the golden NIC, Verilated with a small engine."""

from typing import Any

import pytest
from tests.differing import same

from precog_hw.micro.core import MicroCore
from precog_models.nic import Decision
from precog_models.predict.rtt_head import rtt_pred
from precog_models.psched_presets import PSCHED_PRESETS
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.law_fields import JUDGED_MIN, EventKind

from .core_bench import CONFIG, PARAMETERS, CoreBench
from .forecast_bench import MICRO, OF_TREES, library

pytestmark = [pytest.mark.cosim, pytest.mark.xdist_group("core_forecast")]


def made(seed: int, config: NicConfig = OF_TREES) -> CoreBench:
    """A bench; `OF_TREES` is `CONFIG` with more models, and Verilated for its own tests, too."""
    return CoreBench(seed, config, library(config))


def test_one_at_a_time(seed: int) -> None:
    """Data, latency, drops, commands; and pauses of any length, which change nothing."""
    bench = made(seed)
    dut, rng = bench.dut, bench.rng
    exact_latencies = 0

    async def main(ctx: Any) -> None:
        nonlocal exact_latencies
        await bench.start(ctx)
        t, before = 0, [False] * CONFIG.qps
        for _ in range(40):
            if rng.random() < 0.15:
                qp = rng.randrange(CONFIG.qps)
                config = bench.config(qp) | {
                    "enable": rng.random() < 0.7,
                    "model_enable": rng.random() < 0.7,
                    "model_slot": rng.randrange(4),
                }
                clear = rng.random() < 0.5
                await bench.command(ctx, qp, config if rng.random() < 0.7 else None, clear=clear)
                before[qp] = False
            qp, rtt = rng.choice([0, 1, 2, 3, 0, 1, 2, 3, 4, 65535]), rng.randrange(4000, 6500)
            t += rng.choice([100, 5000])
            pause = rng.choice([0, 250])  # the run-ahead takes up to 200
            for _ in range(pause):
                await ctx.tick()
            await bench.give(ctx, qp, rtt, t)
            want = bench.golden.decide(qp, rtt, t)
            cycle = 1
            while not ctx.get(dut.o_decision.valid) and not ctx.get(dut.dropped):
                await ctx.tick()
                cycle += 1
            assert bool(ctx.get(dut.dropped)) == (want is None)
            if want is None:
                continue
            same("core.o_decision", bench.offered(ctx), want, at=f"t {t}", inputs=[(qp, rtt, t)])
            if pause and before[qp]:  # nothing in the way, the context is of the model
                late = dut.window_latency if bench.golden.configuration(qp)["win"] else 0
                # Up to two cycles more for an output that was limited.
                ends = [rtt_pred(want.srtt, out) for out in (-32768, 32767)]
                more = (0, 1, 2) if want.rtt_pred in ends else (0,)
                assert cycle - dut.latency - late in more
                exact_latencies += 1
            before[qp] = True
            ctx.set(dut.o_decision.ready, 1)
            await ctx.tick()
            ctx.set(dut.o_decision.ready, 0)

    bench.run(main)
    assert exact_latencies > 2


@pytest.mark.parametrize(
    ("free", "config", "count"), [(0.01, OF_TREES, 24), (1.0, OF_TREES, 24), (0.1, MICRO, 10)]
)
def test_stream(free: float, config: NicConfig, count: int, seed: int) -> None:
    """Samples as fast as they are taken, decisions as fast as allowed: same order, same values."""
    bench = made(seed, config)
    dut, rng = bench.dut, bench.rng
    t, samples = 0, list[tuple[int, int, int]]()
    for _ in range(count):  # the base RTT's windows end, also in a pause of hours
        t = (t + rng.choice([100, 100, 30_000, (1 << 39) + 1])) % (1 << Fmt.TIME.width)
        samples.append((rng.randrange(CONFIG.qps + 1), rng.randrange(4000, 6500), t))
    decisions: list[Decision] = []
    wanted: list[Decision | None] = []

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        wanted.extend(bench.golden.decide(*sample) for sample in samples)
        for sample in samples:
            await bench.give(ctx, *sample)

    async def sink(ctx: Any) -> None:
        while not wanted:
            await ctx.tick()
        # After the last decision nothing more comes.
        left = MicroCore.MOST_CYCLES if config.micro else 300
        for _ in range(20_000):
            ready = rng.random() < free
            ctx.set(dut.o_decision.ready, ready)
            if ctx.get(dut.o_decision.valid) and ready:
                decisions.append(bench.offered(ctx))
            await ctx.tick()
            left -= len(decisions) >= len(wanted) - wanted.count(None)
            if not left:
                return
        raise TimeoutError(f"{len(decisions)} decisions")

    bench.run(main, sink)
    expected = [decision for decision in wanted if decision is not None]
    for n, (got, want) in enumerate(zip(decisions, expected, strict=True)):
        same("core.o_decision", got, want, at=f"decision {n}", inputs=samples[: n + 1])


@pytest.mark.parametrize(
    ("config", "delays"), [(OF_TREES, (3, 10, 14, 20, 40, 60)), (MICRO, (3, 14, 200, 800))]
)
def test_command_acts_after_what_has_begun(
    config: NicConfig, delays: tuple[int, ...], seed: int
) -> None:
    """A reset during a sample acts on the samples that still wait, not on that one."""
    bench = made(seed, config)
    dut = bench.dut
    decisions: list[Decision] = []
    wanted: list[Decision | None] = []

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        for n, delay in enumerate(delays):
            sample = (2, 4500 + 100 * n, 100 * n)
            await bench.give(ctx, *sample)
            for _ in range(delay):
                await ctx.tick()
            wanted.append(bench.golden.decide(*sample))
            await bench.command(ctx, 2, None, clear=True)

    async def sink(ctx: Any) -> None:
        ctx.set(dut.o_decision.ready, 1)
        while len(decisions) < len(delays):
            if ctx.get(dut.o_decision.valid):
                decisions.append(bench.offered(ctx))
            await ctx.tick()

    bench.run(main, sink)
    assert decisions == wanted


@pytest.mark.parametrize("config", [OF_TREES, MICRO])
def test_scores_are_judged_by_the_samples(config: NicConfig, seed: int) -> None:
    """Scores that tell the truth are followed once enough of them have been judged."""
    bench = made(seed, config)
    dut, rng = bench.dut, bench.rng
    psched = PSCHED_PRESETS["precog"].parameters(1000) | {"delay": 1000}
    parameters = PARAMETERS | {f"psched_{name}": value for name, value in psched.items()}
    followed = []

    async def decided(ctx: Any, want: Decision | None) -> None:
        assert want is not None
        ctx.set(dut.o_decision.ready, 1)
        while not ctx.get(dut.o_decision.valid):
            await ctx.tick()
        same("core.o_decision", bench.offered(ctx), want)
        await ctx.tick()
        ctx.set(dut.o_decision.ready, 0)

    async def main(ctx: Any) -> None:
        await bench.start(ctx)
        ctx.set(dut.parameters, parameters)
        bench.golden.set_parameters(parameters)
        config = bench.config(1) | {"psched": 1, "algorithm": 0, "model_enable": 0}
        await bench.command(ctx, 1, config, clear=True)
        waits = soon = False  # at the next sample, and at the one after it
        for t in range(0, 26_000, 1000):
            rtt = 4000 + (1000 + rng.randrange(3000) if waits else 0)
            await bench.give(ctx, 1, rtt, t)
            await decided(ctx, bench.golden.decide(1, rtt, t))
            waits, soon = soon, rng.random() < 0.5
            event = {"kind": EventKind.SCORE, "qp": 1, "t": t + 500, "value": 100 * soon}
            ctx.set(dut.i_event.payload, event)
            ctx.set(dut.i_event.valid, 1)
            await ctx.tick().until(dut.i_event.ready)
            ctx.set(dut.i_event.valid, 0)
            want = bench.golden.happen(EventKind.SCORE, 1, t + 500, 100 * soon)
            await decided(ctx, want)
            followed.append(bool(want is not None and want.flags >> Flag.SCORED & 1))

    bench.run(main)
    assert not any(followed[:JUDGED_MIN])
    assert all(followed[JUDGED_MIN + 1 :])
