"""Feature unit and base-RTT tracker against their golden models, with latency."""

import itertools
import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from precog_hw.measure.feature import Feature
from precog_models.measure.base_rtt import base_step
from precog_models.measure.feature import feature_step
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

SIGMAS = [0, 1, 13107, 65535]
WINDOWS = [0, 5, 1000, (1 << 32) - 1]


class Bench:
    """One feature unit, its golden model, and random traffic on both."""

    def __init__(self, qps: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lead = self.rng.randint(3, 5)
        self.dut = Feature(NicConfig(qps=qps), lead=self.lead)
        self.used = [0, 1, qps // 2, qps - 1]
        self.features = np.zeros((qps, 2), dtype=np.int64)
        self.bases = np.zeros((qps, 4), dtype=np.int64)
        self.sigma = self.window = self.t = 0

    def run(self, bench: Any) -> None:
        sim = Simulator(self.dut)
        sim.add_clock(1e-8)
        sim.add_testbench(bench)
        sim.run()

    async def set_parameters(self, ctx: Any) -> None:
        self.sigma = self.rng.choice([*SIGMAS, self.rng.getrandbits(16)])
        self.window = self.rng.choice(WINDOWS)
        ctx.set(self.dut.sigma, self.sigma)
        ctx.set(self.dut.base_window, self.window)
        await ctx.tick()

    def sample(self) -> tuple[int, int, int]:
        rng = self.rng
        near = rng.randrange(4000, 6000)
        rtt = rng.choice([near, near, 0, 1, Fmt.RTT.max, rng.getrandbits(rng.randrange(1, 25))])
        self.t = (self.t + rng.choice([1, 100, 2000, (1 << 39) + 5])) & Fmt.TIME.max
        return rng.choice(self.used), rtt, self.t

    async def give(self, ctx: Any, qp: int, rtt: int, t: int) -> None:
        dut = self.dut
        ctx.set(dut.i.payload, {"qp": qp, "rtt": rtt, "t": t})
        ctx.set(dut.i.valid, 1)
        await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def forget(self, ctx: Any, qp: int) -> None:
        dut = self.dut
        ctx.set(dut.clear.payload, qp)
        ctx.set(dut.clear.valid, 1)
        await ctx.tick().until(dut.clear.ready)
        ctx.set(dut.clear.valid, 0)
        self.features[qp] = 0
        self.bases[qp] = 0

    def golden(self, qp: int, rtt: int, t: int) -> dict[str, int]:
        k = feature_step(self.features[qp], rtt, self.sigma)
        base = base_step(self.bases[qp], rtt, t, self.window)
        return {"qp": qp, "rtt": rtt, "srtt": int(self.features[qp, 1]), "k": k, "base": base}

    def offered(self, ctx: Any) -> dict[str, int]:
        payload = self.dut.o.payload
        return {name: ctx.get(payload[name]) for name in ("qp", "rtt", "srtt", "k", "base")}


@pytest.mark.parametrize("qps", [4, 64, 512])
def test_exact_with_latency_and_lead(qps: int, seed: int) -> None:
    bench = Bench(qps, seed)
    dut, rng = bench.dut, bench.rng

    async def main(ctx: Any) -> None:
        for n in range(250):
            if n % 25 == 0:
                await bench.set_parameters(ctx)
            if rng.random() < 0.1:
                await bench.forget(ctx, rng.choice(bench.used))
            sample = bench.sample()
            await bench.give(ctx, *sample)
            ctx.set(dut.o_lead.ready, 1)
            cycle, led = 1, None
            while not ctx.get(dut.o.valid):
                assert not ctx.get(dut.i.ready)
                if ctx.get(dut.o_lead.valid):
                    assert led is None
                    assert ctx.get(dut.o_lead.payload) == sample[0]
                    led = cycle
                await ctx.tick()
                cycle += 1
            assert cycle == dut.latency
            assert led == cycle - bench.lead
            ctx.set(dut.o_lead.ready, 0)
            want = bench.golden(*sample)
            for _ in range(rng.randrange(3)):  # a stalled feature holds
                assert bench.offered(ctx) == want
                await ctx.tick()
            assert bench.offered(ctx) == want
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert not ctx.get(dut.o.valid)

    bench.run(main)


def test_back_to_back_samples_of_one_queue_pair(seed: int) -> None:
    bench = Bench(4, seed)
    dut = bench.dut
    samples = [(2, *bench.sample()[1:]) for _ in range(100)]
    got: list[dict[str, int]] = []
    cycles: list[int] = []

    async def source(ctx: Any) -> None:
        ctx.set(dut.sigma, 13107)
        ctx.set(dut.o_lead.ready, 1)
        ctx.set(dut.o.ready, 1)
        for sample in samples:
            await bench.give(ctx, *sample)

    async def sink(ctx: Any) -> None:
        cycle = 0
        while len(got) < len(samples):
            if ctx.get(dut.o.valid):
                got.append(bench.offered(ctx))
                cycles.append(cycle)
            await ctx.tick()
            cycle += 1

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.run()
    bench.sigma = 13107
    assert got == [bench.golden(*sample) for sample in samples]
    assert {b - a for a, b in itertools.pairwise(cycles)} == {dut.latency + 1}


@pytest.mark.parametrize("qps", [4, 512])
def test_cancelled_samples_leave_no_trace(qps: int, seed: int) -> None:
    bench = Bench(qps, seed)
    dut, rng = bench.dut, bench.rng

    async def main(ctx: Any) -> None:
        ctx.set(dut.o_lead.ready, 1)
        ctx.set(dut.o.ready, 1)
        await bench.set_parameters(ctx)
        for _ in range(80):
            sample = bench.sample()
            await bench.give(ctx, *sample)
            if rng.random() < 0.5:
                ctx.set(dut.cancel, 1)
                await ctx.tick()
                ctx.set(dut.cancel, 0)
                assert ctx.get(dut.idle)
                for _ in range(rng.choice([0, 20])):
                    assert not ctx.get(dut.o.valid)
                    assert not ctx.get(dut.o_lead.valid)
                    await ctx.tick()
                continue
            await ctx.tick().until(dut.o.valid)
            # `until` samples before the edge at which the feature is taken.
            assert bench.offered(ctx) == bench.golden(*sample)

    bench.run(main)


def test_clear_waits_for_the_sample_in_flight(seed: int) -> None:
    """A reset that comes during a sample acts after it, and before the next."""
    bench = Bench(4, seed)
    dut = bench.dut

    async def main(ctx: Any) -> None:
        ctx.set(dut.sigma, 13107)
        bench.sigma = 13107
        ctx.set(dut.o_lead.ready, 1)
        for delay in range(dut.latency + 2):
            await bench.give(ctx, 1, 5000 + delay, delay)
            want = bench.golden(1, 5000 + delay, delay)
            for _ in range(delay):
                await ctx.tick()
            ctx.set(dut.clear.payload, 1)
            ctx.set(dut.clear.valid, 1)
            ctx.set(dut.i.valid, 1)  # the next sample waits as well: the reset goes first
            ctx.set(dut.i.payload, {"qp": 1, "rtt": 9000, "t": 0})
            while not ctx.get(dut.o.valid):
                assert not ctx.get(dut.clear.ready)
                await ctx.tick()
            assert bench.offered(ctx) == want
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert ctx.get(dut.clear.ready)
            assert not ctx.get(dut.i.ready)
            await ctx.tick()
            ctx.set(dut.clear.valid, 0)
            bench.features[1] = bench.bases[1] = 0
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            while not ctx.get(dut.o.valid):
                await ctx.tick()
            assert bench.offered(ctx) == bench.golden(1, 9000, 0)
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)

    bench.run(main)
