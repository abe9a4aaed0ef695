"""The quick division, bit for bit, each cycle."""

import random
from typing import Any

from amaranth.sim import Simulator

from precog_hw.measure.division import Division
from precog_models.measure.reciprocal import quotient, reciprocal
from precog_spec.contract import Fmt


def pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Dividends and divisors whose quotient K can hold."""
    divisors = [0, 1, 2, 3, (1 << 32) - 1]
    divisors += [max(0, (1 << n) + k) for n in range(32) for k in (-1, 0, 1)]
    divisors += [rng.getrandbits(32) >> rng.randrange(32) for _ in range(count)]
    chosen = []
    for v in divisors:
        top = min((1 << 32) - 1, (max(v, 1) << Fmt.X.int_bits) - 2)
        d = rng.choice([rng.randint(-min(top, v), top), rng.randint(-9, 9), top, -min(top, v)])
        if Fmt.X.min <= quotient(d, *reciprocal(v)) <= Fmt.X.max:
            chosen.append((d, v))
    return chosen


def test_quotients_each_cycle(seed: int) -> None:
    dut = Division()
    given = pairs(random.Random(seed), 3000)
    assert len(given) > 2000
    lead = Division.LATENCY

    async def bench(ctx: Any) -> None:
        for cycle in range(len(given) + lead):
            if cycle < len(given):
                ctx.set(dut.v, given[cycle][1])
            if 1 <= cycle <= len(given):
                ctx.set(dut.d, given[cycle - 1][0])
            if cycle >= lead:
                d, v = given[cycle - lead]
                assert ctx.get(dut.o) == quotient(d, *reciprocal(v)), (d, v)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
