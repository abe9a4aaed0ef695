"""The divider's pieces, bit for bit."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from precog_hw.measure.reciprocal import Aligner, Reciprocal, leading_zeros
from precog_models.measure.reciprocal import reciprocal


class Zeros(wiring.Component):
    """`leading_zeros` as a component."""

    v: In(32)
    n: Out(5)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        used = Signal()
        m.d.sync += used.eq(~used)
        m.d.comb += self.n.eq(leading_zeros(self.v))
        return m


def simulate(dut: Any, bench: Any) -> None:
    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


def divisors(rng: random.Random, count: int) -> list[int]:
    edges = [0, 1, 2, 3, (1 << 32) - 1]
    edges += [max(0, (1 << n) + k) for n in range(32) for k in (-1, 0, 1)]
    return edges + [rng.getrandbits(32) >> rng.randrange(32) for _ in range(count)]


def test_leading_zeros(seed: int) -> None:
    dut = Zeros()

    async def bench(ctx: Any) -> None:
        for v in divisors(random.Random(seed), 200):
            ctx.set(dut.v, v)
            assert ctx.get(dut.n) == min(32 - v.bit_length(), 31)

    simulate(dut, bench)


def test_reciprocal(seed: int) -> None:
    dut = Reciprocal()

    async def bench(ctx: Any) -> None:
        for v in divisors(random.Random(seed), 60):
            ctx.set(dut.v, v)
            ctx.set(dut.stb, 1)
            await ctx.tick()
            ctx.set(dut.stb, 0)
            for _ in range(dut.latency - 1):
                await ctx.tick()
            assert (ctx.get(dut.n), ctx.get(dut.y)) == reciprocal(v)

    simulate(dut, bench)


@pytest.mark.parametrize("sign", [-1, 1])
def test_aligner(sign: int, seed: int) -> None:
    rng = random.Random(seed)
    dut = Aligner()

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            n = rng.randrange(32)
            # |d / v| < 64 with v in [2**(31 - n), 2**(32 - n))
            d = sign * rng.randrange(min(1 << 32, 1 << (38 - n)))
            ctx.set(dut.d, d)
            ctx.set(dut.n, n)
            await ctx.tick()
            assert ctx.get(dut.o) == (d << n) >> 4

    simulate(dut, bench)
