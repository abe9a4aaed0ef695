"""A rate unit, its golden model, and random parameters, configurations and samples for both."""

import random
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from precog_hw.rate.unit import RateUnit
from precog_models.rate.unit import QP_CONFIG, RATE_PARAMETERS, RATE_STATE, rate_step
from precog_spec.config import NicConfig
from precog_spec.contract import DECISION_FIELDS, Fmt

MBPS = 2097  # RATE per Mb/s at 1 ns


def random_parameters(rng: random.Random) -> dict[str, int]:
    """Presets and extremes; ends of the clamp that cross as well."""
    gain = lambda value: rng.choice([value, rng.randrange(-32768, 32768)])  # noqa: E731
    return {
        "kp": gain(-2933),
        "ki": gain(-492),
        "kd": gain(rng.choice([328, -328, -32768, 32767])),
        "dmin": rng.choice([-39322, -65536, 65535, 0]),
        "dmax": rng.choice([32768, 65535, -65536]),
        "advice_limit": rng.choice([1 << 14, 0, 65535]),
        "advice_clamp": rng.randrange(2),
        "skill_monitor": rng.randrange(2),
        "advice_hold": rng.choice([0, 0, 0, 1]),
        "advice_deadline": 0,
        "queue_budget": rng.choice([1000 << 8, Fmt.SRTT.max, 0]),
        "rttch_threshold": rng.choice([0, 1, 6, 255]),
        "rttch_margin": rng.choice([200 << 8, 0, Fmt.SRTT.max]),
        "mtu": rng.choice([1000, 65535]),
    }


def random_config(rng: random.Random) -> dict[str, int]:
    """Every option and rates of every size; bounds that cross as well."""

    def rate() -> int:
        usual = rng.choice([1000, 10_000, 100_000]) * MBPS
        return rng.choice([usual, Fmt.RATE.max, 0, rng.getrandbits(32)])

    return {
        "enable": 1,
        "algorithm": rng.choice([0, 1, 2, 2, 3, 4, 7]),
        "target_mode": rng.randrange(2),
        "rttch": rng.randrange(2),
        "win": rng.randrange(2),
        "model_enable": rng.randrange(2),
        "model_slot": rng.getrandbits(8),
        "target": rng.choice([5000 << 8, 0, 1, Fmt.SRTT.max, rng.getrandbits(32)]),
        "min_rate": rng.choice([1000 * MBPS, rate()]),
        "max_rate": rng.choice([100_000 * MBPS, rate()]),
        "init_rate": rate(),
        "psched": rng.randrange(2),
        "sla_priority": rng.randrange(8),
        "sla_latency": rng.getrandbits(24),
    }


class RateBench:
    """Drives one sample at a time.

    Parameters
    ----------
    qps : int
    seed : int
    """

    def __init__(self, qps: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.qps = qps
        self.dut = RateUnit(NicConfig(qps=qps))
        self.states = np.zeros((qps, len(RATE_STATE)), dtype=np.int64)
        self.configs = np.zeros((qps, len(QP_CONFIG)), dtype=np.int64)
        self.parameters = np.zeros(len(RATE_PARAMETERS), dtype=np.int64)

    def run(self, *benches: Any) -> None:
        sim = Simulator(self.dut)
        sim.add_clock(1e-8)
        for bench in benches:
            sim.add_testbench(bench)
        sim.run()

    def set_parameters(self, ctx: Any, values: dict[str, int]) -> None:
        ctx.set(self.dut.parameters, values)
        self.parameters[:] = [values[name] for name in RATE_PARAMETERS]

    async def command(
        self, ctx: Any, qp: int, config: dict[str, int] | None, *, clear: bool
    ) -> None:
        dut, payload = self.dut, {"qp": qp, "apply": config is not None, "clear": clear}
        ctx.set(dut.command.payload, payload | ({"config": config} if config else {}))
        ctx.set(dut.command.valid, 1)
        await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        if config is not None:
            self.configs[qp] = [config[name] for name in QP_CONFIG]
        if clear:
            self.states[qp] = 0

    def sample(self) -> dict[str, int]:
        rng = self.rng
        rtt = rng.choice([rng.randrange(4000, 6000), rng.getrandbits(24), 0, Fmt.RTT.max])
        base = rng.choice([4100, 4100, min(4100, rtt), 0, Fmt.RTT.max])
        return {
            "qp": rng.randrange(self.qps),
            "rtt": rtt,
            "srtt": rng.getrandbits(32),
            "base": base,
        }

    def advice(self, rtt: int) -> dict[str, int]:
        rng = self.rng
        near = (rtt << 8) + rng.randrange(-300_000, 300_000)
        pred = rng.choice([near, near, near, 0, Fmt.SRTT.max])
        return {"valid": rng.randrange(2), "rtt_pred": min(max(pred, 0), Fmt.SRTT.max)}

    async def give(self, ctx: Any, port: Any, payload: dict[str, int]) -> None:
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    def golden(self, sample: dict[str, int], advice: dict[str, int]) -> dict[str, int]:
        qp, pred = sample["qp"], advice["rtt_pred"] if advice["valid"] else 0
        rate, window, target, flags = rate_step(
            self.states[qp],
            self.configs[qp],
            self.parameters,
            sample["rtt"],
            sample["base"],
            bool(advice["valid"]),
            advice["rtt_pred"],
            bool(advice.get("late")),
            bool(self.parameters[RATE_PARAMETERS.index("advice_hold")]),
        )
        return {
            "qp": qp,
            "rate": rate,
            "window": window,
            "rtt_pred": pred,
            "target": target,
            "base": sample["base"],
            "srtt": sample["srtt"],
            "flags": flags,
        }

    def offered(self, ctx: Any) -> dict[str, int]:
        payload = self.dut.o.payload
        return {name: ctx.get(payload[name]) for name, _ in DECISION_FIELDS}
