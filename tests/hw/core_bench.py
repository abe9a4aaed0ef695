"""A Verilated core with two models and four queue pairs, and the golden NIC."""

import random
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from tests.hw.sticking import sticking
from tests.hw.verilated import Verilated
from tests.models.predict.weights import random_weights

from precog_hw.compose.ports import nic_map
from precog_hw.core import Core
from precog_hw.micro.core import MicroCore
from precog_hw.micro.registers import parameter_places
from precog_hw.passing import pass_ports
from precog_models.nic import Decision, GoldenNic
from precog_models.predict.lstm import pack
from precog_sim.rtl.stream_block import stream_library
from precog_spec.config import PRESETS, NicConfig
from precog_spec.registers.model_sets import LOAD_STATUS

__all__ = ["CONFIG", "MICRO", "PARAMETERS", "CoreBench", "micro_library"]

CONFIG = PRESETS["tiny"]
_MOST_CYCLES = 100_000
MICRO = replace(CONFIG, ecc=False, micro=True)
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


class _Sticking(wiring.Component):
    """The core on a small processor; `stuck` stops its engine (`sticking`)."""

    def __init__(self, config: NicConfig) -> None:
        self._stuck = Signal(name="engine_stuck")
        with sticking(self._stuck):
            self._core = MicroCore(config)
        super().__init__({**self._core.signature.members, "stuck": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        m.d.comb += self._stuck.eq(self.stuck)
        for name, member in core.signature.members.items():
            if member.is_signature:
                mine, its = wiring.flipped(getattr(self, name)), getattr(core, name)
                wiring.connect(m, mine, its)
            else:
                pass_ports(m, self, core, [name])
        return m


@cache
def micro_library(config: NicConfig) -> Path:
    """The Verilated core on a small processor, with the port `stuck`."""
    return stream_library(_Sticking(config), label="core on a processor")


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
        background = [self._registers] if self.built.micro else []
        self.simulation.run(*benches, cycles=_MOST_CYCLES, background=background)

    async def _registers(self, ctx: Any) -> None:
        """Answers a small processor that reads a parameter's register, as the bus does."""
        bus = self.dut.registers
        words: dict[int, int] = {}
        for name, place in parameter_places(nic_map(self.built)).items():
            word = words.get(place.word, 0)
            # PSCHED's, which are not the processor's, come by `parameters` alone.
            words[place.word] = place.field.put(word, PARAMETERS.get(name, 0))
        while True:
            if not (await ctx.tick().sample(bus.stb))[-1]:
                continue
            for _ in range(2):
                await ctx.tick()
            ctx.set(bus.rdata, words[ctx.get(bus.addr)])
            ctx.set(bus.ack, 1)
            await ctx.tick()
            ctx.set(bus.ack, 0)

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
