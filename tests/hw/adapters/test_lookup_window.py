"""The host's side of the QP table, of a NIC with and without IPv6."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.adapters.lookup_window import LookupWindow, to_both
from precog_hw.packet.qp_lookup import WAYS
from precog_hw.packet.qp_turns import qp_lookup
from precog_spec.frames.qp_key import IPV4_MAPPED, table_rows

SLOTS = 4
FETCHES = 12


@pytest.mark.parametrize("ipv6", [True, False])
def test_addresses_that_reach_the_table(ipv6: bool, seed: int) -> None:
    """After reset every cell is freed; then cells are as the host wrote them."""
    rng = random.Random(seed)
    dut = LookupWindow(SLOTS, ipv6=ipv6)
    written: list[dict[str, int]] = []
    seen: list[tuple[int, int, int, int]] = []

    async def table(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        async for _, _, valid, access in ctx.tick().sample(dut.o.valid, dut.o.payload):
            if valid:
                key = access.cell.key
                assert not access.read
                if access.cell.valid:
                    seen.append((access.row, access.way, key.remote, key.qpn))
                else:
                    seen.append((access.row, access.way, -1, -1))

    async def host(ctx: Any) -> None:
        await ctx.tick().until(dut.ready)
        for _ in range(20):
            cell = {f"remote_{n}": rng.getrandbits(32) for n in range(4)}
            cell |= {"qpn": rng.getrandbits(24), "slot": rng.randrange(SLOTS), "valid": 1}
            written.append(cell | {"row": rng.randrange(SLOTS), "way": rng.randrange(WAYS)})
            ctx.set(dut.row, written[-1]["row"])
            ctx.set(dut.way, written[-1]["way"])
            ctx.set(dut.window, cell)
            ctx.set(dut.apply, 1)
            await ctx.tick()
            ctx.set(dut.apply, 0)
            await ctx.tick().until(~dut.busy)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_process(table)
    sim.add_testbench(host)
    sim.run()
    freed = [(row, way, -1, -1) for row in range(table_rows(SLOTS)) for way in range(WAYS)]
    expected = []
    for cell in written:
        address = sum(cell[f"remote_{n}"] << 32 * n for n in range(4))
        if not ipv6:
            address = IPV4_MAPPED | cell["remote_0"]
        expected.append((cell["row"], cell["way"], address, cell["qpn"]))
    assert seen == freed + expected


class _Copied(wiring.Component):
    """The window of a NIC in wire mode, whose router has a copy of the table."""

    def __init__(self, *, relaxed: bool) -> None:
        self.window = LookupWindow(SLOTS)
        self.copy = qp_lookup(SLOTS, relaxed=relaxed)
        self._table = qp_lookup(SLOTS, relaxed=relaxed)
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window = window = self.window
        m.submodules.copy = copy = self.copy
        m.submodules.table = table = self._table
        to_both(m, window.o, table.i_access, copy.i_access)
        m.d.comb += [window.cell_stb.eq(table.read_stb), window.cell.eq(table.read_cell)]
        return m


@pytest.mark.parametrize("relaxed", [False, True], ids=("pipelined", "relaxed"))
def test_a_cell_is_read_whatever_the_router_looks_up(relaxed: bool) -> None:
    """The router's table may take an access later than the card's, which answers then."""
    dut = _Copied(relaxed=relaxed)
    window, ended, over = dut.window, [], []

    async def router(ctx: Any) -> None:
        while not over:  # as often as it may ask
            ctx.set(dut.copy.tx_stb, 1)
            await ctx.tick().repeat(1 if relaxed else 9)
            ctx.set(dut.copy.tx_stb, 0)
            await ctx.tick().repeat(11 if relaxed else 1)

    async def host(ctx: Any) -> None:
        await ctx.tick().until(window.ready)
        for n in range(FETCHES):
            await ctx.tick().repeat(n + 1)
            ctx.set(window.fetch, 1)
            await ctx.tick()
            ctx.set(window.fetch, 0)
            for _ in range(40):
                if not ctx.get(window.busy):
                    ended.append(n)
                    break
                await ctx.tick()
        over.append(True)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(router)
    sim.add_testbench(host)
    sim.run()
    assert ended == list(range(FETCHES))
