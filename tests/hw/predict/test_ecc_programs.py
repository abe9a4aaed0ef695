"""The scrubber over programs, against the golden code: every syndrome, the walk, suspects."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import Fragment, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from tests.hw.predict.test_ecc import CONFIG

from precog_hw.predict.ecc import Scrubber
from precog_hw.predict.ecc_walk import Work, walk_programs
from precog_models.predict.ecc import Found, decode_program, guard
from precog_spec.secded import (
    PROGRAM_ENTRIES,
    PROGRAM_SLOT,
    PROGRAM_WORDS,
    STORED_BITS,
    guarded_pairs,
    program_bits,
)

PROGRAMS = replace(CONFIG, law_cores=4)
_BANK = 5


def split(pair):
    """A pair of stored words as a word of 48 bits and its check bits."""
    low, high = (int(one) for one in pair)
    return low & 0xFFFF_FFFF | (high & 0xFFFF) << 32, low >> 32 | high >> 32 << 4


class Bench:
    """A scrubber with copies of the program in one bank, which answer after a random time."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.dut = Scrubber(PROGRAMS)
        self.memory = {}  # (core, at): word and check bits, 0 where there is none
        self.reads, self.events, self.failed, self.pairs = [], [], 0, 0

    async def answer(self, ctx):
        port = self.dut.programs
        while True:
            await ctx.tick()
            if not ctx.get(port.request.valid):
                continue
            at = ctx.get(port.request.place)
            assert at.bank == _BANK
            for _ in range(int(self.rng.integers(0, 4))):
                await ctx.tick()
            assert ctx.get(port.request.place) == at
            self.reads.append((at.core, at.at))
            word, check = self.memory.get(self.reads[-1], (0, 0))
            ctx.set(port.answer, {"valid": 1, "data": word, "check": check})
            for _ in range(int(self.rng.integers(1, 5))):
                await ctx.tick()
            ctx.set(port.answer.valid, 0)
            await ctx.tick()
            assert not ctx.get(port.request.valid)

    async def sets(self, ctx):
        """Words of sets are all 0."""
        dut = self.dut
        while True:
            await ctx.tick()
            if ctx.get(dut.request.valid):
                ctx.set(dut.answer, {"valid": 1, "word": 0})
                await ctx.tick()
                ctx.set(dut.answer.valid, 0)
                self.pairs += 1

    async def watch(self, ctx):
        dut, port = self.dut, self.dut.programs
        shown = (port.put, port.put_ready, dut.events, port.fail_stb, dut.fail_stb, dut.hold)
        async for *_, put, ready, events, fails, set_fails, holds in ctx.tick().sample(*shown):
            assert not set_fails
            assert not holds  # no inference waits for a program
            self.failed += fails
            if put.en and ready:
                self.memory[put.place.core, put.place.at] = put.data, put.check
            ctx.set(port.put_ready, int(self.rng.integers(2)))
            self.events += [name for name in events.shape().members if getattr(events, name)]

    def run(self, bench):
        sim = Simulator(Fragment.get(self.dut, None))
        sim.add_clock(1e-8)
        for one in (self.answer, self.sets, self.watch):
            sim.add_testbench(one, background=True)

        async def main(ctx):
            ctx.set(self.dut.programs.valid, 1 << _BANK)
            await bench(ctx)

        sim.add_testbench(main)
        sim.run()

    async def until_done(self, ctx, limit=600):
        for _ in range(limit):
            await ctx.tick()
            if not ctx.get(self.dut.busy):
                return
        raise TimeoutError("the scrubber stays busy")

    async def suspect(self, ctx, core, at):
        """An event has found a word damaged; then the scrubber has looked at it."""
        ctx.set(self.dut.programs.suspect, {"valid": 1, "place": _place(core, at)})
        assert ctx.get(self.dut.working)  # it may have had no clock
        await ctx.tick()
        ctx.set(self.dut.programs.suspect.valid, 0)
        await ctx.tick().repeat(160)


def _place(core, at):
    return {"core": core, "bank": _BANK, "at": at}


@pytest.mark.parametrize("at", [7, PROGRAM_SLOT + 7, PROGRAM_ENTRIES + 3])
def test_every_syndrome(seed, volume, at):
    """With data 0 it is what the check bits are; bits that a word lacks are never wrong alone."""
    bench = Bench(seed)
    ones = [1 << n for n in range(8)]
    chosen = range(256) if volume > 1 else [*range(0, 256, 5), *ones]

    async def run(ctx):
        for syndrome in chosen:
            word = int(bench.rng.integers(1 << program_bits(at)))
            pair = guard([word & 0xFFFF_FFFF, word >> 32])
            pair ^= np.array([syndrome & 15, syndrome >> 4]) << 32
            fixed, found, number = decode_program(at, pair)
            bench.memory = {(1, at): split(pair)}
            bench.events.clear()
            bench.failed = 0
            await bench.suspect(ctx, 1, at)
            last = ctx.get(bench.dut.last_program)
            assert (bench.failed > 0) == (found == Found.UNCORRECTABLE)
            if found == Found.CLEAN:
                assert bench.events == ["scrubbed"]
                continue
            name = "corrected" if found == Found.CORRECTED else "uncorrectable"
            assert bench.events == [name, "scrubbed"]
            assert bench.memory == {(1, at): split(fixed)}
            where = (last.place.core, last.place.bank, last.place.at)
            assert where == (1, _BANK, at)
            shown = (last.half, last.bit) if found == Found.CORRECTED else (0, 0)
            assert shown == (divmod(number, STORED_BITS) if number >= 0 else (0, 0))
            assert last.uncorrectable == (found == Found.UNCORRECTABLE)

    bench.run(run)


class Walk(wiring.Component):
    """The walk alone, a word in each cycle, over banks of which some are skipped."""

    skip: In(1)
    at: Out(data.StructLayout({"at": 11, "bank": 3, "core": 2}))
    passes: Out(1)

    def elaborate(self, platform):
        m = Module()
        work = Work(PROGRAMS)
        walk_programs(m, work, PROGRAMS)
        m.d.comb += [
            work.program_skip.eq(self.skip),
            work.program_step.eq(~self.skip),
            self.at.eq(work.program_cursor),
            self.passes.eq(work.program_passes),
        ]
        return m


def test_the_walk_goes_through_every_copy_of_every_bank():
    dut = Walk()
    order = [(7, 0, 0)] + [(6, core, at) for core in range(4) for at in range(PROGRAM_WORDS)]
    seen, passes = [], []

    async def run(ctx):
        while len(passes) < 2:
            at = ctx.get(dut.at)
            skips = at.bank not in (6,)
            ctx.set(dut.skip, skips)
            seen.append((at.bank, at.core, at.at))
            if ctx.get(dut.passes):
                passes.append(len(seen))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(run)
    sim.run()
    once = [(bank, 0, 0) for bank in range(6)] + order[1:] + order[:1]
    assert seen == 2 * once
    assert passes == [len(once), 2 * len(once)]


def test_a_word_follows_each_pair_of_a_set(seed):
    """While the host's walk is at both; then the words go on alone."""
    bench = Bench(seed)
    dut = bench.dut
    pairs = len(guarded_pairs())

    async def run(ctx):
        ctx.set(dut.valid, 0b10)
        await ctx.tick()
        ctx.set(dut.scrub_stb, 1)
        await ctx.tick()
        ctx.set(dut.scrub_stb, 0)
        while bench.events.count("passes") == 0:
            await ctx.tick()
            assert abs(len(bench.reads) - bench.pairs // 2) <= 1
        assert bench.pairs == 2 * pairs
        await ctx.tick().repeat(400)
        assert ctx.get(dut.busy)
        assert bench.pairs == 2 * pairs
        assert len(bench.reads) > pairs + 10
        assert bench.reads == [(0, n) for n in range(len(bench.reads))]
        assert set(bench.events) == {"scrubbed", "passes"}

    bench.run(run)


def test_the_walk_pauses_after_a_pair_and_a_word(seed):
    """And goes on with words alone where no set holds a model."""
    bench = Bench(seed)
    dut = bench.dut

    async def run(ctx):
        ctx.set(dut.enable, 1)
        ctx.set(dut.period, 300)
        ctx.set(dut.valid, 0b10)
        await ctx.tick().repeat(380 * 8)
        assert 6 <= len(bench.reads) <= 9
        assert abs(len(bench.reads) - bench.pairs // 2) <= 1
        ctx.set(dut.valid, 0)
        words, pairs = len(bench.reads), bench.pairs
        await ctx.tick().repeat(350 * 8)
        assert 6 <= len(bench.reads) - words <= 9
        assert bench.pairs - pairs <= 2
        assert bench.reads == [(0, n) for n in range(len(bench.reads))]

    bench.run(run)


def test_a_suspect_is_looked_at_without_a_walk(seed):
    """Whatever `enable` says; and the walk goes on where it was."""
    bench = Bench(seed)
    dut = bench.dut

    async def run(ctx):
        bench.memory = {(1, 900): (1 << 9, 0)}
        await bench.suspect(ctx, 1, 900)
        assert bench.events == ["corrected", "scrubbed"]
        assert bench.memory == {(1, 900): (0, 0)}
        assert bench.reads == [(1, 900)]
        ctx.set(dut.enable, 1)
        await ctx.tick().repeat(500)
        assert bench.reads[1:4] == [(0, 0), (0, 1), (0, 2)]

    bench.run(run)


def test_a_bank_that_is_loaded_is_left_alone(seed):
    """A load begins while a word is read, or its correction waits: nothing is written after it."""
    bench = Bench(seed)
    port = bench.dut.programs

    async def run(ctx):
        for cycles in (*range(1, 40, 3), 60, 100):
            bench.memory = {(0, 3): (1 << 31, 0)}
            ctx.set(port.suspect, {"valid": 1, "place": _place(0, 3)})
            await ctx.tick()
            ctx.set(port.suspect.valid, 0)
            await ctx.tick().repeat(cycles)
            ctx.set(port.valid, 0)
            await ctx.tick().repeat(3)
            bench.memory[0, 3] = (77, 9)  # of the new program
            await ctx.tick().repeat(200)
            assert bench.memory == {(0, 3): (77, 9)}
            ctx.set(port.valid, 1 << _BANK)
            await ctx.tick().repeat(3)
        assert bench.failed == 0

    bench.run(run)
