"""The count of senders and the levels that shims bring, against the golden model."""

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from precog_hw.packet.senders import Senders
from precog_hw.packet.senders_told import SHOWN, SendersTold
from precog_models.packet.parser import Descriptor
from precog_models.packet.senders import Senders as Golden
from precog_models.packet.senders import SendersConfig, level_of
from precog_spec.frames.cps import EPOCH_LEAST
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.opcodes import CNP, NAMES

_TIME = 1 << 40
_OPCODES = (*(op for op in NAMES if op != CNP), CNP, 0xE7)


def _simulate(dut: wiring.Component, bench: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def _packet(rng: random.Random) -> Descriptor:
    return Descriptor(
        Direction.RX,
        error=False,
        shim=False,
        reason=Reason.NONE,
        opcode=rng.choice((*range(0x06, 0x0C), rng.choice(_OPCODES))),
        payload=rng.choice((0, 1, 999, 1000, 4096)),
        dma_length=rng.choice((0, 999, 1000, 1001, 0xFFFF_FFFF)),
    )


async def _hear(ctx: Any, dut: Senders, slot: int, packet: Descriptor) -> None:
    """A packet in this cycle; the strobe stays until it is taken away."""
    ctx.set(dut.heard, 1)
    ctx.set(dut.slot, slot)
    for name in ("opcode", "payload", "dma_length"):
        ctx.set(getattr(dut, name), getattr(packet, name))


def _stop(ctx: Any, dut: SendersTold) -> None:
    """Nothing is at any port."""
    for strobe in (dut.heard_stb, dut.asks):
        ctx.set(strobe, 0)
    for port in (dut.i_reset, dut.i_belief, dut.i_look, dut.i_show):
        ctx.set(port.valid, 0)


def _later(rng: random.Random, now: int, epoch: int) -> int:
    """The same time, a little later, and some epochs."""
    length = 1 << (EPOCH_LEAST + epoch)
    ends = length - now % length
    step = rng.choice((0, 1, ends - 1, ends, length, 2 * length, 3 * length, 9 * length))
    return (now + step) % _TIME


@pytest.mark.parametrize(("slots", "relaxed"), [(2, False), (8, True), (16, False)])
def test_the_count_is_the_golden_one(slots: int, relaxed: bool, seed: int) -> None:
    """Bursts, resets, time that stands or jumps and wraps, epochs that change."""
    rng = random.Random(seed)
    dut, golden = Senders(slots, relaxed=relaxed), Golden(slots)
    seen: Counter[int] = Counter()
    joined = 0

    async def settle(ctx: Any, cycles: int) -> None:
        nonlocal joined
        for _ in range(cycles):
            joined += ctx.get(dut.joined)
            await ctx.tick()

    async def bench(ctx: Any) -> None:
        now, config = _TIME - 5000, SendersConfig(epoch=3, least=1000)
        golden.config = config
        golden.count(now)
        ctx.set(dut.now, now)
        ctx.set(dut.epoch, config.epoch)
        ctx.set(dut.least, config.least)
        await settle(ctx, 4 * slots + 20)
        for _ in range(400):
            kind = rng.random()
            if kind < 0.3:
                now = _later(rng, now, config.epoch)
                ctx.set(dut.now, now)
            elif kind < 0.45:
                config = SendersConfig(
                    epoch=rng.choice((0, 3, 7)), least=rng.choice((0, 1000, 0xFFFF_FFFF))
                )
                golden.config = config
                ctx.set(dut.epoch, config.epoch)
                ctx.set(dut.least, config.least)
            elif kind < 0.55:
                slot = rng.randrange(slots)
                golden.reset(slot)
                ctx.set(dut.i_reset.payload, slot)
                ctx.set(dut.i_reset.valid, 1)
                await settle(ctx, 1)
                ctx.set(dut.i_reset.valid, 0)
            else:
                for _ in range(rng.randrange(1, 3 * slots)):
                    slot, packet = rng.randrange(slots), _packet(rng)
                    golden.arrived(slot, packet, now)
                    await _hear(ctx, dut, slot, packet)
                    await settle(ctx, 1)
                ctx.set(dut.heard, 0)
            await settle(ctx, 4 * slots + 20)
            count = golden.count(now)
            seen[count] += 1
            assert ctx.get(dut.count) == count
            assert ctx.get(dut.level) == level_of(count)
            assert joined == golden.joined

    _simulate(dut, bench)
    assert 0 in seen
    assert max(seen) > slots / 2


def test_the_count_while_time_runs(seed: int) -> None:
    """A packet in most cycles; none close to the end of an epoch, whose visits go on meanwhile."""
    rng = random.Random(seed)
    slots, margin = 8, 12
    dut, golden = Senders(slots), Golden(slots)
    counts: set[int] = set()

    async def bench(ctx: Any) -> None:
        golden.config = SendersConfig(epoch=0, least=1000)
        ctx.set(dut.least, 1000)
        joined, some = 0, set(range(slots))
        for now in range(40 * 256):
            at = now % 256
            if at == 0:
                some = set(rng.sample(range(slots), rng.randrange(slots + 1)))
            ctx.set(dut.now, now)
            sends = margin < at < 256 - margin and some and rng.random() < 0.8
            ctx.set(dut.heard, int(bool(sends)))
            if sends:
                slot, packet = rng.choice(sorted(some)), _packet(rng)
                golden.arrived(slot, packet, now)
                await _hear(ctx, dut, slot, packet)
            joined += ctx.get(dut.joined)
            if at == 255:
                counts.add(golden.count(now))
                assert ctx.get(dut.count) == golden.count(now)
                assert joined == golden.joined
            await ctx.tick()

    _simulate(dut, bench)
    assert len(counts) > 4


def test_nothing_of_before_a_reset_counts(seed: int) -> None:
    """After a reset of the registers rows are as they were; the first resets are for that."""
    rng = random.Random(seed)
    slots = 4
    dut = Senders(slots)
    packet = _packet(rng)._replace(opcode=0x01, payload=64)

    async def bench(ctx: Any) -> None:
        for slot in range(slots):
            await _hear(ctx, dut, slot, packet)
            await ctx.tick()
        ctx.set(dut.heard, 0)
        await ctx.tick().repeat(9)
        assert ctx.get(dut.count) == slots
        # Counters of zero, as a reset makes them, and rows that are not: two epochs end, and the
        # host's first resets come before the last row was visited.
        ctx.set(dut.first_reset, 1)
        ctx.set(dut.i_reset.valid, 1)
        for slot in range(slots):
            ctx.set(dut.i_reset.payload, slot)
            await ctx.tick()
        ctx.set(dut.i_reset.valid, 0)
        ctx.set(dut.first_reset, 0)
        await ctx.tick().repeat(9)
        assert ctx.get(dut.count) == slots  # counters did not hear of it

    _simulate(dut, bench)


@pytest.mark.parametrize(
    ("hold", "relaxed"),
    [(0, False), (1023, False), (1024, True), (5000, False), (5000, True), (0xFFFF_FFFF, False)],
)
def test_news_are_the_golden_ones(hold: int, relaxed: bool, seed: int) -> None:
    rng = random.Random(seed)
    slots = 4
    dut, golden = SendersTold(slots, relaxed=relaxed), Golden(slots)
    expected: list[tuple[int, int, int]] = []
    got: list[tuple[int, int, int]] = []
    heeded = risen = outnumbered = beliefs = 0
    said: list[int] = []
    levels: list[int] = []
    rows: list[tuple[int, ...]] = []
    shown: list[tuple[int, ...]] = []

    async def step(ctx: Any) -> None:
        nonlocal heeded, risen, outnumbered
        heeded += ctx.get(dut.heeded)
        if ctx.get(dut.known_stb):
            levels.append(ctx.get(dut.told.level))
        if ctx.get(dut.shown_stb):
            shown.append(tuple(ctx.get(dut.shown[name]) for name in SHOWN.members))
        risen += ctx.get(dut.risen)
        outnumbered += ctx.get(dut.outnumbered)
        if ctx.get(dut.told_stb):
            got.append(tuple(ctx.get(dut.told[name]) for name in ("slot", "level", "t")))
        await ctx.tick()

    async def bench(ctx: Any) -> None:
        nonlocal beliefs
        t = _TIME - 20_000
        golden.config = SendersConfig(heed=True, hold=hold)
        ctx.set(dut.hold, hold)
        for _ in range(2000):
            heed, own = rng.random() < 0.9, rng.random() < 0.5
            golden.config = SendersConfig(heed=heed, own=own, hold=hold)
            ctx.set(dut.heed, heed)
            t = (t + rng.choice((0, 1, 900, 1024, 6000))) % _TIME
            if rng.random() < 0.2:
                golden.sent(rng.randrange(slots), _packet(rng)._replace(opcode=1, payload=1), t)
            ctx.set(dut.own, level_of(golden.own(t)) if own else 0)
            slot, level = rng.randrange(slots), rng.randrange(rng.choice((4, 16)))
            kind = rng.random()
            _stop(ctx, dut)
            ctx.set(dut.i_show.valid, kind >= 0.9)
            if kind >= 0.9:
                ctx.set(dut.i_show.payload, slot)
                ctx.set(dut.heard, {"slot": slot ^ 1, "level": 15, "t": t})
                row = golden.row(slot)
                rows.append((row.level, int(row.believed), row.most))
            if kind < 0.02:
                golden.reset(slot)
                ctx.set(dut.i_reset.payload, slot)
                ctx.set(dut.i_reset.valid, 1)
            elif kind < 0.1:
                ctx.set(dut.i_belief.payload, {"slot": slot, "level": level})
                ctx.set(dut.i_belief.valid, 1)
                ctx.set(dut.heard, {"slot": slot ^ 1, "level": 15, "t": t})  # nobody's
                news = golden.believe(slot, level, t)
                if news is not None:
                    expected.append((slot, news, t))
                    beliefs += 1
                if heed:
                    said.append(golden.said(slot))
            elif kind < 0.2:
                if rng.random() < 0.5:
                    ctx.set(dut.asks, 1)
                    ctx.set(dut.heard, {"slot": slot, "level": level, "t": t})
                else:
                    ctx.set(dut.i_look.payload, slot)
                    ctx.set(dut.i_look.valid, 1)
                    ctx.set(dut.heard, {"slot": slot ^ 1, "level": 15, "t": t})
                if heed:
                    said.append(golden.said(slot))
            elif kind < 0.9:
                ctx.set(dut.asks, rng.randrange(2))
                ctx.set(dut.heard_stb, 1)
                ctx.set(dut.heard, {"slot": slot, "level": level, "t": t})
                news = golden.told(slot, level, t)
                if news is not None:
                    expected.append((slot, news, t))
                if heed:
                    said.append(golden.said(slot))
            await step(ctx)
        _stop(ctx, dut)
        for _ in range(5):
            await step(ctx)

    _simulate(dut, bench)
    assert got == expected
    assert len(got) > 8
    assert levels == said
    assert shown == rows
    assert len({row for row in rows if row[0] != row[2]}) > 8
    assert (heeded, risen, outnumbered) == (golden.heard, golden.risen, golden.outnumbered)
    assert outnumbered > 20
    assert beliefs > 20


def test_levels() -> None:
    assert [level_of(n) for n in (0, 1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [
        *(0, 0, 1, 2, 2, 3, 3, 4, 10, 11)
    ]
    assert level_of(1 << 15) == 15
    assert level_of((1 << 15) + 1) == level_of(1 << 16) == 15
