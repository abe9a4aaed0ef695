"""Drives a `Predictor` like the NIC does; `expected` has the golden answers."""

import random
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from amaranth.sim import Simulator
from tests.hw.verilated import Verilated

from precog_hw.predict.unit import Predictor
from precog_models.predict.lstm import LstmWeights, forward_windows, pack
from precog_sim.rtl.stream_block import stream_library
from precog_spec.config import NicConfig

__all__ = ["PredictorBench", "Sample", "expected", "load", "predictor_library"]

_DOUBTED = 400  # cycles; further outputs and few lanes take long for a sum


@cache
def predictor_library(config: NicConfig) -> Path:
    """A Verilated predictor."""
    return stream_library(Predictor(config), label=f"predictor, {config.lanes} lanes")


@dataclass
class Sample:
    """One sample; `slot` None means that the QP has no model."""

    qp: int
    slot: int | None
    x: list[int]
    reset: bool = False  # reset the QP before it
    commands: list[tuple[int, int | None]] = field(default_factory=list)  # (slot, set) map writes


def words(image: bytes) -> list[int]:
    return [int.from_bytes(image[n : n + 4], "little") for n in range(0, len(image), 4)]


async def load(ctx, dut, number: int, image: bytes, crc: int | None = None) -> int:
    """Load an image into a set, a word a cycle; returns the status."""
    ctx.set(dut.begin_set, number)
    ctx.set(dut.begin_stb, 1)
    await ctx.tick()
    ctx.set(dut.begin_stb, 0)
    ctx.set(dut.word_stb, 1)
    for word in words(image):
        ctx.set(dut.word, word)
        await ctx.tick()
    ctx.set(dut.word_stb, 0)
    ctx.set(dut.commit_crc, zlib.crc32(image) if crc is None else crc)
    ctx.set(dut.commit_stb, 1)
    await ctx.tick()
    ctx.set(dut.commit_stb, 0)
    await ctx.tick().repeat(12)
    await ctx.tick().until(~dut.busy)
    return ctx.get(dut.status)


def expected(samples: list[Sample], models: dict[int, LstmWeights]) -> list[tuple[int, list[int]]]:
    """(live, outputs) for each sample: always a full run over the QP's latest inputs."""
    history: dict[int, list[list[int]]] = {}
    slots = {number: number for number in models}
    answers = []
    for sample in samples:
        for slot, number in sample.commands:
            slots[slot] = number
        if sample.reset:
            history.pop(sample.qp, None)
        kept = history.setdefault(sample.qp, [])
        kept.append(sample.x)
        number = None if sample.slot is None else slots.get(sample.slot)
        if number is None:
            answers.append((0, [0] * 16))
            continue
        model = models[number]
        window = np.zeros((1, model.steps, 8), dtype=np.int64)
        latest = kept[-model.steps :]
        window[0, model.steps - len(latest) :] = latest
        answers.append((1, forward_windows(model, window)[0].tolist()))
    return answers


class PredictorBench:
    """Runs samples through a predictor, Verilated if `library` is given, else in Amaranth.

    `idle` and `stall` are probabilities of waiting.

    Attributes
    ----------
    answers : list of (live, outputs)
    request_at, input_at, response_at : list of int
        Cycles of the transfers.
    """

    def __init__(self, config, models, samples, *, seed=0, idle=0.0, stall=0.0, library=None):
        self.dut = Predictor(config)
        self.models, self.samples = models, samples
        self.rng = random.Random(seed)
        self.idle, self.stall = idle, stall
        self.library = library
        self.cycle = 0
        self.answers, self.request_at, self.input_at, self.response_at = [], [], [], []

    def run(self, limit: int = 20_000) -> None:
        benches = self._requests, self._inputs, self._responses
        if self.library is not None:
            simulation = Verilated(self.dut, self.library)
            simulation.run(*benches, cycles=limit, background=[self._count])
            return
        sim = Simulator(self.dut)
        sim.add_clock(1e-8)
        for bench in benches:
            sim.add_testbench(bench)

        async def watchdog(ctx):
            async for _ in ctx.tick():
                self.cycle += 1
                if self.cycle > limit:
                    raise TimeoutError(f"{len(self.answers)} of {len(self.samples)} answers")

        sim.add_testbench(watchdog, background=True)
        sim.run()

    async def _count(self, ctx) -> None:
        while True:
            await ctx.tick()
            self.cycle += 1

    async def _transfer(self, ctx, port) -> int:
        ctx.set(port.valid, 1)
        while not ctx.get(port.ready):
            await ctx.tick()
        at = self.cycle
        await ctx.tick()
        ctx.set(port.valid, 0)
        return at

    async def _requests(self, ctx):
        dut = self.dut
        for number, model in self.models.items():
            assert await load(ctx, dut, number, pack(model)) == 2
            await self._map(ctx, number, number)
        for n, sample in enumerate(self.samples):
            for command in sample.commands:
                await self._map(ctx, *command)
            if sample.reset:
                # A reset overtakes requests that have not started; here it shall not.
                while len(self.input_at) < n:
                    await ctx.tick()
                ctx.set(dut.i_reset.payload, sample.qp)
                await self._transfer(ctx, dut.i_reset)
            while self.rng.random() < self.idle:
                await ctx.tick()
            enable = sample.slot is not None
            request = {"qp": sample.qp, "slot": sample.slot or 0, "enable": enable}
            ctx.set(dut.i_req.payload, request)
            self.request_at.append(await self._transfer(ctx, dut.i_req))

    async def _map(self, ctx, slot, number):
        dut = self.dut
        ctx.set(dut.map_slot, slot)
        ctx.set(dut.map_set, number or 0)
        ctx.set(dut.map_enable, number is not None)
        ctx.set(dut.map_stb, 1)
        await ctx.tick()
        ctx.set(dut.map_stb, 0)
        await ctx.tick().repeat(2)  # requests see it from now on

    async def _inputs(self, ctx):
        for sample in self.samples:
            ctx.set(self.dut.i_x.payload, sample.x)
            self.input_at.append(await self._transfer(ctx, self.dut.i_x))

    async def _responses(self, ctx):
        port = self.dut.o_rsp
        soon, doubted = 0, 0
        while len(self.answers) < len(self.samples):
            ready = self.rng.random() >= self.stall
            ctx.set(port.ready, ready)
            if ctx.get(port.valid) & ctx.get(port.payload.live):
                # What comes early is the output, or comes again after what is being summed.
                sure = ctx.get(self.dut.sure)
                assert not sure or soon == ctx.get(port.payload.out[0])
                doubted = 0 if sure or ready else doubted + 1
                assert doubted < _DOUBTED
            soon = ctx.get(self.dut.soon)
            if ready and ctx.get(port.valid):
                sample = self.samples[len(self.answers)]
                assert ctx.get(port.payload.qp) == sample.qp
                out = [ctx.get(port.payload.out[n]) for n in range(16)]
                self.answers.append((ctx.get(port.payload.live), out))
                self.response_at.append(self.cycle)
            await ctx.tick()
        ctx.set(port.ready, 1)
        for _ in range(100):  # and nothing else comes out
            await ctx.tick()
            assert not ctx.get(port.valid)
