# amaranth: UnusedElaboratable=no
"""Rows of either form: changes back to back, reads that meet writes, latency."""

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Module, unsigned
from amaranth.lib import data

from precog_hw.rows import RowMemory, RowUpdate

from .packet.bench import run

ROW = data.StructLayout({"n": 12})


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("depth", [2, 16, 32])
def test_changes_see_those_before(depth: int, relaxed: bool, seed: int) -> None:
    rng, dut = random.Random(seed), RowUpdate(ROW, depth, relaxed=relaxed)
    held = [0] * depth
    asked: deque[int | None] = deque([None] * RowUpdate.CYCLES)
    few = [0, depth - 1, depth // 2]

    async def drive(ctx: Any) -> None:
        for cycle in range(600):
            row = rng.choice(few) if cycle < 400 else rng.randrange(depth)
            stb = rng.random() < 0.8
            ctx.set(dut.i_stb, stb)
            ctx.set(dut.i_row, row)
            asked.append(row if stb else None)
            of = asked.popleft()
            assert ctx.get(dut.stb) == (of is not None)
            word = rng.getrandbits(12)
            ctx.set(dut.new.n, word)  # counts with `stb` alone
            if of is not None:
                assert ctx.get(dut.row) == of
                assert ctx.get(dut.old.n) == held[of]
                held[of] = word
            await ctx.tick()

    run(dut, drive, cycles=700)
    assert any(held)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize(("depth", "init"), [(2, ()), (16, ()), (16, (5, 6)), (32, ())])
def test_reads_see_the_writes_of_their_cycle(
    depth: int, init: tuple[int, ...], relaxed: bool, seed: int
) -> None:
    rng, m = random.Random(seed), Module()
    m.submodules.dut = dut = RowMemory(unsigned(9), depth, init, relaxed=relaxed)
    held = [*init, *[0] * depth][:depth]
    due: deque[int | None] = deque([None] * (RowMemory.CYCLES - 1))

    async def drive(ctx: Any) -> None:
        for _ in range(600):
            stb, row, word = rng.random() < 0.6, rng.randrange(2), rng.getrandbits(9)
            of = rng.choice([0, 1, depth - 1])
            ctx.set(dut.write_stb, stb)
            ctx.set(dut.write_row, row)
            ctx.set(dut.write_data, word)
            ctx.set(dut.read_row, of)
            if stb:
                held[row] = word
            due.append(held[of])
            await ctx.tick()
            seen = due.popleft()
            assert seen is None or ctx.get(dut.read_data) == seen

    run(m, drive, cycles=700)
