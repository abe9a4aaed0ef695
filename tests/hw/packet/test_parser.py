# amaranth: UnusedElaboratable=no
"""The parser against the golden one, frame by frame and cycle by cycle."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Cat, Const
from amaranth.lib import data
from tests.models.packet.frames import card, mutate, packet, synthetic
from tests.models.packet.test_parser import REASONS

from precog_hw.packet.fields import field, octets
from precog_hw.packet.headers import WINDOW_BYTES
from precog_hw.packet.layouts import PARSED
from precog_hw.packet.parser import Parser
from precog_hw.stream.packet import beat_layout
from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.cps_tx import transmit
from precog_models.packet.parser import Parsed, parse
from precog_spec.frames.cps import SHIM, SHIM_PORT
from precog_spec.frames.descriptor import DESCRIPTOR_FIELDS, Direction, Reason
from precog_spec.frames.headers import BTH, IPV4, IPV6, UDP
from precog_spec.frames.opcodes import EXTENSIONS
from precog_spec.frames.qp_key import IPV4_MAPPED

from .bench import Sent, beats, run

LATENCY = 7
OTHER_PORT = 5000
STEP_NS = 7  # of `now_ns` in a cycle; `now` counts cycles


class Cycle(NamedTuple):
    """What is on the stream, and whether it is taken."""

    payload: int
    taken: bool


class Seen(NamedTuple):
    """What came out, each with its cycle."""

    parsed: list[tuple[int, Any]]
    tails: list[tuple[int, int]]
    every: list[int]  # `o` in each cycle


def pack(layout: data.Layout, values: dict[str, Any]) -> int:
    """A structure as a number: much faster than `layout.const`."""
    number = 0
    for name, value in values.items():
        part = layout[name]
        number |= (pack(part.shape, value) if isinstance(value, dict) else value) << part.offset
    return number


def schedule(
    frames: Sequence[Sent], width: int, rng: random.Random, idle: float, apart: int = 0
) -> list[Cycle]:
    """Beats one after another; with probability `idle` one waits, or noise stands in its place.

    `apart` cycles at least between frames.
    """
    layout = beat_layout(width)
    plan = []
    for frame in frames:
        for beat in beats(frame, width):
            while rng.random() < idle:
                noise = beat | {"data": rng.getrandbits(width), "last": rng.getrandbits(1)}
                plan.append(Cycle(pack(layout, rng.choice((beat, noise))), False))
            plan.append(Cycle(pack(layout, beat), True))
        plan += apart * [Cycle(pack(layout, beat), False)]
    return plan


def clock(start: int, cycle: int, step: int = 1) -> int:
    """A 40-bit counter."""
    return (start + step * cycle) % (1 << 40)


def watch(
    dut: Parser, plan: Sequence[Cycle], port: int, start: int, *, every: bool = False
) -> Seen:
    """Play the plan and some cycles more; with `every` note `o` in each of them."""
    seen = Seen([], [], [])
    inputs = Cat(dut.beat.as_value(), dut.taken, dut.now, dut.now_ns)
    parsed = dut.o.as_value()
    strobes = Cat(dut.o_valid, dut.tail_valid, dut.tail.error)

    async def bench(ctx: Any) -> None:
        ctx.set(dut.shim_port, port)
        for cycle in range(len(plan) + 3 * dut.latency):
            now = ctx.get(strobes)
            if every:
                seen.every.append(ctx.get(parsed))
            if now & 1:
                seen.parsed.append((cycle, PARSED.from_bits(ctx.get(parsed))))
            if now & 2:
                seen.tails.append((cycle, now >> 2))
            beat = plan[cycle] if cycle < len(plan) else plan[-1]._replace(taken=False)
            value, bits = beat.payload, len(dut.beat.as_value())
            value |= beat.taken << bits
            value |= clock(start, cycle) << (bits + 1)
            value |= clock(start, cycle, STEP_NS) << (bits + 41)
            ctx.set(inputs, value)
            await ctx.tick()

    run(dut, bench, cycles=len(plan) + 4 * LATENCY)
    return seen


def check_stays(plan: Sequence[Cycle], seen: Seen, width: int) -> None:
    """`o` is the same from its strobe until the third cycle after the next frame's first beat."""
    begins, inside = [], False
    last = beat_layout(width)["last"].offset
    for cycle, beat in enumerate(plan):
        if beat.taken:
            if not inside:
                begins.append(cycle)
            inside = not beat.payload >> last & 1
    assert len(begins) == len(seen.parsed)
    for (cycle, _), following in zip(seen.parsed, begins[1:], strict=False):
        assert cycle < following
        assert len(set(seen.every[cycle : following + 4])) == 1, f"cycle {cycle}"


def expected_headers(frame: bytes, parsed: Parsed) -> dict[str, int]:
    """`HEADERS` where the golden parser finds no reason to pass."""
    found = parsed.descriptor
    ip = IPV6 if found.ipv6 else IPV4
    local = ip.get(frame, parsed.l3, LOCAL[found.direction])
    words = {
        "macs": int.from_bytes(frame[:12], "big"),
        "tags": int.from_bytes(frame[12:20], "big"),
        "local": local if found.ipv6 else IPV4_MAPPED | local,
        "ip_head": int.from_bytes(frame[parsed.l3 : parsed.l3 + 2], "big"),
        "ip_length": ip.get(frame, parsed.l3, "payload_length" if found.ipv6 else "total_length"),
        "udp_source": UDP.get(frame, parsed.l4, "source_port"),
        "udp_length": UDP.get(frame, parsed.l4, "length"),
        "udp_checksum": UDP.get(frame, parsed.l4, "checksum"),
        "resv": int.from_bytes(frame[parsed.bth + 4 : parsed.bth + 6], "big"),
        "cnp": int.from_bytes(frame[parsed.bth + 12 : parsed.bth + 14].ljust(2, b"\0"), "big"),
    }
    if not found.ipv6:
        words["ip_checksum"] = IPV4.get(frame, parsed.l3, "checksum")
    if found.shim:
        words["shim"] = int.from_bytes(frame[parsed.bth - SHIM.size : parsed.bth], "big")
    return words


LOCAL = {Direction.TX: "source", Direction.RX: "destination"}


def compare(
    frames: Sequence[Sent],
    plan: Sequence[Cycle],
    seen: Seen,
    width: int,
    direction: Direction,
    port: int,
    start: int,
    latency: int = LATENCY,
    ipv6: bool = True,
) -> list[Parsed]:
    """Check all that came out, and when; returns what the golden parser says."""
    taken = [cycle for cycle, beat in enumerate(plan) if beat.taken]
    step = width // 8
    goldens, at = [], 0
    assert (len(seen.parsed), len(seen.tails)) == (len(frames), len(frames))
    for n, (frame, (cycle, o), (end, cut)) in enumerate(
        zip(frames, seen.parsed, seen.tails, strict=True)
    ):
        count = -(-len(frame.data) // step)
        complete = min(count, -(-WINDOW_BYTES // step))
        golden = parse(frame.data, direction, shim_port=port, error=frame.error, knows_ipv6=ipv6)
        found = golden.descriptor
        where = f"frame {n}: {frame.data.hex()}, {golden}"
        assert cycle == taken[at + complete - 1] + latency, where
        assert end == taken[at + count - 1] + latency, where
        assert cut == found.error, where
        assert o.time == clock(start, taken[at]), where
        assert o.ns == clock(start, taken[at], STEP_NS), where
        assert o.end == golden.end, where
        fields = ["direction", "shim", "reason"]
        if found.reason is Reason.NONE:
            fields = [name for name, _ in DESCRIPTOR_FIELDS if name != "error"]
            for name, value in expected_headers(frame.data, golden).items():
                assert o.headers[name] == value, f"{name} of {where}"
        for name in fields:
            assert o.descriptor[name] == getattr(found, name), f"{name} of {where}"
        goldens.append(golden)
        at += count
    return goldens


def check(
    frames: Sequence[Sent],
    width: int,
    direction: Direction,
    rng: random.Random,
    *,
    port: int = SHIM_PORT,
    idle: Sequence[float] = (0,),
    relaxed: bool = False,
    ipv6: bool = True,
) -> list[Parsed]:
    """Send frames, an equal share with each of `idle`, and compare."""
    start = (1 << 40) - 100  # wraps
    share = -(-len(frames) // len(idle))
    plan = []
    for n, probability in enumerate(idle):
        some = frames[n * share : (n + 1) * share]
        plan += schedule(some, width, rng, probability, Parser.latency_of(relaxed=True) * relaxed)
    dut = Parser(width, direction, relaxed=relaxed, ipv6=ipv6)
    seen = watch(dut, plan, port, start, every=relaxed)
    if relaxed:
        check_stays(plan, seen, width)
    return compare(frames, plan, seen, width, direction, port, start, dut.latency, ipv6)


def every_opcode(rng: random.Random) -> list[bytes]:
    """A packet of each opcode whose extension headers are known."""
    return [
        packet(rng.randbytes(44), opcode=opcode, ipv6=rng.random() < 0.5, tags=rng.randrange(3))
        for opcode in EXTENSIONS
    ]


def shimmed(frames: Sequence[bytes], port: int) -> list[bytes]:
    """Frames as a card at host A sends them."""
    state = card("A", config=CpsConfig(shim_port=port))
    return [transmit(state, frame, 0x123456).frame for frame in frames]


def widest(rng: random.Random, port: int) -> bytes:
    """A packet whose headers fill the window: RETH behind XRCETH, shim, IPv6, two tags."""
    (frame,) = shimmed([packet(rng.randbytes(40), opcode=0xAA, ipv6=True, tags=2)], port)
    return frame


def mixture(rng: random.Random, port: int, limit: int, mutants: int) -> list[Sent]:
    """Everything, cut to `limit` bytes, in random order, and mutants of it."""
    frames = [*synthetic(rng).values(), *every_opcode(rng)]
    frames += [*shimmed(frames, port), *(frame for frame, _ in REASONS.values() if frame)]
    frames = [frame[:limit] for frame in frames]
    pool = [frame for frame in frames if len(frame) < 200]
    frames += [mutate(rng, rng.choice(pool)) or b"\0" for _ in range(mutants)]
    rng.shuffle(frames)
    return [Sent(frame, error=rng.random() < 0.2) for frame in frames]


@pytest.mark.parametrize(
    ("width", "direction", "port", "limit", "share"),
    [
        (8, Direction.RX, SHIM_PORT, 120, 0.12),
        (64, Direction.TX, OTHER_PORT, 300, 0.7),
        (128, Direction.RX, SHIM_PORT, 200, 0.4),
        (256, Direction.TX, SHIM_PORT, 200, 0.4),
        (512, Direction.RX, OTHER_PORT, 9100, 1),
    ],
)
def test_equals_the_golden_parser(
    width: int, direction: Direction, port: int, limit: int, share: float, seed: int
) -> None:
    rng = random.Random(seed)
    frames = mixture(rng, port, limit, mutants=300)
    goldens = check(
        frames[: int(share * len(frames))], width, direction, rng, port=port, idle=(0, 0.05, 0.4)
    )
    seen = Counter(golden.descriptor.reason for golden in goldens)
    assert seen[Reason.NONE] > 0
    assert len(seen) >= 2


@pytest.mark.parametrize(
    ("width", "relaxed", "ipv6"),
    [
        *((8, False, True), (64, False, True), (64, True, True), (64, True, False)),
        *((512, False, False), (512, True, True)),
    ],
)
def test_every_reason_and_every_length(width: int, relaxed: bool, ipv6: bool, seed: int) -> None:
    rng = random.Random(seed)
    whole = widest(rng, SHIM_PORT)
    lengths = list(range(1, WINDOW_BYTES + 2)) if width > 8 else rng.sample(range(1, 100), 12)
    frames = [frame for frame, _ in REASONS.values() if frame]
    frames += [whole, *(whole[:length] for length in lengths)]
    frames += [packet(rng.randbytes(40), opcode=0xAA)]
    for name, l2 in (("ARP", 14), ("three tags", 22)):  # the reason needs no more than this
        frame, _ = REASONS[name]
        frames += [frame[: l2 - 1], frame[:l2]]
    rng.shuffle(frames)
    sent = [Sent(frame) for frame in frames]
    goldens = check(sent, width, Direction.TX, rng, relaxed=relaxed, ipv6=ipv6)
    reasons = {golden.descriptor.reason for golden in goldens}
    known = set(Reason) - set(range(Reason.SHIM_PORT, Reason.NO_SCORE + 1))
    assert reasons == (known if ipv6 else known - {Reason.IPV6_EXTENSION})
    assert any(golden.descriptor.dma_length for golden in goldens)
    assert any(golden.descriptor.ipv6 for golden in goldens) == ipv6


def test_a_packet_every_cycle(seed: int) -> None:
    rng = random.Random(seed)
    frames = [
        packet(rng.randbytes(2), opcode=rng.choice((0x04, 0x64, 0x11)), psn=n) for n in range(60)
    ]
    frames += shimmed([packet(opcode=0x04, psn=n) for n in range(60)], SHIM_PORT)
    frames = [frame[: rng.choice((64, 64, rng.randrange(1, 65)))] for frame in frames]
    rng.shuffle(frames)
    plan = schedule([Sent(frame) for frame in frames], 512, rng, 0)
    seen = watch(Parser(512, Direction.RX), plan, SHIM_PORT, 0)
    every = list(range(LATENCY, LATENCY + len(frames)))
    assert [cycle for cycle, _ in seen.parsed] == every
    assert [cycle for cycle, _ in seen.tails] == every
    compare([Sent(frame) for frame in frames], plan, seen, 512, Direction.RX, SHIM_PORT, 0)


def test_the_longest_packets(seed: int) -> None:
    rng = random.Random(seed)
    frame = bytearray(packet(rng.randbytes(8), ipv6=True, tags=2))
    IPV6.put(frame, 22, "payload_length", 0xFFFF)
    UDP.put(frame, 62, "length", 0xFFFF)
    end = 62 + 0xFFFF
    whole = bytes(frame).ljust(end, b"\x33")
    frames = [Sent(whole[:-1]), Sent(whole), Sent(whole.ljust((1 << 17) + 1))]
    goldens = check(frames, 512, Direction.RX, rng)
    assert [golden.descriptor.error for golden in goldens] == [True, False, False]
    assert {golden.end for golden in goldens} == {end}


def test_constructor() -> None:
    assert Parser.LATENCY == LATENCY
    assert Parser.latency_of(relaxed=True) == LATENCY - 2
    with pytest.raises(ValueError, match=r"width must be one of .*, not 32"):
        Parser(32, Direction.RX)


def test_fields_of_a_window() -> None:
    frame = packet(b"\1\2\3\4", psn=0xABCDEF, bth={"ackreq": 1})
    window = Const(int.from_bytes(frame, "little"), 8 * len(frame))
    assert Const.cast(octets(window, 12, 14)).value == 0x0800
    for name in BTH.fields:
        assert Const.cast(field(window, BTH, name, 42)).value == BTH.get(frame, 42, name), name
    with pytest.raises(ValueError, match=r"must lie inside a window of 62 bytes, not be 60\.\.63"):
        octets(window, 60, 64)
