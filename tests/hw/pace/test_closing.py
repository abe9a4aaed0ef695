# amaranth: UnusedElaboratable=no
"""Queue pairs are disabled one after the other, under load: every packet leaves."""

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.qp import config_layout
from precog_hw.pace.grants import Grants
from precog_hw.pace.wire_path import WirePath, route_layout, tell
from precog_hw.store.layouts import StoreConfig
from precog_hw.stream.packet import packet_signature
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

from ..packet.bench import run

QPS, EACH = 16, 30
STORE = StoreConfig(qps=QPS, width=64, cells=1024, cell_bytes=128, longest=256)
PACKETS = 2000  # the cycle of the first one
DISABLES = 2400  # the cycle of the first command that does
CYCLES = 16_000


class _Paced(wiring.Component):
    """`Grants` and `WirePath`, connected as in a NIC."""

    def __init__(self, *, relaxed: bool) -> None:
        self._nic = NicConfig(qps=QPS, width=64, grants=True, wire=1024, relaxed=relaxed)
        super().__init__(
            {
                "i": In(packet_signature(STORE.width)),
                "i_route": In(stream.Signature(route_layout(QPS))),
                "o": Out(packet_signature(STORE.width)),
                "command": In(config_layout(self._nic)),
                "command_stb": In(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.path = path = WirePath(STORE, relaxed=self._nic.relaxed)
        m.submodules.grants = grants = Grants(self._nic)
        for name in ("i", "i_route"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(path, name))
        wiring.connect(m, path.o, wiring.flipped(self.o))
        wiring.connect(m, path.o_request, grants.i_request)
        wiring.connect(m, grants.o_grant, path.i_grant)
        now = Signal(Fmt.TIME.width)
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            grants.command.eq(self.command),
            grants.command_stb.eq(self.command_stb),
            self.done.eq(grants.done),
            grants.calm.eq(path.calm),
            grants.now.eq(now),
            path.refused.eq(grants.refused),
            path.window_events.eq(Cat(grants.shuts, grants.waits, grants.expires)),
            path.commit_stb.eq(grants.log.valid),
            *tell(path.commit, grants.log.payload.commit),
            path.quota.eq(STORE.cells),
        ]
        return m


@pytest.mark.parametrize("relaxed", [False, True], ids=("pipelined", "relaxed"))
def test_queue_pairs_are_disabled_under_load(relaxed: bool) -> None:
    """A command waits for the packets of the one before, and they for room among the requests."""
    dut = _Paced(relaxed=relaxed)
    left: list[int] = []

    async def bench(ctx: Any) -> None:
        coming = deque(random.Random(1).sample(list(range(QPS)) * EACH, EACH * QPS))
        orders = deque((qp, enable) for enable in (0, 1, 0) for qp in range(QPS))
        command, route = dut.command, dut.i_route.payload
        ctx.set(command.apply, 1)
        ctx.set(command.config.init_rate, Fmt.RATE.max)
        ctx.set(route.paced, 1)
        ctx.set(dut.i.payload.keep, 0xFF)
        ctx.set(dut.i.payload.last, 1)
        ctx.set(dut.o.ready, 1)
        for cycle in range(CYCLES):
            may = cycle >= DISABLES or len(orders) > QPS
            orders_now = may and bool(orders) and bool(ctx.get(dut.done))
            ctx.set(dut.command_stb, orders_now)
            if orders_now:
                qp, enable = orders.popleft()
                ctx.set(command.qp, qp)
                ctx.set(command.config.enable, enable)
            for port in (dut.i, dut.i_route):
                ctx.set(port.valid, bool(coming) and cycle >= PACKETS)
            if coming:
                ctx.set(route.qp, coming[0])
                ctx.set(dut.i.payload.data, coming[0])
            if ctx.get(dut.i.valid) and ctx.get(dut.i.ready):
                coming.popleft()
            if ctx.get(dut.o.valid):
                left.append(ctx.get(dut.o.payload.data))
            await ctx.tick()
            if len(left) == EACH * QPS and not orders:
                return

    run(dut, bench, cycles=CYCLES + 100)
    assert sorted(left) == sorted(list(range(QPS)) * EACH)
