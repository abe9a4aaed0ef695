# amaranth: UnusedElaboratable=no
"""What is decided of a packet from the wire stays what it was until the packet has gone."""

from typing import Any

from precog_hw.packet.cps_rx import CpsReceive
from precog_hw.packet.layouts import Edit

from .bench import run


def test_registers_change_no_packet_that_is_passing() -> None:
    """A malformed shim: the first beats went on, or a verdict is awaited, as it was decided."""
    dut = CpsReceive(4, relaxed=True)
    drops = dut.config.drop_malformed

    async def bench(ctx: Any) -> None:
        ctx.set(dut.parsed.descriptor.shim, 1)
        for before in (0, 1):
            ctx.set(drops, before)
            for strobe in (dut.parsed_stb, dut.found_stb):
                ctx.set(strobe, 1)
                await ctx.tick()
                ctx.set(strobe, 0)
            await ctx.tick().until(dut.edit_stb)
            for after in (before, 1 - before):
                ctx.set(drops, after)
                assert ctx.get(dut.received.dropped) == before
                assert ctx.get(dut.edit.edit) == (Edit.DROP if before else Edit.KEEP)

    run(dut, bench, cycles=100)
