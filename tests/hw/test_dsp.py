"""Multipliers: products, latency, and the vendor's cell."""

import random

import pytest
from amaranth.back import verilog
from amaranth.sim import Simulator

from precog_hw.dsp import FabricMultiplier, Multiplier


def products(dut, pairs):
    """Products of `pairs`, given one a cycle."""
    seen = []

    async def bench(ctx):
        for n in range(len(pairs) + dut.latency):
            if n < len(pairs):
                ctx.set(dut.a, pairs[n][0])
                ctx.set(dut.b, pairs[n][1])
            if n >= dut.latency:
                seen.append(ctx.get(dut.p))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return seen


@pytest.mark.parametrize(("input_register", "latency"), [(False, 1), (True, 2)])
def test_multiplier(input_register, latency, seed):
    rng = random.Random(seed)
    dut = Multiplier(8, 16, input_register=input_register)
    assert dut.latency == latency
    pairs = [(a, b) for a in (-128, 127) for b in (-32768, 32767)]
    pairs += [(rng.randint(-128, 127), rng.randint(-32768, 32767)) for _ in range(50)]
    assert products(dut, pairs) == [a * b for a, b in pairs]


@pytest.mark.parametrize("b_bits", [7, 8, 12])
def test_fabric_multiplier(b_bits, seed):
    rng = random.Random(seed)
    dut = FabricMultiplier(11, b_bits)
    assert dut.latency == 2
    top = (1 << b_bits) - 1
    pairs = [(0, top), (2047, top)]
    pairs += [(rng.randint(0, 2047), rng.randint(0, top)) for _ in range(100)]
    assert products(dut, pairs) == [a * b for a, b in pairs]


@pytest.mark.parametrize(("input_register", "clock"), [(False, "NONE"), (True, "CLK0")])
def test_ecp5_cell_uses_its_registers(input_register, clock):
    text = verilog.convert(Multiplier(8, 16, dsp="ecp5", input_register=input_register))
    assert "MULT18X18D" in text
    assert f'.REG_INPUTA_CLK("{clock}")' in text
    assert '.REG_OUTPUT_CLK("CLK0")' in text
