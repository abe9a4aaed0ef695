# amaranth: UnusedElaboratable=no
"""Counters in block RAM: nothing is lost, and all of them are kept at one instant."""

import random
from typing import Any

import pytest

from precog_hw.csr.block_counters import ASKED_APART, BlockCounters, ClassTable, EventTable

from ..packet.bench import run

Table = EventTable | ClassTable
Counts = dict[str, list[int]]


class _Bench:
    """Events and classes at random, and a host that asks as often as the bus does, or less."""

    def __init__(
        self, ctx: Any, dut: BlockCounters, tables: list[Table], load: float, rng: random.Random
    ) -> None:
        self._ctx, self._dut, self._tables, self._rng = ctx, dut, tables, rng
        self.load = load
        self.lasts = 0.0  # how often an event that may last is there
        self.counts: Counts = {table.name: [0] * table.count for table in tables}
        self._pauses = {table.name: 0 for table in tables}
        self._ask = 0

    async def step(self, *, snapshot: bool = False, clear: bool = False) -> None:
        """A cycle: what is counted, and, when nobody reads, idle questions of the host."""
        ctx, rng = self._ctx, self._rng
        for table in self._tables:
            counts = self.counts[table.name]
            if isinstance(table, EventTable):
                bits = [
                    rng.random() < (self.lasts if n in table.lasting else self.load)
                    for n in range(table.count)
                ]
                ctx.set(table.events, sum(bit << n for n, bit in enumerate(bits)))
                self.counts[table.name] = [n + bit for n, bit in zip(counts, bits, strict=True)]
                continue
            of, stb = rng.choice((0, rng.randrange(table.count))), rng.random() < self.load
            stb &= not self._pauses[table.name]
            self._pauses[table.name] = (
                self._dut.COUNT_CYCLES - 1 if stb else max(0, self._pauses[table.name] - 1)
            )
            ctx.set(table.stb, stb)
            ctx.set(table.of, of)
            counts[of] += stb
        ctx.set(self._dut.snapshot, snapshot)
        ctx.set(self._dut.clear, clear)
        if clear:
            self.counts = {table.name: [0] * table.count for table in self._tables}
        self._ask = self._ask - 1 if self._ask else ASKED_APART - 1 + rng.randrange(2)
        ctx.set(self._dut.asked, not self._ask)
        await ctx.tick()

    async def over(self) -> int:
        """Until the snapshot is complete; with events in every cycle it never is."""
        cycles = 0
        while self._ctx.get(self._dut.busy):
            cycles += 1
            await self.step()
        return cycles

    async def shown(self) -> Counts:
        """All counters as the host reads them."""
        ctx = self._ctx
        found: Counts = {}
        for table in self._tables:
            values = []
            for index in range(table.count):
                while self._ask != 2:
                    await self.step()
                ctx.set(table.index, index)
                ctx.set(table.inside, 1)
                await self.step()
                ctx.set(table.inside, 0)
                await self.step()
                values.append(ctx.get(table.high) << 32 | ctx.get(table.low))
            found[table.name] = values
        return found


def _made(
    events: list[int], classes: list[int], lasting: tuple[int, ...] = ()
) -> tuple[BlockCounters, list[Table]]:
    """Events with the numbers `lasting` of each table may last."""
    dut = BlockCounters()
    tables: list[Table] = [
        dut.events(f"events_{n}", count, lasting) for n, count in enumerate(events)
    ]
    tables += [dut.classes(f"classes_{n}", count) for n, count in enumerate(classes)]
    return dut, tables


@pytest.mark.parametrize("load", [0.02, 0.3])
@pytest.mark.parametrize(
    ("events", "classes"), [([1], []), ([2], [2]), ([17, 5, 8], [24, 9]), ([3], [7, 7])]
)
def test_a_snapshot_is_of_one_instant(
    events: list[int], classes: list[int], load: float, seed: int
) -> None:
    """Of the cycles before its strobe, right behind another one, too: any events in any cycle,
    classes as often as they may be, a host that asks all the time."""
    rng = random.Random(seed)
    dut, tables = _made(events, classes)

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0, rng)
        await counting.over()
        counting.load = load
        for _ in range(12):
            for _ in range(rng.choice((0, 1, 2, rng.randrange(300)))):
                await counting.step()
            kept = {name: list(counts) for name, counts in counting.counts.items()}
            await counting.step(snapshot=True)
            counting.load = 1.0 if rng.random() < 0.5 else load
            for _ in range(rng.randrange(200)):  # all that may come while the queue stands
                await counting.step()
            counting.load = load / sum(table.count for table in tables)
            await counting.over()
            assert await counting.shown() == kept
            counting.load = load
        assert max(kept["events_0"]) > 3

    run(dut, bench, cycles=20_000)


@pytest.mark.parametrize("lasts", [1.0, 0.9, 0.5])
def test_events_that_last_keep_no_snapshot_from_its_end(lasts: float, seed: int) -> None:
    """Two in each table, there in every cycle or in most: the snapshot is exact, and over soon."""
    rng = random.Random(seed)
    dut, tables = _made([5, 9], [24, 9], lasting=(1, 4))
    rows = 5 + 9 + 24 + 9

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0.002, rng)
        await counting.over()
        counting.lasts = lasts
        for _ in range(12):
            for _ in range(rng.randrange(100)):
                await counting.step()
            kept = {name: list(counts) for name, counts in counting.counts.items()}
            await counting.step(snapshot=True)
            assert await counting.over() <= 3 * (dut.latency + rows * 5 // 4 + 4)
            assert await counting.shown() == kept
            if rng.random() < 0.2:
                await counting.step(clear=True)
                await counting.over()
        assert min(kept["events_1"][n] for n in (1, 4)) > 10

    run(dut, bench, cycles=40_000)


def test_it_is_over_soon(seed: int) -> None:
    """With nothing to count: a turn, a copy and a few cycles; no count is late after that."""
    rng = random.Random(seed)
    dut, tables = _made([17, 9], [16, 16])
    rows = 17 + 9 + 16 + 16

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0, rng)
        assert await counting.over() <= 2 * (rows * 5 // 4 + 4)  # swept, then copied
        for _ in range(4):
            await counting.step(snapshot=True)
            assert rows < await counting.over() <= dut.latency + rows * 5 // 4 + 4

    run(dut, bench, cycles=2000)


def test_counters_and_their_snapshot_are_cleared_together(seed: int) -> None:
    """In any state, also of a snapshot; what is under way is not counted."""
    rng = random.Random(seed)
    dut, tables = _made([3], [5])

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0.2, rng)
        await counting.over()
        for _ in range(30):
            counting.load = 0.2
            for _ in range(rng.randrange(60)):
                await counting.step()
            if not ctx.get(dut.busy):
                await counting.step(snapshot=True)
            for _ in range(rng.randrange(60)):
                await counting.step()
            # A class's last count is over before its next one: the table's pause goes on.
            await counting.step(clear=True)
            nothing = {name: list(counts) for name, counts in counting.counts.items()}
            for _ in range(rng.randrange(60)):
                await counting.step()
            counting.load = 0.02
            await counting.over()
            assert await counting.shown() == nothing
            kept = {name: list(counts) for name, counts in counting.counts.items()}
            await counting.step(snapshot=True)
            await counting.over()
            assert await counting.shown() == kept

    run(dut, bench, cycles=60_000)


def test_no_epoch_comes_again_before_the_sweep(seed: int) -> None:
    """As many clears as there are epochs, so close that none is followed by a whole sweep."""
    rng = random.Random(seed)
    dut, tables = _made([9], [9])

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0, rng)
        await counting.over()
        counting.load = 0.5
        for _ in range(200):
            await counting.step()
        counting.load = 0
        for _ in range(256):
            await counting.step(clear=True)
            for _ in range(3):
                await counting.step()
        await counting.over()
        await counting.step(snapshot=True)
        await counting.over()
        assert await counting.shown() == {"events_0": [0] * 9, "classes_0": [0] * 9}

    run(dut, bench, cycles=5000)


def test_a_counter_passes_its_low_half(seed: int) -> None:
    """A carry between the halves, by an amount that has come while a row waited."""
    rng = random.Random(seed)
    dut, tables = _made([2], [])
    near = (1 << 32) - 100

    async def bench(ctx: Any) -> None:
        counting = _Bench(ctx, dut, tables, 0, rng)
        await counting.over()
        counting.load = 1
        for _ in range(12):
            await counting.step()
        for row in range(2):
            while (old := ctx.get(dut.rows.data[row])).high != 6:  # a sum on its way replaces it
                ctx.set(dut.rows.data[row], {"low": near, "high": 6, "epoch": old.epoch})
                for _ in range(7):
                    await counting.step()
        values = []
        for _ in range(8):
            for _ in range(20):
                await counting.step()
            counting.load = 0
            await counting.step(snapshot=True)
            await counting.over()
            values.append((await counting.shown())["events_0"][0])
            counting.load = 1
        assert values == sorted(values)
        assert values[0] >> 32 == 6
        assert values[-1] >> 32 == 7

    run(dut, bench, cycles=2000)


def test_a_second_count_that_comes_too_early_waits(seed: int) -> None:
    """Two of a table in two cycles, as only the queue could give them: it does not."""
    dut, tables = _made([1], [4])
    table = tables[1]
    assert isinstance(table, ClassTable)

    async def bench(ctx: Any) -> None:
        while ctx.get(dut.busy):
            await ctx.tick()
        ctx.set(table.stb, 1)
        ctx.set(table.of, 2)
        await ctx.tick().repeat(3)
        ctx.set(table.stb, 0)
        await ctx.tick().repeat(30)
        ctx.set(dut.snapshot, 1)
        await ctx.tick()
        ctx.set(dut.snapshot, 0)
        while ctx.get(dut.busy):
            await ctx.tick()
        ctx.set(table.inside, 1)
        ctx.set(table.index, 2)
        await ctx.tick()
        ctx.set(dut.asked, 1)
        await ctx.tick()
        assert ctx.get(table.low) == 3

    run(dut, bench, cycles=500)


def test_sizes_that_cannot_be_built() -> None:
    dut = BlockCounters()
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        dut.events("events", 0)
    with pytest.raises(ValueError, match="count must be at least 2, not 1"):
        dut.classes("classes", 1)
    for n in range(2):
        dut.classes(f"classes_{n}", 2)
    with pytest.raises(ValueError, match="tables of classes must be at most 2"):
        dut.classes("more", 2)
