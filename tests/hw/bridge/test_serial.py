# amaranth: UnusedElaboratable=no
"""The serial line bit by bit, and what the bridge's parts refuse."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.bridge.access import BridgeAccess
from precog_hw.bridge.serial import SerialReceiver, SerialTransmitter
from precog_hw.bridge.uartbone import UartBridge

from .bench import bits_of


def received(bits: list[tuple[int, int]], divisor: int) -> tuple[bytes, int]:
    """Bytes and framing errors of a line that has each level for so many cycles."""
    dut = SerialReceiver()
    got = bytearray()
    errors = 0

    async def bench(ctx: Any) -> None:
        nonlocal errors
        ctx.set(dut.divisor, divisor)
        ctx.set(dut.rx, 1)
        await ctx.tick().repeat(5)
        for level, cycles in [*bits, (1, 3 * divisor)]:
            ctx.set(dut.rx, level)
            for _ in range(cycles):
                _, _, stb, byte, error = await ctx.tick().sample(
                    dut.stb, dut.data, dut.framing_error
                )
                if stb:
                    got.append(byte)
                errors += error
        assert ctx.get(dut.idle)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return bytes(got), errors


@pytest.mark.parametrize(("divisor", "sent"), [(4, 4), (7, 7), (33, 32), (33, 34)])
def test_bytes_are_received(divisor: int, sent: int, seed: int) -> None:
    """Also from a sender whose clock is 3 % off."""
    data = random.Random(seed).randbytes(8)
    assert received([(bit, sent) for bit in bits_of(data)], divisor) == (data, 0)


def test_what_is_no_byte_is_none() -> None:
    glitch = [(0, 2), (1, 40)]
    broken = [(bit, 8) for bit in (*bits_of(b"\x5a")[:-1], 0)]
    whole = [(bit, 8) for bit in bits_of(b"\xc3")]
    assert received([*glitch, *broken, (0, 50), (1, 8), *whole], 8) == (b"\xc3", 1)


def test_bytes_are_sent_back_to_back(seed: int) -> None:
    dut = SerialTransmitter()
    data = random.Random(seed).randbytes(4)
    line: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.divisor, 5)
        assert ctx.get(dut.tx) == 1
        for byte in data:
            ctx.set(dut.i.payload, byte)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(60)

    async def watch(ctx: Any) -> None:
        async for *_, level in ctx.tick().sample(dut.tx):
            line.append(level)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.add_testbench(watch, background=True)
    sim.run()
    start = line.index(0)
    expected = [bit for bit in bits_of(data) for _ in range(5)]
    assert line[start : start + len(expected)] == expected
    assert all(line[start + len(expected) :])


def test_refusals() -> None:
    for bits in (2, 32):
        with pytest.raises(ValueError, match=rf"address_bits must be in 3\.\.31, not {bits}"):
            BridgeAccess(bits)
    with pytest.raises(ValueError, match="bus_timeout_cycles must be 2 or more, not 1"):
        BridgeAccess(bus_timeout_cycles=1)
    with pytest.raises(ValueError, match="timeout_cycles must be 2 or more, not 0"):
        UartBridge(timeout_cycles=0)
