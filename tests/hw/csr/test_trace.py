# amaranth: UnusedElaboratable=no
"""The trace FIFO: gateware and golden model, record by record."""

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from precog_hw.csr.trace import RECORD, TraceFifo, record
from precog_models.trace import TraceFifo as GoldenFifo
from precog_models.trace import TraceFilter, pack, unpack
from precog_spec.contract import TRACE_BODIES, TRACE_BODY_BITS, TRACE_HEAD, TRACE_WORDS, TraceKind
from precog_spec.registers.trace import TRACE_BATCH, TRACE_DEPTH, TRACE_KINDS, trace_block

from ..packet.bench import run

DEPTH = 64
LATENCY = 4


def some(rng: random.Random, kind: TraceKind, qps: int = 4) -> dict[str, int]:
    """A record with every field of its kind; its serial is not the sender's affair."""
    made = {name: rng.getrandbits(bits) for name, bits in (*TRACE_HEAD, *TRACE_BODIES[kind])}
    return {**made, "kind": int(kind), "qp": rng.randrange(qps)}


def value(words: tuple[int, ...]) -> int:
    return sum(word << 32 * n for n, word in enumerate(words))


def test_layouts_fill_the_words() -> None:
    assert RECORD.size == 32 * TRACE_WORDS
    assert [kind.name.lower() for kind in TraceKind] == list(TRACE_KINDS)
    assert set(TRACE_BODIES) == set(TraceKind)
    assert len(trace_block().table("RECORDS").registers) == TRACE_WORDS
    for body in TRACE_BODIES.values():
        assert sum(bits for _, bits in body) <= TRACE_BODY_BITS
        assert not {name for name, _ in body} & {name for name, _ in TRACE_HEAD}


def test_records_are_packed_as_the_gateware_packs_them(seed: int) -> None:
    rng = random.Random(seed)
    for kind in TraceKind:
        fields = some(rng, kind)
        m, out = Module(), Signal(RECORD)
        m.d.comb += out.eq(record(kind, **{n: v for n, v in fields.items() if n != "kind"}))
        sim = Simulator(m)

        async def bench(ctx: Any, out: Any = out, fields: Any = fields) -> None:
            assert ctx.get(out.as_value()) == value(pack(fields))

        sim.add_testbench(bench)
        sim.run()
        assert unpack(pack(fields)) == fields
    with pytest.raises(ValueError, match=r"field must be one of kind, .*, not 'quota'"):
        pack({"kind": 0, "quota": 1})
    with pytest.raises(ValueError, match="band must fit 2 unsigned bits, not 4"):
        pack({"kind": 1, "band": 4})
    with pytest.raises(ValueError, match=r"field must be one of kind, .*, not 'quota'"):
        record(TraceKind.DECISION, quota=Signal())


@pytest.mark.parametrize("busy", [0.05, 0.3])
def test_exact_with_filters_pops_and_overflow(seed: int, busy: float) -> None:
    """One source: its order is the FIFO's; the window is read while records come and go."""
    rng, dut, golden = random.Random(seed), TraceFifo(1, DEPTH), GoldenFifo(DEPTH)
    counted = [0, 0, 0]
    due: deque[tuple[int, Any]] = deque()  # what takes effect at which cycle

    async def bench(ctx: Any) -> None:
        dut_in = dut.records[0].as_value()
        for cycle in range(3000):
            if cycle % 500 == 0:  # nothing is on its way: another filter
                golden.filter = TraceFilter(
                    rng.choice([7, 7, rng.randrange(8)]),
                    rng.choice([None, None, rng.randrange(4)]),
                    rng.choice([0, 1, 1, 3]),
                )
                ctx.set(dut.kinds, golden.filter.kinds)
                ctx.set(dut.one_qp, golden.filter.qp is not None)
                ctx.set(dut.qp, golden.filter.qp or 0)
                ctx.set(dut.every, golden.filter.every)
                ctx.set(dut.threshold, threshold := rng.choice([0, 1, 20, DEPTH]))
            strobe = cycle % 500 < 450 and rng.random() < busy
            ctx.set(dut.stb, strobe)
            if strobe:
                made = some(rng, rng.choice(list(TraceKind)))
                ctx.set(dut_in, value(pack(made)))
                due.append((cycle + LATENCY - 2, made))
            drains = cycle % 1000 > 600 and rng.random() < 0.2
            pop = rng.choice([1, 2, 40, 65535]) if drains else 0
            clear = rng.random() < 0.002
            ctx.set(dut.pop, pop)
            ctx.set(dut.clear, clear)
            index = rng.randrange(TRACE_BATCH)
            ctx.set(dut.index, index)
            before = list(golden.records)
            # A record that is written in the cycle of a pop finds the room of before it.
            while due and due[0][0] == cycle:
                golden.offer(due.popleft()[1])
            waiting = golden.records
            if clear:
                fresh = list(waiting)[len(before) :]
                golden.clear()
                waiting.extend(fresh)
            else:
                for _ in range(min(pop, len(before))):
                    waiting.popleft()
            await ctx.tick()
            shown = value(before[index]) if index < len(before) else 0
            assert ctx.get(dut.words.as_value()) == shown
            assert ctx.get(dut.level) == len(waiting)
            reached = threshold != 0 and len(before) >= threshold
            assert ctx.get(dut.reached) == reached
            events = ctx.get(dut.events)
            for n in range(2):
                counted[n] += events >> n & 1
            counted[2] += ctx.get(dut.lost) if events >> 2 else 0
        assert counted == [golden.recorded, golden.filtered, golden.overflowed]

    run(dut, bench, cycles=3100)


def test_sources_lose_nothing_in_turns_and_count_what_they_lose(seed: int) -> None:
    """Bursts of all at once: every record is in the FIFO or counted, and each keeps its order."""
    rng, dut = random.Random(seed), TraceFifo(3, TRACE_DEPTH)
    given: list[list[int]] = [[], [], []]
    counted = [0, 0, 0]

    async def step(ctx: Any) -> None:
        await ctx.tick()
        events = ctx.get(dut.events)
        counted[0] += events & 1
        counted[2] += ctx.get(dut.lost) if events >> 2 else 0

    async def bench(ctx: Any) -> None:
        ctx.set(dut.kinds, 0xFFFF)
        t = 0
        for _ in range(60):
            burst = rng.choice([1, 3, 12])
            for n in range(burst + rng.choice([3, 24])):
                stb = 7 if n < burst else 0
                ctx.set(dut.stb, stb)
                for kind in range(3):
                    ctx.set(dut.records[kind].as_value(), value(pack({"kind": kind, "t": t})))
                    if stb:
                        given[kind].append(t)
                t += bool(stb)
                await step(ctx)
        ctx.set(dut.stb, 0)
        for _ in range(20):
            await step(ctx)
        level = ctx.get(dut.level)
        assert level == counted[0]
        assert counted[0] + counted[2] == sum(map(len, given))
        got: list[list[int]] = [[], [], []]
        for _ in range(level):
            ctx.set(dut.index, 0)
            await ctx.tick()
            words = ctx.get(dut.words.as_value())
            fields = unpack(tuple(words >> 32 * n & 0xFFFF_FFFF for n in range(8)))
            got[fields["kind"]].append(fields["t"])
            ctx.set(dut.pop, 1)
            await ctx.tick()
            ctx.set(dut.pop, 0)
        for n in range(3):
            assert got[n] == sorted(got[n])
            assert set(got[n]) <= set(given[n])
        # Of three that come at once and alone none is lost.
        for n in range(3):
            ctx.set(dut.records[n].as_value(), value(pack({"kind": n, "t": 7})))
        ctx.set(dut.stb, 7)
        await ctx.tick()
        ctx.set(dut.stb, 0)
        await ctx.tick().repeat(LATENCY + 1)
        assert ctx.get(dut.level) == 3

    run(dut, bench, cycles=8000)


def test_sources_lose_nothing_at_their_rates(seed: int) -> None:
    """Decisions in every third cycle, acts, programs and forecasts in every ninth, any phases."""
    rng, dut = random.Random(seed), TraceFifo(4, TRACE_DEPTH)
    apart = [3, 9, 9, 9]
    least = list(apart)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.kinds, 0xFFFF)
        given = 0
        for cycle in range(800):
            stb = [least[n] <= cycle < 790 and rng.random() < 0.7 for n in range(4)]
            for n in range(4):
                least[n] = cycle + apart[n] if stb[n] else least[n]
            given += sum(stb)
            ctx.set(dut.stb, sum(bit << n for n, bit in enumerate(stb)))
            await ctx.tick()
            assert not ctx.get(dut.events) >> 2
        assert ctx.get(dut.level) == given > 300

    run(dut, bench, cycles=900)


def test_latency() -> None:
    dut = TraceFifo(2)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.kinds, 1)
        ctx.set(dut.stb, 2)
        for cycle in range(1, 10):
            await ctx.tick()
            ctx.set(dut.stb, 0)
            if ctx.get(dut.level):
                assert cycle == LATENCY - 1
                return
        raise AssertionError("level must rise")

    run(dut, bench, cycles=20)


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="sources must be at least 1, not 0"):
        TraceFifo(0)
    for depth in (16, 48, 65536):
        with pytest.raises(ValueError, match=rf"depth must be a power of two .*, not {depth}"):
            TraceFifo(1, depth)
