# amaranth: UnusedElaboratable=no
"""A PLL that loses its lock within a frame: what is left of it is no frame of its own."""

import random
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.mac.port import MacPort
from precog_models.mac import Symbol, arrivals, line_bytes

from ..packet.bench import Sent, beats

WIDTH = 64
_CORE, _LINE = 16e-9, 8e-9  # seconds


class _Port(wiring.Component):
    """A port with the resets of a board: the receiver's clock has none."""

    def __init__(self) -> None:
        self.port = MacPort(WIDTH, rx_domain="rx", tx_domain="tx", relaxed=True)
        self.locked = ClockDomain("sync"), ClockDomain("tx")
        super().__init__(self.port.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += [*self.locked, ClockDomain("rx", reset_less=True)]
        m.submodules.port = self.port
        return m


def passed(cut: bytes, whole: bytes, after: int) -> tuple[list[bytes], list[bytes]]:
    """Undamaged frames that left, and those that came.

    A frame goes each way; `after` cycles of the core's clock behind its beginning the clocks are
    not locked for a while; then another one follows.
    """
    dut = _Port()
    port = dut.port
    left: list[Symbol] = []
    came: list[bytes] = []

    async def give(ctx: Any) -> None:
        """Both frames to the line; what has not been taken at the reset is lost."""
        waits, data = beats(Sent(cut), WIDTH), port.i
        lost = False
        async for _, held, taken in ctx.tick().sample(data.valid & data.ready):
            if held:
                lost, waits = True, beats(Sent(whole), WIDTH)
            elif taken:
                waits = waits[1:]
            ctx.set(data.valid, bool(waits) and not held)
            ctx.set(data.payload, waits[0] if waits else {})
            if lost and not waits:
                break

    async def line(ctx: Any) -> None:
        await ctx.tick("rx").repeat(4)  # a gap: the receiver begins with none
        for frame in (cut, whole):
            for octet in line_bytes(frame):
                ctx.set(port.gmii_rx, {"data": octet, "valid": 1})
                await ctx.tick("rx")
            ctx.set(port.gmii_rx, {"data": 0, "valid": 0})
            await ctx.tick("rx").repeat(400)

    async def unlock(ctx: Any) -> None:
        for value, cycles in ((0, after), (1, 8), (0, 1)):
            for domain in dut.locked:
                ctx.set(domain.rst, value)
            await ctx.delay(cycles * _CORE)

    async def watch(ctx: Any) -> None:
        async for *_, word in ctx.tick("tx").sample(port.gmii_tx):
            left.append(Symbol(word.data, valid=bool(word.valid)))

    async def take(ctx: Any) -> None:
        data = b""
        ctx.set(port.o.ready, 1)
        async for _, held, valid, beat in ctx.tick().sample(port.o.valid, port.o.payload):
            if held:
                data = b""
            elif valid:
                data += beat.data.to_bytes(WIDTH // 8, "little")[: beat.keep.bit_count()]
                if beat.last:
                    came.extend([] if beat.user.error else [data])
                    data = b""

    simulator = Simulator(dut)
    for domain, period in (("sync", _CORE), ("tx", _LINE), ("rx", _LINE)):
        simulator.add_clock(period, domain=domain)
    for bench in (give, line, unlock):
        simulator.add_testbench(bench)
    for bench in (watch, take):
        simulator.add_testbench(bench, background=True)
    simulator.run()
    return [a.frame for a in arrivals(left) if a.fault is None], came


def test_a_rest_is_no_frame(seed: int) -> None:
    rng = random.Random(seed)
    for after in rng.sample(range(70, 180), 3):
        cut, whole = rng.randbytes(400), rng.randbytes(64)
        assert passed(cut, whole, after) == ([whole], [whole])
