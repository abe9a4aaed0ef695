# amaranth: UnusedElaboratable=no
"""The host changes the shim's port while packets pass: each of them knows one port."""

import random
from typing import Any

import pytest

from precog_hw.packet.rx_path import RxPath
from precog_hw.packet.tx_path import TxPath
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import transmit
from precog_spec.frames.cps import SHIM_PORT, Mode
from precog_spec.frames.headers import ETHERNET, IPV4, UDP

from ...models.packet.frames import card, packet
from .bench import Sent, receive_frames, run, send_frames

WIDTH, SCORE, FRAMES = 64, 37, 24
PORTS = (SHIM_PORT, SHIM_PORT ^ 0x5A5A)
_AT = ETHERNET.size + IPV4.size + UDP["destination_port"].byte


def port_of(frame: bytes) -> int:
    """UDP destination port."""
    return int.from_bytes(frame[_AT : _AT + 2], "big")


def shimmed(frame: bytes, port: int, local: str) -> bytes:
    """The frame with a shim, as host A or B sends it."""
    return transmit(card(local, score=SCORE, config=CpsConfig(shim_port=port)), frame, 0).frame


def passed(dut: Any, frames: list[bytes], rng: random.Random) -> list[bytes]:
    """What becomes of `frames` of a queue pair in mode S, when the port changes at any time."""
    record = dut.o_sent if isinstance(dut, TxPath) else dut.o_received
    got: list[Sent] = []

    async def source(ctx: Any) -> None:
        await send_frames(ctx, dut.i, WIDTH, [Sent(frame) for frame in frames], rng, 0)

    async def sink(ctx: Any) -> None:
        ctx.set(record.ready, 1)
        for name, value in (("mode", Mode.S), ("enable", 1)):
            ctx.set(dut.row[name], value)
        ctx.set(dut.row.score, {"value": SCORE, "valid": 1})
        ctx.set(dut.found, 1)
        got.extend(await receive_frames(ctx, dut.o, WIDTH, len(frames), rng, 0.1))

    async def host(ctx: Any) -> None:
        ctx.set(dut.config, {"shim_port": SHIM_PORT, "max_frame": 9216})
        while True:
            if rng.random() < 0.1:
                ctx.set(dut.config.shim_port, rng.choice(PORTS))
            await ctx.tick()

    async def table(ctx: Any) -> None:
        while hasattr(dut, "found_stb"):
            _, _, asked = await ctx.tick().sample(dut.key_stb)
            ctx.set(dut.found_stb, asked)

    run(dut, source, sink, background=[host, table], cycles=6000)
    return [frame.data for frame in got]


def frames_of(rng: random.Random, *, back: bool) -> list[bytes]:
    """Packets with a UDP checksum."""
    sizes = [4 * rng.randrange(20) for _ in range(FRAMES)]
    return [
        packet(rng.randbytes(size), psn=n, back=back, udp={"chksum": None})
        for n, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("relaxed", [False, True])
def test_shim_put_in(relaxed: bool, seed: int) -> None:
    """The UDP checksum is that of the port in the packet."""
    rng = random.Random(seed)
    frames = frames_of(rng, back=False)
    sent = passed(TxPath(WIDTH, 4, relaxed=relaxed), frames, rng)
    ports = [port_of(frame) for frame in sent]
    assert set(ports) == set(PORTS)
    assert sent == [shimmed(frame, port, "A") for frame, port in zip(frames, ports, strict=True)]


@pytest.mark.parametrize("relaxed", [False, True])
def test_shim_taken_out(relaxed: bool, seed: int) -> None:
    """The UDP checksum becomes that of before the shim, whichever port the packet had."""
    rng = random.Random(seed)
    frames = frames_of(rng, back=True)
    came = [shimmed(frame, rng.choice(PORTS), "B") for frame in frames]
    received = passed(RxPath(WIDTH, 4, relaxed=relaxed), came, rng)
    out = [len(frame) < len(sent) for frame, sent in zip(received, came, strict=True)]
    assert {False, True} == set(out)
    assert received == [
        frame if extracted else sent
        for frame, sent, extracted in zip(frames, came, out, strict=True)
    ]
