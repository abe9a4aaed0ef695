"""Replay of captures made by scapy: identity, counts, RTTs, and pairs learnt by PSN."""

import random
from pathlib import Path

import pytest

from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.parser import parse
from precog_models.packet.wire.descriptor import Direction
from precog_sim.capture import Frame, read
from precog_sim.replay.connections import Connection, Flow, Seen, connections
from precog_sim.replay.run import replay

from ...models.packet.frames import (
    A_ADDRESS,
    A_QP,
    B_ADDRESS,
    B_QP,
    packet,
    synthetic,
)

ACK = {"opcode": 0x11, "back": True, "aeth": {"syndrome": 0x1F, "msn": 1}}
THERE, BACK = Flow(A_ADDRESS, B_ADDRESS, B_QP), Flow(B_ADDRESS, A_ADDRESS, A_QP)


def frame(time_us: int, data: bytes) -> Frame:
    return Frame(time_us * 1000, data, len(data))


def conversation() -> list[Frame]:
    """Three messages of two packets; the ACK of each comes 40, 50 and 60 us after the last."""
    frames = []
    for n in range(3):
        start = 1000 * n
        frames += [
            frame(start, packet(bytes(64), opcode=0x00, psn=2 * n)),
            frame(start + 3, packet(bytes(64), opcode=0x02, psn=2 * n + 1, bth={"ackreq": 1})),
            frame(start + 43 + 10 * n, packet(psn=2 * n + 1, **ACK)),
        ]
    return frames


@pytest.mark.parametrize(
    "width", [None, pytest.param(64, marks=pytest.mark.xdist_group("card-64"))]
)
def test_conversation(width: int | None) -> None:
    frames = conversation()
    found = replay(frames, width=width)
    assert found.out == frames
    assert [len(w.data) - len(f.data) for w, f in zip(found.wire, frames, strict=True)] == [8] * 9
    rtl = {} if width is None else {"rtl_vs_golden": {"packets": 18, "mismatches": 0}}
    assert found.as_dict() == rtl | {
        "packets": 9,
        "rocev2": 9,
        "inserted": 9,
        "identical_after_extract": 9,
        "icrc_ok_in": 9,
        "icrc_ok_out": 9,
        "bypassed": {},
        "opcodes": {"RC SEND First": 3, "RC SEND Last": 3, "RC Acknowledge": 3},
        "connections": 1,
        "rtt_us": {"n": 3, "min": 40.0, "median": 50.0, "p99": 60.0, "max": 60.0},
    }
    assert replay(frames, local=A_ADDRESS).rtt_ns == [40_000, 50_000, 60_000]
    assert replay(frames, local=B_ADDRESS).rtt_ns == []
    assert replay(frames, timeout_ns=50_000).rtt_ns == [40_000]


@pytest.mark.parametrize(
    "width",
    [
        pytest.param(width, marks=pytest.mark.xdist_group(f"card-{width}"))
        for width in (8, 64, 128, 256, 512)
    ],
)
def test_brought_captures_come_out_again(width: int, captures: list[Path]) -> None:
    """Each frame in RTL at this width, with idles and back-pressure, out and back in."""
    shims = 0
    for path in captures:
        frames = list(read(path))
        found = replay(frames, width=width)
        assert not found.differences, path.name
        assert found.out == frames, path.name
        assert found.identical_after_extract == found.packets == len(frames)
        assert found.icrc_ok_in == found.icrc_ok_out
        shims += found.inserted
    print(f"{shims} packets carried the shim")
    assert shims


def test_whatever_is_in_the_capture_comes_out_again(seed: int) -> None:
    rng = random.Random(seed)
    made = [*synthetic(rng).values(), packet(udp={"dport": 53}), b"", rng.randbytes(60)]
    found = replay([frame(n, data) for n, data in enumerate(made)])
    assert [f.data for f in found.out] == made
    assert found.identical_after_extract == len(made)
    assert found.inserted == found.icrc_ok_in == found.icrc_ok_out == len(synthetic(rng))
    assert sum(found.bypassed.values()) == 3
    assert found.as_dict()["rtt_us"] == {"n": 0}


def test_cut_and_dropped_frames() -> None:
    whole = packet(bytes(500))
    cut = Frame(0, whole[:128], len(whole))
    found = replay([cut])
    assert found.out == [cut]
    assert found.wire[0].wire_length == len(whole) + 8
    assert (found.inserted, found.icrc_ok_in) == (1, 0)
    alien = frame(0, packet(bytes(64), udp={"dport": 54791}))
    config = CpsConfig(drop_malformed=True)
    assert replay([alien, frame(1, whole)], config=config).out == [frame(1, whole)]


def test_nothing_and_the_wrong_host() -> None:
    assert replay([]).as_dict()["packets"] == 0
    with pytest.raises(ValueError, match="local address must be one of the capture's"):
        replay(conversation(), local=1)


def seen(frames: list[Frame]) -> list[Seen]:
    rows = []
    for one in frames:
        sent = parse(one.data, Direction.TX).descriptor
        source = parse(one.data, Direction.RX).descriptor.remote
        rows.append(Seen(Flow(source, sent.remote, sent.dest_qp), sent, one.time_ns))
    return rows


def test_pairs() -> None:
    assert connections(seen(conversation())) == [Connection(THERE, BACK)]


def test_queue_pairs_with_the_same_psns_are_told_apart_by_time() -> None:
    frames = []
    for psn in range(4):
        at = 100 * psn
        for n, (there, back) in enumerate([(0x51, 0x61), (0x52, 0x62)]):
            ask = packet(psn=psn, bth={"ackreq": 1, "dqpn": there})
            answer = packet(psn=psn, **{**ACK, "bth": {"dqpn": back}})
            frames += [frame(at + 10 * n, ask), frame(at + 10 * n + 5, answer)]
    assert connections(seen(frames)) == [
        Connection(Flow(A_ADDRESS, B_ADDRESS, there), Flow(B_ADDRESS, A_ADDRESS, back))
        for there, back in [(0x51, 0x61), (0x52, 0x62)]
    ]


def test_unreliable_flows_stay_alone() -> None:
    frames = [
        frame(0, packet(opcode=0x24, psn=5, bth={"ackreq": 1})),
        frame(1, packet(opcode=0x24, psn=5, back=True)),
        frame(2, packet(psn=5, **{**ACK, "bth": {"dqpn": 0x99}})),
    ]
    assert [pair.back for pair in connections(seen(frames))] == [None, None, None]
    assert replay(frames).inserted == 3
