"""RTTpred against the golden model, with stalls."""

import random

import pytest
from amaranth.sim import Simulator

from precog_hw.predict.rtt_head import RttHead
from precog_models.predict.rtt_head import rtt_pred


@pytest.mark.parametrize("stall", [0.0, 0.8])
def test_equals_golden(stall, seed):
    rng = random.Random(seed)
    dut = RttHead(dsp="generic")
    cases = [(s, o) for s in (0, 1, 2**32 - 1) for o in (-32768, -4097, -4096, -4095, 0, 32767)]
    cases += [(rng.getrandbits(32), rng.randint(-32768, 32767)) for _ in range(100)]
    seen, taken_at, given_at = [], [], []
    cycle = 0

    async def source(ctx):
        for srtt, out in cases:
            ctx.set(dut.i.payload, srtt)
            ctx.set(dut.soon, out)
            ctx.set(dut.sure, 0)
            await ctx.tick()
            ctx.set(dut.i.valid, 1)
            # An output that changes, or was not the one that is offered, is waited for.
            for _ in range(rng.choice((0, 0, 2))):
                ctx.set(dut.soon, rng.randint(-32768, 32767))
                await ctx.tick()
                ctx.set(dut.soon, out)
                await ctx.tick()
            ctx.set(dut.sure, 1)
            while not ctx.get(dut.i.ready):
                await ctx.tick()
            taken_at.append(cycle)
            # The operands may change as soon as they are taken.
            ctx.set(dut.soon, 0)
            await ctx.tick()
            ctx.set(dut.i.payload, rng.getrandbits(32))
            ctx.set(dut.i.valid, 0)

    async def sink(ctx):
        nonlocal cycle
        for _ in range(4000):
            ready = rng.random() >= stall
            ctx.set(dut.o.ready, ready)
            if ctx.get(dut.o.valid) and ready:
                seen.append(ctx.get(dut.o.payload))
                given_at.append(cycle)
            await ctx.tick()
            cycle += 1

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(sink)
    sim.add_testbench(source)
    sim.run()
    assert seen == [rtt_pred(srtt, out) for srtt, out in cases]
    if not stall:
        assert {b - a for a, b in zip(taken_at, given_at, strict=True)} == {RttHead.latency}
