"""What is synthesised, and its latency and interval, measured on the same block in simulation."""

from dataclasses import dataclass, replace

from amaranth.back import verilog
from amaranth.sim import Simulator

from precog_hw.core import Core
from precog_spec.config import PRESETS, NicConfig

from ..formal.peek import Opened
from ..rtl.library import RtlNic
from .interval import image, interval
from .wrap import WrapCost, Wrapped

__all__ = ["LANES", "Timing", "core_config", "core_verilog", "measure"]

LANES = (16, 64, 128)
TOP = "wrapped"
_QPS = 16  # in the interval's measurement: enough that a context is ready when its turn comes


@dataclass(frozen=True)
class Timing:
    """Cycles of one configuration with I = 1, T = 3, O = 1.

    Attributes
    ----------
    latency_cycles : int
        From the cycle in which an RTT sample is taken to the one in which its prediction is valid,
        the division included.
    decision_cycles : int
        From the same cycle to the one in which the rate decision is valid.
    interval_cycles : int
        Between predictions of a pipeline that is kept full by several queue pairs.
    """

    latency_cycles: int
    decision_cycles: int
    interval_cycles: int


def core_config(lanes: int, *, ecc: bool, dsp: str = "ecp5") -> NicConfig:
    """The configuration that is reported for `lanes`; with `ecc` its models are guarded."""
    return replace(PRESETS[f"lanes{lanes}"], dsp=dsp, laws=False, ecc=ecc)


def core_verilog(lanes: int, *, ecc: bool) -> tuple[str, WrapCost]:
    """Verilog of the core (engine, features, PID) between shift chains, and what those cost."""
    wrapped = Wrapped(Core(core_config(lanes, ecc=ecc)))
    text: str = verilog.convert(wrapped, name=TOP, emit_src=False, strip_internal_attrs=True)
    return text, wrapped.cost


def measure(lanes: int, *, ecc: bool) -> Timing:
    """Run the RTL.

    Latency to the prediction is watched inside the core (in Amaranth's simulator); the decision's
    latency and the interval at the pins of the Verilated NIC.
    """
    nic = RtlNic(core_config(lanes, ecc=ecc, dsp="generic"))
    between, alone = interval(nic, _QPS)
    return Timing(_prediction_latency(lanes, ecc), alone, round(between))


def _prediction_latency(lanes: int, ecc: bool) -> int:
    """Cycles from the sample's transfer to ``RTTpred valid``, seen inside the core."""
    config = replace(core_config(lanes, ecc=ecc, dsp="generic"), qps=4, sets=2)
    core = Core(config)
    inner = Opened(core)
    offered = inner["head.o__valid"]
    seen: list[int] = []

    async def bench(ctx):  # type: ignore[no-untyped-def]
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
        import zlib

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
        for n in range(4):
            await ctx.tick().repeat(200)
            ctx.set(core.i_sample.payload.qp, 1)
            ctx.set(core.i_sample.payload.rtt, 5000 + 300 * n)
            ctx.set(core.i_sample.payload.t, 6000 * n)
            ctx.set(core.i_sample.valid, 1)
            await ctx.tick().until(core.i_sample.ready)
            ctx.set(core.i_sample.valid, 0)
            cycles = 1  # the sample was offered one cycle before this one
            while not ctx.get(offered):
                await ctx.tick()
                cycles += 1
                if cycles > 5000:
                    raise TimeoutError(f"no prediction from the core with {lanes} lanes")
            seen.append(cycles)

    simulator = Simulator(inner.fragment)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return seen[-1]
