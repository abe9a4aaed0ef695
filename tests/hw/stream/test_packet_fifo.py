# amaranth: UnusedElaboratable=no
"""The packet FIFO: order, data, room, latency and throughput, in both kinds of memory."""

import random
from typing import Any

import pytest
from tests.hw.packet.bench import Sent, beats, receive_frames, run, send_frames

from precog_hw.stream.packet import WIDTHS
from precog_hw.stream.packet_fifo import PacketFifo

LATENCY = 3


def frames(rng: random.Random, count: int, longest: int) -> list[Sent]:
    return [
        Sent(
            rng.randbytes(rng.randrange(1, longest)),
            rng.random() < 0.5,
            rng.getrandbits(40),
            rng.getrandbits(8),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(("width", "depth"), [(8, 128), (64, 2), (64, 64), (512, 32)])
@pytest.mark.parametrize(("idle", "stall"), [(0.0, 0.7), (0.7, 0.0), (0.3, 0.3)])
def test_order_and_data(width: int, depth: int, idle: float, stall: float, seed: int) -> None:
    rng = random.Random(seed)
    sent = frames(rng, 12 if width == 8 else 30, 30 if width == 8 else width // 2)
    dut = PacketFifo(width, depth)
    got: list[Sent] = []

    async def source(ctx: Any) -> None:
        await send_frames(ctx, dut.i, width, sent, rng, idle)

    async def sink(ctx: Any) -> None:
        got.extend(await receive_frames(ctx, dut.o, width, len(sent), rng, stall))
        for _ in range(10):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            assert not valid, "nothing more must come"

    run(dut, source, sink, cycles=4000)
    assert got == sent


@pytest.mark.parametrize(("width", "depth"), [(8, 128), (64, 2), (64, 64)])
def test_room_latency_and_a_beat_per_cycle(width: int, depth: int, seed: int) -> None:
    """It takes `depth` + 2 beats, gives all in a row, and then passes one each cycle."""
    dut = PacketFifo(width, depth)
    rng = random.Random(seed)
    data = rng.randbytes((3 * depth + 20) * width // 8)
    payloads = beats(Sent(data), width)
    inward: list[int] = []
    outward: list[tuple[int, int]] = []

    async def source(ctx: Any) -> None:
        cycle = 0
        for beat in payloads:
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            while True:
                _, _, ready = await ctx.tick().sample(dut.i.ready)
                cycle += 1
                if ready:
                    break
            inward.append(cycle - 1)
        ctx.set(dut.i.valid, 0)

    async def sink(ctx: Any) -> None:
        cycle = 0
        while len(outward) < len(payloads):
            ctx.set(dut.o.ready, cycle >= depth + 10)
            _, _, valid, payload = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            if valid and cycle >= depth + 10:
                outward.append((cycle, payload.data))
            cycle += 1

    run(dut, source, sink, cycles=20 * depth + 200)
    assert inward[: depth + 2] == list(range(depth + 2))
    assert inward[depth + 2] > depth + 10
    assert [data for _, data in outward] == [beat["data"] for beat in payloads]
    start = outward[0][0]
    assert [cycle for cycle, _ in outward] == list(range(start, start + len(payloads)))


def test_latency() -> None:
    dut = PacketFifo(64, 4)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.i.payload, beats(Sent(b"12345678"), 64)[0])
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        for _ in range(LATENCY - 1):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
        assert ctx.get(dut.o.valid)

    run(dut, bench, cycles=50)


def test_sizes() -> None:
    assert PacketFifo(WIDTHS[0], 2)
    for depth in (0, 1, 3):
        with pytest.raises(
            ValueError, match=f"depth must be a power of two from 2 on, not {depth}"
        ):
            PacketFifo(64, depth)
    with pytest.raises(ValueError, match=r"width must be one of .*, not 65"):
        PacketFifo(65, 2)
