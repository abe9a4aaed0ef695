"""Bytes and notifications of packets become events: none is lost, none is invented."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.config import NicConfig
from precog_hw.rate.law_events import LawEvents
from precog_models.contract import Algorithm
from precog_models.rate.law_fields import EventKind

QPS = 8
CONFIG = NicConfig(qps=QPS, sets=2)
LISTENING = {0, 1, 2, 5}
T = 2000


async def configure(ctx: Any, dut: LawEvents, qp: int, law: int, *, wipe: bool = True) -> None:
    ctx.set(dut.command.qp, qp)
    ctx.set(dut.command.apply, 1)
    ctx.set(dut.command.config.enable, 1)
    ctx.set(dut.command.config.algorithm, law)
    ctx.set(dut.wipe, wipe)
    ctx.set(dut.command_stb, 1)
    await ctx.tick()
    ctx.set(dut.command_stb, 0)
    ctx.set(dut.wipe, 0)


def run(dut: LawEvents, main: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(main)
    simulator.run()


@pytest.mark.parametrize("busy", [0.0, 0.5, 0.98])
@pytest.mark.parametrize("byte_count", [0, 1, 5000])
def test_nothing_is_lost(busy: float, byte_count: int, seed: int) -> None:
    dut, rng = LawEvents(CONFIG), random.Random(seed)
    sent: Counter[int] = Counter()
    told: Counter[int] = Counter()
    waiting: dict[int, list[int]] = {qp: [] for qp in LISTENING}  # heard and not told: when
    visits: Counter[int] = Counter()
    notices: Counter[int] = Counter()

    def take(ctx: Any, now: int) -> None:
        """What was offered and accepted in this cycle."""
        event = dut.o.payload
        qp, kind, value = ctx.get(event.qp), ctx.get(event.kind), ctx.get(event.value)
        assert qp in LISTENING
        assert now - ctx.get(event.t) < 1 << 20
        if kind == EventKind.CNP:
            before = [heard for heard in waiting[qp] if heard <= ctx.get(event.t)]
            assert before, "there was none"
            waiting[qp] = waiting[qp][len(before) :]  # told once for all that came before
            notices[qp] += 1
        elif kind == EventKind.BYTES:
            assert value > 0
            told[qp] += value
            visits[qp] += 1
        else:
            assert (kind, value) == (EventKind.SWEEP, 0)
            visits[qp] += 1

    async def main(ctx: Any) -> None:
        for qp in range(QPS):
            await configure(ctx, dut, qp, Algorithm.DCQCN if qp in LISTENING else Algorithm.PID)
        ctx.set(dut.byte_count, byte_count)
        ctx.set(dut.rate_ticks, T)
        for cycle in range(5000):
            active = cycle < 3000
            dense = rng.random() < 0.7
            sends, hears = active and dense, active and rng.random() < 0.3
            qp, size, other = rng.randrange(QPS), rng.randrange(64, 4200), rng.randrange(QPS)
            ctx.set(dut.now, cycle)
            ctx.set(dut.sent, sends)
            ctx.set(dut.sent_slot, qp)
            ctx.set(dut.sent_bytes, size)
            ctx.set(dut.heard, hears)
            ctx.set(dut.heard_slot, other)
            ctx.set(dut.o.ready, not active or rng.random() >= busy)
            if sends and qp in LISTENING:
                sent[qp] += size
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                take(ctx, cycle)
            if hears and other in LISTENING:
                waiting[other].append(cycle)
            await ctx.tick()

    run(dut, main)
    assert sent == told
    assert not any(waiting.values())
    assert all(notices[qp] for qp in LISTENING)
    assert all(visits[qp] >= 3000 // (T // 4) - 2 for qp in LISTENING)


def test_latency_and_the_sweep_of_quiet_queue_pairs() -> None:
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        await configure(ctx, dut, 3, Algorithm.DCQCN)
        ctx.set(dut.rate_ticks, T)
        ctx.set(dut.o.ready, 1)
        for cycle in range(5 * T // 4):
            ctx.set(dut.now, cycle)
            ctx.set(dut.heard, cycle == 20)
            ctx.set(dut.heard_slot, 3)
            if ctx.get(dut.o.valid):
                seen.append((cycle, ctx.get(dut.o.payload.kind), ctx.get(dut.o.payload.qp)))
            await ctx.tick()

    run(dut, main)
    assert seen[0] == (23, EventKind.CNP, 3)
    sweeps = [cycle for cycle, kind, _ in seen[1:] if kind == EventKind.SWEEP]
    gaps = {later - sooner for sooner, later in pairwise(sweeps)}
    assert len(sweeps) == 5 == len(seen) - 1
    assert max(gaps) <= T // 4 + QPS
    assert {qp for *_, qp in seen} == {3}


def test_a_wipe_forgets_what_was_before() -> None:
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int]] = []

    async def main(ctx: Any) -> None:
        ctx.set(dut.rate_ticks, (1 << 24) - 1)
        for qp in range(QPS):
            await configure(ctx, dut, qp, Algorithm.DCQCN)
        for qp in range(QPS):
            ctx.set(dut.sent, 1)
            ctx.set(dut.sent_slot, qp)
            ctx.set(dut.sent_bytes, 1000)
            await ctx.tick()
        ctx.set(dut.sent, 0)
        await ctx.tick().repeat(5)
        for qp in range(QPS):
            await configure(ctx, dut, qp, Algorithm.DCQCN)
        ctx.set(dut.rate_ticks, 0)
        ctx.set(dut.o.ready, 1)
        for _ in range(60):
            if ctx.get(dut.o.valid):
                seen.append((ctx.get(dut.o.payload.kind), ctx.get(dut.o.payload.value)))
            await ctx.tick()

    run(dut, main)
    assert seen
    assert set(seen) == {(EventKind.SWEEP, 0)}
