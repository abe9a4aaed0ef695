# amaranth: UnusedElaboratable=no
"""A reset of the card ends what is decided of the packets under way: nothing comes of it later."""

from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from precog_hw.measure.destinations import Destinations
from precog_hw.pace.router import PacketRouter
from precog_hw.packet.cps_rx import CpsReceive
from precog_hw.packet.cps_slots import CpsSlots
from precog_hw.packet.cps_tx import CpsTransmit

from ...models.packet.frames import packet

RESET, CYCLES = 60, 130  # the cycle in which it begins; afterwards, more than a packet is inside


def strobes_after_reset(
    dut: Any, asked: list[tuple[Any, int]], outs: list[Any], cycles: int, *, every: int
) -> tuple[int, int]:
    """Strobes of `outs` before a reset of so many cycles, and after it."""
    reset, seen = Signal(), [0, 0]

    async def bench(ctx: Any) -> None:
        for cycle in range(RESET + CYCLES):
            for port, value in asked:
                ctx.set(port, value if cycle < RESET and cycle % every == 0 else 0)
            resets = RESET <= cycle < RESET + cycles
            ctx.set(reset, resets)
            if not resets:
                seen[cycle >= RESET] += sum(ctx.get(out) for out in outs)
            await ctx.tick()

    simulator = Simulator(ResetInserter(reset)(dut))
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen[0], seen[1]


@pytest.mark.parametrize("cycles", [1, 4, 40])
@pytest.mark.parametrize("form", ["pipelined", "relaxed"])
@pytest.mark.parametrize("decides", [CpsReceive, CpsTransmit])
def test_no_decision_of_before(decides: Any, form: str, cycles: int) -> None:
    """One more would stand for the next packet, and each packet would get another one's edit."""
    relaxed = form == "relaxed"
    dut = decides(16, relaxed=relaxed)
    asked, outs = [(dut.found_stb if relaxed else dut.parsed_stb, 1)], [dut.edit_stb]
    outs += [dut.row_stb] if decides is CpsTransmit and not relaxed else []
    before, after = strobes_after_reset(dut, asked, outs, cycles, every=2)
    assert before
    assert not after


@pytest.mark.parametrize("cycles", [1, 4, 40])
def test_no_answer_of_before(cycles: int) -> None:
    slots, destinations = CpsSlots(16), Destinations(16)
    for dut, asked, out in (
        (slots, slots.tx_stb, slots.tx_done),
        (destinations, destinations.i_read.valid, destinations.read_done),
    ):
        before, after = strobes_after_reset(dut, [(asked, 1)], [out], cycles, every=2)
        assert before
        assert not after


@pytest.mark.parametrize("cycles", [1, 40])
@pytest.mark.parametrize("form", ["pipelined", "relaxed"])
def test_no_route_of_before(form: str, cycles: int) -> None:
    """Of packets of a beat each; one more would be the next packet's."""
    router = PacketRouter(512, 4, relaxed=form == "relaxed")
    beat = router.i.payload
    data = int.from_bytes(packet()[:60].ljust(64, b"\0"), "little")
    asked = [(beat.data, data), (beat.keep, (1 << 60) - 1)]
    asked += [(port, 1) for port in (router.i.valid, beat.last)]
    asked += [(port, 1) for port in (router.o.ready, router.o_route.ready)]
    before, after = strobes_after_reset(router, asked, [router.o_route.valid], cycles, every=1)
    assert before
    assert not after
