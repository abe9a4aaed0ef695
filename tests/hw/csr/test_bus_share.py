"""A register bus of two: each access is its initiator's, and none waits for long."""

import random
from typing import Any

from amaranth.sim import Simulator

from precog_hw.csr.bus_share import BusShare
from precog_hw.micro.core import MicroCore

_BANK_CYCLES = 4  # from `stb` to `ack`, with the address a cycle before the strobe
_FRONT_CYCLES = 2  # at least, from `ack` to the front end's next `stb`


def test_every_access_has_its_own_answer(seed: int) -> None:
    """A host that never rests and one that does; the reader's longest wait is what it says."""
    rng = random.Random(seed)
    dut = BusShare(16)
    seen: list[tuple[bool, int, int]] = []
    expected: dict[str, list[tuple[bool, int, int]]] = {"host": [], "reader": []}
    longest, working = 0, 2

    async def bank(ctx: Any) -> None:
        """Answers with the address, and an error for odd ones."""
        while working:
            if not (await ctx.tick().sample(dut.bus.stb))[-1]:
                continue
            for _ in range(_BANK_CYCLES - 1):
                await ctx.tick()
                assert not ctx.get(dut.bus.stb), "one access at a time"
            address = ctx.get(dut.bus.addr)
            seen.append((bool(ctx.get(dut.bus.write)), address, ctx.get(dut.bus.data)))
            ctx.set(dut.bus.rdata, address * 7)
            ctx.set(dut.bus.err, address & 1)
            ctx.set(dut.bus.ack, 1)
            await ctx.tick()
            ctx.set(dut.bus.ack, 0)

    async def access(ctx: Any, name: str, address: int, write: bool, value: int) -> int:
        bus = getattr(dut, name)
        ctx.set(bus.addr, address)
        ctx.set(bus.write, write)
        ctx.set(bus.data, value)
        ctx.set(bus.stb, 1)
        cycles = 0
        while not ctx.get(bus.ack):
            await ctx.tick()
            ctx.set(bus.stb, 0)
            cycles += 1
            assert cycles < 100, "an access must be answered"
        assert ctx.get(bus.rdata) == address * 7
        assert ctx.get(bus.err) == address & 1
        await ctx.tick()
        return cycles + 1

    async def host(ctx: Any) -> None:
        nonlocal working
        for n in range(300):
            one = bool(rng.randrange(2)), rng.randrange(1 << 14), rng.randrange(1 << 32)
            expected["host"].append(one)
            await access(ctx, "host", one[1], one[0], one[2])
            rest = 0 if n < 150 else rng.randrange(8)
            for _ in range(_FRONT_CYCLES - 1 + rest):
                await ctx.tick()
        working -= 1

    async def reader(ctx: Any) -> None:
        nonlocal longest, working
        for _ in range(300):
            address = rng.randrange(1 << 14)
            expected["reader"].append((False, address, 0))
            longest = max(longest, await access(ctx, "reader", address, False, 0))
            for _ in range(rng.randrange(5)):
                await ctx.tick()
        working -= 1

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bank)
    sim.add_testbench(host)
    sim.add_testbench(reader)
    sim.run()
    both = sorted((write, address) for one in expected.values() for write, address, _ in one)
    assert sorted((write, address) for write, address, _ in seen) == both
    assert [one for one in seen if one[0]] == [one for one in expected["host"] if one[0]]
    assert longest == MicroCore.REGISTER_CYCLES
