"""Samples that a slow core has no time for: each goes to it or is told of, and soon."""

import random
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from precog_hw.compose.packets import missed


class Bench(wiring.Component):
    """`missed` between samples and a core that does as it likes."""

    samples: In(stream.Signature(8))
    core_ready: In(1)
    dropped: In(1)
    missed: Out(1)

    def __init__(self, *, packets: bool) -> None:
        super().__init__()
        self._packets = packets

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = SimpleNamespace(i_sample=stream.Signature(8).create(), dropped=self.dropped)
        parts: Any = SimpleNamespace(
            m=m,
            core=core,
            card=object() if self._packets else None,
            window=SimpleNamespace(ready=Signal(init=1)),
        )
        m.d.sync += Signal(name="clocked").eq(1)  # samples that wait need no clock
        m.d.comb += [
            core.i_sample.ready.eq(self.core_ready),
            self.missed.eq(missed(parts, self.samples)),
        ]
        return m


@pytest.mark.parametrize("packets", [True, False])
def test_every_sample_is_taken_or_told_of(packets: bool, seed: int) -> None:
    rng = random.Random(seed)
    dut = Bench(packets=packets)
    gone = taken = told = together = waited = 0

    async def main(ctx: Any) -> None:
        nonlocal gone, taken, told, together, waited
        offered, waits = False, 0
        for n in range(4000):
            last = n > 3990
            offered = (offered or rng.random() < 0.5) and not last
            ctx.set(dut.samples.valid, offered)
            ctx.set(dut.core_ready, rng.random() < 0.3)
            # The core's own strobe lasts a cycle.
            dropped = not last and not ctx.get(dut.dropped) and rng.random() < 0.5
            ctx.set(dut.dropped, dropped)
            goes = offered and ctx.get(dut.samples.ready)
            waits = waits + 1 if offered and not goes else 0
            waited = max(waited, waits)
            gone += goes
            taken += goes and ctx.get(dut.core_ready)
            told += ctx.get(dut.missed)
            together += ctx.get(dut.missed) and dropped
            await ctx.tick()
            offered = offered and not goes

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(main)
    sim.run()
    assert gone == taken + told
    assert together == 0, "two in one cycle would be counted as one"
    assert (told > 100) == packets
    assert (waited <= 2) == packets
