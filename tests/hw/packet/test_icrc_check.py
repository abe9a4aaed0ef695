# amaranth: UnusedElaboratable=no
"""ICRC check against the golden model: every width, every header, every bit."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from tests.models.packet.frames import mutate, packet, synthetic

from precog_hw.packet.icrc_check import IcrcCheck
from precog_hw.stream.packet import WIDTHS
from precog_models.packet.icrc import icrc_ok
from precog_models.packet.parser import parse
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import BTH, ICRC_BYTES, ICRC_MASKED, IPV4, IPV6, UDP

from .bench import Sent, beats, run


class Verdict(NamedTuple):
    """What is said of a packet, and how long after its last beat."""

    checked: bool
    ok: bool
    cycles: int = IcrcCheck.LATENCY


def golden(frame: bytes) -> Verdict:
    parsed = parse(frame, Direction.RX)
    found = parsed.descriptor
    checked = found.reason is Reason.NONE and not found.shim and parsed.end <= len(frame)
    return Verdict(checked, icrc_ok(frame, parsed))


def described(frame: bytes) -> dict[str, int]:
    """`ICRC_PACKET` of a frame."""
    parsed = parse(frame, Direction.RX)
    found = parsed.descriptor
    check = found.reason is Reason.NONE and not found.shim
    return {"check": check, "ipv6": found.ipv6, "tags": found.tags, "end": parsed.end}


def check(width: int, frames: Sequence[bytes], rng: random.Random) -> list[Verdict]:
    """What the gateware says of `frames`, half of which come without a pause."""
    dut = IcrcCheck(width)
    verdicts: list[Verdict] = []
    ends: list[int] = []
    cycle = 0
    fields = {name: dut.beat[name] for name in ("data", "keep", "last")}

    async def bench(ctx: Any) -> None:
        for at, frame in enumerate(frames):
            idle = rng.choice((0.0, 0.4))
            ctx.set(dut.i_packet.payload, described(frame))
            for n, beat in enumerate(beats(Sent(frame), width)):
                for name, field in fields.items():
                    ctx.set(field, beat[name])
                while rng.random() < idle:
                    await tick(ctx)
                ctx.set(dut.taken, 1)
                ctx.set(dut.i_packet.valid, n == 0)
                assert ctx.get(dut.i_packet.ready) == (n == 0), "taken with its first beat"
                await tick(ctx)
                ctx.set(dut.taken, 0)
            ends.append(cycle - 1)
            for _ in range(IcrcCheck.LATENCY + 10 if at == len(frames) - 1 else 0):
                await tick(ctx)

    async def tick(ctx: Any) -> None:
        nonlocal cycle
        *_, done, checked, ok = await ctx.tick().sample(dut.done, dut.checked, dut.ok)
        if done:
            verdicts.append(Verdict(checked, ok, cycle - ends[len(verdicts)]))
        cycle += 1

    run(dut, bench, cycles=100_000)
    return verdicts


def rough(rng: random.Random) -> list[bytes]:
    """All kinds of frames, right and wrong."""
    frames = list(synthetic(rng).values())
    for n in range(18):
        frames.append(packet(rng.randbytes(rng.randrange(90)), ipv6=bool(n & 1), tags=n % 3))
    short = [frame for frame in frames if len(frame) < 700]
    frames += [mutate(rng, rng.choice(short)) or b"\0" for _ in range(60)]
    frames += [frame + rng.randbytes(rng.randrange(1, 80)) for frame in rng.sample(short, 8)]
    frames += [frame[: -rng.randrange(1, 30)] for frame in rng.sample(short, 8)]
    rng.shuffle(frames)
    return frames


@pytest.mark.parametrize("width", WIDTHS)
def test_all_kinds_of_frames(width: int, seed: int) -> None:
    rng = random.Random(seed)
    frames = rough(rng)
    if width == 8:  # a cycle per byte: one long frame is enough
        long = max((frame for frame in frames if len(frame) < 5000), key=len)
        frames = [long, *[frame for frame in frames if len(frame) < 700][::3]]
    expected = [golden(frame) for frame in frames]
    assert sum(verdict.ok for verdict in expected) > 0
    assert sum(verdict.checked and not verdict.ok for verdict in expected) > 0
    assert sum(not verdict.checked for verdict in expected) > 0
    assert check(width, frames, rng) == expected


@pytest.mark.parametrize("width", WIDTHS)
def test_every_bit_of_the_icrc_counts(width: int, seed: int) -> None:
    rng = random.Random(seed)
    frames = []
    for frame in (packet(opcode=0x01), packet(rng.randbytes(5), ipv6=True, tags=2)):
        end = parse(frame, Direction.RX).end
        for bit in range(8 * ICRC_BYTES):
            changed = bytearray(frame)
            changed[end - 1 - bit // 8] ^= 1 << bit % 8
            frames.append(bytes(changed))
        frames.append(frame)
    verdicts = check(width, frames, rng)
    assert [(verdict.checked, verdict.ok) for verdict in verdicts] == [
        (True, n % 33 == 32) for n in range(66)
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_fields_that_the_network_may_change(width: int, seed: int) -> None:
    rng = random.Random(seed)
    frames = []
    for ipv6 in (False, True):
        for tags in range(3):
            frame = bytearray(packet(rng.randbytes(9), ipv6=ipv6, tags=tags))
            at = parse(frame, Direction.RX).l3
            for header in (IPV6 if ipv6 else IPV4, UDP, BTH):
                for name in dict(ICRC_MASKED)[header]:
                    header.put(frame, at, name, rng.randrange(header[name].max + 1))
                at += header.size
            frames.append(bytes(frame))
    assert check(width, frames, rng) == [Verdict(checked=True, ok=True)] * 6


def test_the_packet_must_be_known_at_its_first_beat() -> None:
    dut = IcrcCheck(64)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.taken, 1)
        for _ in range(2):
            await ctx.tick()

    with pytest.raises(AssertionError, match="a packet must be known at its first"):
        run(dut, bench, cycles=10)


def test_width_is_one_of_the_streams() -> None:
    with pytest.raises(ValueError, match=r"width must be one of .*, not 32"):
        IcrcCheck(32)
