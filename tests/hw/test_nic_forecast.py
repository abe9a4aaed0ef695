"""The block FORECAST of the NIC, through its registers, in pysim: no model is needed for that."""

from dataclasses import replace
from typing import Any

from amaranth.sim import Simulator
from tests.hw.csr.axil_driver import OKAY, read, write

from precog_hw.nic import PrecogNic, nic_map
from precog_spec.config import PRESETS
from precog_spec.contract import FORECAST_FIELDS, NO_SCORE
from precog_spec.registers.forecast import FORECAST_EVENTS, KNOT_STRIDE

CONFIG = replace(PRESETS["tiny"], steps=1, forecast=True, ecc=False)


def test_registers_reach_the_core() -> None:
    dut, regmap = PrecogNic(CONFIG), nic_map(CONFIG)
    block = regmap.block("FORECAST")
    base, qp_base = (regmap.placed(name).base for name in ("FORECAST", "QP"))
    qp_block = regmap.block("QP")

    async def main(ctx: Any) -> None:
        async def put(name: str, value: int, *, qp: bool = False) -> None:
            of, at = (qp_block, qp_base) if qp else (block, base)
            assert await write(ctx, dut.s_axil, at + of.offset(name), value) == OKAY

        async def get(name: str) -> int:
            response, value = await read(ctx, dut.s_axil, base + block.offset(name))
            assert response == OKAY
            return value

        await ctx.tick().repeat(16 * CONFIG.qps + 40)
        # The window: fetch gives back what apply wrote, of another queue pair nothing.
        await put("SELECT", 2)
        await put("QUEUE_MODEL", 0x3_01_01)
        await put("COMMAND", 2)
        await put("SELECT", 1)
        await put("COMMAND", 1)
        assert await get("QUEUE_MODEL") == 0
        await put("SELECT", 2)
        await put("COMMAND", 1)
        assert await get("QUEUE_MODEL") == 0x3_01_01
        # Knots of both tables.
        for knot, value in ((5, 700), (KNOT_STRIDE + 5, 40_000)):
            await put("KNOT", knot)
            await put("KNOT_WRITE", value)
        for knot, value in ((5, 700), (KNOT_STRIDE + 5, 1 << 15), (6, 6 << 9)):
            await put("KNOT", knot)
            await get("STATE")
            assert await get("KNOT_VALUE") == value
        # A profile of an enabled queue pair whose slot has no model, and of a disabled one.
        await put("SELECT", 2, qp=True)
        await put("CONTROL", 1, qp=True)
        await put("COMMAND", 2 | 4, qp=True)
        ctx.set(dut.o_forecast.ready, 1)
        for qp in (1, 2):
            profile = {"qp": qp, "t": 77, "x0": -5, "x1": 6, "x2": 7, "x3": 8}
            ctx.set(dut.i_profile.payload, profile)
            ctx.set(dut.i_profile.valid, 1)
            await ctx.tick().until(dut.i_profile.ready)
            ctx.set(dut.i_profile.valid, 0)
        (answer,) = await ctx.tick().sample(dut.o_forecast.payload).until(dut.o_forecast.valid)
        want = dict.fromkeys((name for name, _ in FORECAST_FIELDS), 0)
        want |= {"qp": 2, "t": 77, "cps": NO_SCORE}
        assert {name: answer[name] for name, _ in FORECAST_FIELDS} == want
        counts = {}
        first = {word.name: word.address for word in dut.regmap.words()}
        assert await write(ctx, dut.s_axil, first["COUNTERS.COMMAND"], 1) == OKAY
        while (await read(ctx, dut.s_axil, first["COUNTERS.STATE"]))[1] & 1:
            pass
        for n, (name, _) in enumerate(FORECAST_EVENTS):
            at = base + block.table_offset("COUNTERS") + n * block.table("COUNTERS").stride
            counts[name] = (await read(ctx, dut.s_axil, at))[1]
        assert counts == {
            "forecasts": 1, "no_model": 1, "dropped": 1, "stale": 0, "wrong_head": 0,
            "carried": 0, "expired": 0,
        }  # fmt: skip

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    sim.run()
