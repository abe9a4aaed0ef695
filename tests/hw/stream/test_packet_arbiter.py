# amaranth: UnusedElaboratable=no
"""Packet arbiter: whole packets in each input's order, no bubble, and how long an input waits."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from tests.hw.packet.bench import Sent, receive_frames, run, send_frames

from precog_hw.stream.packet import WIDTHS
from precog_hw.stream.packet_arbiter import PacketArbiter


def frames_of(rng: random.Random, port: int, count: int, top: int) -> list[Sent]:
    """Random frames that say in their tag where they came from."""
    return [
        Sent(rng.randbytes(rng.randrange(1, top)), rng.random() < 0.2, rng.getrandbits(40), port)
        for _ in range(count)
    ]


def exchange(
    dut: PacketArbiter,
    width: int,
    inputs: Sequence[Sequence[Sent]],
    rng: random.Random,
    idle: float,
    stall: float,
) -> list[Sent]:
    """Frames as they come out; then nothing more comes."""
    result: list[Sent] = []

    def source(port: int) -> Any:
        async def bench(ctx: Any) -> None:
            await send_frames(ctx, dut.i[port], width, inputs[port], rng, idle)

        return bench

    async def sink(ctx: Any) -> None:
        total = sum(map(len, inputs))
        result.extend(await receive_frames(ctx, dut.o, width, total, rng, stall))
        for _ in range(10):
            await ctx.tick()
            assert not ctx.get(dut.o.valid)

    run(dut, *(source(port) for port in range(len(inputs))), sink, cycles=20_000)
    return result


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("inputs", "burst"), [(2, None), (3, None), (2, 1), (3, 2)])
def test_whole_packets_in_order(width: int, inputs: int, burst: int | None, seed: int) -> None:
    rng = random.Random(seed)
    idle, stall = rng.choice([(0.0, 0.0), (0.0, 0.6), (0.5, 0.0), (0.4, 0.4)])
    sent = [frames_of(rng, port, 8 + port, max(3, width // 4)) for port in range(inputs)]
    got = exchange(PacketArbiter(width, inputs, burst=burst), width, sent, rng, idle, stall)
    for port, frames in enumerate(sent):
        assert [frame for frame in got if frame.tag == port] == frames


class Beat(NamedTuple):
    """A beat that leaves, and in which cycle."""

    cycle: int
    port: int
    last: bool


def watch(dut: PacketArbiter, script: Sequence[Sequence[int]]) -> list[Beat]:
    """Beats that leave while each input offers packets of so many beats; 0 is a cycle's pause."""
    seen: list[Beat] = []
    todo = [list(sizes) for sizes in script]

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        for cycle in range(sum(map(sum, script)) + 40):
            for n, sizes in enumerate(todo):
                ctx.set(dut.i[n].valid, bool(sizes and sizes[0] > 0))
                beat = {"last": bool(sizes) and sizes[0] == 1, "user": {"tag": n}, "keep": 1}
                ctx.set(dut.i[n].payload, beat)
            if ctx.get(dut.o.valid):
                payload = ctx.get(dut.o.payload)
                seen.append(Beat(cycle, payload.user.tag, bool(payload.last)))
            for n, sizes in enumerate(todo):
                if sizes and sizes[0] == 0:
                    sizes.pop(0)
                elif sizes and ctx.get(dut.i[n].ready):
                    sizes[0] -= 1
                    if sizes[0] == 0:
                        sizes.pop(0)
            await ctx.tick()

    run(dut, bench, cycles=2000)
    return seen


@pytest.mark.parametrize(("inputs", "burst"), [(2, None), (3, None), (2, 2), (3, 3)])
def test_latency_and_no_bubble(inputs: int, burst: int | None, seed: int) -> None:
    rng = random.Random(seed)
    script = [[rng.randrange(1, 4) for _ in range(12)] for _ in range(inputs)]
    seen = watch(PacketArbiter(64, inputs, burst=burst), script)
    total = sum(map(sum, script))
    assert [beat.cycle for beat in seen] == list(range(1, total + 1))
    assert Counter(beat.port for beat in seen if beat.last) == dict.fromkeys(range(inputs), 12)


def test_turns() -> None:
    seen = watch(PacketArbiter(64, 3), [[2] * 4, [1] * 4, [3] * 4])
    assert [beat.port for beat in seen if beat.last] == [0, 1, 2] * 4


def test_an_input_that_pauses_loses_no_turn_to_itself() -> None:
    seen = watch(PacketArbiter(64, 3), [[1] * 6, [0] * 4 + [1] * 2, []])
    assert [beat.port for beat in seen] == [0, 0, 0, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_preferred_input_and_the_bound_of_the_others(burst: int) -> None:
    seen = watch(PacketArbiter(64, 3, burst=burst), [[1] * 20, [2] * 20, [1] * 20])
    order = [beat.port for beat in seen if beat.last]
    contested = order[: len(order) - order[::-1].index(0)]
    expected = [0] * burst + [1] + [0] * burst + [2]
    assert contested == (expected * 20)[: len(contested)]


def test_preferred_input_overtakes() -> None:
    # Input 1 is in the middle of its packet when input 0 comes; then input 0 goes before input 2.
    seen = watch(PacketArbiter(64, 3, burst=1), [[0, 0, 1], [4, 4], [0, 1]])
    assert [beat.port for beat in seen] == [1, 1, 1, 1, 0, 2, 1, 1, 1, 1]


def test_constructor_errors() -> None:
    with pytest.raises(ValueError, match="inputs must be 2 or more, not 1"):
        PacketArbiter(64, 1)
    with pytest.raises(ValueError, match="burst must be 1 or more, not 0"):
        PacketArbiter(64, 2, burst=0)
    with pytest.raises(ValueError, match=r"width must be one of .*, not 9"):
        PacketArbiter(9, 2)
