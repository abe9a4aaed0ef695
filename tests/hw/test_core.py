"""The core against the golden NIC, in pysim with a small engine; volume runs are Verilated."""

import random
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator
from tests.models.predict.weights import random_weights

from precog_hw.compose.ports import nic_map
from precog_hw.config import PRESETS, NicConfig
from precog_hw.core import Core
from precog_hw.micro.core import MicroCore
from precog_hw.micro.registers import parameter_places
from precog_hw.regmap.precog import LOAD_STATUS
from precog_models.contract import Flag
from precog_models.law_presets import PSCHED_PRESETS
from precog_models.nic import Decision, GoldenNic
from precog_models.predict.lstm import pack
from precog_models.rate.law_fields import JUDGED_MIN, EventKind

CONFIG = PRESETS["tiny"]
MICRO = replace(CONFIG, laws=0, ecc=0, micro=True)
PARAMETERS = {
    "sigma": 13107,
    "base_window": 20_000,
    "kp": -2933,
    "ki": -492,
    "kd": -328,
    "dmin": -39322,
    "dmax": 32768,
    "advice_limit": 16384,
    "advice_clamp": 1,
    "skill_monitor": 1,
    "advice_hold": 0,
    "advice_deadline": 4096,
    "queue_budget": 800 << 8,
    "rttch_threshold": 2,
    "rttch_margin": 200 << 8,
    "mtu": 1000,
}


class CoreBench:
    """A core with two models and four queue pairs, and the golden NIC beside it.

    Parameters
    ----------
    seed : int
    config : NicConfig
    """

    def __init__(self, seed: int, config: NicConfig = CONFIG) -> None:
        self.rng = random.Random(seed)
        self.dut = MicroCore(config) if config.micro else Core(config)
        self.built = config
        self.golden = GoldenNic(qps=CONFIG.qps, sets=CONFIG.sets)
        self.golden.set_parameters(PARAMETERS)
        weights = np.random.default_rng(seed)
        self.images = [pack(random_weights(weights, steps=steps)) for steps in (3, 2)]

    def run(self, *benches: Any) -> None:
        sim = Simulator(self.dut)
        sim.add_clock(1e-8)
        if isinstance(self.dut, MicroCore):
            sim.add_testbench(self._registers, background=True)
        for bench in benches:
            sim.add_testbench(bench)
        sim.run()

    async def _registers(self, ctx: Any) -> None:
        """Answers a small processor that reads a parameter's register, as the bus does."""
        bus = self.dut.registers
        words: dict[int, int] = {}
        for name, place in parameter_places(nic_map(self.built)).items():
            word = words.get(place.word, 0)
            words[place.word] = place.field.put(word, PARAMETERS[name])
        while True:
            if not (await ctx.tick().sample(bus.stb))[-1]:
                continue
            for _ in range(2):
                await ctx.tick()
            ctx.set(bus.rdata, words[ctx.get(bus.addr)])
            ctx.set(bus.ack, 1)
            await ctx.tick()
            ctx.set(bus.ack, 0)

    async def start(self, ctx: Any) -> None:
        dut = self.dut
        ctx.set(dut.parameters, PARAMETERS)
        for number, image in enumerate(self.images):
            ctx.set(dut.begin_set, number)
            await self._strobe(ctx, dut.begin_stb)
            ctx.set(dut.word_stb, 1)
            for at in range(0, len(image), 4):
                ctx.set(dut.word, int.from_bytes(image[at : at + 4], "little"))
                await ctx.tick()
            ctx.set(dut.word_stb, 0)
            ctx.set(dut.commit_crc, zlib.crc32(image))
            await self._strobe(ctx, dut.commit_stb)
            for _ in range(20):
                await ctx.tick()
            assert ctx.get(dut.status) == dict(LOAD_STATUS)["ok"]
            ctx.set(dut.map_slot, number)
            ctx.set(dut.map_set, number)
            ctx.set(dut.map_enable, 1)
            await self._strobe(ctx, dut.map_stb)
            self.golden.load_set(number, image)
            self.golden.map_slot(number, number)
        for qp in range(CONFIG.qps):
            await self.command(ctx, qp, self.config(qp), clear=True)

    async def _strobe(self, ctx: Any, signal: Any) -> None:
        ctx.set(signal, 1)
        await ctx.tick()
        ctx.set(signal, 0)

    def config(self, qp: int) -> dict[str, int]:
        """Unequal options for each queue pair."""
        return {
            "enable": 1,
            "algorithm": 2,
            "target_mode": qp != 1,
            "rttch": qp & 1,
            "win": qp >> 1,
            "model_enable": 1,
            "model_slot": qp & 1,
            "target": 5000 << 8,
            "min_rate": 1 << 21,
            "max_rate": 100 << 21,
            "init_rate": (10 + qp) << 21,
        }

    async def command(
        self, ctx: Any, qp: int, config: dict[str, int] | None, *, clear: bool
    ) -> None:
        dut, payload = self.dut, {"qp": qp, "apply": config is not None, "clear": clear}
        ctx.set(dut.command.payload, payload | ({"config": config} if config else {}))
        ctx.set(dut.command.valid, 1)
        await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        if config is not None:
            self.golden.configure(qp, config)
        if clear:
            self.golden.reset_qp(qp)

    async def give(self, ctx: Any, qp: int, rtt: int, t: int) -> None:
        dut = self.dut
        ctx.set(dut.i_sample.payload, {"qp": qp, "rtt": rtt, "t": t})
        ctx.set(dut.i_sample.valid, 1)
        await ctx.tick().until(dut.i_sample.ready)
        ctx.set(dut.i_sample.valid, 0)

    def offered(self, ctx: Any) -> Decision:
        payload = self.dut.o_decision.payload
        return Decision(*(ctx.get(payload[name]) for name in Decision._fields))


def test_one_at_a_time(seed: int) -> None:
    """Data, latency, drops, commands; and pauses of any length, which change nothing."""
    bench = CoreBench(seed)
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
            assert bench.offered(ctx) == want
            if pause and before[qp]:  # nothing in the way, the context is of the model
                late = dut.window_latency if bench.golden.configuration(qp)["win"] else 0
                assert cycle == dut.latency + late
                exact_latencies += 1
            before[qp] = True
            ctx.set(dut.o_decision.ready, 1)
            await ctx.tick()
            ctx.set(dut.o_decision.ready, 0)

    bench.run(main)
    assert exact_latencies > 2


@pytest.mark.parametrize(
    ("free", "config", "count"), [(0.01, CONFIG, 24), (1.0, CONFIG, 24), (0.1, MICRO, 10)]
)
def test_stream(free: float, config: NicConfig, count: int, seed: int) -> None:
    """Samples as fast as they are taken, decisions as fast as allowed: same order, same values."""
    bench = CoreBench(seed, config)
    dut, rng = bench.dut, bench.rng
    samples = [
        (rng.randrange(CONFIG.qps + 1), rng.randrange(4000, 6500), 100 * n) for n in range(count)
    ]
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
    # One by one: a difference of whole lists takes minutes to print.
    expected = [decision for decision in wanted if decision is not None]
    for got, want in zip(decisions, expected, strict=False):
        assert got == want
    assert len(decisions) == len(expected)


@pytest.mark.parametrize(
    ("config", "delays"), [(CONFIG, (3, 10, 14, 20, 40, 60)), (MICRO, (3, 14, 200, 800))]
)
def test_command_acts_after_what_has_begun(
    config: NicConfig, delays: tuple[int, ...], seed: int
) -> None:
    """A reset during a sample acts on the samples that still wait, not on that one."""
    bench = CoreBench(seed, config)
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


def test_scores_are_judged_by_the_samples(seed: int) -> None:
    """Scores that tell the truth are followed once enough of them have been judged."""
    bench = CoreBench(seed)
    dut, rng = bench.dut, bench.rng
    psched = PSCHED_PRESETS["precog"].parameters(1000) | {"delay": 1000}
    parameters = PARAMETERS | {f"psched_{name}": value for name, value in psched.items()}
    followed = []

    async def decided(ctx: Any, want: Decision | None) -> None:
        assert want is not None
        ctx.set(dut.o_decision.ready, 1)
        while not ctx.get(dut.o_decision.valid):
            await ctx.tick()
        assert tuple(bench.offered(ctx)) == tuple(want)
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
