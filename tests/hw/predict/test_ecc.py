"""Check bits and scrubber against the golden code: every syndrome, the order of the walk, races."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import Fragment
from amaranth.sim import Simulator

from precog_hw.predict.check_bits import CheckBits
from precog_hw.predict.ecc import Scrubber
from precog_models.predict.ecc import Found, decode_pairs, guard
from precog_spec.config import NicConfig
from precog_spec.secded import STORED_BITS, guarded_pairs

CONFIG = NicConfig(qps=4, sets=2, lanes=16, columns=1, steps=3)
TREES = replace(CONFIG, forecast=True, tree=True)


def test_loaded_words_get_their_check_bits(seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 1 << 32, 64)
    image[:2] = 0, 1 << 31
    dut = CheckBits(CONFIG)
    got, puts = [], []

    async def run(ctx):
        for n, word in enumerate(image.tolist()):
            while rng.random() < 0.3:
                ctx.set(dut.i.en, 0)
                await ctx.tick()
            place = {"set": 1, "row": n >> 4, "word": n & 15}
            ctx.set(dut.i, {"en": 1, **place, "data": list(word.to_bytes(4, "little"))})
            await ctx.tick()
        ctx.set(dut.i.en, 0)
        await ctx.tick().repeat(12)

    async def put(ctx):
        ctx.set(dut.put, {"en": 1, "set": 0, "row": 9, "check": 5, "copies": 1})
        async for *_, out, ready in ctx.tick().sample(dut.o, dut.put_ready):
            puts.append(ready)
            if out.en and out.set:
                data = int.from_bytes(bytes(out.data), "little")
                got.append((out.row << 4 | out.word, out.check << 32 | data, out.copies))
            elif out.en:
                puts.append((out.row, out.check, out.copies) == (9, 5, 1))

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(put, background=True)
    sim.add_testbench(run)
    sim.run()
    assert got == [(n, word, 3) for n, word in enumerate(guard(image).tolist())]
    assert puts.count(0) == len(image)  # a word of another kind leaves when none of an image does


def _copy(place):
    return 2 * getattr(place, "tree", 0) + place.second


class Bench:
    """A scrubber with memories of set 1 that answer after a random time."""

    def __init__(self, seed, config=CONFIG):
        self.rng = np.random.default_rng(seed)
        self.dut = Scrubber(config)
        self.memory = {}  # (copy, row, word): stored word, 0 where there is none
        self.reads, self.events = [], []

    async def answer(self, ctx):
        dut = self.dut
        while True:
            await ctx.tick()
            if not ctx.get(dut.request.valid):
                continue
            at = ctx.get(dut.request.place)
            assert at.set == 1
            for _ in range(int(self.rng.integers(0, 4))):
                await ctx.tick()
            assert ctx.get(dut.request.valid)
            assert ctx.get(dut.request.place) == at
            place = (_copy(at), at.row, at.word)
            self.reads.append(place)
            ctx.set(dut.answer, {"valid": 1, "word": self.memory.get(place, 0)})
            await ctx.tick()
            ctx.set(dut.answer.valid, 0)
            await ctx.tick()
            assert not ctx.get(dut.request.valid)

    async def watch(self, ctx):
        dut = self.dut
        ctx.set(dut.put_ready, 1)
        async for *_, put, ready, events in ctx.tick().sample(dut.put, dut.put_ready, dut.events):
            if put.en and ready:
                assert ctx.get(dut.hold)
                copy = _copy(ctx.get(dut.request.place))
                assert put.copies == 1 << copy
                data = int.from_bytes(bytes(put.data), "little")
                place = (copy, put.row, put.word)
                self.memory[place] = put.check << 32 | data
            self.events += [name for name in events.shape().members if getattr(events, name)]

    def run(self, bench):
        sim = Simulator(Fragment.get(self.dut, None))
        sim.add_clock(1e-8)
        sim.add_testbench(self.answer, background=True)
        sim.add_testbench(self.watch, background=True)

        async def main(ctx):
            ctx.set(self.dut.valid, 0b10)
            await bench(ctx)

        sim.add_testbench(main)
        sim.run()

    async def until_done(self, ctx, limit=400):
        for _ in range(limit):
            await ctx.tick()
            if not ctx.get(self.dut.busy):
                return
        raise TimeoutError("the scrubber stays busy")

    async def inject(self, ctx, copy, row, word, first=63, double=None):
        place = {"set": 1, "row": row, "word": word, "second": copy & 1}
        ctx.set(self.dut.inject_place, place | ({"tree": 1} if copy & 2 else {}))
        flips = {"first": first, "second": double or 0, "double": double is not None}
        ctx.set(self.dut.inject_flips, flips)
        ctx.set(self.dut.inject_stb, 1)
        await ctx.tick()
        ctx.set(self.dut.inject_stb, 0)
        await self.until_done(ctx)


def test_every_syndrome(seed, volume):
    """Correction depends on the syndrome alone: with data 0, it is what the check bits are."""
    bench = Bench(seed)
    chosen = range(256) if volume > 1 else [*range(0, 256, 5), *(1 << n for n in range(8))]

    async def run(ctx):
        for syndrome in chosen:
            data = bench.rng.integers(0, 1 << 32, 2)
            pair = guard(data) ^ (np.array([syndrome & 15, syndrome >> 4]) << 32)
            fixed, found, at = decode_pairs(pair)
            bench.memory = {(0, 7, 4): int(pair[0]), (0, 7, 5): int(pair[1])}
            bench.events.clear()
            await bench.inject(ctx, 0, 7, 5)  # bit 63: nothing is flipped, but the pair is checked
            last = ctx.get(bench.dut.last)
            if found == Found.CLEAN:
                assert bench.events == ["injected"]
            elif found == Found.CORRECTED:
                assert bench.events == ["injected", "corrected"]
                which, bit = divmod(int(at), STORED_BITS)
                assert (last.place.word, last.bit, last.uncorrectable) == (4 + which, bit, 0)
                assert bench.memory == {(0, 7, 4): int(fixed[0]), (0, 7, 5): int(fixed[1])}
            else:
                assert bench.events == ["injected", "uncorrectable"]
                assert (last.place.row, last.place.word, last.uncorrectable) == (7, 4, 1)

    bench.run(run)


def test_flips_are_where_the_host_wants_them(seed):
    bench = Bench(seed)

    async def run(ctx):
        for second, row, word in ((0, 31, 9), (1, 24, 0), (1, 26, 15), (0, 0, 0)):
            bit = int(bench.rng.integers(36))
            bench.memory = {}
            await bench.inject(ctx, second, row, word, bit)
            last = ctx.get(bench.dut.last)
            found = (last.place.second, last.place.row, last.place.word, last.bit)
            assert found == (second, row, word, bit)
            assert bench.memory[second, row, word] == 0
        bench.events.clear()
        for second, row, word in ((0, 31, 10), (1, 23, 0), (1, 27, 0)):
            await bench.inject(ctx, second, row, word, 1)
        assert bench.events == ["refused"] * 3
        ctx.set(bench.dut.valid, 0b01)
        await bench.inject(ctx, 0, 0, 0, 1)
        assert bench.events == ["refused"] * 4

    bench.run(run)


def test_words_of_trees_are_found_where_they_are(seed):
    bench = Bench(seed, TREES)

    async def run(ctx):
        for copy, row, word in ((2, 0, 0), (2, 30, 15), (0, 30, 15), (1, 26, 3)):
            bit = int(bench.rng.integers(36))
            bench.memory = {}
            await bench.inject(ctx, copy, row, word, bit)
            last = ctx.get(bench.dut.last)
            found = (_copy(last.place), last.place.row, last.place.word, last.bit)
            assert found == (copy, row, word, bit)
            assert bench.memory == {(copy, row, word): 0}
        bench.events.clear()
        for copy, row, word in ((2, 31, 0), (3, 24, 0)):
            await bench.inject(ctx, copy, row, word, 1)
        assert bench.events == ["refused"] * 2

    bench.run(run)


@pytest.mark.parametrize("config", [CONFIG, TREES], ids=["lstm", "tree"])
def test_the_walk_reads_every_pair_of_valid_sets_in_order(seed, config):
    bench = Bench(seed, config)
    order = guarded_pairs(tree=bool(config.tree))

    async def run(ctx):
        ctx.set(bench.dut.scrub_stb, 1)
        await ctx.tick()
        ctx.set(bench.dut.scrub_stb, 0)
        await bench.until_done(ctx, len(order) * 60)
        assert bench.reads == [
            (copy, row, 2 * pair + n) for copy, row, pair in order for n in (0, 1)
        ]
        assert bench.events == ["scrubbed"] * len(order) + ["passes"]

    bench.run(run)


def test_a_set_that_is_taken_away_is_left_alone(seed):
    """A load begins while a pair is read, or its correction waits: nothing is written."""
    bench = Bench(seed)
    dut = bench.dut

    async def run(ctx):
        ctx.set(dut.period, 40)
        for cycles in (*range(6, 40, 3), 60, 100):
            ctx.set(dut.valid, 0b10)
            ctx.set(dut.in_use, 0b10)  # a correction waits
            bench.memory = {(0, row, 2 * pair): 1 for row in range(32) for pair in range(8)}
            before = dict(bench.memory)
            ctx.set(dut.enable, 1)
            await ctx.tick().until(dut.request.valid)
            await ctx.tick().repeat(cycles)
            ctx.set(dut.valid, 0)
            await ctx.tick().repeat(3)
            ctx.set(dut.valid, 0b10)  # and is valid again
            ctx.set(dut.enable, 0)
            ctx.set(dut.in_use, 0)
            await ctx.tick().repeat(200)
            assert bench.memory == before
            assert set(bench.events) <= {"scrubbed"}
            assert not ctx.get(dut.hold)

    bench.run(run)
