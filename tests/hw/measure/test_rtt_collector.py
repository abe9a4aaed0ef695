# amaranth: UnusedElaboratable=no
"""RTT collector against its golden model, which replays the order that the gateware exports."""

import itertools
import random
from typing import Any

import pytest

from precog_hw.measure.rtt_collector import RttCollector
from precog_hw.measure.rtt_events import EventKind
from precog_models.measure.rtt_collector import RttCollector as Golden
from precog_spec.contract import Outcome
from precog_spec.frames.headers import PATH_MTUS

from ..packet.bench import run
from .rtt_traffic import ACK, RESPONSE, SEND, Traffic


def made(slots: int, seed: int, *, timeout: int, any_packet: bool = False, **sizes: int) -> Traffic:
    rng = random.Random(seed)
    used = sorted(rng.sample(range(slots), min(slots, 3)))
    mtu = [1024] * slots
    for slot in used[1:]:  # the first keeps what it has at power-up
        mtu[slot] = rng.choice(PATH_MTUS)
    golden = Golden(slots, timeout, any_packet=any_packet, floor=seed % 6, mtu=mtu)
    return Traffic(RttCollector(slots, **sizes), golden, used, seed)


async def configure(ctx: Any, traffic: Traffic) -> None:
    dut, golden = traffic.dut, traffic.golden
    ctx.set(dut.timeout, golden.timeout)
    ctx.set(dut.any_packet, golden.any_packet)
    ctx.set(dut.floor, golden.floor)
    for slot in traffic.slots[1:]:
        ctx.set(dut.mtu_stb, 1)
        ctx.set(dut.mtu_slot, slot)
        ctx.set(dut.mtu_log2, golden.mtu[slot].bit_length() - 1)
        await cycle(ctx, traffic)
    ctx.set(dut.mtu_stb, 0)


async def cycle(ctx: Any, traffic: Traffic, ready: bool = True) -> None:
    """Watch all outputs, then let a cycle pass."""
    ctx.set(traffic.dut.now, traffic.now)
    traffic.watch(ctx)
    traffic.receive(ctx, ready)
    await ctx.tick()
    traffic.tick()


@pytest.mark.parametrize(
    ("slots", "timeout", "any_packet", "sweep_cycles", "cycles", "relaxed"),
    [
        (4, 100, False, 5, 1200, False),
        (2, 25, False, 16, 600, False),
        (1024, 0, True, 3, 600, False),
        (4, 200, False, 16, 1200, True),
    ],
)
def test_exact_in_the_exported_order(
    slots: int,
    timeout: int,
    any_packet: bool,
    sweep_cycles: int,
    cycles: int,
    relaxed: bool,
    seed: int,
) -> None:
    traffic = made(
        slots, seed, timeout=timeout, any_packet=any_packet, sweep_cycles=sweep_cycles,
        queue_depth=4, relaxed=relaxed,
    )  # fmt: skip
    dut, rng = traffic.dut, traffic.rng
    rare = {Outcome.DROPPED_TIMEOUT, Outcome.SWEPT}

    def seen() -> bool:
        """Enough of everything: how long that takes is the seed's."""
        common = all(traffic.seen[bit] for bit in Outcome if bit not in rare)
        return common and {*traffic.kinds} == {*EventKind} and traffic.taken > cycles // 100

    async def bench(ctx: Any) -> None:
        await configure(ctx, traffic)
        offers = {EventKind.TX: False, EventKind.RX: False}
        ports = {EventKind.TX: dut.i_tx, EventKind.RX: dut.i_rx}
        draw = {EventKind.TX: traffic.request, EventKind.RX: traffic.answer}
        busy, stall, resetting = 1.0, 0.0, False
        for n in itertools.count():
            if n >= cycles and seen():
                break
            if n % 60 == 0:
                busy, stall = rng.choice([0.02, 0.2, 0.6, 1.0]), rng.choice([0.0, 0.0, 0.6, 1.0])
            for kind, port in ports.items():
                if not offers[kind] and rng.random() < busy:
                    draw[kind](ctx)
                    offers[kind] = True
                ctx.set(port.valid, offers[kind])
            if not resetting and rng.random() < 0.01:
                resetting = True
                ctx.set(dut.i_reset.payload, rng.choice(traffic.slots))
            ctx.set(dut.i_reset.valid, resetting)
            for kind, port in ports.items():
                if offers[kind] and ctx.get(port.ready):
                    traffic.took(kind)
                    offers[kind] = False
            if resetting and ctx.get(dut.i_reset.ready):
                traffic.resets.append(ctx.get(dut.i_reset.payload))
                resetting = False
            await cycle(ctx, traffic, rng.random() >= stall)
        for port in (dut.i_tx, dut.i_rx, dut.i_reset):
            ctx.set(port.valid, 0)
        for _ in range(80):
            await cycle(ctx, traffic)

    run(dut, bench, cycles=20 * cycles)
    assert not any([*traffic.pending.values(), traffic.samples, traffic.resets])
    assert traffic.scores > cycles // 100


def test_one_event_per_cycle_and_fair(seed: int) -> None:
    """Both directions always have packets: TX and RX in turn, in every cycle."""
    traffic = made(2, seed, timeout=50, any_packet=True, sweep_cycles=1)
    dut, cycles = traffic.dut, 300

    async def bench(ctx: Any) -> None:
        await configure(ctx, traffic)
        ctx.set(dut.i_tx.valid, 1)
        ctx.set(dut.i_rx.valid, 1)
        given = {EventKind.TX: False, EventKind.RX: False}
        for _ in range(cycles):
            for kind, port, draw, counted in (
                (EventKind.TX, dut.i_tx, traffic.request, SEND),
                (EventKind.RX, dut.i_rx, traffic.answer, RESPONSE),
            ):
                while not given[kind]:
                    draw(ctx)
                    event = traffic.next_tx if kind is EventKind.TX else traffic.next_rx
                    given[kind] = event[1].opcode == counted
                if ctx.get(port.ready):
                    traffic.took(kind)
                    given[kind] = False
            await cycle(ctx, traffic)

    run(dut, bench, cycles=cycles + 100)
    busy = traffic.kinds[-(cycles - 30) :]
    assert len(traffic.kinds) >= cycles - 10
    assert {*busy[::2]} | {*busy[1::2]} == {EventKind.TX, EventKind.RX}
    assert len({*busy[::2]}) == len({*busy[1::2]}) == 1
    assert traffic.taken > 0


def test_latency() -> None:
    dut = RttCollector(8, sweep_cycles=4096)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i_tx.payload, {"slot": 5, "opcode": SEND, "psn": 9, "ack_req": 1, "t": 100})
        ctx.set(dut.i_tx.valid, 1)
        await ctx.tick()
        ctx.set(dut.i_tx.valid, 0)
        ctx.set(dut.i_rx.payload, {"slot": 5, "opcode": ACK, "psn": 9, "t": 350})
        ctx.set(dut.i_rx.valid, 1)
        await ctx.tick()
        ctx.set(dut.i_rx.valid, 0)
        for _ in range(RttCollector.LATENCY - 1):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
        assert ctx.get(dut.o.valid)
        sample = ctx.get(dut.o.payload)
        assert (sample.qp, sample.rtt, sample.t) == (5, 250, 350)
        assert RttCollector.LATENCY == 11

    run(dut, bench, cycles=60)


def test_back_pressure_stops_the_inputs_and_loses_nothing() -> None:
    """A sample in every cycle, more than the collector can hold while nobody takes one."""
    trips = 32
    dut = RttCollector(trips, sweep_cycles=4096, queue_depth=2)
    got: list[int] = []
    stalled = 0

    async def source(ctx: Any) -> None:
        nonlocal stalled
        for port, opcode, rate in ((dut.i_tx, SEND, 10), (dut.i_rx, ACK, 11)):
            for n in range(trips):
                event = {"slot": n, "psn": n, "opcode": opcode, "t": rate * n}
                ctx.set(port.payload, event | ({"ack_req": 1} if opcode == SEND else {}))
                ctx.set(port.valid, 1)
                while not ctx.get(port.ready):
                    stalled += 1
                    await ctx.tick()
                await ctx.tick()
            ctx.set(port.valid, 0)

    async def sink(ctx: Any) -> None:
        await ctx.tick().repeat(200)
        ctx.set(dut.o.ready, 1)
        while len(got) < trips:
            _, _, valid, sample = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            got.extend([sample.rtt] * valid)

    run(dut, source, sink, cycles=600)
    assert got == list(range(trips))
    assert stalled > 100


def test_the_sweep_gives_up_alone() -> None:
    dut = RttCollector(4, sweep_cycles=8)
    timeout = 20
    ended: list[int] = []
    looks: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.timeout, timeout)
        ctx.set(dut.i_tx.payload, {"slot": 3, "opcode": SEND, "psn": 9, "ack_req": 1, "t": 0})
        ctx.set(dut.i_tx.valid, 1)
        for now in range(timeout + 4 * 8 + 40):
            ctx.set(dut.now, now)
            if ctx.get(dut.commit_stb) and ctx.get(dut.commit.kind) == EventKind.SWEEP:
                looks.append((now, ctx.get(dut.commit.slot)))
            if ctx.get(dut.commit.outcome) & Outcome.SWEPT:
                assert ctx.get(dut.commit.slot) == 3
                ended.append(ctx.get(dut.commit.t))
            await ctx.tick()
            ctx.set(dut.i_tx.valid, 0)

    run(dut, bench, cycles=200)
    assert len(ended) == 1
    assert timeout <= ended[0] < timeout + 4 * 8
    assert looks == [(looks[0][0] + 8 * n, n % 4) for n in range(len(looks))]
    assert len(looks) >= 8


def test_configuration_errors() -> None:
    with pytest.raises(ValueError, match="slots must be a power of two, 2 or more, not 1"):
        RttCollector(1)
    with pytest.raises(ValueError, match="sweep_cycles must be 1 or more, not 0"):
        RttCollector(4, sweep_cycles=0)
