"""What programs hear of: each source has its turn, and what is ignored is counted."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from precog_hw.rate.engine.intake import Intake
from precog_spec.config import NicConfig
from precog_spec.law_fields import EventKind

_PROGRAM, _OTHER = 1, 0  # queue pairs


def _run(bench: Any) -> None:
    dut = Intake(NicConfig(qps=2, sets=2, lanes=16, columns=1, steps=1, law_cores=1))

    async def main(ctx: Any) -> None:
        for qp in (_PROGRAM, _OTHER):
            ctx.set(dut.put_stb, 1)
            ctx.set(dut.put_qp, qp)
            ctx.set(dut.put_on, qp == _PROGRAM)
            await ctx.tick()
        ctx.set(dut.put_stb, 0)
        ctx.set(dut.decision, {"qp": _PROGRAM})
        ctx.set(dut.about, {"sample": 1})
        ctx.set(dut.i_event.payload, {"kind": EventKind.SCORE, "qp": _OTHER})
        ctx.set(dut.i_event.valid, 1)
        ctx.set(dut.i_ack.valid, 1)
        await bench(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(main)
    simulator.run()


@pytest.mark.parametrize("works", [9, 31, 60])
def test_acknowledgements_have_turns_while_an_event_of_another_law_waits(works: int) -> None:
    """Samples and scores come without a pause; PSCHED takes a score in 40 cycles."""

    async def bench(ctx: Any, dut: Intake) -> None:
        ctx.set(dut.i_ack.payload.qp, _PROGRAM)
        ctx.set(dut.offered, 1)
        turns, busy = [0, 0], 0
        for cycle in range(20 * works):
            ctx.set(dut.o_event.ready, cycle % 40 == 0)
            ctx.set(dut.may, busy == 0)
            ctx.set(dut.taken, busy == 2 and ctx.get(dut.sampled))
            takes = ctx.get(dut.takes)
            await ctx.tick()
            busy = works if takes else max(busy - 1, 0)
            turns[ctx.get(dut.sampled)] += takes
        assert min(turns) >= max(turns) - 1 > 5

    _run(bench)


def test_two_are_not_ignored_in_one_cycle(seed: int) -> None:
    """An event that passes may be ignored in the cycle of its transfer, which counts, too."""
    rng = random.Random(seed)

    async def bench(ctx: Any, dut: Intake) -> None:
        ctx.set(dut.i_ack.payload.qp, _OTHER)
        ctx.set(dut.may, 1)
        acks = ignored = 0
        for cycle in range(400):
            if cycle == 380:
                ctx.set(dut.i_ack.valid, 0)
            ctx.set(dut.o_event.ready, rng.random() < 0.7)
            acks += ctx.get(dut.i_ack.valid & dut.i_ack.ready)
            ignored += ctx.get(dut.ignored)
            passes = ctx.get(dut.o_event.valid & dut.o_event.ready)
            assert not (passes and ctx.get(dut.ignored))
            await ctx.tick()
        assert ignored == acks > 50

    _run(bench)
