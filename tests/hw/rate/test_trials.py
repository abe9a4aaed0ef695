"""The trial of advice in RTL against its golden model: arms, verdicts, sums and latency."""

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from precog_hw.rate.trials import AdviceTrial
from precog_models.rate.trials import trial_arm, trial_count
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.trial_fields import (
    COUNT_BITS,
    ROUND_LEAST,
    TRIAL_KINDS,
    TRIAL_PARAMETERS,
    TRIAL_STATE,
    Verdict,
)

LATENCY, VERDICT = 9, 39
QPS = 8


class Twin:
    """The gateware and a golden state."""

    def __init__(self, kind: str, **parameters: int) -> None:
        self.kind = TRIAL_KINDS.index(kind)
        self.dut = AdviceTrial(NicConfig(qps=QPS), kind)
        known = dict.fromkeys((name for name, _ in TRIAL_PARAMETERS), 0) | {f"trial_{kind}": 1}
        self.parameters = known | {f"trial_{name}": value for name, value in parameters.items()}
        self.row = np.array(list(self.parameters.values()))
        self.state = np.zeros(len(TRIAL_STATE), dtype=np.int64)

    def run(self, bench: Any) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-8)
        simulator.add_testbench(bench)
        simulator.run()

    async def decide(
        self, ctx: Any, qp: int, t: int, delay: int, rate: int, *, counts: bool = True
    ) -> bool:
        """One decision through both; whether its advice is held."""
        dut, before = self.dut, self.state[0]
        ctx.set(dut.parameters, self.parameters)
        ctx.set(dut.i.payload, {"qp": qp, "t": t, "delay": delay})
        ctx.set(dut.i.valid, 1)
        await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)
        waited = 1
        while not ctx.get(dut.o.valid) and waited < 100:
            await ctx.tick()
            waited += 1
        arm = trial_arm(self.state, self.row, self.kind, qp, t)
        assert ctx.get(dut.o.payload) == arm & 1
        on = self.row[self.kind]
        assert waited == (LATENCY + VERDICT * (self.state[0] != before) if on else 3)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        ctx.set(dut.o.ready, 0)
        assert not ctx.get(dut.o.valid)
        ctx.set(dut.i_outcome.payload, {"counts": counts, "rate": rate})
        ctx.set(dut.i_outcome.valid, 1)
        await ctx.tick().until(dut.i_outcome.ready)
        ctx.set(dut.i_outcome.valid, 0)
        if counts:
            trial_count(self.state, self.row, t, arm, delay, rate)
        while not ctx.get(dut.idle):
            await ctx.tick()
        assert self.found(ctx) == self.state[1:].tolist()
        return bool(arm & 1)

    def found(self, ctx: Any) -> list[int]:
        """As the golden state from `verdict` on."""
        found = self.dut.found
        arms = (found.follow, found.hold)
        sums = [ctx.get(arm[name]) for arm in arms for name in ("count", "delay", "rate")]
        return [ctx.get(found.verdict), *sums]


@pytest.mark.parametrize("kind", TRIAL_KINDS)
@pytest.mark.parametrize("apart", [0, 1])
def test_equals_the_golden_model(kind: str, apart: int, seed: int) -> None:
    """Sums of every size; following helps, hurts, or makes next to no difference."""
    rng = random.Random(seed)
    verdicts: set[int] = set()

    async def main(ctx: Any) -> None:
        for effect in (0.5, 2.0, 1.0):
            twin.state[:] = 0
            ctx.set(twin.dut.clear, 1)
            await ctx.tick()
            ctx.set(twin.dut.clear, 0)
            t, size = rng.getrandbits(40), rng.randrange(1, 24)
            fast = rng.getrandbits(32)
            for _ in range(400):
                t = (t + rng.randrange(1 << 11)) % (1 << 40)
                delay, rate = rng.randrange(1 << size), rng.randrange(fast + 1)
                # The arm is known only afterwards: half of the draws are of the other state.
                held = trial_arm(twin.state.copy(), twin.row, twin.kind, 0, t) & 1
                delay = min(int(delay * (1 if held else effect)), Fmt.RTT.max)
                qp = rng.randrange(QPS) if apart else 0
                await twin.decide(ctx, qp, t, delay, rate, counts=rng.random() < 0.9)
                verdicts.add(int(twin.state[1]))

    twin = Twin(kind, apart=apart, round=1, margin=rng.randrange(1, 6), least=4, seed=seed)
    twin.run(main)
    assert verdicts == set(Verdict)


def test_full_arms_are_halved_and_greatest_sums_are_exact(seed: int) -> None:
    twin = Twin("rtt", apart=1, least=1, seed=seed, margin=random.Random(seed).randrange(16))

    async def main(ctx: Any) -> None:
        spans = (n << ROUND_LEAST | 1 << (ROUND_LEAST - 1) for n in range(200))
        tested = [t for t in spans if trial_arm(twin.state.copy(), twin.row, 0, 0, t) & 2]
        arms = {int(trial_arm(twin.state.copy(), twin.row, 0, 0, t)) & 1: t for t in tested}
        halved = 0
        # A half of an odd count is less than half of its samples: what is left of theirs is extra.
        for arm, samples in ((0, 1), (1, 1 << COUNT_BITS), (0, 1 << COUNT_BITS)):
            for _ in range(samples):
                before = int(twin.state[2:].sum())
                await twin.decide(ctx, 0, arms[arm], Fmt.RTT.max, Fmt.RATE.max)
                halved += int(twin.state[2:].sum()) < before
        assert halved == 2

    twin.run(main)


def test_what_is_off_holds_nothing_and_counts_nothing(seed: int) -> None:
    twin = Twin("scores", least=1, seed=seed)
    twin.row[:2] = 1, 0
    twin.parameters |= {"trial_rtt": 1, "trial_scores": 0}

    async def main(ctx: Any) -> None:
        for n in range(40):
            t = n << (ROUND_LEAST - 1)
            assert not await twin.decide(ctx, 0, t, 5, 5)
        assert not any(twin.found(ctx))

    twin.run(main)


def test_a_reset_waits_for_the_decision_in_flight(seed: int) -> None:
    twin = Twin("rtt", seed=seed)
    dut = twin.dut

    async def main(ctx: Any) -> None:
        for n in range(40):
            await twin.decide(ctx, 0, (2 * n + 1) << (ROUND_LEAST - 1), 5, 1 << 20)
        assert sum(twin.found(ctx)) > 0
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert ctx.get(dut.clearing)
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i_outcome.valid, 1)
        await ctx.tick().until(dut.idle)
        assert not any(twin.found(ctx))
        assert not ctx.get(dut.clearing)

    twin.run(main)
