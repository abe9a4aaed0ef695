"""Cycles from a sample to its prediction, stage by stage.

The core runs in Amaranth's simulator with one sample at a time, whose context is ready; each
stage's register is watched.
"""

import zlib
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from precog_hw.core import Core
from precog_hw.predict.cell import cell_stages
from precog_hw.predict.layouts import Sizes, slot_layout
from precog_spec.config import NicConfig

from ..formal.peek import Opened
from .interval import image

__all__ = ["STAGES", "stages"]

#: What is done up to the cycle that is told, in order.
STAGES = (
    "S: weighted sum of the sample and the state",
    "K: deviation over S by a table of chords, rounded",
    "the last hidden units take K, in their turn",
    "sums of the gates: weight times K and the stored part",
    "tables of the gates",
    "cell state",
    "table of the cell state",
    "hidden values",
    "output: products, sums",
    "the output is offered, multiplied by S",
    "prediction: the product plus S, limited behind its register",
)

_LIMIT = 5000  # cycles without a prediction


def stages(config: NicConfig) -> list[int]:
    """The cycle of each of `STAGES`, of a core with 16 lanes or more.

    Raises
    ------
    TimeoutError
        No prediction came.
    """
    core = Core(config)
    inner = Opened(core)
    watches = _watches(config, core, inner)
    last: list[int] = []

    async def bench(ctx: Any) -> None:
        await _prepare(ctx, core)
        for n in range(4):
            await ctx.tick().repeat(200)
            core_sample = core.i_sample
            ctx.set(core_sample.payload.qp, 1)
            ctx.set(core_sample.payload.rtt, 5000 + 300 * n)
            ctx.set(core_sample.payload.t, 6000 * n)
            ctx.set(core_sample.valid, 1)
            last[:] = [0] * len(watches)
            for cycle in range(_LIMIT):
                for stage, shown in enumerate(watches):
                    if shown(ctx):
                        last[stage] = cycle
                if last[-1]:
                    break
                await ctx.tick()
                ctx.set(core_sample.valid, 0)
            else:
                raise TimeoutError(f"no prediction from the core within {_LIMIT} cycles")

    simulator = Simulator(inner.fragment)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return last


def _watches(config: NicConfig, core: Core, inner: Opened) -> list[Callable[[Any], bool]]:
    """For each stage, whether its result has just come."""
    gates, state, tanh = cell_stages(config, fabric_tables=config.lanes == 128)

    def set_(strobe: Signal) -> Callable[[Any], bool]:
        return lambda ctx: bool(ctx.get(strobe))

    def slot(stage: int) -> Callable[[Any], bool]:
        view = data.View(slot_layout(config), inner[f"predictor.engine.cell.slot_{stage}"])
        return lambda ctx: bool(ctx.get(view.valid) and ctx.get(view.final))

    ends = (Sizes(config).input_stage, 5, gates, state, tanh, tanh + 1)
    return [
        _changes(inner["feature.srtt"]),
        set_(inner["feature.o__valid"]),
        *(slot(stage) for stage in ends),
        set_(inner["predictor.engine.head.done"]),
        set_(inner["predictor.o_rsp__valid"]),
        set_(inner["head.o__valid"]),
    ]


def _changes(signal: Signal) -> Callable[[Any], bool]:
    """Whether it differs from the cycle before."""
    held: list[int] = []

    def changed(ctx: Any) -> bool:
        now = ctx.get(signal)
        before, held[:] = list(held), [now]
        return before != [now]

    return changed


async def _prepare(ctx: Any, core: Core) -> None:
    """A model in slot 0, which queue pair 1 asks."""
    ctx.set(core.o_decision.ready, 1)
    ctx.set(core.begin_set, 0)
    ctx.set(core.begin_stb, 1)
    await ctx.tick()
    ctx.set(core.begin_stb, 0)
    await ctx.tick().repeat(10)
    model = image()
    for at in range(0, len(model), 4):
        ctx.set(core.word, int.from_bytes(model[at : at + 4], "little"))
        ctx.set(core.word_stb, 1)
        await ctx.tick()
    ctx.set(core.word_stb, 0)
    ctx.set(core.commit_crc, zlib.crc32(model))
    ctx.set(core.commit_stb, 1)
    await ctx.tick()
    ctx.set(core.commit_stb, 0)
    await ctx.tick().until(~core.busy)
    ctx.set(core.map_set, 0)
    ctx.set(core.map_slot, 0)
    ctx.set(core.map_enable, 1)
    ctx.set(core.map_stb, 1)
    await ctx.tick()
    ctx.set(core.map_stb, 0)
    ctx.set(core.parameters.sigma, 13107)
    command = core.command.payload
    ctx.set(command.qp, 1)
    ctx.set(command.apply, 1)
    ctx.set(command.clear, 1)
    for name, value in {
        **{"enable": 1, "algorithm": 2, "model_enable": 1, "model_slot": 0},
        **{"min_rate": 1, "max_rate": 1 << 30, "init_rate": 1 << 20, "target": 5000 << 8},
    }.items():
        ctx.set(command.config[name], value)
    ctx.set(core.command.valid, 1)
    await ctx.tick().until(core.command.ready)
    ctx.set(core.command.valid, 0)
