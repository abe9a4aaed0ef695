"""A Verilated core with two models and four queue pairs, and the golden NIC."""

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from tests.hw.verilated import Verilated
from tests.models.predict.weights import random_weights

from precog_hw.core import Core
from precog_hw.micro.core import MicroCore
from precog_models.nic import Decision, GoldenNic
from precog_models.predict.lstm import pack
from precog_spec.config import PRESETS, NicConfig
from precog_spec.registers.model_sets import LOAD_STATUS

__all__ = ["CONFIG", "PARAMETERS", "CoreBench"]

CONFIG = PRESETS["tiny"]
_MOST_CYCLES = 100_000
PARAMETERS = {
    "sigma": 13107,
    "base_window": 20_000,
    "kp": -2933,
    "ki": -492,
    "kd": -328,
    "dmin": -39322,
    "dmax": 32768,
    "advice_limit": 16384,
    "advice_clamp": 1,
    "skill_monitor": 1,
    "advice_hold": 0,
    "advice_deadline": 4096,
    "queue_budget": 800 << 8,
    "rttch_threshold": 2,
    "rttch_margin": 200 << 8,
    "mtu": 1000,
}


class CoreBench:
    """A core with two models and four queue pairs, and the golden NIC.

    Parameters
    ----------
    seed : int
    config : NicConfig
    library : Path
        Of a component with the core's ports and `stuck`.
    """

    def __init__(self, seed: int, config: NicConfig, library: Path) -> None:
        self.rng = random.Random(seed)
        self.dut = MicroCore(config) if config.micro else Core(config)
        self.simulation = Verilated(self.dut, library)
        self.built = config
        self.golden = GoldenNic(qps=CONFIG.qps, sets=CONFIG.sets)
        self.golden.set_parameters(PARAMETERS)
        weights = np.random.default_rng(seed)
        self.images = [pack(random_weights(weights, steps=steps)) for steps in (3, 2)]

    def run(self, *benches: Any) -> None:
        """Until all benches have ended."""
        self.simulation.run(*benches, cycles=_MOST_CYCLES)

    async def start(self, ctx: Any) -> None:
        dut = self.dut
        ctx.set(dut.parameters, PARAMETERS)
        for number, image in enumerate(self.images):
            ctx.set(dut.begin_set, number)
            await self._strobe(ctx, dut.begin_stb)
            ctx.set(dut.word_stb, 1)
            for at in range(0, len(image), 4):
                ctx.set(dut.word, int.from_bytes(image[at : at + 4], "little"))
                await ctx.tick()
            ctx.set(dut.word_stb, 0)
            ctx.set(dut.commit_crc, zlib.crc32(image))
            await self._strobe(ctx, dut.commit_stb)
            for _ in range(20):
                await ctx.tick()
            assert ctx.get(dut.status) == dict(LOAD_STATUS)["ok"]
            ctx.set(dut.map_slot, number)
            ctx.set(dut.map_set, number)
            ctx.set(dut.map_enable, 1)
            await self._strobe(ctx, dut.map_stb)
            self.golden.load_set(number, image)
            self.golden.map_slot(number, number)
        for qp in range(CONFIG.qps):
            await self.command(ctx, qp, self.config(qp), clear=True)

    async def _strobe(self, ctx: Any, signal: Any) -> None:
        ctx.set(signal, 1)
        await ctx.tick()
        ctx.set(signal, 0)

    def config(self, qp: int) -> dict[str, int]:
        """Unequal options for each queue pair."""
        return {
            "enable": 1,
            "algorithm": 2,
            "target_mode": qp != 1,
            "rttch": qp & 1,
            "win": qp >> 1,
            "model_enable": 1,
            "model_slot": qp & 1,
            "target": 5000 << 8,
            "min_rate": 1 << 21,
            "max_rate": 100 << 21,
            "init_rate": (10 + qp) << 21,
        }

    async def command(
        self, ctx: Any, qp: int, config: dict[str, int] | None, *, clear: bool
    ) -> None:
        dut, payload = self.dut, {"qp": qp, "apply": config is not None, "clear": clear}
        ctx.set(dut.command.payload, payload | ({"config": config} if config else {}))
        ctx.set(dut.command.valid, 1)
        await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        if config is not None:
            self.golden.configure(qp, config)
        if clear:
            self.golden.reset_qp(qp)

    async def give(self, ctx: Any, qp: int, rtt: int, t: int) -> None:
        dut = self.dut
        ctx.set(dut.i_sample.payload, {"qp": qp, "rtt": rtt, "t": t})
        ctx.set(dut.i_sample.valid, 1)
        await ctx.tick().until(dut.i_sample.ready)
        ctx.set(dut.i_sample.valid, 0)

    def offered(self, ctx: Any) -> Decision:
        payload = self.dut.o_decision.payload
        return Decision(*(ctx.get(payload[name]) for name in Decision._fields))
