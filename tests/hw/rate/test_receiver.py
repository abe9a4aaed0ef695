"""The receiver: gateware = golden model in the order of its commits; outputs lose nothing."""

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from precog_hw.rate.receiver import BandwidthMeter, Receiver
from precog_hw.rate.receiver_layouts import COMMIT
from precog_models.rate.receiver import BandwidthMeter as GoldenMeter
from precog_models.rate.receiver import Receiver as GoldenReceiver
from precog_spec.config import NicConfig
from precog_spec.law_fields import NO_SCORE
from precog_spec.receiver_fields import (
    RECEIVER_CONFIG,
    RECEIVER_EVENT,
    RECEIVER_RESULT,
    Act,
    ReceiverKind,
)

from ..packet.bench import run

LATENCY = 17  # from a score to `score_stb`
PARAMETERS = {
    **{"high": 75, "low": 25, "hysteresis": 5, "ticks": 400},
    **{"rate": 1, "priority": 1, "quota": 1, "boost": 2, "shift": 1, "limit": 100},
}
CONFIG = {"commands": 1, "boosts": 1, "grows": 1, "base_quota": 64}


class Bench:
    """A receiver, the golden model behind its commits, and what came out of its streams."""

    def __init__(self, seed: int, qps: int = 4, *, relaxed: bool = False) -> None:
        self.rng = random.Random(seed)
        self.qps = qps
        self.dut = Receiver(NicConfig(qps=qps, sets=2, relaxed=relaxed))
        self.golden = GoldenReceiver(qps)
        self.now = self.rng.getrandbits(40)
        self.parameters = PARAMETERS.copy()
        self.config: list[dict[str, int]] = [CONFIG] * qps
        self.heard: dict[int, list[int]] = {}  # scores since the one that took effect last
        self.last: dict[int, int] = {}
        self.taken: dict[int, int] = {}
        self.acts = 0
        self.events = [0, 0, 0]
        self.told: list[dict[int, int]] = [{}, {}]  # last words of boosts and quotas
        self.shown: list[dict[int, int]] = [{}, {}]  # as they came out
        self.patience = 1.0
        self.available = 0

    def set(self, ctx: Any, **parameters: int) -> None:
        """Between events: they hold the parameters for some cycles."""
        self.parameters |= parameters
        for name, value in self.parameters.items():
            ctx.set(self.dut.parameters[name], value)

    async def tick(self, ctx: Any) -> dict[str, int] | None:
        """A cycle; the result of the event that took effect in it."""
        dut, result = self.dut, None
        ctx.set(dut.now, self.now)
        ctx.set(dut.available, self.available)
        ports = (dut.o_boost, dut.o_quota)
        for port in ports:
            ctx.set(port.ready, self.rng.random() < self.patience)
        if ctx.get(dut.commit_stb):
            result = self.follow(ctx)
        for n, (port, name) in enumerate(zip(ports, ("boost", "quota"), strict=True)):
            if ctx.get(port.valid) and ctx.get(port.ready):
                self.shown[n][ctx.get(port.payload.qp)] = ctx.get(port.payload[name])
        await ctx.tick()
        self.now = (self.now + 1) % (1 << 40)
        return result

    def follow(self, ctx: Any) -> dict[str, int]:
        bits = ctx.get(self.dut.commit.as_value())
        made = {
            part: {
                name: bits >> COMMIT[part].offset + COMMIT[part].shape[name].offset & (1 << n) - 1
                for name, n in fields
            }
            for part, fields in (("event", RECEIVER_EVENT), ("result", RECEIVER_RESULT))
        }
        event, golden = made["event"], self.golden
        kind, qp = event["kind"], event["qp"]
        golden.parameters = self.parameters.copy()
        if kind == ReceiverKind.CONFIGURE:
            expected = golden.configure(qp, self.config[qp], event["t"])
        else:
            if kind == ReceiverKind.SCORE:
                waited, self.taken[qp] = self.heard[qp], event["score"]
                del waited[: waited.index(event["score"]) + 1]
            del event["kind"]
            expected = golden.happen(kind, **event)
        assert made["result"] == expected, (kind, event)
        dut, acts = self.dut, expected["acts"]
        assert ctx.get(dut.score_stb) == bool(acts & Act.COMMAND)
        if acts & Act.COMMAND:
            assert ctx.get(dut.score.qp) == qp
            assert ctx.get(dut.score.value) == expected["score"] | expected["command"] << 8
        for n, (act, name) in enumerate(((Act.BOOST, "boost"), (Act.QUOTA, "quota"))):
            if acts & act:
                self.told[n][qp] = expected[name]
        self.acts |= acts
        self.events[kind] += 1
        return expected

    async def configure(self, ctx: Any, qp: int, *, clear: bool = False, **values: int) -> None:
        """Until it has taken effect."""
        self.config[qp] = self.config[qp] | values
        payload = {"qp": qp, "clear": clear, "config": self.config[qp]}
        ctx.set(self.dut.i_config.payload, payload)
        ctx.set(self.dut.i_config.valid, 1)
        while not ctx.get(self.dut.i_config.ready):
            await self.tick(ctx)
        await self.tick(ctx)
        ctx.set(self.dut.i_config.valid, 0)

    async def begin(self, ctx: Any) -> None:
        """As after a reset."""
        self.set(ctx)
        for qp in range(self.qps):
            await self.configure(ctx, qp, clear=True)

    async def score(self, ctx: Any, qp: int, score: int) -> dict[str, int] | None:
        """Heard in one cycle."""
        dut = self.dut
        ctx.set(dut.heard, 1)
        ctx.set(dut.heard_slot, qp)
        ctx.set(dut.heard_score, score)
        self.heard.setdefault(qp, []).append(score)
        self.last[qp] = score
        result = await self.tick(ctx)
        ctx.set(dut.heard, 0)
        return result

    async def settle(self, ctx: Any) -> None:
        """Until every queue pair has been visited, and all that was told is out."""
        self.patience = 1.0
        for _ in range(30 * self.qps + 100):
            await self.tick(ctx)
        assert self.taken == self.last  # of every queue pair the last one counted
        assert self.shown == self.told


@pytest.mark.parametrize(
    ("qps", "patience", "relaxed"),
    [(2, 1.0, False), (4, 0.02, False), (4, 0.02, True), (8, 0.3, False)],
)
def test_exact_in_the_order_of_commits(
    seed: int, volume: int, qps: int, patience: float, relaxed: bool
) -> None:
    """Scores that oscillate round the thresholds, collisions, ages, all registers changing."""
    bench = Bench(seed, qps, relaxed=relaxed)
    rng = bench.rng

    async def play(ctx: Any) -> None:
        await bench.begin(ctx)
        for piece in range(8 * volume):
            bench.patience = patience
            parameters = {
                "hysteresis": rng.choice([0, 5, 5, rng.getrandbits(7)]),
                "high": rng.choice([75, 75, rng.getrandbits(7)]),
                "low": rng.choice([25, 25, rng.getrandbits(7)]),
                "ticks": rng.choice([0, 100, 400]),
                "boost": rng.getrandbits(3),
                "shift": rng.choice([0, 1, 2, rng.getrandbits(4)]),
                "limit": rng.choice([0, 64, 150, 65535, rng.getrandbits(16)]),
                **{name: rng.random() < 0.8 for name in ("rate", "priority", "quota")},
            }
            bench.set(ctx, **{name: int(value) for name, value in parameters.items()})
            busy, level = rng.choice([0.02, 0.2, 1.0]), rng.choice([25, 75, 50])
            some = rng.choice([[rng.randrange(qps)], list(range(qps))])
            for _ in range(150):
                bench.available = int(rng.random() < 0.5)
                if rng.random() < busy:
                    near = min(max(level + rng.randint(-8, 8), 0), 100)
                    score = rng.choice([near, near, near, rng.getrandbits(8)])
                    await bench.score(ctx, rng.choice(some), score)
                else:
                    await bench.tick(ctx)
            if piece % 3 == 0:
                values = {name: rng.getrandbits(bits) for name, bits in RECEIVER_CONFIG}
                values["base_quota"] = rng.choice([0, 1, 64, values["base_quota"]])
                await bench.configure(ctx, rng.randrange(qps), **values)
            # What is being worked on sees one set of registers.
            for _ in range(11 * qps):
                await bench.tick(ctx)
            while await bench.tick(ctx) is None:
                pass
        await bench.settle(ctx)

    run(bench.dut, play, cycles=4000 * volume + 1000)
    assert min(bench.events) > 0
    assert bench.acts & (Act.BAND | Act.COMMAND) == Act.BAND | Act.COMMAND


def test_a_band_raises_and_restores_exactly() -> None:
    """Priority and quota rise while a score is high, and are what they were when it has aged."""
    bench = Bench(1)

    async def play(ctx: Any) -> None:
        await bench.begin(ctx)
        await bench.settle(ctx)
        assert bench.shown == [{}, dict.fromkeys(range(4), 64)]
        await bench.score(ctx, 2, 80)
        for _ in range(60):
            await bench.tick(ctx)
        assert bench.shown == [{2: 2}, {0: 64, 1: 64, 2: 128, 3: 64}]
        for _ in range(600):
            await bench.tick(ctx)
        assert bench.shown == [{2: 0}, dict.fromkeys(range(4), 64)]

    run(bench.dut, play, cycles=2000)
    assert bench.acts & Act.AGED


def test_scores_of_some_keep_no_visit_of_others_out() -> None:
    """Peers of three queue pairs send scores faster than they are worked on; the fourth's ages."""
    bench = Bench(1)

    async def play(ctx: Any) -> None:
        await bench.begin(ctx)
        await bench.score(ctx, 2, 100)
        for n in range(800):
            if n % 5:
                await bench.tick(ctx)
            else:
                await bench.score(ctx, (0, 1, 3)[n // 5 % 3], 50)
        assert bench.shown[0] == {2: 0}

    run(bench.dut, play, cycles=1000)


def test_latency() -> None:
    bench = Bench(1)

    async def play(ctx: Any) -> None:
        bench.parameters["ticks"] = 0
        await bench.begin(ctx)
        await bench.settle(ctx)
        while await bench.tick(ctx) is None:  # a visit's end
            pass
        for _ in range(14):  # nearly the next one's, so that the score comes between two
            await bench.tick(ctx)
        await bench.score(ctx, 1, 30)
        for cycle in range(1, 40):
            if ctx.get(bench.dut.score_stb):
                assert cycle == LATENCY
                assert ctx.get(bench.dut.score.value) == 30 | 1 << 8
                return
            await bench.tick(ctx)
        raise AssertionError("a score must come out")

    run(bench.dut, play, cycles=400)


def test_a_reset_leaves_nothing_behind(seed: int) -> None:
    """Memories keep their words over a reset: nothing of before is given back or told."""
    bench = Bench(seed)
    reset = Signal()
    dut = ResetInserter(reset)(bench.dut)

    async def play(ctx: Any) -> None:
        await bench.begin(ctx)
        for qp in range(4):
            await bench.score(ctx, qp, 90)
        for _ in range(60):
            await bench.tick(ctx)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        bench.golden = GoldenReceiver(4)
        bench.told, bench.shown, bench.last, bench.taken = [{}, {}], [{}, {}], {}, {}
        await bench.begin(ctx)
        for qp in range(4):
            await bench.score(ctx, qp, 90 if qp == 3 else NO_SCORE)
        for _ in range(700):
            await bench.tick(ctx)
        await bench.settle(ctx)
        assert bench.acts & Act.AGED
        assert bench.golden.used[0] == 0

    run(dut, play, cycles=3000)


def test_bandwidth_meter(seed: int) -> None:
    rng, dut, golden = random.Random(seed), BandwidthMeter(), GoldenMeter()

    async def play(ctx: Any) -> None:
        for cycle in range(3000):
            if cycle % 300 == 0:
                golden.ticks = rng.choice([0, 1, 7, 50, rng.getrandbits(9)])
                golden.budget = rng.choice([0, 4000 * golden.ticks // 10, (1 << 32) - 1])
                ctx.set(dut.ticks, golden.ticks)
                ctx.set(dut.budget, golden.budget)
            sent, size = rng.random() < 0.2, rng.choice([64, 4096, 65535])
            ctx.set(dut.sent, sent)
            ctx.set(dut.size, size)
            golden.tick(size if sent else 0)
            await ctx.tick()
            assert ctx.get(dut.available) == golden.available

    run(dut, play, cycles=3100)
