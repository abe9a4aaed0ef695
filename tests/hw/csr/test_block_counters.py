# amaranth: UnusedElaboratable=no
"""Counters in block RAM: nothing is lost, and both halves are of one instant."""

import random
from typing import Any

import pytest

from precog_hw.csr.block_counters import ASKED_APART, BlockCounters, ClassTable, EventTable

from ..packet.bench import run

Table = EventTable | ClassTable


class Host:
    """Asks for counters, as close to each other as the bus does or less, and reads both halves."""

    def __init__(self, ctx: Any, dut: BlockCounters, tables: list[Table], rng: random.Random):
        self._ctx, self._dut, self._tables, self._rng = ctx, dut, tables, rng
        self._wait, self._asked, self._read, self._low = 0, False, False, 0
        self.table, self.index = tables[0], 0
        self.may_clear = False

    def step(self) -> tuple[Table, int, int] | None:
        """A cycle; a counter and what it held 2 cycles ago, in the cycle behind that of `read`."""
        ctx, dut = self._ctx, self._dut
        held = None
        if self._read:
            held = self.table, self.index, ctx.get(self.table.high) << 32 | self._low
        self._read = self._asked
        ctx.set(self.table.read, self._read)
        if self._read:
            self._low = ctx.get(self.table.low)
        if not self._wait:
            self._wait = ASKED_APART + self._rng.randrange(4)
            ctx.set(self.table.inside, 0)
            self.table = self._rng.choice(self._tables)
            self.index = self._rng.randrange(self.table.count)
            ctx.set(self.table.inside, 1)
            ctx.set(self.table.index, self.index)
        self._wait -= 1
        self._asked = self._wait == ASKED_APART - 2
        ctx.set(dut.asked, self._asked)
        self.may_clear = not self._wait  # the bus is its own, too
        return held


@pytest.mark.parametrize("load", [0.01, 0.5, 1.0])
@pytest.mark.parametrize(
    ("events", "classes"), [([1], []), ([2], [2]), ([29, 5, 8], [24, 9]), ([3], [7, 7])]
)
def test_everything_shows_in_time(
    events: list[int], classes: list[int], load: float, seed: int
) -> None:
    """Any events in any cycle, classes as often as they may be, a host that asks all the time."""
    rng = random.Random(seed)
    dut = BlockCounters()
    event_tables = [dut.events(f"events_{n}", count) for n, count in enumerate(events)]
    class_tables = [dut.classes(f"classes_{n}", count) for n, count in enumerate(classes)]
    tables: list[Table] = [*event_tables, *class_tables]
    late, most = dut.latency_of(*events), 2000
    reads = []

    async def bench(ctx: Any) -> None:
        host = Host(ctx, dut, tables, rng)
        zero = {table.name: [0] * table.count for table in tables}
        history = [zero]
        waits = dict.fromkeys((table.name for table in class_tables), 0)
        for cycle in range(most + 2 * late):
            counts = {name: list(values) for name, values in history[-1].items()}
            for table in event_tables:
                bits = [cycle < most and rng.random() < load for _ in range(table.count)]
                ctx.set(table.events, sum(bit << n for n, bit in enumerate(bits)))
                counts[table.name] = [
                    n + bit for n, bit in zip(counts[table.name], bits, strict=True)
                ]
            for table in class_tables:
                stb = cycle < most and not waits[table.name] and rng.random() < 0.9
                waits[table.name] = dut.COUNT_CYCLES - 1 if stb else max(0, waits[table.name] - 1)
                of = host.index if host.table is table else rng.randrange(table.count)
                ctx.set(table.stb, stb)
                ctx.set(table.of, of)
                counts[table.name][of] += stb

            if held := host.step():
                table, index, value = held
                limit = late if isinstance(table, EventTable) else 4 + len(classes)
                first = max(0, len(history) - 3 - limit)
                known = [kept[table.name][index] for kept in history[first:-2]]
                assert min(known) <= value <= max(known)
                reads.append(value)
                if cycle >= most + late + 3:
                    assert value == history[-1][table.name][index]
            clear = host.may_clear and cycle < most and rng.random() < 0.01
            ctx.set(dut.clear, clear)
            if clear:  # nothing of before shows again
                counts = zero
                history = [zero] * (late + 4)
            history.append(counts)
            await ctx.tick()

    run(dut, bench, cycles=most + 2 * late + 100)
    assert len(reads) > 200
    assert max(reads) > 3


def test_a_counter_passes_its_low_half(seed: int) -> None:
    """A carry between the halves, by an amount that has come while a row waited."""
    rng = random.Random(seed)
    dut = BlockCounters()
    table = dut.events("events", 2)
    near = (1 << 32) - 40

    async def bench(ctx: Any) -> None:
        host = Host(ctx, dut, [table], rng)
        rows = dut.rows.data
        for _ in range(8):
            await ctx.tick()
        for row in range(2):
            ctx.set(rows[row], {"low": near, "high": 6})
        ctx.set(table.events, 3)
        values = []
        for _ in range(400):
            if held := host.step():
                values.append(held[2])
            await ctx.tick()
        assert values == sorted(values)
        assert values[0] >> 32 == 6
        assert values[-1] >> 32 == 7

    run(dut, bench, cycles=500)


def test_a_second_count_that_comes_too_early_is_an_error() -> None:
    dut = BlockCounters()
    table = dut.classes("classes", 4)

    async def bench(ctx: Any) -> None:
        ctx.set(table.stb, 1)
        ctx.set(dut.asked, 1)
        for _ in range(4):
            await ctx.tick()

    with pytest.raises(AssertionError, match="one count at a time"):
        run(dut, bench, cycles=10)


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
