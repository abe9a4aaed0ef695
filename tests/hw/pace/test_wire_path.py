# amaranth: UnusedElaboratable=no
"""Packets of queue pairs that are not paced leave, however many, and so do the others."""

import random
from collections import deque
from typing import Any

import pytest

from precog_hw.pace.wire_path import WirePath
from precog_hw.store.layouts import StoreConfig

from ..packet.bench import run

QPS, EACH = 16, 8
PACED = 5  # queue pairs whose requests are granted; those of the others are refused
CONFIG = StoreConfig(qps=QPS, width=64, cells=256, cell_bytes=128, longest=256)
GRANTS = 1500  # the cycle of the first one
TAKES = 4  # cycles of the pacer for a request
BEAT = 32  # cycles of the line for a packet, which is slower than the store
CYCLES = 4500


@pytest.mark.parametrize("relaxed", [False, True], ids=("pipelined", "relaxed"))
def test_refused_requests_of_many_queue_pairs_hold_nobody(relaxed: bool) -> None:
    """The pacer's grants come late, when each stage is full of packets that were refused."""
    dut = WirePath(CONFIG, relaxed=relaxed)
    left: list[int] = []

    async def bench(ctx: Any) -> None:
        coming = deque(random.Random(1).sample(list(range(QPS)) * EACH, EACH * QPS))
        checked: deque[bool] = deque([False] * WirePath.CHECK)
        granted: deque[int] = deque()
        route, grant = dut.i_route.payload, dut.i_grant.payload
        ctx.set(dut.quota, CONFIG.cells)
        ctx.set(route.paced, 1)
        ctx.set(dut.i.payload.keep, 0xFF)
        ctx.set(dut.i.payload.last, 1)
        for cycle in range(CYCLES):
            sends = not cycle % BEAT
            ctx.set(dut.o.ready, sends)
            offers = cycle >= GRANTS and bool(granted)
            for port, valid in ((dut.i, coming), (dut.i_route, coming), (dut.i_grant, offers)):
                ctx.set(port.valid, bool(valid))
            if coming:
                ctx.set(route.qp, coming[0])
                ctx.set(dut.i.payload.data, coming[0])
            if offers:
                ctx.set(grant.qp, granted[0])
            takes = not cycle % TAKES
            ctx.set(dut.o_request.ready, takes)
            ctx.set(dut.refused, checked.popleft())
            asks, asking = takes and ctx.get(dut.o_request.valid), ctx.get(dut.o_request.payload.qp)
            checked.append(bool(asks) and asking >= PACED)
            if asks and asking < PACED:
                granted.append(asking)
            if sends and ctx.get(dut.o.valid):
                left.append(ctx.get(dut.o.payload.data))
            if offers and ctx.get(dut.i_grant.ready):
                granted.popleft()
            if ctx.get(dut.i.ready) and coming:
                coming.popleft()
            await ctx.tick()
            if len(left) == EACH * QPS:
                return

    run(dut, bench, cycles=CYCLES + 100)
    assert sorted(left) == sorted(list(range(QPS)) * EACH)
