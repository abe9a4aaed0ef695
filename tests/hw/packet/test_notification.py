# amaranth: UnusedElaboratable=no
"""Notification point against the golden model: who gets a CNP, how often, and its bytes."""

import random
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Cat
from tests.models.packet.frames import packet

from precog_hw.packet.cnp_builder import CnpBuilder
from precog_hw.packet.cnp_limiter import JOBS, CnpLimiter
from precog_hw.packet.layouts import PARSED
from precog_hw.packet.notification import NotificationPoint
from precog_hw.stream.packet import WIDTHS
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cnp import NotificationPoint as Golden
from precog_models.packet.parser import parse
from precog_models.packet.qp_table import QpTable
from precog_spec.contract import Fmt
from precog_spec.frames.cps import SCORE_NONE
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import IPV4, IPV6, UDP, Ecn

from .bench import Sent, receive_frames, run
from .parsed import parsed_fields

pytestmark = pytest.mark.xdist_group("notification")
SLOTS = 16
EVENTS = ("sent", "limited", "unknown", "busy")
NOW = 0x123456789A


class Request(NamedTuple):
    """A received packet at its end."""

    frame: bytes
    slot: int | None
    t: int
    score: int | None = None
    error: bool = False
    idle: int = 0  # cycles before it


def marked(rng: random.Random, *, ipv6: bool = False, tags: int = 0, **options: Any) -> bytes:
    """CE-marked data with addresses and a source port of its own."""
    frame = bytearray(packet(rng.randbytes(8), ipv6=ipv6, tags=tags, **options))
    at = parse(frame, Direction.RX)
    header = IPV6 if ipv6 else IPV4
    for name in ("source", "destination"):
        header.put(frame, at.l3, name, rng.randrange(header[name].max + 1))
    header.put(frame, at.l3, "ecn", Ecn.CE)
    UDP.put(frame, at.l4, "source_port", rng.randrange(1 << 16))
    return rng.randbytes(12) + bytes(frame[12:])


def pool(rng: random.Random) -> list[bytes]:
    """Mostly marked data; what is no data, not marked or not understood, too."""
    kinds = [(ipv6, tags) for ipv6 in (False, True) for tags in range(3)]
    frames = [marked(rng, ipv6=ipv6, tags=tags) for ipv6, tags in kinds for _ in range(4)]
    others = [packet(ip={"tos": tos}) for tos in range(3)]
    others += [marked(rng, opcode=opcode) for opcode in (0x11, 0x12, 0xB1, 0xB2, 0x81)]
    others += [
        packet(ip={"tos": 3, "options": b"\x01" * 4}),
        packet(ip={"tos": 3}, udp={"dport": 1}),
    ]
    return frames + others


class Outcome(NamedTuple):
    """What became of requests: an event or None for each, and the CNPs."""

    events: list[str | None]
    frames: list[bytes]


def table(rng: random.Random) -> QpTable:
    """Three slots of four have a remote QPN."""
    made = QpTable(SLOTS)
    made.remote_qp = [None if n % 4 == 3 else rng.randrange(1 << 24) for n in range(SLOTS)]
    return made


def replay(
    requests: Sequence[Request], events: Sequence[str | None], qps: QpTable, config: CnpConfig
) -> Outcome:
    """The golden model, told which CNPs found no room."""
    golden = Golden(qps, config)
    expected: list[str | None] = []
    frames = []
    for request, event in zip(requests, events, strict=True):
        before = {name: getattr(golden, name) for name in EVENTS}
        parsed = parse(request.frame, Direction.RX, error=request.error)
        frame = golden.notify(
            request.frame, parsed, request.slot, request.t, request.score, room=event != "busy"
        )
        changed = [name for name in EVENTS if getattr(golden, name) != before[name]]
        expected.append(changed[0] if changed else None)
        frames += [] if frame is None else [frame]
    return Outcome(expected, frames)


@cache
def point(width: int) -> NotificationPoint:
    """One object, so that it is elaborated once for all tests of this width."""
    return NotificationPoint(width, SLOTS)


def notify(
    requests: Sequence[Request],
    qps: QpTable,
    config: CnpConfig,
    *,
    width: int = 64,
    stall: float = 0.0,
    held_cycles: int = 0,
) -> Outcome:
    """The gateware; nothing leaves it for the first `held_cycles`."""
    dut = point(width)
    cycle = 0
    events: dict[int, list[str]] = {}
    asked: list[int] = []
    frames: list[Sent] = []
    packed: dict[bytes, int] = {}
    strobes = [getattr(dut, name) for name in EVENTS]

    async def bench(ctx: Any) -> None:
        ctx.set(dut.config, asdict(config))
        ctx.set(dut.now, NOW)
        ctx.set(dut.i_remote.valid, 1)
        for slot, qpn in enumerate(qps.remote_qp):
            row = {"valid": qpn is not None, "qpn": qpn or 0}
            ctx.set(dut.i_remote.payload, {"slot": slot, "remote_qp": row})
            await ctx.tick()
        ctx.set(dut.i_remote.valid, 0)
        payload = dut.i_request.payload
        whole, time = payload.parsed.as_value(), payload.parsed.time
        others = {name: payload[name] for name in ("error", "found", "slot", "score")}
        for request in requests:
            for _ in range(request.idle):
                await tick(ctx)
            if request.frame not in packed:
                packed[request.frame] = PARSED.const(parsed_fields(request.frame)).as_value().value
            ctx.set(whole, packed[request.frame])
            ctx.set(time, request.t)
            ctx.set(others["error"], request.error)
            ctx.set(others["found"], request.slot is not None)
            ctx.set(others["slot"], request.slot or 0)
            ctx.set(others["score"], SCORE_NONE if request.score is None else request.score)
            ctx.set(dut.i_request.valid, 1)
            asked.append(cycle)
            await tick(ctx)
            ctx.set(dut.i_request.valid, 0)
        for _ in range(CnpLimiter.LATENCY):
            await tick(ctx)
        made = sum(names == ["sent"] for names in events.values())
        while len(frames) < made:
            await tick(ctx)
        for _ in range(80):
            await tick(ctx)

    async def tick(ctx: Any) -> None:
        nonlocal cycle
        *_, bits = await ctx.tick().sample(Cat(strobes))
        if bits:
            events[cycle] = [name for n, name in enumerate(EVENTS) if bits >> n & 1]
        cycle += 1

    async def sink(ctx: Any) -> None:
        rng = random.Random(len(requests))
        await ctx.delay(1e-8 * held_cycles)
        while True:
            frames.extend(await receive_frames(ctx, dut.o, width, 1, rng, stall))

    run(dut, bench, background=[sink], cycles=20_000, again=True)
    assert {(frame.error, frame.time, frame.tag) for frame in frames} <= {(False, NOW, 0)}
    found = [events.pop(at + CnpLimiter.LATENCY, [None]) for at in asked]
    assert not events, "a strobe without a request"
    assert all(len(names) == 1 for names in found), "one strobe for each request"
    return Outcome([names[0] for names in found], [frame.data for frame in frames])


@pytest.mark.parametrize("width", WIDTHS)
def test_the_packet_byte_by_byte(width: int, seed: int) -> None:
    rng = random.Random(seed)
    config = CnpConfig(
        interval_ticks=0,
        mode_c=True,
        dscp=rng.randrange(64),
        ecn=Ecn(rng.randrange(4)),
        ttl=rng.randrange(256),
    )
    requests = [
        Request(marked(rng, ipv6=ipv6, tags=tags), rng.randrange(3), n, score, idle=40)
        for n, (ipv6, tags, score) in enumerate(
            (ipv6, tags, score)
            for ipv6 in (False, True)
            for tags in range(3)
            for score in (None, rng.randrange(101))
        )
    ]
    qps = table(rng)
    outcome = notify(requests, qps, config, width=width, stall=0.3)
    assert outcome.events == ["sent"] * 12
    assert outcome == replay(requests, outcome.events, qps, config)
    plain = CnpConfig(interval_ticks=0)
    outcome = notify(requests[1:2], qps, plain, width=width)
    assert outcome == replay(requests[1:2], outcome.events, qps, plain)


@pytest.mark.parametrize("interval", [0, 1, 30, 3000, 0xFFFFFFFF])
def test_who_gets_one_and_in_which_order(interval: int, seed: int) -> None:
    rng = random.Random(seed)
    config = CnpConfig(interval_ticks=interval)
    frames = pool(rng)
    t, requests = rng.randrange(1 << 40), []
    for _ in range(160):
        t += rng.choice((0, 0, 0, 0, 1, interval // 3, interval, interval - 1, -1))
        t += rng.choice([0] * 30 + [1 << 33])
        slot = rng.choice((None, 3, 0, 0, 1, 1, 2, rng.randrange(SLOTS)))
        idle = rng.choice((0, 0, 0, 0, 1, 2, 3, 4, 5, 70))
        requests.append(
            Request(rng.choice(frames), slot, t & Fmt.TIME.max, None, rng.random() < 0.05, idle)
        )
    qps = table(rng)
    outcome = notify(requests, qps, config, width=512)
    assert outcome == replay(requests, outcome.events, qps, config)
    seen = {"sent", "unknown", "limited"} if interval else {"sent", "unknown"}
    assert seen <= set(outcome.events)


def test_off(seed: int) -> None:
    rng = random.Random(seed)
    config = CnpConfig(enabled=False)
    assert notify([Request(marked(rng), 0, 0)], table(rng), config) == Outcome([None], [])


@pytest.mark.parametrize("apart", range(7))
def test_requests_of_one_slot_close_behind_each_other(apart: int, seed: int) -> None:
    """Each distance in cycles between a request and the one that it must know of."""
    rng = random.Random(seed)
    frame, qps = marked(rng), table(rng)
    config = CnpConfig(interval_ticks=100)
    requests = [Request(frame, 1, 1000, idle=9)]
    for t in (1099, 1100, 1199, 1200):
        requests += [Request(frame, 2, 50 * t) for _ in range(apart)]
        requests.append(Request(frame, 1, t))
    outcome = notify(requests, qps, config)
    mine = [
        event for request, event in zip(requests, outcome.events, strict=True) if request.slot == 1
    ]
    assert mine == ["sent", "limited", "sent", "limited", "sent"]
    assert outcome == replay(requests, outcome.events, qps, config)


def test_never_two_within_the_interval(seed: int) -> None:
    rng = random.Random(seed)
    config = CnpConfig(interval_ticks=64)
    frames = [marked(rng) for _ in range(4)]
    t, requests = 0, []
    for _ in range(250):
        idle = rng.choice((0, 0, 0, 1, 7, 40))
        t += idle + 1
        requests.append(Request(rng.choice(frames), rng.randrange(3), t, idle=idle))
    outcome = notify(requests, table(rng), config, width=512, stall=0.5)
    last: dict[int | None, int] = {}
    for request, event in zip(requests, outcome.events, strict=True):
        if event == "sent":
            assert request.t - last.get(request.slot, -64) >= 64
            last[request.slot] = request.t
    assert len(outcome.frames) == outcome.events.count("sent") > 0


def test_what_finds_no_room_asks_again(seed: int) -> None:
    rng = random.Random(seed)
    qps = QpTable(SLOTS)
    qps.remote_qp = [rng.randrange(1 << 24) for _ in range(SLOTS)]
    config = CnpConfig(interval_ticks=1 << 30)
    requests = [Request(marked(rng), n % SLOTS, n) for n in range(2 * SLOTS)]
    requests.append(Request(marked(rng), SLOTS - 1, 99, idle=1000))
    requests.append(Request(marked(rng), 0, 100))
    outcome = notify(requests, qps, config, held_cycles=500)
    fit = JOBS + 1
    first = ["sent"] * fit + ["busy"] * (SLOTS - fit)
    second = ["limited"] * fit + ["busy"] * (SLOTS - fit)
    assert outcome.events == [*first, *second, "sent", "limited"]
    assert outcome == replay(requests, outcome.events, qps, config)


@pytest.mark.parametrize("width", [8, 64, 512])
def test_builder_latency(width: int, seed: int) -> None:
    rng = random.Random(seed)
    for ipv6 in (False, True):
        for tags in range(3):
            dut = CnpBuilder(width)
            job = {"ipv6": ipv6, "tags": tags, "macs": rng.getrandbits(96)}

            async def bench(ctx: Any, dut: CnpBuilder = dut, job: dict[str, int] = job) -> None:
                ctx.set(dut.i_job.payload, job)
                ctx.set(dut.i_job.valid, 1)
                cycles = 0
                while not ctx.get(dut.o.valid):
                    ctx.set(dut.now, cycles)
                    await ctx.tick()
                    cycles += 1
                assert cycles == dut.latency(bool(job["ipv6"]), job["tags"])
                assert ctx.get(dut.o.payload.user.time) == cycles - 1
                size, last = 0, False
                ctx.set(dut.o.ready, 1)
                while not last:
                    assert ctx.get(dut.o.valid), "beats follow each other without a gap"
                    size += ctx.get(dut.o.payload.keep).bit_count()
                    last = ctx.get(dut.o.payload.last)
                    assert ctx.get(dut.i_job.ready) == last
                    await ctx.tick()
                assert size == 74 + 4 * job["tags"] + 20 * job["ipv6"]

            run(dut, bench, cycles=300)


def test_slots_are_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="slots must be a power of two, not 12"):
        CnpLimiter(12)
