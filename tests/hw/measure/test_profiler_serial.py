# amaranth: UnusedElaboratable=no
"""The relaxed queue profiler against the golden model; its latency and what a line may bring."""

import random
from itertools import pairwise
from typing import Any

import pytest

from precog_hw.measure.profiler_program import CONTROL, STEP_BITS, Ends, Word, Writes, table
from precog_hw.measure.profiler_serial import SerialProfiler
from precog_spec.contract import QUEUE_VALUE_FIELDS, QueueEvent

from ..packet.bench import run
from .queue_bench import Replay, some_event, some_parameters

FRAME_CYCLES = 42  # of 60 bytes, FCS, preamble and gap at 1 Gb/s and 62.5 MHz
IGNORED = QueueEvent.READ  # from outside
NAMES = [name for name, _ in QUEUE_VALUE_FIELDS]


def set_parameters(ctx: Any, dut: SerialProfiler, parameters: dict[str, Any]) -> None:
    for name in ("period", "every"):
        ctx.set(getattr(dut, name), parameters[name])
    for n in range(4):
        ctx.set(dut.centers[n], parameters["centers"][n])
        ctx.set(dut.gains[n], parameters["gains"][n])


@pytest.mark.parametrize(("qps", "every", "visited"), [(2, 1, 60), (16, 3, 200), (4, 0, 0)])
def test_exact(qps: int, every: int, visited: int, seed: int) -> None:
    """Events of one queue pair, reads and visits between; `o` often stalls; events while wiping."""
    rng = random.Random(seed)
    dut, replay, cycles = SerialProfiler(qps), Replay(qps), 6000
    parameters = some_parameters(rng) | {"every": every, "period": visited * qps}
    replay.set_parameters(parameters)
    sampled = merged = reads = 0

    async def bench(ctx: Any) -> None:
        nonlocal sampled, merged, reads
        set_parameters(ctx, dut, parameters)
        busy, stall, now, used, asked = 0.0, 0.0, 1 << 39, [0], 0
        want: dict[str, int] | None = None
        for cycle in range(2 * cycles):
            live = cycle < cycles
            if cycle % 400 == 0:
                busy, stall = rng.choice([0.01, 0.03, 0.3]), rng.choice([0.0, 0.99])
                used = rng.sample(range(qps), 2)
            now += 1
            ctx.set(dut.now, now)
            kind, size, t = some_event(rng, now)
            event = {"qp": rng.choice(used), "kind": kind if live else IGNORED, "size": size}
            ctx.set(dut.i.payload, {**event, "t": t})
            ctx.set(dut.i.valid, not live or rng.random() < busy)
            ctx.set(dut.i_read.payload, {"qp": rng.choice(used), "clear": rng.random() < 0.3})
            ctx.set(dut.i_read.valid, live and rng.random() < 0.02)
            ctx.set(dut.o.ready, not live or rng.random() >= stall)
            asked += ctx.get(dut.i_read.valid) and ctx.get(dut.i_read.ready)
            if ctx.get(dut.commit_stb):
                made = ctx.get(dut.commit)
                replay.commit(made.qp, made.kind, made.size, made.t)
                if replay.values is not None:
                    assert want is None  # one at a time
                    want, replay.values = replay.values, None
            if ctx.get(dut.read_done):
                values = ctx.get(dut.values)
                assert {name: values[name] for name in NAMES} == want
                want = None
                reads += 1
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                out = ctx.get(dut.o.payload)
                replay.sample(out.qp, out.t, *(out.x[n] for n in range(4)))
            sampled += ctx.get(dut.sampled)
            merged += ctx.get(dut.merged)
            await ctx.tick()
        assert reads == asked > 0

    run(dut, bench, cycles=2 * cycles + 10)
    replay.drained()
    assert (sampled, sampled - merged) == (replay.sampled, replay.seen["out"])
    assert bool(sampled) == bool(every or visited)


def test_latency() -> None:
    """Of a sample with the numbers 10, 0, 0 and 10, and of a read."""
    dut = SerialProfiler(4)
    at: dict[str, list[int]] = {"sampled": [], "o": [], "read": []}

    async def bench(ctx: Any) -> None:
        ctx.set(dut.every, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(32 * 4 + 10)
        ctx.set(dut.i.payload, {"qp": 3, "kind": 0, "size": 10, "t": 5})
        ctx.set(dut.i.valid, 1)
        for cycle in range(400):
            ctx.set(dut.i_read.valid, cycle == 300)
            for name, strobe in (("sampled", dut.sampled), ("o", dut.o.valid)):
                if ctx.get(strobe):
                    at[name].append(cycle)
            if ctx.get(dut.read_done):
                at["read"].append(cycle - 300)
            await ctx.tick()
            ctx.set(dut.i.valid, 0)

    run(dut, bench, cycles=700)
    assert at == {"sampled": [19], "o": [187], "read": [16]}


@pytest.mark.parametrize("burst", [1, 30])
def test_line_of_short_frames(burst: int, seed: int) -> None:
    """Each frame arrives and departs, each makes a sample; what bursts bring is worked off."""
    rng, dut, frames = random.Random(seed), SerialProfiler(16), 150
    made: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.every, 1)
        ctx.set(dut.o.ready, 1)
        await ctx.tick().repeat(32 * 16)
        sampled = 0
        for cycle in range(frames * FRAME_CYCLES):
            frame, at = divmod(cycle, burst * FRAME_CYCLES)
            departs, nth = divmod(at, 21 * burst)
            comes = nth % 8 == 0 and nth < 8 * burst if burst > 1 else nth == 0
            kind = QueueEvent.DEPARTURE if departs else QueueEvent.ARRIVAL
            event = {"qp": rng.randrange(16), "kind": kind, "size": 60, "t": cycle}
            ctx.set(dut.i.payload, event)
            ctx.set(dut.i.valid, comes)
            assert ctx.get(dut.i.ready)
            if at == 0:
                made.append(2 * burst * frame - sampled)
            sampled += ctx.get(dut.sampled)
            await ctx.tick()

    run(dut, bench, cycles=frames * FRAME_CYCLES + 32 * 16 + 10)
    assert max(made) <= 1 + burst // 4  # all but the last ones of a frame, or of a burst


def test_no_step_reads_what_the_one_before_writes() -> None:
    """Block RAM does not give the word that is being written."""
    rows = [CONTROL.from_bits(word) for word in table()]
    assert len(rows) == 1 << STEP_BITS
    assert sum(row.ends == Ends.NOT for row in rows) > 40
    for row, then in pairwise(rows):
        if row.ends == Ends.NOT and row.writes != Writes.NEVER:
            assert row.write != then.read, (row, then)
            assert row.write != Word.ZERO
