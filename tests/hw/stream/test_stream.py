# amaranth: UnusedElaboratable=no
"""Register slice, held register and queue: order, data, latency, throughput, and nothing else."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.stream.held import Held
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer
from precog_hw.stream.through import ThroughQueue

from .bench import chance, drive, receive

DUTS: dict[str, Callable[[], wiring.Component]] = {
    "skid": lambda: SkidBuffer(13),
    "held": lambda: Held(13),
    "queue1": lambda: Queue(13, 1),
    "queue4": lambda: Queue(13, 4),
    "block4": lambda: Queue(13, 4, block=True),
    "through4": lambda: ThroughQueue(13, 4),
}


def exchange(
    dut: Any, values: list[int], busy: Callable[[], bool], ready: Callable[[], bool]
) -> list[tuple[int, int]]:
    """Values taken from `dut`, each with its cycle; then nothing more comes for a while."""
    result: list[tuple[int, int]] = []

    async def source(ctx: Any) -> None:
        await drive(ctx, dut.i, values, busy)

    async def sink(ctx: Any) -> None:
        result.extend(await receive(ctx, dut.o, len(values), ready))
        for _ in range(20):
            *_, valid = await ctx.tick().sample(dut.o.valid)
            assert not valid

    async def watchdog(ctx: Any) -> None:
        for _ in range(100 + 60 * len(values)):
            await ctx.tick()
        raise TimeoutError("the stream is stuck")

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.add_testbench(watchdog, background=True)
    sim.run()
    return result


@pytest.mark.parametrize("name", DUTS)
@pytest.mark.parametrize("full", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("free", [0.1, 0.6, 1.0])
def test_order_and_data(name: str, full: float, free: float, seed: int) -> None:
    rng = random.Random(seed)
    values = [rng.randrange(1 << 13) for _ in range(150)]
    taken = exchange(DUTS[name](), values, chance(rng, full), chance(rng, free))
    assert [value for _, value in taken] == values


@pytest.mark.parametrize("name", DUTS)
def test_latency_and_throughput(name: str) -> None:
    latency, step = {"block4": (2, 1), "through4": (0, 1), "held": (1, 2)}.get(name, (1, 1))
    values = list(range(40))
    taken = exchange(DUTS[name](), values, lambda: True, lambda: True)
    assert [cycle for cycle, _ in taken] == list(range(latency, latency + 40 * step, step))


@pytest.mark.parametrize(
    ("depth", "fits", "block"), [(1, 2, False), (4, 5, False), (2, 3, True), (4, 5, True)]
)
def test_queue_holds_its_depth_and_one(depth: int, fits: int, block: bool) -> None:
    dut = Queue(8, depth, block=block)
    levels = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        while ctx.get(dut.i.ready):
            await ctx.tick()
            levels.append(ctx.get(dut.level))
        assert levels == list(range(1, fits + 1))
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(fits)
        assert ctx.get(dut.level) == 0
        assert not ctx.get(dut.o.valid)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("depth", [0, 3, -4])
def test_queue_depth(depth: int) -> None:
    with pytest.raises(ValueError, match=f"depth must be a power of two, not {depth}"):
        Queue(8, depth)
