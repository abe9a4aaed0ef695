"""Activation pipes against the golden tables, one argument a cycle."""

import random

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.sim import Simulator

from precog_hw.predict.activation import Tanh, folded
from precog_models.predict.activation import sigmoid_q, tanh_q


@pytest.mark.parametrize(
    ("width", "frac_bits", "sigmoid", "form", "latency"),
    [
        (26, 12, True, "", 2),
        (26, 11, False, "", 2),
        (21, 16, False, "", 2),
        (26, 12, True, "fabric", 4),
        (26, 11, False, "fabric", 4),
        (21, 16, False, "fabric", 4),
        (26, 12, True, "block", 3),
        (26, 11, False, "block", 3),
        (21, 16, False, "block", 3),
    ],
)
def test_equals_golden(width, frac_bits, sigmoid, form, latency, seed):
    rng = random.Random(seed)
    dut = Tanh(width, frac_bits, sigmoid=sigmoid, dsp="generic", **{form: True} if form else {})
    assert dut.latency == latency
    m = Module()
    m.submodules.dut = dut
    arg = Signal(signed(width))
    m.d.comb += dut.arg.eq(folded(arg))
    end = 4 << frac_bits
    edges = [end - 1, end, 0, 1, (1 << width - 1) - 1, end // 2, end // 64]
    args = edges + [~a for a in edges]
    args += [rng.randrange(-end, end) for _ in range(500)]
    args += [rng.randrange(-1 << width - 1, 1 << width - 1) for _ in range(50)]
    seen = []

    async def bench(ctx):
        for n in range(len(args) + latency):
            if n < len(args):
                ctx.set(arg, args[n])
            if n >= latency:
                seen.append(ctx.get(dut.t))
            await ctx.tick()

    sim = Simulator(m)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert seen == [sigmoid_q(a) if sigmoid else tanh_q(a, frac_bits) for a in args]
