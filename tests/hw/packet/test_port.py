"""The queue before the card's port, against the golden model."""

import random
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.packet.port import PortQueue
from precog_models.packet.parser import Descriptor
from precog_models.packet.port import PortConfig, PortEvent
from precog_models.packet.port import PortQueue as Golden
from precog_spec.contract import QueueEvent
from precog_spec.frames.cps import EPOCH_LEAST
from precog_spec.frames.descriptor import Direction, Reason

_TIME = 1 << 40
_LENGTHS = (0, 999, 4096, 20_000, 0xFFFF_FFFF)


def _packet(rng: random.Random) -> Descriptor:
    return Descriptor(
        Direction.RX,
        error=False,
        shim=False,
        reason=Reason.NONE,
        opcode=rng.choice((*range(0x04, 0x0C), 0x11)),
        payload=rng.choice((0, 1, 999, 1024, 4096)),
        dma_length=rng.choice(_LENGTHS),
    )


class _Bench:
    """The block, its golden model, and what both have said."""

    def __init__(self, slots: int, *, relaxed: bool) -> None:
        self.slots, self.now, self.ready = slots, _TIME - 5000, 1.0
        self.dut, self.golden = PortQueue(slots, relaxed=relaxed), Golden(slots)
        self.wanted: list[PortEvent] = []
        self.got: list[PortEvent] = []
        self.golden.use = self.wanted.append
        self.rng = random.Random(1)

    def run(self, bench: Any) -> None:
        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()

    async def settle(self, ctx: Any, cycles: int) -> None:
        """Cycles in which events are taken."""
        for _ in range(cycles):
            ready = self.rng.random() < self.ready
            ctx.set(self.dut.o.ready, ready)
            event = self.dut.o.payload
            if ready and ctx.get(self.dut.o.valid):
                kind = QueueEvent.DEPARTURE if ctx.get(event.departs) else QueueEvent.ARRIVAL
                self.got.append(PortEvent(kind, ctx.get(event.size), ctx.get(event.t)))
            await ctx.tick()

    def set(self, ctx: Any, config: PortConfig) -> None:
        """The registers of both."""
        self.golden.config = config
        for name in ("enable", "epoch", "most"):
            ctx.set(getattr(self.dut, name), getattr(config, name))

    def hear(self, ctx: Any, slot: int, packet: Descriptor) -> None:
        """A packet in this cycle; the strobe stays until it is taken away."""
        self.golden.heard(slot, packet, self.now)
        ctx.set(self.dut.heard, 1)
        ctx.set(self.dut.slot, slot)
        ctx.set(self.dut.time, self.now)
        for name in ("opcode", "payload", "dma_length"):
            ctx.set(getattr(self.dut, name), getattr(packet, name))

    async def reset(self, ctx: Any, slot: int) -> None:
        """The host's, when the block takes it."""
        self.golden.reset(slot)
        port = self.dut.i_reset
        ctx.set(port.payload, slot)
        ctx.set(port.valid, 1)
        while not ctx.get(port.ready):
            await self.settle(ctx, 1)
        await self.settle(ctx, 1)
        ctx.set(port.valid, 0)

    async def begin(self, ctx: Any, config: PortConfig) -> None:
        """Time and registers."""
        ctx.set(self.dut.now, self.now)
        self.golden.pass_time(self.now)
        self.set(ctx, config)
        await self.settle(ctx, 24 * self.slots + 60)


@pytest.mark.parametrize(("slots", "relaxed"), [(2, False), (8, True), (16, False)])
def test_events_are_the_golden_ones(slots: int, relaxed: bool, seed: int) -> None:
    """One at a time: packets, resets, time that jumps and wraps, registers that change."""
    rng = random.Random(seed)
    bench = _Bench(slots, relaxed=relaxed)
    dut, golden = bench.dut, bench.golden
    sums: set[int] = set()

    async def run(ctx: Any) -> None:
        config = PortConfig(enable=True, epoch=3, most=30_000)
        await bench.begin(ctx, config)
        for _ in range(500):
            kind = rng.random()
            length = 1 << (EPOCH_LEAST + config.epoch)
            if kind < 0.15:
                ends = length - bench.now % length
                step = rng.choice((1, ends - 1, ends, length, 2 * length, 9 * length))
                bench.now = (bench.now + step) % _TIME
                ctx.set(dut.now, bench.now)
                golden.pass_time(bench.now)
            elif kind < 0.2:
                config = PortConfig(
                    enable=rng.random() < 0.8,
                    epoch=rng.choice((0, 3, 7)),
                    most=rng.choice((0, 5000, 30_000)),
                )
                bench.set(ctx, config)
                golden.pass_time(bench.now)
            elif kind < 0.25:
                await bench.reset(ctx, rng.randrange(slots))
            else:
                bench.hear(ctx, rng.randrange(slots), _packet(rng))
                await bench.settle(ctx, 1)
                ctx.set(dut.heard, 0)
            await bench.settle(ctx, 40 if kind >= 0.25 else 14 * slots + 60)
            assert ctx.get(dut.announced) == golden.announced
            sums.add(golden.announced)
            assert bench.got == bench.wanted
            bench.got.clear()
            bench.wanted.clear()

    bench.run(run)
    assert 0 in sums
    assert len(sums) > 20


@pytest.mark.parametrize("ready", [0.02, 0.3, 1.0])
def test_nothing_is_lost_of_packets_in_a_row(ready: float, seed: int) -> None:
    """Events are added up: fewer of them, but all bytes, and no more departs than is there."""
    rng = random.Random(seed)
    bench = _Bench(8, relaxed=False)
    bench.ready = ready
    dut, golden = bench.dut, bench.golden

    async def run(ctx: Any) -> None:
        await bench.begin(ctx, PortConfig(enable=True, epoch=15, most=30_000))
        for _ in range(2000):
            ctx.set(dut.heard, 0)
            if rng.random() < 0.8:
                bench.hear(ctx, rng.randrange(8), _packet(rng))
            elif rng.random() < 0.05:
                await bench.reset(ctx, rng.randrange(8))
                continue
            await bench.settle(ctx, 1)
        ctx.set(dut.heard, 0)
        bench.ready = 1.0
        await bench.settle(ctx, 80)
        assert ctx.get(dut.announced) == golden.announced

    bench.run(run)
    assert 20 < len(bench.got) < len(bench.wanted) / 1.5
    for kind in (QueueEvent.ARRIVAL, QueueEvent.DEPARTURE):
        sizes = [sum(e.size for e in log if e.kind == kind) for log in (bench.got, bench.wanted)]
        assert sizes[0] == sizes[1]
    queued = 0
    for event in bench.got:
        queued += event.size if event.kind == QueueEvent.ARRIVAL else -event.size
        assert queued >= 0
    assert queued == golden.announced


def test_sums_that_wait_for_long_stay_exact(seed: int) -> None:
    """2**31 bytes that have come and gone leave both sums; the difference does not change."""
    rng = random.Random(seed)
    bench = _Bench(2, relaxed=False)
    bench.ready = 0.0
    dut, golden = bench.dut, bench.golden
    most = (1 << 24) - 1

    async def run(ctx: Any) -> None:
        await bench.begin(ctx, PortConfig(enable=True, epoch=15, most=most))
        first = _packet(rng)._replace(opcode=0x06, payload=100, dma_length=most)
        for _ in range(300):
            bench.hear(ctx, 1, first)
            await bench.settle(ctx, 1)
        ctx.set(dut.heard, 0)
        bench.ready = 1.0
        await bench.settle(ctx, 20)
        assert ctx.get(dut.announced) == golden.announced == most - 100

    bench.run(run)
    sums = [
        sum(e.size if e.kind == QueueEvent.ARRIVAL else -e.size for e in log)
        for log in (bench.got, bench.wanted)
    ]
    assert sums == [golden.announced] * 2
    assert sum(e.size for e in bench.wanted) - sum(e.size for e in bench.got) == 2 << 32


@pytest.mark.parametrize("phase", range(8))
def test_a_reset_waits_64_cycles_though_packets_come_in_step(phase: int, seed: int) -> None:
    """A packet in the cycle in which it has waited long enough puts it off by one cycle."""
    bench = _Bench(2, relaxed=False)
    bench.ready = 0.0
    dut = bench.dut
    packet = _packet(random.Random(seed))._replace(payload=999)

    async def run(ctx: Any) -> None:
        await bench.begin(ctx, PortConfig(enable=True, epoch=15))
        bench.hear(ctx, 0, packet)
        await bench.settle(ctx, 1)
        ctx.set(dut.heard, 0)
        await bench.settle(ctx, 8)
        ctx.set(dut.i_reset.valid, 1)
        for cycles in range(66):
            ctx.set(dut.heard, cycles % 8 == phase)
            if ctx.get(dut.i_reset.ready):
                break
            await ctx.tick()
        assert cycles <= 64

    bench.run(run)


def test_rows_of_before_a_reset_are_nothing(seed: int) -> None:
    rng = random.Random(seed)
    bench = _Bench(4, relaxed=False)
    dut: wiring.Component = bench.dut

    async def run(ctx: Any) -> None:
        await bench.begin(ctx, PortConfig(enable=True, epoch=0, most=9000))
        first = _packet(rng)._replace(opcode=0x06, payload=1, dma_length=9000)
        for slot in range(4):
            bench.hear(ctx, slot, first)
            await bench.settle(ctx, 1)
        ctx.set(dut.heard, 0)
        await bench.settle(ctx, 20)
        bench.got.clear()
        # The first resets find rows; counters and sums are those of a block after its reset.
        ctx.set(dut.first_reset, 1)
        for slot in range(4):
            await bench.reset(ctx, slot)
        await bench.settle(ctx, 20)
        assert bench.got == []

    bench.run(run)
