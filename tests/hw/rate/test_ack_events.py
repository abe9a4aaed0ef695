# amaranth: UnusedElaboratable=no
"""Acknowledgements and losses against their golden models, in the collector's order of events."""

from collections.abc import Callable
from typing import Any

import pytest

from precog_hw.measure.rtt_events import EventKind
from precog_hw.rate.ack_events import AckEvents
from precog_models.measure.rtt_collector import RttCollector as Golden
from precog_spec.config import NicConfig
from precog_spec.law_fields import RING_PLACES

from ..packet.bench import run
from .ack_traffic import ACK, SEND, AckTraffic, Measured, command

_DRAIN = 400  # cycles until everything is told


def made(
    qps: int, seed: int, *, floor: int = 5, relaxed: bool = False
) -> tuple[Measured, AckTraffic]:
    dut = Measured(NicConfig(qps=qps, sets=2, relaxed=relaxed), relaxed=relaxed)
    golden = Golden(qps, 0, floor=floor, places=RING_PLACES)
    return dut, AckTraffic(dut, golden, seed)


@pytest.mark.parametrize(
    ("qps", "relaxed", "patience"),
    [(2, False, 1.0), (8, False, 0.1), (4, True, 1.0), (64, False, 0.5)],
)
def test_exact_in_the_collector_s_order(
    qps: int, relaxed: bool, patience: float, seed: int, volume: int
) -> None:
    """Coalesced ACKs, full rings, wraps, losses, queue pairs that go and come, all colliding."""
    dut, traffic = made(qps, seed, floor=seed % 50, relaxed=relaxed)
    collector, acks, rng = dut.collector, dut.acks, traffic.rng
    cycles = 3000 * volume * (3 if relaxed else 1)
    listening = dict.fromkeys(range(qps), False)
    waiting: dict[EventKind, tuple[Any, ...] | None] = {EventKind.TX: None, EventKind.RX: None}
    ports = {EventKind.TX: collector.i_tx, EventKind.RX: collector.i_rx}
    draw: dict[EventKind, Callable[[], Any]] = {
        EventKind.TX: traffic.request, EventKind.RX: traffic.answer
    }  # fmt: skip

    async def cycle(ctx: Any, busy: float) -> None:
        commanded = None
        ctx.set(acks.command_stb, 0)
        if busy and rng.random() < 0.02:
            slot = rng.randrange(qps)
            commanded = slot, rng.random() < 0.7
            listening[slot] |= commanded[1]
            command(ctx, acks, slot, on=commanded[1])
        for kind, port in ports.items():
            if waiting[kind] is None and rng.random() < busy:
                drawn = draw[kind]()
                if drawn is not None:
                    fields, event = drawn
                    ctx.set(port.payload, fields | {"t": event[2]})
                    waiting[kind] = event
            ctx.set(port.valid, waiting[kind] is not None)
        if busy and not ctx.get(collector.i_reset.valid) and rng.random() < 0.01:
            ctx.set(collector.i_reset.valid, 1)
            ctx.set(collector.i_reset.payload, rng.randrange(qps))
        for kind, port in ports.items():
            event = waiting[kind]
            if event is not None and ctx.get(port.ready):
                traffic.pending[kind].append(event)
                waiting[kind] = None
        released = ctx.get(collector.i_reset.valid) and ctx.get(collector.i_reset.ready)
        if released:
            slot = ctx.get(collector.i_reset.payload)
            traffic.pending[EventKind.RESET].append((slot,))
            traffic.release(slot)
        traffic.watch(ctx, commanded)
        ctx.set(acks.o.ready, not busy or rng.random() < patience)
        if ctx.get(acks.o.valid) and ctx.get(acks.o.ready):
            traffic.take(ctx)
        await ctx.tick()
        if released:
            ctx.set(collector.i_reset.valid, 0)
        step = rng.choice([1, 1, 1, 7, 900]) if rng.random() < 0.998 else 1 << 24
        traffic.now = (traffic.now + step) % (1 << 40)

    async def bench(ctx: Any) -> None:
        ctx.set(collector.floor, traffic.golden.floor)
        for _ in range(qps):  # the queue of those that wait empties itself
            await ctx.tick()
        for n in range(cycles):
            if n % 100 == 0:
                busy = rng.choice([0.1, 0.5, 1.0])
            await cycle(ctx, busy)
        for _ in range(_DRAIN + 8 * qps):
            await cycle(ctx, 0)

    run(dut, bench, cycles=2 * cycles + 2000)
    assert not any(traffic.pending.values())
    assert not any(made is not None for queue in traffic.made for made in queue)
    assert sum(traffic.told) == len(traffic.told) + traffic.merged
    assert any(count > 1 for count in traffic.told) == (traffic.merged > 0)
    assert len(traffic.told) > cycles // 100
    assert any(listening.values())
    assert traffic.lost == traffic.losses
    assert len(traffic.losses) > cycles // 3000
    print(
        f"{traffic.count} events, {len(traffic.told)} told, {traffic.merged} merged, "
        f"{len(traffic.losses)} losses"
    )


def test_latency_and_throughput() -> None:
    """ACKs of all queue pairs in consecutive cycles: each is told, one in 4 cycles."""
    qps = 16
    dut, _ = made(qps, 0)
    acks = dut.acks
    commits: list[int] = []
    told: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        for qp in range(qps):
            command(ctx, acks, qp, on=True)
            await ctx.tick()
        ctx.set(acks.command_stb, 0)
        ctx.set(acks.o.ready, 1)
        for n in range(300):
            for at, port, opcode in ((20, dut.collector.i_tx, SEND), (80, dut.collector.i_rx, ACK)):
                qp = n - at
                ctx.set(port.valid, 0 <= qp < qps)
                ctx.set(port.payload, {"slot": qp % qps, "opcode": opcode, "psn": 7, "t": n})
            if ctx.get(dut.collector.commit_stb & (dut.collector.commit.kind == EventKind.RX)):
                commits.append(n)
            if ctx.get(acks.o.valid):
                told.append((n, ctx.get(acks.o.payload.qp)))
            assert not ctx.get(acks.merged)
            await ctx.tick()

    run(dut, bench, cycles=600)
    assert len(commits) == qps
    assert told == [(commits[0] + AckEvents.LATENCY + 4 * qp, qp) for qp in range(qps)]
