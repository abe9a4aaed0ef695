"""The packet path in RTL against the golden card; with `--volume` at all widths."""

import random
from dataclasses import replace

import pytest
from scapy.contrib.roce import cnp as roce_cnp

from precog_models.packet.card import Card, CardConfig
from precog_models.packet.cnp import CnpConfig
from precog_models.packet.cps_state import CpsConfig
from precog_sim.rtl.card import RtlCard
from precog_sim.rtl.card_pair import CardPair
from precog_sim.rtl.packet_block import Wire
from precog_spec.frames.cps import SCORE_MAX, SHIM_PORT, Mode, ShimFault

from ..models.packet.frames import (
    A6_ADDRESS,
    A_ADDRESS,
    A_QP,
    B6_ADDRESS,
    B_ADDRESS,
    B_QP,
    SLOT4,
    SLOT6,
    mutate,
    packet,
    passing,
    synthetic,
)

SLOTS = 16
#: Elaborating takes seconds: one worker does it for all tests of a width.
WIDTHS = [
    pytest.param(width, marks=pytest.mark.xdist_group(f"card-{width}"))
    for width in (8, 64, 128, 256, 512)
]
#: The library of 64 bits is that of `test_senders`, whose counts say nothing here.
SENDERS = 64
COUNTS = {8: 30, 64: 400, 128: 150, 256: 150, 512: 150}  # packets of one run


def built(width: int, volume: int) -> None:
    """Some widths are left to long runs: a library takes a minute to build."""
    if volume == 1 and width in (8, 128, 256):
        pytest.skip("only with --volume")


def cards(
    width: int,
    config: CardConfig,
    seed: int,
    *,
    mode: Mode = Mode.S,
    score: int | None = 37,
    relaxed: bool = False,
) -> tuple[CardPair, CardPair]:
    """The cards of hosts A and B with their connections, IPv4 and IPv6."""
    config, made = replace(config, senders=width == SENDERS and not relaxed), []
    for n, (own, peer) in enumerate(((A_QP, B_QP), (B_QP, A_QP))):
        pair = CardPair.build(width, SLOTS, config, seed + n, relaxed=relaxed)
        four, six = ((B_ADDRESS, B6_ADDRESS), (A_ADDRESS, A6_ADDRESS))[n]
        pair.add(SLOT4, four, peer, own, mode=mode, score=score)
        pair.add(SLOT6, six, peer, own, mode=mode, score=score, destination=7)
        made.append(pair)
    return made[0], made[1]


def check(*pairs: CardPair) -> None:
    """Nothing differed."""
    for pair in pairs:
        pair.close()
        assert not pair.differences, "\n".join(pair.differences[:5])


@pytest.mark.parametrize("width", WIDTHS)
def test_every_kind_of_packet(width: int, seed: int, volume: int) -> None:
    built(width, volume)
    rng = random.Random(seed)
    config = CardConfig(cnp=CnpConfig(interval_ticks=2000, mode_c=True), timeout=10**6)
    a, b = cards(width, config, seed)
    t = 1000
    for name, frame in synthetic(rng).items():
        t += rng.randrange(100, 3000)
        sent = a.transmit(frame, t, t)
        arrived = b.receive(sent.frame, t + 500, t + 500)
        assert arrived.received.frame == frame, name
    for name, frame in passing(rng).items():
        t += 3000
        assert a.transmit(frame, t, t).frame == frame, name
        assert b.receive(frame, t, t).received.frame == frame, name
    assert b.golden.notification.sent > 1
    check(a, b)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("mode", [Mode.S, Mode.R])
def test_mutated_packets(width: int, mode: Mode, seed: int, volume: int) -> None:
    built(width, volume)
    rng = random.Random(seed)
    config = CardConfig(
        CpsConfig(max_frame=1200, drop_malformed=rng.random() < 0.5),
        CnpConfig(interval_ticks=2000),
        tick_ps=1000,
        timeout=5000,
        any_packet=True,
    )
    a, b = cards(width, config, seed, mode=mode)
    pool = list((synthetic(rng) | passing(rng)).values())
    t = 1000
    for _ in range(COUNTS[width] * volume):
        t += rng.randrange(100, 3000)
        frame = mutate(rng, rng.choice(pool)) or b"\0"
        there = a.transmit(frame, t, t, error=rng.random() < 0.1).frame
        if rng.random() < 0.5 and len(there) > 14:
            there = mutate(rng, there) or b"\0"
        b.receive(there, t, t, error=rng.random() < 0.1)
    check(a, b)


def answer(rng: random.Random) -> bytes:
    """An acknowledgement, or now and then another packet; some are nobody's, some are damaged."""
    ipv6 = rng.random() < 0.5
    tos = rng.getrandbits(8)
    ip = {"tc": tos, "fl": rng.getrandbits(20)} if ipv6 else {"tos": tos}
    if not ipv6 and rng.random() < 0.3:
        ip["chksum"] = rng.choice((0, 0xFFFF, rng.getrandbits(16)))
    udp = {"chksum": rng.choice((0, None, rng.getrandbits(16)))}
    if rng.random() < 0.1:
        udp["dport"] = rng.choice((SHIM_PORT, 4792))
    bth = {"dqpn": 0x777} if rng.random() < 0.2 else {}
    bth["becn"] = int(rng.random() < 0.1)
    opcode = rng.choice((0x11, 0x11, 0x12, 0xB1, 0xB2, 0x10, 0x04, 0x31, 0x81))
    aeth = {"syndrome": rng.choice((0x1F, 0x2E, 0x60, 0x63)), "msn": rng.getrandbits(24)}
    frame = packet(
        rng.randbytes(rng.choice((0, 8, 16))),
        opcode=opcode,
        psn=rng.getrandbits(24),
        ipv6=ipv6,
        tags=rng.randrange(3),
        ip=ip,
        udp=udp,
        bth=bth,
        aeth=aeth,
    )
    return mutate(rng, frame) or b"\0" if rng.random() < 0.2 else frame


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_the_dscp_of_acknowledgements(width: int, speed: float, seed: int, volume: int) -> None:
    """Back to back and with pauses, in all modes, with the bit on and off."""
    built(width, volume)
    rng = random.Random(seed)
    a, _ = pairs = cards(width, CardConfig(), seed)
    changed = 0
    for mode in Mode:
        for enabled in (True, False, True):
            config = CpsConfig(ack_enabled=enabled, ack_dscp=rng.randrange(64))
            a.cps(config)
            for slot in (SLOT4, SLOT6):
                a.golden.cps.slots[slot].mode = mode
                a.rtl.row(slot, mode, 37, a.golden.cps.slots[slot].destination)
            wires = [
                Wire(answer(rng), rng.random() < 0.1, 0, n) for n in range(10 if width == 8 else 60)
            ]
            sent = a.rtl.transmit(wires, 500, 500, seed=seed, idle=speed, stall=speed)
            expected = [a.golden.transmit(w.data, 500, 500, error=w.error).frame for w in wires]
            assert [wire.data for wire in sent.frames] == expected
            a.cps(replace(config, ack_enabled=not enabled))
            other = [a.golden.transmit(w.data, 500, 500, error=w.error).frame for w in wires]
            changed += other != expected
    assert changed == 9
    check(*pairs)


def marked(rng: random.Random) -> bytes:
    """A packet from B, most of them marked data; some are nobody's, some are damaged."""
    ipv6, tos = rng.random() < 0.5, rng.choice((1, 2, 3, 3, 3))
    ip = {"tc": tos} if ipv6 else {"tos": tos}
    if rng.random() < 0.1:
        return packet(back=True, ipv6=ipv6, ip=ip, transport=roce_cnp(A_QP))
    opcode = rng.choice((0x04, 0x04, 0x0A, 0x10, 0x11, 0x12))
    frame = packet(
        rng.randbytes(rng.choice((8, 16, 40))),
        opcode=opcode,
        psn=rng.getrandbits(24),
        back=True,
        ipv6=ipv6,
        tags=rng.randrange(3),
        ip=ip,
        bth={"dqpn": 0x777} if rng.random() < 0.1 else {},
        aeth={"syndrome": 0x1F, "msn": 7} if opcode >= 0x10 else None,
    )
    return mutate(rng, frame) or b"\0" if rng.random() < 0.2 else frame


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_marks_go_back_in_acknowledgements(
    width: int, speed: float, seed: int, volume: int
) -> None:
    """Several marks, then acknowledgements back to back; resets, and the bit off, between them."""
    built(width, volume)
    rng = random.Random(seed)
    a, _ = pairs = cards(width, CardConfig(CpsConfig(echo_enabled=True)), seed)
    echoed = counted = 0
    for mode in Mode:
        for n in range(8):
            for slot in (SLOT4, SLOT6):
                a.golden.cps.slots[slot].mode = mode
                a.rtl.row(slot, mode, 37, a.golden.cps.slots[slot].destination)
            run = {"seed": seed + n, "idle": speed, "stall": speed}
            count = rng.randrange(1, 6 if width == 8 else 13)
            came = [Wire(marked(rng), rng.random() < 0.1, 0, k) for k in range(count)]
            a.rtl.receive(came, 500, 500, **run)
            for wire in came:
                a.golden.receive(wire.data, 500, 500, error=wire.error)
            if rng.random() < 0.2:
                a.reset(rng.choice((SLOT4, SLOT6)))
            a.cps(CpsConfig(echo_enabled=rng.random() < 0.8, ack_enabled=rng.random() < 0.5))
            wires = [Wire(answer(rng), rng.random() < 0.1, 0, k) for k in range(8)]
            sent = a.rtl.transmit(wires, 500, 500, **run)
            owed = sum(row.marked for row in a.golden.cps.slots)
            expected = [a.golden.transmit(w.data, 500, 500, error=w.error).frame for w in wires]
            assert [wire.data for wire in sent.frames] == expected
            counted += sum(record["echoed"] for record in a.rtl.sent(sent.run))
            on = a.golden.cps.config.echo_enabled
            echoed += on * (owed - sum(row.marked for row in a.golden.cps.slots))
    assert echoed
    assert counted == a.golden.cps.counters.marks_echoed
    check(*pairs)


@pytest.mark.xdist_group("card-ipv4")
def test_without_ipv6(seed: int, volume: int) -> None:
    """Nor with all of the parser's registers: IPv6 packets pass, IPv4 packets do as ever."""
    if volume == 1:
        pytest.skip("only with --volume: a library takes a minute to build")
    rng = random.Random(seed)
    cps = CpsConfig(ack_enabled=True, ack_dscp=rng.randrange(64), echo_enabled=True)
    config = CardConfig(cps, CnpConfig(interval_ticks=2000), timeout=5000, ipv6=False)
    a, b = cards(64, config, seed, relaxed=True)
    pool, t, sixes, echoed = [*synthetic(rng).values()], 1000, 0, 0
    ack = packet(opcode=0x11, back=True, aeth={"syndrome": 0x1F, "msn": 7}, udp={"chksum": None})
    for n in range(COUNTS[64] * volume):
        t += rng.randrange(100, 3000)
        whole = n < len(pool)  # each once
        frame = pool[n] if whole else rng.choice(pool)
        if not whole and rng.random() < 0.5:
            frame = mutate(rng, frame) or b"\0"
        there = a.transmit(frame, t, t, error=not whole and rng.random() < 0.1).frame
        six = frame[12:14] == b"\x86\xdd"
        assert not six or there == frame
        sixes += six
        if not whole and rng.random() < 0.3 and len(there) > 14:
            there = mutate(rng, there) or b"\0"
        b.receive(there, t, t, error=not whole and rng.random() < 0.1)
        if rng.random() < 0.3:
            echoed += b.golden.cps.slots[SLOT4].marked
            b.transmit(ack, t, t)
    assert sixes
    assert echoed
    assert b.golden.notification.sent
    check(a, b)


@pytest.mark.xdist_group("card-64")
def test_every_value_of_mode_r(seed: int) -> None:
    """All 64 of the six bits: no score, 0 to 100 in twos, and those that are not ours."""
    a, b = cards(64, CardConfig(), seed, mode=Mode.R)
    scores = [b.receive(packet(bytes(8), bth={"resv6": n}), n, n).received.score for n in range(64)]
    assert scores == [None, *range(0, SCORE_MAX + 1, 2), *[None] * 12]
    check(a, b)


@pytest.mark.xdist_group("card-64")
def test_only_trusted_packets_are_rewritten(seed: int) -> None:
    """A right shim of an unknown peer, or of one that is not enabled, goes on as it came."""
    rng = random.Random(seed)
    a, b = cards(64, CardConfig(CpsConfig(drop_malformed=True)), seed)
    frames, faults = [*synthetic(rng).values()], set()
    for n in range(200):
        frame = bytearray(a.golden.transmit(rng.choice(frames), n, n).frame)
        destination, enable = rng.choice((0, 7)), rng.random() < 0.5
        b.enable(destination, enable=enable)
        if rng.random() < 0.3:
            frame[29] ^= rng.getrandbits(1)  # the IP source, or a part of it
        got = b.receive(bytes(frame), n, n).received
        faults.add(got.fault)
        assert (got.shim is None) == (got.frame == bytes(frame))
        assert got.shim is None or got.fault is ShimFault.NONE
    assert faults == {ShimFault.NONE, ShimFault.UNTRUSTED}
    check(a, b)


@pytest.mark.xdist_group("card-64")
def test_round_trips(seed: int) -> None:
    """RTTs of a conversation, echoes and turnarounds over two cards; PSNs wrap."""
    rng = random.Random(seed)
    a, b = cards(64, CardConfig(timeout=10**6), seed, score=12)
    t, samples, lost = 1000, 0, True
    for n in range(150):
        psn = (n - 75) % (1 << 24)
        t += rng.randrange(500, 5000)
        there = a.transmit(packet(bytes(64), psn=psn, bth={"ackreq": 1}), t, t)
        b.receive(there.frame, t + 300, t + 300)
        if rng.random() < 0.1:
            lost = True  # the ACK: the next one answers both packets
            continue
        kind = {"syndrome": rng.choice((0x1F, 0x1F, 0x1F, 0x60, 0x2E, 0x40)), "msn": n}
        ack = packet(opcode=0x11, psn=psn, back=True, aeth=kind)
        stay = rng.randrange(50, 4000)
        back = b.transmit(ack, t + 300 + stay, t + 300 + stay)
        arrived = a.receive(back.frame, t + 700 + stay, t + 700 + stay)
        if arrived.rtt is not None and not lost:
            samples += 1
            assert arrived.rtt == 700
        lost = kind["syndrome"] != 0x1F
        t += stay
    assert samples
    check(a, b)


@pytest.mark.parametrize("width", [WIDTHS[1], WIDTHS[4]])
@pytest.mark.parametrize("size", [0, 1024])
def test_line_rate(width: int, size: int) -> None:
    """Back to back: a beat in every cycle, in and out, but for the beats that insertion adds."""
    card = RtlCard(width, SLOTS, CardConfig(senders=width == SENDERS))
    card.add(SLOT4, B_ADDRESS, B_QP, A_QP)
    card.row(SLOT4, Mode.S, 50)
    frame = packet(bytes(size), opcode=0x01)
    wires = [Wire(frame)] * 300
    taken = card.transmit(wires, 0, 0, clock=1)
    card.close()
    step = width // 8
    beats, grown = -(-len(frame) // step), -(-(len(frame) + 8) // step)
    out = taken.run.sinks["m_axis_tx"]
    assert {len(wire.data) for wire in taken.frames} == {len(frame) + 8}
    assert out.last[-1] - out.first[0] + 1 == grown * len(wires)
    into = taken.run.sources["s_axis_tx"]
    stalls = into.last[-1] - into.first[0] + 1 - beats * len(wires)
    assert stalls <= (grown - beats) * len(wires)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_streams_of_packets(width: int, speed: float, seed: int, volume: int) -> None:
    """Many packets under way at once, times from the card's running clock; out, and back in."""
    built(width, volume)
    rng = random.Random(seed)
    config = CardConfig()
    pool = list((synthetic(rng) | passing(rng)).values())
    pool = [frame for frame in pool if len(frame) < (400 if width == 8 else 10_000)]
    frames = [rng.choice(pool) for _ in range(60 if width == 8 else 400)]
    frames += [mutate(rng, rng.choice(pool)) or b"\0" for _ in frames]
    rng.shuffle(frames)
    a, b = cards(width, config, seed)
    wires = [
        Wire(f, rng.random() < 0.1, rng.getrandbits(40), n & 0xFF) for n, f in enumerate(frames)
    ]
    sent = a.rtl.transmit(wires, 10**6, 10**6, clock=1, seed=seed, idle=speed, stall=speed)
    records = a.rtl.sent(sent.run)
    expected = [
        wire._replace(
            data=a.golden.transmit(wire.data, r["time"], r["time"], error=wire.error).frame
        )
        for wire, r in zip(wires, records, strict=True)
    ]
    assert sent.frames == expected
    got = b.rtl.receive(sent.frames, 10**6, 10**6, clock=1, seed=seed, idle=speed, stall=speed)
    received = [b.golden.receive(w.data, 0, 0, error=w.error).received for w in sent.frames]
    assert got.frames == [
        wire._replace(data=r.frame)
        for wire, r in zip(sent.frames, received, strict=True)
        if r.frame is not None
    ]
    check(a, b)


#: By width: cycles from the last beat in to a CNP and to a score of an acknowledgement that may
#: have an effect, both the shortest there are; from the first beat in of a packet of data to its
#: first beat out, which do not wait.
_WAITS = {64: (51, 54, 43), 512: (43, 47, 31)}


@pytest.mark.parametrize("width", [WIDTHS[1], WIDTHS[4]])
def test_what_may_act_waits_for_its_icrc_and_data_does_not(width: int) -> None:
    """The record of a packet waits, not the packet; see `docs/guide/datapath.md`."""
    config = CardConfig(senders=width == SENDERS)
    peer = Card(SLOTS, config)
    peer.add(SLOT4, A_ADDRESS, A_QP, B_QP, score=50)
    card = RtlCard(width, SLOTS, config)
    card.add(SLOT4, B_ADDRESS, B_QP, A_QP)
    card.row(SLOT4, Mode.S, 50)
    card.transmit([Wire(packet(bytes(64), bth={"ackreq": 1}))], 1000, 1000)
    ack = packet(opcode=0x11, back=True, aeth={"syndrome": 0x1F, "msn": 1})
    cnp = packet(back=True, transport=roce_cnp(A_QP))
    waited = []
    for frame, strobe in ((cnp, "cnp_heard"), (peer.transmit(ack, 0, 0).frame, "score_heard")):
        run = card.block.run(
            {"s_axis_rx": [Wire(frame)]}, ["m_axis_rx"], monitors={strobe: []}, settle=99
        )
        ((cycle, _),) = run.events[strobe]
        waited.append(cycle - run.sources["s_axis_rx"].last[0])
    data = Wire(packet(bytes(200), psn=7, back=True))
    run = card.block.run({"s_axis_rx": [data]}, ["m_axis_rx"], settle=99)
    waited.append(run.sinks["m_axis_rx"].first[0] - run.sources["s_axis_rx"].first[0])
    card.close()
    assert tuple(waited) == _WAITS[width]
