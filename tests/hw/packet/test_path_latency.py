"""From a packet's first beat in to its first beat out: the whole path in each direction."""

import random
from typing import Any

import numpy as np
import pytest

from precog_hw.packet.blocks import CpsRx, CpsTx

from .bench import Sent, beats, run

_TX = ((8, 144), (64, 48), (128, 41), (256, 38), (512, 36))
_RX = ((8, 139), (64, 43), (128, 36), (256, 33), (512, 31))
#: By block and bits of a beat. In this time the parser has seen all headers (110 beats at 8 bits,
#: 14 at 64, 2 at 512), the queue pair has been looked up, its rows read, and the checksum made.
CYCLES = {
    **{(CpsTx, width): cycles for width, cycles in _TX},
    **{(CpsRx, width): cycles for width, cycles in _RX},
}


@pytest.mark.parametrize(("block", "width"), CYCLES)
def test_first_beat(block: type[CpsTx] | type[CpsRx], width: int, seed: int) -> None:
    """A packet longer than all headers, in beats that follow each other."""
    rng = random.Random(seed)
    dut = block(width, 4)
    frame = beats(Sent(rng.randbytes(rng.randrange(200, 400))), width)
    record = dut.o_sent if isinstance(dut, CpsTx) else dut.o_received
    waited = []

    async def source(ctx: Any) -> None:
        ctx.set(record.ready, 1)
        ctx.set(dut.i.valid, 1)
        for beat in frame:
            ctx.set(dut.i.payload, beat)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def sink(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        cycle = begun = 0
        while not waited:
            _, _, taken, leaves = await ctx.tick().sample(dut.i.valid & dut.i.ready, dut.o.valid)
            if taken and not begun:
                begun = cycle + 1
            if leaves:
                waited.append(cycle + 1 - begun)
            cycle += 1

    run(dut, source, sink, cycles=900)
    assert waited == [CYCLES[block, width]]


#: In the relaxed form a packet has left before the next one begins: from first beat to first beat
#: of frames of 60 bytes without FCS, the shortest. On a Gigabit line they are 84 byte times apart,
#: which are 42 cycles of 62.5 MHz. Damaged ones from the line may be shorter.
APART = {(CpsTx, 60): 37, (CpsRx, 60): 33, (CpsRx, 8): 20}


@pytest.mark.parametrize(("block", "size"), APART)
def test_the_relaxed_form_takes_a_full_line(
    block: type[CpsTx] | type[CpsRx], size: int, seed: int
) -> None:
    rng, frames = random.Random(seed), 20
    dut = block(64, 4, relaxed=True)
    record = dut.o_sent if isinstance(dut, CpsTx) else dut.o_received
    begun: list[int] = []

    async def source(ctx: Any) -> None:
        ctx.set(record.ready, 1)
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.valid, 1)
        cycle = 0
        for _ in range(frames):
            for n, beat in enumerate(beats(Sent(rng.randbytes(size)), 64)):
                ctx.set(dut.i.payload, beat)
                taken = False
                while not taken:
                    _, _, taken = await ctx.tick().sample(dut.i.ready)
                    cycle += 1
                if not n:
                    begun.append(cycle)

    run(dut, source, cycles=50 * frames)
    assert {*np.diff(begun)} == {APART[block, size]}
