"""PSCHED in RTL against its golden model: outputs, flags and latency, with and without skill."""

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from precog_hw.rate.psched import Psched
from precog_models.psched_presets import PSCHED_PRESETS
from precog_models.rate.psched import (
    PSCHED_STATE,
    SCORED,
    psched_configure,
    psched_output,
    psched_reset,
    psched_score,
)
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.law_fields import PSCHED_CONFIG

QPS = 2
LATENCY = 20
MBPS = 2097


class Twin:
    """The gateware with a golden row for each queue pair.

    Parameters
    ----------
    rng : random.Random
    cores : int
        Of the law engine; with one, an RTT may be above its threshold, and events of programs say
        whether advice is held.
    parameters : int
        Instead of the preset's, by name.
    """

    def __init__(self, rng: random.Random, cores: int = 0, **parameters: int) -> None:
        self.rng = rng
        self.dut = Psched(NicConfig(qps=QPS, sets=2, law_cores=cores))
        self.cores = cores
        self.parameters = PSCHED_PRESETS["precog"].parameters(1000) | parameters
        self.states = np.zeros((QPS, len(PSCHED_STATE)), dtype=np.int64)
        self.configs = np.zeros((QPS, len(PSCHED_CONFIG)), dtype=np.int64)
        self.flags: list[int] = []

    def run(self, bench: Any) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-8)
        simulator.add_testbench(bench)
        simulator.run()

    async def configure(self, ctx: Any, qp: int) -> None:
        """Reset a queue pair and give it a configuration."""
        dut, rng = self.dut, self.rng
        for name, value in self.parameters.items():
            ctx.set(dut.parameters[f"psched_{name}"], value)
        config = {
            "sla_priority": rng.randrange(8),
            "sla_latency": rng.choice([0, 5000]),
            "min_rate": rng.choice([1000, 50_000]) * MBPS,
            "max_rate": 100_000 * MBPS,
        }
        told = config | {"enable": 1, "psched": 1, "algorithm": 3, "init_rate": 10_000 * MBPS}
        ctx.set(dut.command.payload, {"qp": qp, "apply": 1, "clear": 1, "config": told})
        ctx.set(dut.command.valid, 1)
        await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        self.configs[qp] = list(config.values())
        psched_configure(self.states[qp], True, False, told["init_rate"])
        psched_reset(self.states[qp], told["init_rate"])

    async def decide(self, ctx: Any, qp: int, t: int, **given: int) -> None:
        """One decision through both; `rtt` makes it a sample's, `score` an event's."""
        dut, sample = self.dut, "rtt" in given
        rate = given.get("rate", -1)
        base, rtt = 4100, given.get("rtt", 0)
        srtt = rtt << Fmt.SRTT.frac_bits if sample else 0
        flags = 0 if sample else 1 << Flag.EVENT
        window = self.rng.getrandbits(Fmt.WINDOW.width)
        ctx.set(dut.i.payload, {"qp": qp, "rate": max(rate, 0), "window": window, "flags": flags})
        ctx.set(dut.i.payload.base, base if sample else 0)
        ctx.set(dut.i.payload.srtt, srtt)
        above = int(bool(self.cores) and rate >= 0 and self.rng.random() < 0.4)
        held = int(bool(self.cores) and rate >= 0 and self.rng.random() < 0.05)
        flags |= held << Flag.HELD
        ctx.set(dut.i.payload.flags, flags)
        about = {"t": t, "psched": 1, "sample": sample, "rtt": rtt, "rated": rate >= 0}
        about |= {"above": above}
        score = {"score_stb": "score" in given, "score": given.get("score", 0)}
        ctx.set(dut.about, about | score)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.o.ready, 1)
        waited = 0
        while not ctx.get(dut.o.valid) and waited <= LATENCY:
            assert ctx.get(dut.busy)
            await ctx.tick()
            waited += 1
        out = ctx.get(dut.o.payload)
        found = (out.rate, out.window, out.flags & ~flags)
        assert ctx.get(dut.busy)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        assert waited == LATENCY
        assert not ctx.get(dut.busy)
        state = self.states[qp]
        if "score" in given:
            psched_score(state, given["score"], t)
        expected = psched_output(
            state,
            self.configs[qp],
            np.array(list(self.parameters.values())),
            t,
            rate,
            srtt if sample else -1,
            rtt - base if sample else 0,
            window,
            bool(held),
            bool(above),
        )
        assert found == expected
        self.flags.append(expected[2])


@pytest.mark.parametrize("kind", ["honest", "late", "random", "blind", "forged", "blindly forged"])
@pytest.mark.parametrize("cores", [0, 1])
def test_equals_the_golden_model(kind: str, cores: int, seed: int, volume: int) -> None:
    """150 rounds give every combination of flags that 300 do."""
    rounds = 150 if volume < 2 else 300
    rng = random.Random(seed)
    twin = Twin(rng, cores, delay=rng.choice([1, 2000]), skill=int("blind" not in kind))

    async def main(ctx: Any) -> None:
        congested = [False] * QPS
        for qp in range(QPS):
            await twin.configure(ctx, qp)
        for t in range(rounds):
            qp = t % QPS
            if rng.random() < 0.003:
                await twin.configure(ctx, qp)
            high = rng.random() < 0.05
            rtt = 4100 + rng.randrange(2000, 9000) if congested[qp] else 4100
            if "forged" in kind:
                await twin.decide(ctx, qp, t * 2000 - 100, score=100 * congested[qp])
            await twin.decide(ctx, qp, t * 2000, rtt=rtt, rate=rng.getrandbits(28))
            congested[qp] ^= rng.random() < 0.1
            truth = 100 * congested[qp]
            known = {"honest": truth, "late": 100 * (rtt > 4100), "forged": 100}
            score = known.get(kind.split()[-1], rng.randrange(256))
            if rng.random() < 0.95:
                await twin.decide(ctx, qp, t * 2000 + 500, score=score)
            if rng.random() < (0.1 if kind == "honest" else 0.3):  # two to be judged as one
                await twin.decide(ctx, qp, t * 2000 + 700, score=rng.choice((0, 100, 255)))
            if high:
                await twin.decide(ctx, qp, t * 2000 + 900, rate=rng.getrandbits(32))

    twin.run(main)
    if "blind" in kind:  # of the others nothing is certain for every seed but equality
        assert any(flags & SCORED for flags in twin.flags)
