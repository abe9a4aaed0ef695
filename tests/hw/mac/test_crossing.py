# amaranth: UnusedElaboratable=no
"""What waits, what is let in, and beats made of bytes."""

import random

import pytest
from amaranth.sim import Simulator

from precog_hw.mac.admission import Admission
from precog_hw.mac.gate import Gate
from precog_hw.mac.port import MacPort
from precog_hw.mac.width import Narrower, Widener

WIDTH = 64


def words(rng: random.Random, count: int, last_error: bool) -> list[dict[str, int]]:
    """A packet of `count` words."""
    usual = {"end": 7, "first": 0, "last": 0, "error": 0}
    made = [{"data": rng.getrandbits(WIDTH), **usual} for _ in range(count)]
    made[0]["first"] = 1
    made[-1] |= {"end": rng.randrange(8), "last": 1, "error": int(last_error)}
    return made


def run(dut, *benches) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(16e-9)
    for bench in benches[:-1]:
        simulator.add_testbench(bench, background=True)
    simulator.add_testbench(benches[-1])
    simulator.run()


@pytest.mark.parametrize("idle", [0.0, 0.75])
@pytest.mark.parametrize("least", [1, 5, 16])
def test_a_packet_does_not_leave_too_early(least: int, idle: float, seed: int) -> None:
    """It has `least` words or all of itself in the gate, and once it has begun, it goes on."""
    rng = random.Random(seed)
    packets = [words(rng, rng.choice((1, 2, least, least + 1, 70)), False) for _ in range(30)]
    gate = Gate(WIDTH, least)
    came = left = 0
    out: list[dict[str, int]] = []

    async def source(ctx):
        nonlocal came
        for packet in packets:
            for word in packet:
                while rng.random() < idle:
                    await ctx.tick()
                ctx.set(gate.i.payload, word)
                ctx.set(gate.i.valid, 1)
                await ctx.tick().until(gate.i.ready)
                came += 1
                ctx.set(gate.i.valid, 0)

    async def sink(ctx):
        nonlocal left
        for packet in packets:
            for n in range(len(packet)):
                ctx.set(gate.o.ready, 0)
                while rng.random() < 0.3:
                    await ctx.tick()
                ctx.set(gate.o.ready, 1)
                payload = None
                while payload is None:
                    inside = came - left
                    _, _, valid, seen = await ctx.tick().sample(gate.o.valid, gate.o.payload)
                    if valid:
                        payload = seen
                if n == 0:
                    assert inside >= min(least, len(packet))
                out.append({name: payload[name] for name in dict(payload.shape())})
                left += 1
        ctx.set(gate.o.ready, 1)
        for _ in range(50):
            await ctx.tick()
            assert not ctx.get(gate.o.valid)

    run(gate, source, sink)
    assert out == [word for packet in packets for word in packet]


def test_frames_that_find_no_room(seed: int) -> None:
    """Whole ones are left out; one that is too long ends, damaged, and the FIFO never overflows."""
    rng = random.Random(seed)
    depth, room = 64, 24
    dut = Admission(WIDTH, depth, room)
    got: list[dict[str, int]] = []
    level, dropped, sent = 0, 0, []

    async def bench(ctx):
        nonlocal level, dropped

        async def step():
            nonlocal level, dropped
            taken = min(level, rng.random() < 0.05)
            ctx.set(dut.level, level)
            dropped += ctx.get(dut.dropped)
            put = ctx.get(dut.o_stb)
            if put:
                assert level < depth
                got.append({name: ctx.get(dut.o[name]) for name in ("data", "last", "error")})
            level += put - taken
            await ctx.tick()

        for _ in range(80):
            packet = words(rng, rng.choice((1, 2, room - 1, room, 60, 150)), rng.random() < 0.2)
            sent.append(packet)
            for n, word in enumerate(packet):
                ctx.set(dut.i, word)
                ctx.set(dut.stb, 1)
                await step()
                ctx.set(dut.stb, 0)
                for _ in range(7 if n < len(packet) - 2 else 1):
                    await step()
            for _ in range(rng.randrange(2, 200)):
                await step()

    run(dut, bench)
    frames: list[list[dict[str, int]]] = [[]]
    for word in got:
        frames[-1].append(word)
        if word["last"]:
            frames.append([])
    assert frames.pop() == []
    whole = cut = 0
    rest = iter(sent)
    for frame in frames:
        packet = next(p for p in rest if p[0]["data"] == frame[0]["data"])
        if len(frame) == len(packet) and frame[-1]["data"] == packet[-1]["data"]:
            assert [w["data"] for w in frame] == [w["data"] for w in packet]
            whole += 1
            cut += frame[-1]["error"] and not packet[-1]["error"]
            continue
        assert frame[-1]["error"]
        assert [w["data"] for w in frame] == [w["data"] for w in packet[: len(frame)]]
        assert len(packet) > room - 4
        cut += 1
    assert whole
    assert cut
    assert dropped == len(sent) - len(frames) + cut


@pytest.mark.parametrize("width", [64, 128])
def test_bytes_and_words(width: int, seed: int) -> None:
    """Bytes become words, and words the same bytes."""
    rng = random.Random(seed)
    frames = [rng.randbytes(rng.choice((1, 8, 9, 16, rng.randrange(1, 100)))) for _ in range(40)]
    widener, narrower = Widener(width), Narrower(width)
    made: list[dict[str, int]] = []
    size = width // 8

    async def widen(ctx):
        for frame in frames:
            for at, octet in enumerate(frame):
                ctx.set(widener.stb, 1)
                ctx.set(widener.octet, {"data": octet, "last": at == len(frame) - 1, "error": 1})
                await ctx.tick()
                ctx.set(widener.stb, 0)
                if ctx.get(widener.o_stb):
                    word = widener.o
                    made.append({name: ctx.get(word[name]) for name in dict(word.shape())})
                if rng.random() < 0.1:
                    await ctx.tick()
                    assert not ctx.get(widener.o_stb)

    run(widener, widen)
    expected = []
    for frame in frames:
        parts = [frame[at : at + size] for at in range(0, len(frame), size)]
        for n, part in enumerate(parts):
            last = n == len(parts) - 1
            number = int.from_bytes(part, "little")
            word = {"data": number, "end": len(part) - 1, "first": not n, "last": last}
            expected.append({**word, "error": 1})
    assert made == expected

    async def offer(ctx):
        for word in made:
            ctx.set(narrower.i.payload, word)
            ctx.set(narrower.i.valid, 1)
            await ctx.tick().until(narrower.i.ready)
        ctx.set(narrower.i.valid, 0)

    async def take(ctx):
        for frame in frames:
            for at, octet in enumerate(frame):
                while rng.random() < 0.2:
                    await ctx.tick()
                ctx.set(narrower.o.ready, 1)
                (seen,) = await ctx.tick().sample(narrower.o.payload).until(narrower.o.valid)
                ctx.set(narrower.o.ready, 0)
                assert (seen.data, seen.last) == (octet, at == len(frame) - 1)

    run(narrower, offer, take)


def test_constructors() -> None:
    for least in (0, 33):
        with pytest.raises(ValueError, match=f"least must be in 1..32, not {least}"):
            Gate(WIDTH, least)
    for room in (4, 65):
        with pytest.raises(ValueError, match=f"room must be in 5..64, not {room}"):
            Admission(WIDTH, 64, room)
    for part in (Widener, Narrower):
        with pytest.raises(ValueError, match=r"width must be one of \(64, 128, 256, 512\), not 8"):
            part(8)
    for depth in (16, 48):
        with pytest.raises(
            ValueError, match=f"depth must be a power of two from 32 on, not {depth}"
        ):
            MacPort(WIDTH, rx_domain="rx", tx_domain="tx", depth=depth)
