"""Notifications of packets and passing time become events: none is lost, none is invented."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator

from precog_hw.rate.law_events import LawEvents
from precog_spec.config import NicConfig
from precog_spec.contract import PROGRAM_ALGORITHM, Algorithm
from precog_spec.law_fields import EventKind

QPS = 8
CONFIG = NicConfig(qps=QPS, sets=2, law_cores=1)
_PROGRAM = PROGRAM_ALGORITHM + 3
LISTENING = {0, 1, 2, 5}
T = 4 * QPS * LawEvents.MIN_GAP


async def configure(ctx: Any, dut: LawEvents, qp: int, law: int) -> None:
    ctx.set(dut.command.qp, qp)
    ctx.set(dut.command.apply, 1)
    ctx.set(dut.command.config.enable, 1)
    ctx.set(dut.command.config.algorithm, law)
    ctx.set(dut.command.clear, 1)
    ctx.set(dut.command_stb, 1)
    await ctx.tick()
    ctx.set(dut.command_stb, 0)


def run(dut: LawEvents, main: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(main)
    simulator.run()


@pytest.mark.parametrize("busy", [0.0, 0.5, 0.98])
def test_nothing_is_lost(busy: float, seed: int) -> None:
    dut, rng = LawEvents(CONFIG), random.Random(seed)
    waiting: dict[int, list[int]] = {qp: [] for qp in LISTENING}  # heard and not told: when
    visits: Counter[int] = Counter()
    notices: Counter[int] = Counter()
    offered: list[int] = []  # the cycle before the one in which what is offered appeared

    def take(ctx: Any) -> None:
        """What was offered and accepted in this cycle."""
        event = dut.o.payload
        qp, kind, value = ctx.get(event.qp), ctx.get(event.kind), ctx.get(event.value)
        assert qp in LISTENING
        assert value == 0
        assert ctx.get(event.t) == offered[0]
        if kind == EventKind.CNP:
            before = [heard for heard in waiting[qp] if heard < ctx.get(event.t)]
            assert before, "there was none"
            waiting[qp] = waiting[qp][len(before) :]  # told once for all that came before
            notices[qp] += 1
        else:
            assert kind == EventKind.SWEEP
            visits[qp] += 1

    async def main(ctx: Any) -> None:
        for qp in range(QPS):
            await configure(ctx, dut, qp, _PROGRAM if qp in LISTENING else Algorithm.PID)
        ctx.set(dut.rate_ticks, T)
        for cycle in range(7 * T // 4):
            active = cycle < 5 * T // 4
            hears, other = active and rng.random() < 0.3, rng.randrange(QPS)
            ctx.set(dut.now, cycle)
            ctx.set(dut.heard, hears)
            ctx.set(dut.heard_slot, other)
            ctx.set(dut.o.ready, not active or rng.random() >= busy)
            if ctx.get(dut.o.valid):
                offered[:] = offered or [cycle - 1]
                if ctx.get(dut.o.ready):
                    take(ctx)
                    offered.clear()
            if hears and other in LISTENING:
                waiting[other].append(cycle)
            await ctx.tick()

    run(dut, main)
    assert not any(waiting.values())
    assert all(notices[qp] for qp in LISTENING)
    assert busy > 0.9 or all(visits[qp] >= 3 for qp in LISTENING)


def test_latency_and_the_sweep_of_quiet_queue_pairs() -> None:
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        await configure(ctx, dut, 3, _PROGRAM)
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
    assert seen[0] == (25, EventKind.CNP, 3)
    sweeps = [cycle for cycle, kind, _ in seen[1:] if kind == EventKind.SWEEP]
    gaps = {later - sooner for sooner, later in pairwise(sweeps)}
    assert len(sweeps) == 5 == len(seen) - 1
    assert max(gaps) <= T // 4 + QPS
    assert {qp for *_, qp in seen} == {3}


async def watch(
    ctx: Any, dut: LawEvents, cycles: int, start: int = 0
) -> list[tuple[int, int, int]]:
    """Cycle, kind and value of what is offered, all taken."""
    seen = []
    ctx.set(dut.o.ready, 1)
    for cycle in range(start, start + cycles):
        ctx.set(dut.now, cycle)
        if ctx.get(dut.o.valid):
            seen.append((cycle, ctx.get(dut.o.payload.kind), ctx.get(dut.o.payload.value)))
        await ctx.tick()
    return seen


def test_notifications_without_end_keep_nothing_out() -> None:
    """One of a queue pair waits whenever the law takes an event: losses and sweeps have turns."""
    dut = LawEvents(CONFIG)
    kinds: Counter[int] = Counter()

    async def main(ctx: Any) -> None:
        for qp in range(QPS):
            await configure(ctx, dut, qp, _PROGRAM)
        ctx.set(dut.rate_ticks, T)
        for cycle in range(2 * T):
            ctx.set(dut.now, cycle)
            ctx.set(dut.heard, cycle % 40 == 0)
            ctx.set(dut.heard_slot, 3)
            ctx.set(dut.lost, cycle == 1000)
            ctx.set(dut.lost_slot, 5)
            ctx.set(dut.o.ready, cycle % 300 == 0)
            if cycle % 300 == 0 and ctx.get(dut.o.valid):
                kinds[ctx.get(dut.o.payload.kind)] += 1
            await ctx.tick()

    run(dut, main)
    assert kinds[EventKind.LOSS] == 1
    assert kinds[EventKind.SWEEP] > 5
    assert kinds[EventKind.CNP] > 5


def test_a_clear_forgets_what_was_before() -> None:
    """A notification that waits behind another one."""
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        ctx.set(dut.rate_ticks, T)
        for qp in range(QPS):
            await configure(ctx, dut, qp, _PROGRAM)
        for qp in (0, 3, 3, 5):  # the first is offered and not taken
            ctx.set(dut.heard, 1)
            ctx.set(dut.heard_slot, qp)
            await ctx.tick()
        ctx.set(dut.heard, 0)
        await ctx.tick().repeat(5)
        for qp in (3, 5):
            await configure(ctx, dut, qp, _PROGRAM)
            await ctx.tick().repeat(4)
        ctx.set(dut.heard, 1)
        ctx.set(dut.heard_slot, 5)  # and is heard anew
        await ctx.tick()
        ctx.set(dut.heard, 0)
        seen.extend(await watch(ctx, dut, T // 2))

    run(dut, main)
    assert [kind for _, kind, _ in seen].count(EventKind.CNP) == 2  # of 0, and of 5 anew


def test_programs_hear_of_notifications_and_time_alone() -> None:
    """A queue pair of another law hears nothing."""
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        ctx.set(dut.rate_ticks, T)
        await configure(ctx, dut, 1, Algorithm.PID)
        await configure(ctx, dut, 2, _PROGRAM)
        for qp in (1, 2):
            ctx.set(dut.heard, 1)
            ctx.set(dut.heard_slot, qp)
            await ctx.tick()
        ctx.set(dut.heard, 0)
        seen.extend(await watch(ctx, dut, T - 100))

    run(dut, main)
    assert [kind for _, kind, _ in seen] == [EventKind.CNP, *[EventKind.SWEEP] * 4]
    assert {value for *_, value in seen} == {0}
    sweeps = [cycle for cycle, *_ in seen[1:]]
    assert {later - sooner for sooner, later in pairwise(sweeps)} == {T // 4 + QPS}


@pytest.mark.parametrize(("ticks", "most"), [(0, 0), (1, 10)])
def test_sweeps_leave_the_law_time(ticks: int, most: int) -> None:
    dut = LawEvents(CONFIG)
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        ctx.set(dut.rate_ticks, ticks)
        for qp in range(QPS):
            await configure(ctx, dut, qp, _PROGRAM)
        seen.extend(await watch(ctx, dut, 10 * LawEvents.MIN_GAP))

    run(dut, main)
    assert most - 1 <= len(seen) <= most


def test_without_an_engine_time_is_told_for_psched_alone() -> None:
    dut = LawEvents(NicConfig(qps=QPS, sets=2))
    seen: list[tuple[int, int, int]] = []

    async def main(ctx: Any) -> None:
        ctx.set(dut.score_ticks, T)
        await configure(ctx, dut, 1, _PROGRAM)
        ctx.set(dut.command.config.psched, 1)
        await configure(ctx, dut, 2, Algorithm.PID)
        seen.extend(await watch(ctx, dut, T - 100))

    run(dut, main)
    assert [kind for _, kind, _ in seen] == [EventKind.SWEEP] * 4
    sweeps = [cycle for cycle, *_ in seen]
    assert {later - sooner for sooner, later in pairwise(sweeps)} == {T // 4 + QPS}


def test_no_memory_may_give_anything_where_it_is_written() -> None:
    """The time of a loss is read while another one of its queue pair may be written."""
    assert "no_rw_check" not in rtlil.convert(LawEvents(CONFIG))


@pytest.mark.parametrize(("gap", "halt"), [(0, 8), (7, 8), (15, 40)])
def test_a_clear_forgets_while_others_leave_the_queue(gap: int, halt: int) -> None:
    """Those that were cleared leave it one in each cycle, once the law takes what was offered."""
    qps = 64
    dut = LawEvents(NicConfig(qps=qps, sets=2, law_cores=1))
    late: list[int] = []

    async def main(ctx: Any) -> None:
        cycle, taken, cleared = 0, 0, dict[int, int]()

        async def step() -> None:
            nonlocal cycle, taken
            ctx.set(dut.now, cycle)
            ready = len(cleared) >= halt and cycle % 32 == 0
            ctx.set(dut.o.ready, ready)
            if ready and ctx.get(dut.o.valid):
                qp, t = ctx.get(dut.o.payload.qp), ctx.get(dut.o.payload.t)
                taken += 1
                if t > cleared.get(qp, cycle) + 3:
                    late.append(qp)
            await ctx.tick()
            cycle += 1

        for qp in range(qps):
            await configure(ctx, dut, qp, _PROGRAM)
        for qp in range(qps):
            ctx.set(dut.heard, 1)
            ctx.set(dut.heard_slot, qp)
            await step()
        ctx.set(dut.heard, 0)
        for qp in range(qps):
            for _ in range(gap):
                await step()
            cleared[qp] = cycle
            ctx.set(dut.command.qp, qp)
            ctx.set(dut.command_stb, 1)
            await step()
            ctx.set(dut.command_stb, 0)
        for _ in range(20 * qps):
            await step()
        assert taken

    run(dut, main)
    assert not late
