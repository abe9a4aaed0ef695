"""Predicted scores for packets, in pysim: the golden model replays the order of the events."""

import random
from collections import deque
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.predict.carried import CarriedScores
from precog_models.predict.carried import CarriedScores as Golden
from precog_spec.carried import CARRIED_EVENT, CarriedKind
from precog_spec.config import PRESETS
from precog_spec.contract import NO_SCORE, CarriedScore

QPS, SETS = 8, 4
CONFIG = replace(PRESETS["tiny"], qps=QPS, sets=SETS, width=64, forecast=True)
CYCLES = 1500
ISSUE = 3  # cycles from an event to its effect
SEEN = 3  # a configuration that is written in the cycle of an event counts for it
TOP = (1 << 40) - 1


@pytest.mark.parametrize("age", [0, 60])
def test_golden_replays_the_order(age: int, seed: int) -> None:
    """Scores take effect after three cycles, those that begin anew soon, visits in turn."""
    rng = random.Random(seed)
    dut, golden = CarriedScores(CONFIG), Golden(QPS)
    golden.age = age
    made: deque[tuple[int, dict[str, int]]] = deque()
    begins: dict[int, list[int]] = {}  # queue pair: cycles in which it was cleared or rewritten
    puts: deque[tuple[int, int, int]] = deque()
    states: list[tuple[list[tuple[int, int, int]], list[tuple[int, int]], list[int], int]] = []
    own, queue, source = [(0, 0, 0)] * QPS, [(0, 0)] * QPS, [0] * QPS
    visited = dict.fromkeys(range(QPS), 0)
    seen = dict.fromkeys(CarriedKind, 0)
    expired = 0

    def host(ctx: Any, cycle: int) -> None:
        """Commands and rows, each in a part of the cycles; what they write shows a cycle later."""
        qp, apply, clear = rng.randrange(QPS), rng.random() < 0.5, rng.random() < 0.3
        stb = cycle % 8 == 0
        enable, names, slot = rng.random() < 0.9, rng.random() < 0.8, rng.randrange(SETS + 1)
        config = {"enable": enable, "model_enable": names, "model_slot": slot}
        payload = {"qp": qp, "apply": apply, "clear": clear, "config": config}
        ctx.set(dut.command_stb, stb)
        ctx.set(dut.command, payload)
        if stb and apply:
            own[qp] = (int(enable), int(names and slot < SETS), slot)
        if stb and clear:
            begins.setdefault(qp, []).append(cycle)
        qp, stb, names = rng.randrange(QPS), rng.random() < 0.1, rng.random() < 0.8
        slot = rng.randrange(SETS)
        ctx.set(dut.config_stb, stb)
        ctx.set(dut.config_qp, qp)
        ctx.set(dut.config, {"queue_enable": names, "queue_slot": slot})
        if stb:
            queue[qp] = (int(names), slot)
        qp, stb, one = rng.randrange(QPS), cycle % 12 == 5, rng.choice(list(CarriedScore))
        ctx.set(dut.row_stb, stb)
        ctx.set(dut.row_slot, qp)
        ctx.set(dut.row_source, one)
        if stb:
            source[qp] = int(one)
            begins.setdefault(qp, []).append(cycle)

    def check(ctx: Any, cycle: int) -> None:
        nonlocal expired
        event = {name: ctx.get(dut.commit.event[name]) for name, _ in CARRIED_EVENT}
        kind, qp = CarriedKind(event["kind"]), event["qp"]
        seen[kind] += 1
        if made and made[0][0] == cycle - ISSUE:
            assert {name: event[name] for name in made[0][1]} == made.popleft()[1]
        elif kind is CarriedKind.FORGET:
            late = cycle - ISSUE - begins[qp].pop(0)
            assert 0 < late < 8  # scores are made before it, and another that begins anew
        else:
            assert kind is CarriedKind.VISIT
            assert cycle - visited[qp] < 8 * QPS * CarriedScores.VISIT_CYCLES
            visited[qp] = cycle
        (enable, names, slot), (asks, queue_slot) = (states[cycle - SEEN][n][qp] for n in range(2))
        assert event["source"] == states[cycle - SEEN][2][qp]
        enables = states[cycle - 1][3]
        assert event["rtt_live"] == (enable and names and enables >> slot & 1)
        assert event["queue_live"] == (enable and asks and enables >> queue_slot & 1)
        done = golden.happen(
            kind,
            qp,
            event["t"],
            score=event["score"],
            source=event["source"],
            queue_live=bool(event["queue_live"]),
            rtt_live=bool(event["rtt_live"]),
        )
        result = ctx.get(dut.commit.result)
        assert (result.put, result.expired) == (done.put, done.expired)
        score = 0 if done.score == NO_SCORE else done.score + 1
        assert result.score == score
        events = ctx.get(dut.events)
        assert (events.carried, events.expired) == (done.put and score != 0, done.expired)
        expired += done.expired
        if done.put:
            puts.append((cycle + 1, qp, score))

    async def bench(ctx: Any) -> None:
        now = TOP - 700
        ctx.set(dut.age, age)
        enables = ones = 0
        for cycle in range(CYCLES):
            now = (now + rng.choice([1, 1, 9])) & TOP
            ctx.set(dut.now, now)
            if rng.random() < 0.02:
                enables = rng.getrandbits(SETS) | rng.getrandbits(SETS)
            ctx.set(dut.slot_enables, enables)
            host(ctx, cycle)
            states.append((list(own), list(queue), list(source), enables))
            busy = 0.9 if cycle % 500 < 60 else 0.1
            stb = rng.random() < busy and ones < 2  # no more than two in a row
            ones = (ones + 1) * stb
            qp, rtt, score = rng.randrange(QPS), rng.randrange(2), rng.randrange(102)
            ctx.set(dut.made, stb)
            ctx.set(dut.made_qp, qp)
            ctx.set(dut.made_rtt, rtt)
            ctx.set(dut.made_score, score)
            if stb:
                kind = CarriedKind.RTT if rtt else CarriedKind.QUEUE
                wanted = {"kind": int(kind), "qp": qp, "t": now, "score": score}
                made.append((cycle, wanted))
            if ctx.get(dut.commit_stb):
                check(ctx, cycle)
            else:
                assert not made or made[0][0] > cycle - ISSUE
                assert ctx.get(dut.events.as_value()) == 0
            put = bool(puts) and puts[0][0] == cycle
            assert ctx.get(dut.put_stb) == put
            if put:
                assert (ctx.get(dut.put_slot), ctx.get(dut.put_score)) == puts.popleft()[1:]
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert min(seen.values()) > 10
    assert expired > 0
