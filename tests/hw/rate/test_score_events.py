"""Scores become events: of each queue pair the last one, between the laws' events, none lost."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.rate.score_events import ScoreEvents
from precog_spec.config import NicConfig
from precog_spec.contract import PROGRAM_ALGORITHM
from precog_spec.law_fields import (
    LEVEL_ALONE,
    NO_SCORE,
    SCORE_BITS,
    SENDERS_AT,
    EventKind,
    ScoreCommand,
)

QPS = 8
LISTENING = {0, 3, 5}


async def configure(
    ctx: Any, dut: ScoreEvents, qp: int, *, clear: bool, apply: bool = True
) -> None:
    ctx.set(dut.command.qp, qp)
    ctx.set(dut.command.apply, apply)
    ctx.set(dut.command.clear, clear)
    ctx.set(dut.command.config.enable, 1)
    ctx.set(dut.command.config.psched, qp in LISTENING)
    ctx.set(dut.command_stb, 1)
    await ctx.tick()
    ctx.set(dut.command_stb, 0)


async def answered(ctx: Any, dut: ScoreEvents) -> list[tuple[int, int]]:
    """Queue pairs and values of the events that leave within 40 cycles."""
    told = []
    ctx.set(dut.o.ready, 1)
    for _ in range(40):
        if ctx.get(dut.o.valid):
            told.append((ctx.get(dut.o.payload.qp), ctx.get(dut.o.payload.value)))
        await ctx.tick()
    return told


async def offered(ctx: Any, dut: ScoreEvents, scores: dict[int, int]) -> None:
    """Scores of queue pairs: the first is offered, the others wait."""
    for qp, score in scores.items():
        ctx.set(dut.heard, 1)
        ctx.set(dut.heard_slot, qp)
        ctx.set(dut.heard_score, score)
        await ctx.tick()
    ctx.set(dut.heard, 0)
    await ctx.tick().repeat(20)


def run(dut: ScoreEvents, *benches: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("patience", [0.05, 0.5, 1.0])
def test_the_last_score_comes_and_no_event_is_lost(patience: float, seed: int) -> None:
    dut, rng = ScoreEvents(NicConfig(qps=QPS, sets=2)), random.Random(seed)
    last: dict[int, int] = {}
    told: dict[int, int] = {}
    given: list[tuple[int, ...]] = []
    passed: list[tuple[int, ...]] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        for qp in range(QPS):
            await configure(ctx, dut, qp, clear=True)
        offered: tuple[int, ...] | None = None
        for cycle in range(3000):
            active = cycle < 1500
            if offered is None and active and rng.random() < 0.3:
                offered = (rng.randrange(1, 5), rng.randrange(QPS), cycle, rng.getrandbits(32))
            ctx.set(dut.now, cycle)
            ctx.set(dut.i.valid, offered is not None)
            if offered is not None:
                fields = zip(("kind", "qp", "t", "value"), offered, strict=True)
                ctx.set(dut.i.payload, dict(fields))
            hears, qp, score = active and rng.random() < 0.3, rng.randrange(QPS), rng.randrange(101)
            ctx.set(dut.heard, hears)
            ctx.set(dut.heard_slot, qp)
            ctx.set(dut.heard_score, score)
            if hears and qp in LISTENING:
                last[qp] = score
            ctx.set(dut.o.ready, not active or rng.random() < patience)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                out = dut.o.payload
                event = tuple(ctx.get(out[name]) for name in ("kind", "qp", "t", "value"))
                if event[0] == EventKind.SCORE:
                    assert event[1] in LISTENING
                    assert event[2] < cycle
                    told[event[1]] = event[3]
                else:
                    passed.append(event)
            if offered is not None and ctx.get(dut.i.ready):
                given.append(offered)
                offered = None
            await ctx.tick()
        assert not ctx.get(dut.o.valid)

    run(dut, main)
    assert passed == given
    assert len(given) > 20
    assert told == last
    assert set(told) == LISTENING


def test_a_clear_takes_a_score_back() -> None:
    """Also when another queue pair's score comes in that cycle."""
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2))
    seen: list[tuple[int, int]] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        for qp in range(QPS):
            await configure(ctx, dut, qp, clear=False)
        await offered(ctx, dut, {0: 80, 3: 83, 5: 85})
        ctx.set(dut.heard, 1)
        await configure(ctx, dut, 3, clear=True, apply=False)
        await ctx.tick()
        ctx.set(dut.heard, 0)
        await ctx.tick().repeat(5)
        seen.extend(await answered(ctx, dut))

    run(dut, main)
    assert seen == [(0, 80), (3, NO_SCORE), (5, 85)]


def test_a_score_after_a_clear_counts() -> None:
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2))
    seen: list[tuple[int, int]] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        for qp in range(QPS):
            await configure(ctx, dut, qp, clear=False)
        await configure(ctx, dut, 3, clear=True, apply=False)
        ctx.set(dut.heard, 1)
        ctx.set(dut.heard_slot, 3)
        ctx.set(dut.heard_score, 33)
        await ctx.tick()
        ctx.set(dut.heard, 0)
        seen.extend(await answered(ctx, dut))

    run(dut, main)
    assert seen == [(3, 33)]


def test_programs_hear_scores() -> None:
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2, law_cores=1))
    seen: list[int] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        ctx.set(dut.o.ready, 1)
        for qp, algorithm in ((6, PROGRAM_ALGORITHM), (7, PROGRAM_ALGORITHM - 1)):
            ctx.set(dut.command.config.algorithm, algorithm)
            await configure(ctx, dut, qp, clear=False)
        ctx.set(dut.heard, 1)
        for cycle in range(40):
            ctx.set(dut.heard_slot, 6 + cycle % 2)
            if ctx.get(dut.o.valid):
                seen.append(ctx.get(dut.o.payload.qp))
            await ctx.tick()

    run(dut, main)
    assert set(seen) == {6}


def test_scores_and_events_take_turns() -> None:
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2))
    kinds: list[int] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        for qp in range(QPS):
            await configure(ctx, dut, qp, clear=True)
        ctx.set(dut.heard, 1)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload.kind, EventKind.CNP)
        ctx.set(dut.o.ready, 1)
        for cycle in range(120):
            ctx.set(dut.heard_slot, sorted(LISTENING)[cycle % 3])
            if ctx.get(dut.o.valid):
                kinds.append(ctx.get(dut.o.payload.kind))
            await ctx.tick()

    run(dut, main)
    assert kinds.count(EventKind.SCORE) > 20  # one in 4 cycles at most
    assert kinds.count(EventKind.CNP) > 60


@pytest.mark.parametrize("score", [77 | ScoreCommand.REDUCE << SCORE_BITS, NO_SCORE])
def test_a_level_takes_no_score_back(score: int) -> None:
    """A level that is new joins the score that waits; with none that waits it comes alone."""
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2, law_cores=1, width=64, senders=True))
    seen: list[int] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        ctx.set(dut.command.config.algorithm, PROGRAM_ALGORITHM)
        await configure(ctx, dut, 6, clear=False)
        ctx.set(dut.heard_slot, 6)
        ctx.set(dut.heard_score, score)
        for heard, level in ((1, 2), (0, 3), (0, 4)):
            ctx.set(dut.heard, heard)
            ctx.set(dut.news, not heard)
            ctx.set(dut.level, level)
            await ctx.tick()
        ctx.set(dut.news, 0)
        await ctx.tick().repeat(20)
        ctx.set(dut.o.ready, 1)
        for cycle in range(60):
            ctx.set(dut.news, cycle == 30)
            if ctx.get(dut.o.valid):
                seen.append(ctx.get(dut.o.payload.value))
            await ctx.tick()

    run(dut, main)
    assert seen == [score | 4 << SENDERS_AT, LEVEL_ALONE | 4 << SENDERS_AT]


@pytest.mark.parametrize("busy", [0, 3])
def test_a_level_behind_a_clear_brings_no_score_back(busy: int) -> None:
    """Also where scores of another queue pair hold the clear up."""
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2, law_cores=1, width=64, senders=True))
    seen: list[tuple[int, int]] = []

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        ctx.set(dut.command.config.algorithm, PROGRAM_ALGORITHM)
        for qp in (5, 6):
            await configure(ctx, dut, qp, clear=False)
        await offered(ctx, dut, {5: 75, 6: 76})
        await configure(ctx, dut, 6, clear=True, apply=False)
        ctx.set(dut.heard, 1)
        ctx.set(dut.heard_slot, 5)
        for _ in range(busy):
            await ctx.tick()
        ctx.set(dut.heard, 0)
        ctx.set(dut.news, 1)
        ctx.set(dut.heard_slot, 6)
        ctx.set(dut.level, 4)
        await ctx.tick()
        ctx.set(dut.news, 0)
        await ctx.tick().repeat(20)
        seen.extend(await answered(ctx, dut))

    run(dut, main)
    assert [value for qp, value in seen if qp == 6] == [LEVEL_ALONE | 4 << SENDERS_AT]


def test_behind_events_a_score_bears_the_level_that_was_heard_last(seed: int) -> None:
    """Each queue pair's own, and none after a clear, whatever else is under way."""
    dut = ScoreEvents(NicConfig(qps=QPS, sets=2, law_cores=1), follows=True)
    rng, heard, seen = random.Random(seed), [0] * QPS, set[int]()

    async def main(ctx: Any) -> None:
        await ctx.tick().repeat(QPS)
        ctx.set(dut.command.config.algorithm, PROGRAM_ALGORITHM)
        for qp in range(QPS):
            await configure(ctx, dut, qp, clear=True)
        cleared_at, offered_at, taken = [-4] * QPS, 0, True
        for cycle in range(4000):
            clears, cleared = cycle % 40 == 0 and rng.random() < 0.5, rng.randrange(QPS)
            ctx.set(dut.command_stb, clears)
            ctx.set(dut.command.apply, 0)
            ctx.set(dut.command.clear, 1)
            ctx.set(dut.command.qp, cleared)
            ctx.set(dut.i.valid, not clears and rng.random() < 0.2)
            qp, level = rng.randrange(QPS), rng.randrange(16)
            kind = rng.choice((EventKind.SCORE, EventKind.CNP))
            value = LEVEL_ALONE | level << SENDERS_AT
            ctx.set(dut.i.payload, {"kind": kind, "qp": qp, "value": value})
            ctx.set(dut.heard, rng.random() < 0.1)
            ctx.set(dut.heard_slot, rng.randrange(QPS))
            ctx.set(dut.heard_score, rng.randrange(101))
            ctx.set(dut.o.ready, rng.random() < 0.7)
            if taken:
                offered_at = cycle
            taken = not ctx.get(dut.o.valid) or bool(ctx.get(dut.o.ready))
            out = dut.o.payload
            if ctx.get(dut.o.valid) and taken and ctx.get(out.kind) == EventKind.SCORE:
                of, value = ctx.get(out.qp), ctx.get(out.value)
                # A clear takes effect some cycles later, and not on what is offered.
                if value % (1 << SENDERS_AT) != LEVEL_ALONE and offered_at > cleared_at[of] + 4:
                    assert value >> SENDERS_AT == heard[of]
                    seen.add(value >> SENDERS_AT)
            if ctx.get(dut.i.valid) and ctx.get(dut.i.ready) and kind == EventKind.SCORE:
                heard[qp] = level
            if clears:
                heard[cleared], cleared_at[cleared] = 0, cycle
            await ctx.tick()

    run(dut, main)
    assert len(seen) > 8
