# amaranth: UnusedElaboratable=no
"""From one clock to another: nothing is lost, doubled or out of order, whatever the clocks are."""

import random
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from precog_hw.stream.crossing import Crossing


@pytest.mark.parametrize("load", [0.05, 0.6, 1.0])
@pytest.mark.parametrize("drain", [0.05, 0.6, 1.0])
@pytest.mark.parametrize(("write_ps", "read_ps"), [(8000, 16000), (16000, 8000), (8000, 8003)])
def test_words_in_order(write_ps: int, read_ps: int, drain: float, load: float, seed: int) -> None:
    rng = random.Random(seed)
    dut = Crossing(16, w_domain="w", r_domain="r")
    m = Module()
    m.domains += [ClockDomain("w"), ClockDomain("r")]
    m.submodules.dut = dut
    sent = [rng.getrandbits(16) for _ in range(150)]
    got: list[int] = []
    stalls = 0

    async def source(ctx: Any) -> None:
        nonlocal stalls
        for word in sent:
            while rng.random() >= load:
                await ctx.tick("w")
            ctx.set(dut.i.payload, word)
            ctx.set(dut.i.valid, 1)
            taken = 0
            while not taken:
                _, _, taken = await ctx.tick("w").sample(dut.i.ready)
                stalls += not taken
            ctx.set(dut.i.valid, 0)

    async def sink(ctx: Any) -> None:
        cycles = 0
        while len(got) < len(sent):
            cycles += 1
            assert cycles < 40_000, "every word must come out"
            ready = rng.random() < drain
            ctx.set(dut.o.ready, ready)
            _, _, valid, payload = await ctx.tick("r").sample(dut.o.valid, dut.o.payload)
            if valid and ready:
                got.append(payload)
        ctx.set(dut.o.ready, 1)
        for _ in range(40):
            _, _, valid = await ctx.tick("r").sample(dut.o.valid)
            assert not valid

    sim = Simulator(m)
    sim.add_clock(write_ps * 1e-12, domain="w")
    sim.add_clock(read_ps * 1e-12, phase=rng.randrange(read_ps) * 1e-12, domain="r")
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.run()
    assert got == sent
    if load == drain == 1.0 and write_ps >= read_ps - 3:
        assert stalls < 4, "a word in each cycle of the slower clock"
    if load > 0.1 > drain:
        assert stalls


def test_it_stops_when_it_is_full() -> None:
    """As many words as it has room for, and the one that waits at its end; then all of them."""
    dut = Crossing(16, w_domain="w", r_domain="r", depth=8)
    m = Module()
    m.domains += [ClockDomain("w"), ClockDomain("r")]
    m.submodules.dut = dut
    got: list[int] = []

    async def bench(ctx: Any) -> None:
        taken = 0
        ctx.set(dut.i.valid, 1)
        for _ in range(60):
            ctx.set(dut.i.payload, taken)
            _, _, ready = await ctx.tick("w").sample(dut.i.ready)
            taken += ready
        assert taken == 8 + 1
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 1)
        for _ in range(40):
            _, _, valid, payload = await ctx.tick("r").sample(dut.o.valid, dut.o.payload)
            if valid:
                got.append(payload)
        assert got == list(range(9))

    sim = Simulator(m)
    sim.add_clock(16e-9, domain="w")
    sim.add_clock(10e-9, domain="r")
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("depth", [2, 12])
def test_its_depth(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth must be a power of two from 4 on, not {depth}"):
        Crossing(8, w_domain="w", r_domain="r", depth=depth)
