"""The router's form for small FPGAs: one packet at a time, and faster than a Gigabit line."""

from typing import Any

from amaranth.sim import Simulator

from precog_hw.pace.router import PacketRouter

from ...models.packet.frames import packet

_CYCLES = 20  # from a frame of 60 bytes to the next; a Gigabit line brings one in 42 at 62.5 MHz
_FRAMES = 6


def test_short_frames_back_to_back() -> None:
    """A frame has its route when the next one begins."""
    router = PacketRouter(64, 4, relaxed=True, ipv6=False)
    simulator, begun, routed = Simulator(router), list[int](), list[int]()
    simulator.add_clock(1e-6)
    frame = packet(b"")[:60]
    beats = [frame[at : at + 8] for at in range(0, len(frame), 8)]

    async def drive(context: Any) -> None:
        context.set(router.o.ready, 1)
        context.set(router.o_route.ready, 1)
        context.set(router.i.valid, 1)
        cycle = at = 0
        while len(routed) < _FRAMES:
            context.set(router.i.payload.data, int.from_bytes(beats[at], "little"))
            context.set(router.i.payload.keep, (1 << len(beats[at])) - 1)
            context.set(router.i.payload.last, at == len(beats) - 1)
            taken = context.get(router.i.ready)
            if taken and at == 0:
                begun.append(cycle)
            if context.get(router.o_route.valid):
                routed.append(cycle)
            at = (at + taken) % len(beats)
            await context.tick()
            cycle += 1

    simulator.add_testbench(drive)
    simulator.run()
    assert begun[:_FRAMES] == [_CYCLES * n for n in range(_FRAMES)]
    assert all(a <= b for a, b in zip(routed, begun[1:], strict=False))
