# amaranth: UnusedElaboratable=no
"""The editor against the golden functions and, for frames of any length, against `edits.edited`."""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from tests.models.packet.frames import packet

from precog_hw.packet.editor import Editor
from precog_hw.packet.layouts import Edit
from precog_hw.stream.packet import WIDTHS
from precog_models.packet.cps_tx import put_dscp, put_resv6
from precog_models.packet.parser import Parsed, parse
from precog_models.packet.shim import Shim, encode, insert, remove
from precog_spec.frames.cps import SHIM, SHIM_PORT, ShimType
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import BTH, IPV4, IPV6, UDP

from .bench import Sent, beats, receive_frames, run, send_frames
from .edits import CASES, behind_udp, command, edited, random_command

pytestmark = pytest.mark.xdist_group("editor")
BOTH = pytest.mark.parametrize("direction", list(Direction))
LATENCY = 5  # cycles from the beat that is taken to the same beat offered
RELAXED = {Direction.TX: LATENCY + 1, Direction.RX: LATENCY}  # without a slice; queues are longer
#: And the relaxed form at 64 bits.
FORMS = pytest.mark.parametrize(("width", "relaxed"), [*((w, False) for w in WIDTHS), (64, True)])

Pair = tuple[Sent, dict[str, Any]]


def sent(rng: random.Random, data: bytes) -> Sent:
    return Sent(data, rng.random() < 0.3, rng.getrandbits(40), rng.getrandbits(8))


def wanted(pairs: Sequence[Pair]) -> list[Sent]:
    outcomes = [(frame, edited(frame.data, edit)) for frame, edit in pairs]
    return [frame._replace(data=data) for frame, data in outcomes if data is not None]


def kinds(direction: Direction) -> tuple[Edit, ...]:
    """What an editor of this direction does."""
    return tuple(e for e in Edit if e is not (Edit.REMOVE, Edit.INSERT)[direction])


@cache
def editor(width: int, direction: Direction, relaxed: bool, dscp: bool) -> Editor:
    """One object of each kind, so that it is elaborated once for all tests of it."""
    return Editor(width, direction, relaxed=relaxed, dscp=dscp)


def exchange(
    width: int,
    direction: Direction,
    pairs: Sequence[Pair],
    seed: int,
    *,
    idle: float = 0.0,
    stall: float = 0.0,
    late: float = 0.0,
    relaxed: bool = False,
    dscp: bool = True,
) -> list[Sent]:
    """The frames that come out of an editor; after them nothing comes and nothing is left."""
    dut = editor(width, direction, relaxed, dscp)
    rng = random.Random(seed)
    count = len(wanted(pairs))
    frames: list[Sent] = []

    async def source(ctx: Any) -> None:
        await send_frames(ctx, dut.i, width, [frame for frame, _ in pairs], rng, idle)

    async def commands(ctx: Any) -> None:
        for _, edit in pairs:
            while rng.random() < late:
                await ctx.tick()
            ctx.set(dut.i_edit.payload, edit)
            ctx.set(dut.i_edit.valid, 1)
            await ctx.tick().until(dut.i_edit.ready)
            ctx.set(dut.i_edit.valid, 0)
            ctx.set(dut.i_edit.payload, random_command(rng))  # not to be looked at

    async def sink(ctx: Any) -> None:
        frames.extend(await receive_frames(ctx, dut.o, width, count, rng, stall))
        ctx.set(dut.o.ready, 1)
        for _ in range(30):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            assert not valid, "nothing more must come"

    size = sum(8 * len(frame.data) // width + SHIM.size + 1 for frame, _ in pairs)
    run(dut, source, commands, sink, cycles=200 + 12 * size, again=True)
    return frames


def compare(got: Sequence[Sent], expected: Sequence[Sent], pairs: Sequence[Pair]) -> None:
    for number, (one, other) in enumerate(zip(got, expected, strict=True)):
        assert one == other, f"packet {number} of {[edit['edit'].name for _, edit in pairs]}"


def golden(
    rng: random.Random, case: tuple[int, int], edit: Edit, payload: int
) -> tuple[Pair, bytes]:
    """A frame, its command, and what the golden function makes of it."""
    ipv6, tags = case
    udp = {"chksum": rng.choice((0, rng.randrange(1, 0x10000)))}
    frame = packet(rng.randbytes(payload), ipv6=bool(ipv6), tags=tags, udp=udp)
    parsed = parse(frame, Direction.TX)
    shim = encode(Shim(ShimType.DATA, rng.randrange(101), None, rng.getrandbits(24)))
    if edit is Edit.KEEP:
        out = put_resv6(frame, parsed, rng.randrange(64))
        flags = {"checksum": 1, "reserved": 1}
    else:
        out, flags = insert(frame, parsed, shim, SHIM_PORT), {"checksum": 1, "lengths": 1}
        if edit is Edit.REMOVE:
            frame, out = out, remove(out, parse(out, Direction.RX))
    if edit is not Edit.REMOVE and rng.random() < 0.5:
        out, flags = put_dscp(out, parsed, rng.randrange(64)), {**flags, "dscp": 1}
    made = command(
        edit, ipv6, tags, **flags, **_words(out, parsed), shim=int.from_bytes(shim, "big")
    )
    return (sent(rng, frame), made), out


def _words(out: bytes, parsed: Parsed) -> dict[str, int]:
    """Values of the fields as they are to be; `parsed` is of the packet without a shim."""
    ipv6, l3, l4 = parsed.descriptor.ipv6, parsed.l3, parsed.l4
    resv = parsed.bth + BTH["fecn"].byte
    return {
        "ip_head": int.from_bytes(out[l3 : l3 + 2], "big"),
        "ip_length": (
            IPV6.get(out, l3, "payload_length") if ipv6 else IPV4.get(out, l3, "total_length")
        ),
        "ip_checksum": 0x5AA5 if ipv6 else IPV4.get(out, l3, "checksum"),
        "udp_port": UDP.get(out, l4, "destination_port"),
        "udp_length": UDP.get(out, l4, "length"),
        "udp_checksum": UDP.get(out, l4, "checksum"),
        "resv": int.from_bytes(out[resv : resv + 2], "big"),
    }


@BOTH
@FORMS
def test_golden_functions(width: int, relaxed: bool, direction: Direction, seed: int) -> None:
    """Insertion, removal and mode R at all six places, the shortest packets among them."""
    rng = random.Random(seed)
    lengths = (0,) if width == 8 else (0, rng.randrange(1, 16), rng.randrange(16, 80))
    made = [
        golden(rng, case, edit, payload)
        for case in CASES
        for edit in kinds(direction)
        if edit is not Edit.DROP
        for payload in lengths
    ]
    rng.shuffle(made)
    pairs = [pair for pair, _ in made]
    expected = [pair[0]._replace(data=out) for pair, out in made]
    got = exchange(width, direction, pairs, seed, idle=0.1, stall=0.1, relaxed=relaxed)
    compare(got, expected, pairs)


@BOTH
@FORMS
@pytest.mark.parametrize(("idle", "stall", "late"), [(0, 0, 0), (0.4, 0.1, 0.3), (0.1, 0.5, 0)])
def test_any_command_for_any_length(
    width: int,
    relaxed: bool,
    direction: Direction,
    idle: float,
    stall: float,
    late: float,
    seed: int,
) -> None:
    """Also where the packet ends before the place or inside it; what follows is whole."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(7 if width == 8 else 30):
        edit = random_command(rng, rng.choice(kinds(direction)))
        near = behind_udp(edit) + rng.randrange(-8, 17)
        size = rng.choice((1, rng.randrange(1, 60), near, near, rng.randrange(60, 170)))
        pairs.append((sent(rng, rng.randbytes(size)), edit))
    busy = {"idle": idle, "stall": stall, "late": late}
    got = exchange(width, direction, pairs, seed, **busy, relaxed=relaxed)
    compare(got, wanted(pairs), pairs)


@BOTH
@pytest.mark.parametrize("width", [64, 128, 512])
def test_every_end_around_the_place(width: int, direction: Direction, seed: int) -> None:
    """Lengths from the place to a beat behind it, for each place, single beats between them."""
    rng = random.Random(seed)
    pairs = []
    for case in CASES:
        at = behind_udp(command(Edit.KEEP, *case))
        lengths = range(at - 1, at + min(width // 8, 16) + SHIM.size + 1)
        for size in rng.sample(lengths, 6):
            edit = random_command(rng, (Edit.INSERT, Edit.REMOVE)[direction], case)
            pairs.append((sent(rng, rng.randbytes(size)), edit))
            if rng.random() < 0.5:
                short = rng.randrange(1, SHIM.size + 2)
                pairs.append((sent(rng, rng.randbytes(short)), random_command(rng, Edit.KEEP)))
    compare(exchange(width, direction, pairs, seed), wanted(pairs), pairs)


@BOTH
@pytest.mark.parametrize("width", WIDTHS)
def test_single_bytes_drops_and_a_jumbo(width: int, direction: Direction, seed: int) -> None:
    rng = random.Random(seed)
    short = [*rng.choices(kinds(direction), k=20), *[Edit.DROP] * 4, Edit.KEEP, Edit.DROP]
    pairs = [(sent(rng, rng.randbytes(1)), random_command(rng, kind)) for kind in short]
    for kind in kinds(direction):
        size = rng.randrange(400, 500) if width < 256 else rng.randrange(9000, 9217)
        pairs.append((sent(rng, rng.randbytes(size)), random_command(rng, kind)))
    compare(exchange(width, direction, pairs, seed, stall=0.02), wanted(pairs), pairs)


@BOTH
def test_a_place_that_is_none_changes_nothing(direction: Direction, seed: int) -> None:
    """Three tags cannot be said: such a command does no harm."""
    rng = random.Random(seed)
    pairs = []
    for kind in (Edit.KEEP, Edit.INSERT, Edit.REMOVE):
        edit = {**random_command(rng, kind), "lengths": 1, "checksum": 1, "tags": 3}
        pairs.append((sent(rng, rng.randbytes(100)), edit))
    assert exchange(64, direction, pairs, seed) == [frame for frame, _ in pairs]


@pytest.mark.parametrize("width", [8, 64, 512])
def test_the_other_direction_s_edit_is_none(width: int, seed: int) -> None:
    """REMOVE does nothing to the length on the way out, nor INSERT on the way in."""
    rng = random.Random(seed)
    for direction, kind in ((Direction.TX, Edit.REMOVE), (Direction.RX, Edit.INSERT)):
        pairs = [(sent(rng, rng.randbytes(100)), random_command(rng, kind)) for _ in range(4)]
        kept = [(frame, {**edit, "edit": Edit.KEEP}) for frame, edit in pairs]
        assert exchange(width, direction, pairs, seed) == wanted(kept)


def test_the_flag_of_the_dscp_is_for_those_that_know_it(seed: int) -> None:
    rng = random.Random(seed)
    pairs = [(sent(rng, rng.randbytes(100)), random_command(rng, Edit.KEEP)) for _ in range(6)]
    without = [(frame, {**edit, "dscp": 0}) for frame, edit in pairs]
    assert exchange(64, Direction.RX, pairs, seed, dscp=False) == wanted(without)


def flow(
    width: int, direction: Direction, pairs: Sequence[Pair], *, relaxed: bool = False
) -> tuple[list[int], list[int]]:
    """Cycles in which a beat goes in and in which one comes out, when nobody hesitates."""
    dut = editor(width, direction, relaxed, True)
    inward, outward = [], []
    payloads = [beat for frame, _ in pairs for beat in beats(frame, width)]
    expected = sum(len(beats(frame, width)) for frame in wanted(pairs))

    async def source(ctx: Any) -> None:
        for beat in payloads:
            ctx.set(dut.i.payload, beat)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def commands(ctx: Any) -> None:
        ctx.set(dut.i_edit.valid, 1)
        for _, edit in pairs:
            ctx.set(dut.i_edit.payload, edit)
            await ctx.tick().until(dut.i_edit.ready)
        ctx.set(dut.i_edit.valid, 0)

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        cycle = 0
        while len(outward) < expected:
            _, _, i_valid, i_ready, o_valid = await ctx.tick().sample(
                dut.i.valid, dut.i.ready, dut.o.valid
            )
            if i_valid and i_ready:
                inward.append(cycle)
            if o_valid:
                outward.append(cycle)
            cycle += 1

    most = 200 + 3 * len(payloads) + 10 * len(pairs)
    run(dut, source, commands, watch, cycles=most, again=True)
    return inward, outward


@FORMS
def test_insertion_costs_its_bytes_and_nothing_else(width: int, relaxed: bool, seed: int) -> None:
    """Beats leave in every cycle from the first to the last, and there are as many as must be.

    Minimum-size packets, in which the shim needs a beat more or not, and one of 1 KiB.
    """
    rng = random.Random(seed)
    sizes = [60, 64, 68, *rng.choices((60, 64, 68, 72), k=7), 128 if width == 8 else 1082]
    chosen = [Edit.INSERT, Edit.INSERT, *rng.choices((Edit.INSERT, Edit.KEEP), k=len(sizes) - 2)]
    pairs = [
        (sent(rng, rng.randbytes(size)), random_command(rng, kind, (0, 0)))
        for size, kind in zip(sizes, chosen, strict=True)
    ]
    inward, outward = flow(width, Direction.TX, pairs, relaxed=relaxed)
    total = sum(
        -(-(size + (SHIM.size if kind is Edit.INSERT else 0)) // (width // 8))
        for size, kind in zip(sizes, chosen, strict=True)
    )
    assert inward[0] == 0
    latency = RELAXED[Direction.TX] if relaxed else LATENCY
    assert outward == list(range(latency, latency + total))


@FORMS
def test_removal_and_drops_never_stall_the_input(width: int, relaxed: bool, seed: int) -> None:
    rng = random.Random(seed)
    chosen = [Edit.REMOVE, *rng.choices(kinds(Direction.RX), k=9), Edit.KEEP]
    pairs = [
        (sent(rng, rng.randbytes(rng.randrange(82, 150))), random_command(rng, k)) for k in chosen
    ]
    inward, outward = flow(width, Direction.RX, pairs, relaxed=relaxed)
    assert inward == list(range(sum(len(beats(frame, width)) for frame, _ in pairs)))
    latency = RELAXED[Direction.RX] if relaxed else LATENCY
    assert outward[0] == latency
    assert outward[-1] == inward[-1] + latency


def test_width() -> None:
    with pytest.raises(ValueError, match=r"width must be one of .*, not 32"):
        Editor(32, Direction.TX)
