"""Predicted scores for packets, in pysim: the golden model replays the order of the events."""

import random
import re
from collections import deque
from dataclasses import replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.export import block_verilog
from precog_hw.predict.carried import CarriedScores
from precog_models.predict.carried import CarriedScores as Golden
from precog_spec.carried import CARRIED_EVENT, CarriedKind
from precog_spec.config import PRESETS
from precog_spec.contract import NO_SCORE, CarriedScore

QPS, SETS = 8, 4
CONFIG = replace(
    PRESETS["tiny"], qps=QPS, sets=SETS, width=64, profile=True, forecast=True, port=True
)
PORT = 5  # the queue pair whose queue is the port's
CYCLES = 1500
ISSUE = 3  # cycles from an event to its effect
LATEST = 100  # the same in the relaxed form, which works on an event for two cycles
SEEN = 3  # a configuration that is written in the cycle of an event counts for it
TOP = (1 << 40) - 1
BEGIN = TOP - 700  # ticks
#: `own`, `queue` and `source` of all queue pairs, and the enables of model slots.
_State = tuple[list[tuple[int, int, int]], list[tuple[int, int]], list[int], int]


class _Order:
    """Stimuli for all ports, and the golden model, which replays the events in their order."""

    def __init__(self, seed: int, age: int, *, relaxed: bool) -> None:
        self.rng, self.relaxed = random.Random(seed), relaxed
        self.dut, self.golden = CarriedScores(replace(CONFIG, relaxed=relaxed)), Golden(QPS)
        self.latest = LATEST if relaxed else ISSUE
        self.t = 0  # of the last event, in ticks since the first cycle
        self.age = self.golden.age = age
        self.golden.port = PORT
        self.shown: set[int] = set()
        self.made: deque[tuple[int, dict[str, int]]] = deque()
        self.ones = 0  # scores made in a row
        self.begins: dict[int, list[int]] = {}  # queue pair: cycles of its clears and new rows
        self.puts: deque[tuple[int, int, int]] = deque()
        self.states: list[_State] = []
        self.own, self.queue, self.source = [(0, 0, 0)] * QPS, [(0, 0)] * QPS, [0] * QPS
        self.visited = dict.fromkeys(range(QPS), 0)
        self.seen = dict.fromkeys(CarriedKind, 0)
        self.expired = 0

    def host(self, ctx: Any, cycle: int) -> None:
        """Commands and rows, each in a part of the cycles; what they write shows a cycle later."""
        rng = self.rng
        qp, apply, clear = rng.randrange(QPS), rng.random() < 0.5, rng.random() < 0.3
        stb = cycle % 8 == 0
        enable, names, slot = rng.random() < 0.9, rng.random() < 0.8, rng.randrange(SETS + 1)
        config = {"enable": enable, "model_enable": names, "model_slot": slot}
        payload = {"qp": qp, "apply": apply, "clear": clear, "config": config}
        ctx.set(self.dut.command_stb, stb)
        ctx.set(self.dut.command, payload)
        if stb and apply:
            self.own[qp] = (int(enable), int(names and slot < SETS), slot)
        if stb and clear:
            self.begins.setdefault(qp, []).append(cycle)
        qp, stb, names = rng.randrange(QPS), rng.random() < 0.1, rng.random() < 0.8
        slot = rng.randrange(SETS)
        ctx.set(self.dut.config_stb, stb)
        ctx.set(self.dut.config_qp, qp)
        ctx.set(self.dut.config, {"queue_enable": names, "queue_slot": slot})
        if stb:
            self.queue[qp] = (int(names), slot)
        qp, stb, one = rng.randrange(QPS), cycle % 12 == 5, rng.choice(list(CarriedScore))
        ctx.set(self.dut.row_stb, stb)
        ctx.set(self.dut.row_slot, qp)
        ctx.set(self.dut.row_source, one)
        if stb:
            self.source[qp] = int(one)
            self.begins.setdefault(qp, []).append(cycle)

    def make(self, ctx: Any, cycle: int, now: int) -> None:
        """Scores, many at once now and then, but no more than two in a row."""
        rng = self.rng
        busy = 0.9 if cycle % 500 < 60 else 0.1
        stb = rng.random() < busy and self.ones < 2
        self.ones = (self.ones + 1) * stb
        qp, rtt, score = (
            rng.choice((PORT, rng.randrange(QPS))),
            rng.randrange(2),
            rng.randrange(102),
        )
        ctx.set(self.dut.made, stb)
        ctx.set(self.dut.made_qp, qp)
        ctx.set(self.dut.made_rtt, rtt)
        ctx.set(self.dut.made_score, score)
        if stb:
            kind = CarriedKind.RTT if rtt else CarriedKind.QUEUE
            wanted = {"kind": int(kind), "qp": qp, "t": now, "score": score}
            self.made.append((cycle, wanted))

    def check(self, ctx: Any, cycle: int) -> None:
        """An event is the one that is due, and does what the golden model does."""
        event = {name: ctx.get(self.dut.commit.event[name]) for name, _ in CARRIED_EVENT}
        kind, qp = CarriedKind(event["kind"]), event["qp"]
        self.seen[kind] += 1
        if self.relaxed:
            before, self.t = self.t, (event["t"] - BEGIN) & TOP
            assert before < self.t  # in the order in which they came
        scored = kind in (CarriedKind.QUEUE, CarriedKind.RTT)
        if self.made and (scored if self.relaxed else self.made[0][0] == cycle - ISSUE):
            assert ISSUE <= cycle - self.made[0][0] <= self.latest
            assert {name: event[name] for name in self.made[0][1]} == self.made.popleft()[1]
        elif kind is CarriedKind.FORGET:
            late = cycle - self.begins[qp].pop(0)
            # Scores are made before it, and another that begins anew.
            assert ISSUE < late < self.latest + 8
        else:
            assert kind is CarriedKind.VISIT
            assert cycle - self.visited[qp] < 8 * QPS * CarriedScores.VISIT_CYCLES + self.latest
            self.visited[qp] = cycle
        own, queue, source, _ = self.states[cycle - (1 if self.relaxed else SEEN)]
        (enable, names, slot), (asks, queue_slot) = own[qp], queue[qp]
        assert event["source"] == source[qp]
        enables = self.states[cycle - (not self.relaxed)][3]
        assert event["rtt_live"] == (enable and names and enables >> slot & 1)
        assert event["queue_live"] == (enable and asks and enables >> queue_slot & 1)
        done = self.golden.happen(
            kind,
            qp,
            event["t"],
            score=event["score"],
            source=event["source"],
            queue_live=bool(event["queue_live"]),
            rtt_live=bool(event["rtt_live"]),
        )
        result = ctx.get(self.dut.commit.result)
        assert (result.put, result.expired) == (done.put, done.expired)
        score = 0 if done.score == NO_SCORE else done.score + 1
        assert result.score == score
        events = ctx.get(self.dut.events)
        assert (events.carried, events.expired) == (done.put and score != 0, done.expired)
        self.expired += done.expired
        if source[qp] == CarriedScore.PORT and kind is CarriedKind.VISIT:
            self.shown.add(score)
        if done.put:
            self.puts.append((cycle + 1, qp, score))

    def check_put(self, ctx: Any, cycle: int) -> None:
        """A score that packets shall carry leaves a cycle after its event."""
        put = bool(self.puts) and self.puts[0][0] == cycle
        assert ctx.get(self.dut.put_stb) == put
        if put:
            got = (ctx.get(self.dut.put_slot), ctx.get(self.dut.put_score))
            assert got == self.puts.popleft()[1:]

    async def bench(self, ctx: Any) -> None:
        """All ports in every cycle."""
        now = BEGIN
        ctx.set(self.dut.age, self.age)
        ctx.set(self.dut.port_named, 1)
        ctx.set(self.dut.port_slot, PORT)
        enables = 0
        for cycle in range(CYCLES):
            now = (now + self.rng.choice([1, 1, 9])) & TOP
            ctx.set(self.dut.now, now)
            if self.rng.random() < 0.02:
                enables = self.rng.getrandbits(SETS) | self.rng.getrandbits(SETS)
            ctx.set(self.dut.slot_enables, enables)
            self.host(ctx, cycle)
            self.states.append((list(self.own), list(self.queue), list(self.source), enables))
            self.make(ctx, cycle, now)
            if ctx.get(self.dut.commit_stb):
                self.check(ctx, cycle)
            else:
                assert not self.made or self.made[0][0] > cycle - self.latest
                assert ctx.get(self.dut.events.as_value()) == 0
            self.check_put(ctx, cycle)
            await ctx.tick()


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("age", [0, 60])
def test_golden_replays_the_order(age: int, relaxed: bool, seed: int) -> None:
    """Scores take effect after three cycles, those that begin anew soon, visits in turn."""
    order = _Order(seed, age, relaxed=relaxed)
    sim = Simulator(order.dut)
    sim.add_clock(1e-8)
    sim.add_testbench(order.bench)
    sim.run()
    assert min(order.seen.values()) > 10
    assert order.expired > 0
    assert order.shown - {0}


def test_every_bit_is_driven_in_a_simulator_of_events() -> None:
    """`always @*` that reads nothing never runs there: a constant would stay unknown."""
    plain = replace(CONFIG, port=False)
    text = "".join(block_verilog(CarriedScores(one), name="carried") for one in (CONFIG, plain))
    assert not re.search(r"always @\*\n\s+\S+( \[.*\])? = \d+'h\w+;", text)
