"""Header updates against the golden checksums and against the golden insertion and removal."""

import random
from typing import Any

from amaranth.sim import Simulator
from tests.differing import same
from tests.models.packet.frames import packet

from precog_hw.packet.checksum import LATENCY, HeaderUpdate
from precog_hw.packet.layouts import Edit
from precog_models.packet.checksum import udp_field, update, words
from precog_models.packet.cps_tx import put_becn, put_dscp, put_resv6
from precog_models.packet.parser import Parsed, parse
from precog_models.packet.shim import Shim, encode, insert, remove
from precog_spec.frames.cps import SHIM, SHIM_PORT, ShimType
from precog_spec.frames.descriptor import Direction
from precog_spec.frames.headers import BTH, IPV4, IPV6, ROCE_PORT, UDP

Request = dict[str, Any]
Fields = dict[str, int]

EDGES = (0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)


def golden(request: Request) -> Fields:
    """The update by the model's functions."""
    growth = {Edit.INSERT: SHIM.size, Edit.REMOVE: -SHIM.size}.get(request["edit"], 0)
    ip, udp = request["ip_length"], request["udp_length"]
    ip_checksum, step = request["ip_checksum"], 4 * request["dscp_step"]
    if step:
        ip_checksum = update(ip_checksum, [0x45FC], [0x45FC + step])  # any old DSCP will do
    moved = words(request["shim"].to_bytes(SHIM.size, "big"))
    if growth:
        old = [udp, udp, request["port_old"], *(moved if growth < 0 else [])]
        new = [udp + growth, udp + growth, request["port_new"], *(moved if growth > 0 else [])]
        ip_checksum = update(ip_checksum, [ip], [ip + growth])
    else:
        old, new = [request["resv_old"]], [request["resv_new"]]
    if request["becn"]:
        old, new = [*old, 0x0123], [*new, 0x4123]  # any other bits will do
    checksum = request["udp_checksum"]
    return {
        "ip_length": ip + growth,
        "ip_checksum": ip_checksum,
        "udp_length": udp + growth,
        "udp_checksum": udp_field(update(checksum, old, new)) if checksum else 0,
    }


def word(rng: random.Random) -> int:
    return rng.choice(EDGES) if rng.random() < 0.5 else rng.getrandbits(16)


def random_request(rng: random.Random, **fixed: Any) -> Request:
    names = ("ip_checksum", "udp_checksum", "port_old", "port_new", "resv_old", "resv_new")
    shim = 0
    for _ in range(SHIM.size // 2):
        shim = shim << 16 | word(rng)
    request = {
        "edit": rng.choice((Edit.KEEP, Edit.INSERT, Edit.REMOVE)),
        **{name: word(rng) for name in names},
        "ip_length": rng.choice((8, 0xFFF7, rng.randrange(8, 0xFFF8))),
        "udp_length": rng.choice((8, 0xFFF7, rng.randrange(8, 0xFFF8))),
        "shim": shim,
        **fixed,
    }
    # `CpsTransmit` inserts nothing where IPv4's checksum is 0xFFFF.
    stays = request["edit"] is Edit.REMOVE or request["ip_checksum"] == 0xFFFF
    step = rng.choice((0, 1, -1, -2, 63, -63, rng.randrange(-63, 64)))
    becn = 0 if request["edit"] is Edit.REMOVE else rng.getrandbits(1)
    return {"becn": becn, **request, "dscp_step": 0 if stays else step}


def updated(requests: list[Request], rng: random.Random, idle: float = 0.0) -> list[Fields]:
    """What the block answers; every answer comes `LATENCY` cycles after its request."""
    dut = HeaderUpdate()
    answers: list[Fields] = []
    asked, answered = [], []

    async def source(ctx: Any) -> None:
        cycle = 0
        for request in requests:
            while rng.random() < idle:
                ctx.set(dut.i, random_request(rng))
                await ctx.tick()
                cycle += 1
            ctx.set(dut.i, request)
            ctx.set(dut.i_stb, 1)
            await ctx.tick()
            asked.append(cycle)
            cycle += 1
            ctx.set(dut.i_stb, 0)
        await ctx.tick().repeat(LATENCY + 3)

    async def sink(ctx: Any) -> None:
        cycle = 0
        async for _, reset, stb, fields in ctx.tick().sample(dut.o_stb, dut.o):
            if stb and not reset:
                answered.append(cycle)
                answers.append({name: fields[name] for name in fields.shape().members})
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(source)
    simulator.add_testbench(sink, background=True)
    simulator.run()
    assert answered == [cycle + LATENCY for cycle in asked]
    return answers


def compare(answers: list[Fields], expected: list[Fields], requests: list[Request]) -> None:
    for n, (answer, fields, request) in enumerate(zip(answers, expected, requests, strict=True)):
        same("checksum.o", answer, fields, at=f"packet {n}", inputs=[request])


def test_random_words_and_edges(seed: int) -> None:
    rng = random.Random(seed)
    requests = [random_request(rng) for _ in range(1000)]
    compare(updated(requests, rng, idle=0.2), [golden(r) for r in requests], requests)


def test_every_edge_of_both_sums(seed: int) -> None:
    """Sums of exactly 0, 0xFFFF and a carry more: the old checksum against what is added."""
    rng = random.Random(seed)
    requests = []
    for edit in (Edit.KEEP, Edit.INSERT, Edit.REMOVE):
        for checksum in EDGES:
            for old in EDGES:
                for step in (*range(-3, 4), -8, 8, -16, 16):
                    # `new` such that the complement of the sum is close to 0.
                    new = (checksum + old + step) & 0xFFFF
                    requests.append(
                        random_request(
                            rng,
                            edit=edit,
                            ip_checksum=(checksum + step) & 0xFFFF,
                            udp_checksum=checksum,
                            port_old=old,
                            resv_old=old,
                            port_new=new,
                            resv_new=new,
                            shim=0 if edit is not Edit.REMOVE else (1 << 64) - 1,
                        )
                    )
    compare(updated(requests, rng), [golden(r) for r in requests], requests)


def request_of(frame: bytes, parsed: Parsed, edit: Edit, **others: int) -> Request:
    """The request for a frame as it is; `parsed` is of the packet without a shim."""
    resv = parsed.bth + BTH["fecn"].byte
    return {
        "edit": edit,
        "becn": 0,
        "dscp_step": 0,
        **read(frame, parsed),
        "port_old": UDP.get(frame, parsed.l4, "destination_port"),
        "port_new": SHIM_PORT if edit is Edit.INSERT else ROCE_PORT,
        "resv_old": int.from_bytes(frame[resv : resv + 2], "big"),
        "shim": 0,
        "resv_new": 0,
        **others,
    }


def read(frame: bytes, parsed: Parsed) -> Fields:
    """The frame's lengths and checksums."""
    ip = IPV6 if parsed.descriptor.ipv6 else IPV4
    length = "payload_length" if parsed.descriptor.ipv6 else "total_length"
    return {
        "ip_length": ip.get(frame, parsed.l3, length),
        "ip_checksum": 0 if parsed.descriptor.ipv6 else ip.get(frame, parsed.l3, "checksum"),
        "udp_length": UDP.get(frame, parsed.l4, "length"),
        "udp_checksum": UDP.get(frame, parsed.l4, "checksum"),
    }


def test_golden_packets(seed: int) -> None:
    """What insertion, removal, mode R, BECN and another DSCP write into real headers."""
    rng = random.Random(seed)
    requests, parses, outs = [], [], []
    for n in range(60):
        udp = {"chksum": rng.choice((None, 0, rng.getrandbits(16)))}
        frame = packet(rng.randbytes(rng.randrange(40)), ipv6=bool(n % 2), tags=n % 3, udp=udp)
        parsed = parse(frame, Direction.TX)
        shim = encode(Shim(ShimType.DATA, rng.randrange(101), None, rng.getrandbits(24)))
        value = int.from_bytes(shim, "big")
        grown = insert(frame, parsed, shim, SHIM_PORT)
        marked = put_resv6(frame, parsed, rng.randrange(64))
        ip, dscp = IPV6 if n % 2 else IPV4, rng.randrange(64)
        step = dscp - ip.get(frame, parsed.l3, "dscp")
        resent = put_dscp(frame, parsed, dscp)
        at = parsed.bth + BTH["fecn"].byte
        resv = int.from_bytes(marked[at : at + 2], "big")
        requests += [
            request_of(frame, parsed, Edit.INSERT, shim=value),
            request_of(grown, parsed, Edit.REMOVE, shim=value),
            request_of(frame, parsed, Edit.KEEP, resv_new=resv),
            request_of(frame, parsed, Edit.KEEP, resv_new=0, resv_old=0, dscp_step=step),
            request_of(frame, parsed, Edit.INSERT, shim=value, dscp_step=step),
            request_of(frame, parsed, Edit.INSERT, shim=value, becn=1),
            request_of(frame, parsed, Edit.KEEP, resv_new=resv, becn=1),
        ]
        outs += [grown, remove(grown, parse(grown, Direction.RX)), marked, resent]
        outs.append(insert(resent, parsed, shim, SHIM_PORT))
        outs.append(insert(put_becn(frame, parsed), parsed, shim, SHIM_PORT))
        outs.append(put_becn(marked, parsed))
        parses += [parsed] * 7
    expected = [read(out, parsed) for out, parsed in zip(outs, parses, strict=True)]
    answers = updated(requests, rng)
    for answer, parsed in zip(answers, parses, strict=True):
        if parsed.descriptor.ipv6:
            answer["ip_checksum"] = 0  # means nothing
    compare(answers, expected, requests)
