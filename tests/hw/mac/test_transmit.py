"""The transmitter against the golden MAC: bytes, gap, rate and what does not come in time."""

import random

import pytest
from amaranth.sim import Simulator

from precog_hw.mac.transmit import Transmitter
from precog_models.mac import Arrived, Fault, Symbol, arrivals
from precog_models.mac import line_bytes as golden
from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import GAP_BYTES, PREAMBLE

_LATENCY = 11


def sent(
    frames: list[tuple[bytes, bool]], rng: random.Random, *, idle: float, breaks: set[int]
) -> tuple[list[Symbol], list[int], int]:
    """The line, the cycle in which each frame's first byte was taken, and underruns.

    Frames of `breaks` have a byte that is not there in time.
    """
    dut = Transmitter()
    line: list[Symbol] = []
    taken: list[int] = []
    underruns = 0

    async def source(ctx):
        for n, (frame, error) in enumerate(frames):
            hole = rng.randrange(1, len(frame)) if n in breaks else None
            while rng.random() < idle:
                await ctx.tick()
            for at, octet in enumerate(frame):
                if at == hole:
                    ctx.set(dut.i.valid, 0)
                    await ctx.tick()
                last = at == len(frame) - 1
                ctx.set(dut.i.payload, {"data": octet, "last": last, "error": error if last else 1})
                ctx.set(dut.i.valid, 1)
                if at == 0:
                    taken.append(len(line))
                await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(120)

    async def sink(ctx):
        nonlocal underruns
        async for *_, octet, valid, underrun in ctx.tick().sample(
            dut.o.data, dut.o.valid, dut.underrun
        ):
            line.append(Symbol(octet, valid=bool(valid)))
            underruns += underrun

    simulator = Simulator(dut)
    simulator.add_clock(8e-9)
    simulator.add_testbench(source)
    simulator.add_testbench(sink, background=True)
    simulator.run()
    return line, taken, underruns


def bursts(line: list[Symbol]) -> list[tuple[int, bytes]]:
    """Where each burst begins, and its bytes."""
    found: list[tuple[int, bytearray]] = []
    before = False
    for n, symbol in enumerate(line):
        if symbol.valid and not before:
            found.append((n, bytearray()))
        if symbol.valid:
            found[-1][1].append(symbol.data)
        before = symbol.valid
    return [(n, bytes(octets)) for n, octets in found]


@pytest.mark.parametrize("idle", [0.0, 0.9])
def test_frames(idle: float, seed: int, volume: int) -> None:
    rng = random.Random(seed)
    frames = [
        (rng.randbytes(rng.choice((1, 59, 60, 61, rng.randrange(1, 200)))), rng.random() < 0.2)
        for _ in range(40 * volume)
    ]
    line, _, underruns = sent(frames, rng, idle=idle, breaks=set())
    assert [octets for _, octets in bursts(line)] == [
        golden(frame, error=error) for frame, error in frames
    ]
    starts = [n for n, _ in bursts(line)]
    gaps = [
        b - a - len(octets)
        for a, b, (_, octets) in zip(starts, starts[1:], bursts(line), strict=False)
    ]
    assert min(gaps) == GAP_BYTES
    if not idle:
        assert max(gaps) == GAP_BYTES
    assert not underruns


def test_latency() -> None:
    """The first byte stands on the line so many cycles after it came."""
    line, taken, _ = sent([(bytes(range(60)), False)], random.Random(0), idle=0.0, breaks=set())
    ((start, _),) = bursts(line)
    assert start + len(PREAMBLE) - taken[0] == _LATENCY


def test_bytes_that_come_too_late(seed: int, volume: int) -> None:
    """That frame is damaged, no other."""
    rng = random.Random(seed)
    count = 30 * volume
    frames = [(rng.randbytes(rng.randrange(2, 150)), False) for _ in range(count)]
    breaks = set(rng.sample(range(count), count // 3))
    line, _, underruns = sent(frames, rng, idle=0.0, breaks=breaks)
    arrived = arrivals(line)
    assert underruns == len(breaks)
    assert len(arrived) == count
    for n, (found, (frame, _)) in enumerate(zip(arrived, frames, strict=True)):
        if n in breaks:
            assert found.fault is Fault.FCS
        else:
            assert found == Arrived(frame.ljust(MIN_FRAME, b"\0"), None)
