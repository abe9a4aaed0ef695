"""Replay of captures made by scapy: identity, counts, RTTs, and pairs learnt by PSN."""

import random
import struct
from pathlib import Path

import pytest

from precog_models.packet.cps_state import CpsConfig
from precog_models.packet.parser import parse
from precog_sim.capture import Frame, read
from precog_sim.replay.connections import Connection, Flow, Seen, connections
from precog_sim.replay.run import replay
from precog_spec.frames.descriptor import Direction

from ...models.packet.frames import (
    A_ADDRESS,
    A_QP,
    B_ADDRESS,
    B_QP,
    packet,
    synthetic,
)

ACK = {"opcode": 0x11, "back": True, "aeth": {"syndrome": 0x1F, "msn": 1}}
NO_RTTS = {"n": 0, "min": None, "median": None, "p99": None, "max": None}
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
    "width", [None, pytest.param(512, marks=pytest.mark.xdist_group("card-512"))]
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
        "cut": 0,
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
def test_brought_captures_come_out_again(width: int, captures: list[Path], volume: int) -> None:
    """Each frame in RTL at this width, with idles and back-pressure, out and back in."""
    if volume == 1 and width != 512:
        pytest.skip("only with --volume: no other test builds this card")
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
    assert found.as_dict()["rtt_us"] == NO_RTTS


def test_cut_and_dropped_frames() -> None:
    whole = packet(bytes(500))
    cut = Frame(0, whole[:128], len(whole))
    found = replay([cut])
    assert found.out == [cut]
    assert found.wire[0].wire_length == len(whole) + 8
    assert (found.inserted, found.cut, found.icrc_ok_in, found.icrc_ok_out) == (1, 1, 0, 0)
    alien = frame(0, packet(bytes(64), udp={"dport": 54791}))
    config = CpsConfig(drop_malformed=True)
    assert replay([alien, frame(1, whole)], config=config).out == [frame(1, whole)]


@pytest.mark.parametrize("kept", [20, 41, 53, 54, 60, 64, 128])
def test_a_cut_capture_gives_the_rtts_of_the_whole_one(kept: int) -> None:
    """54 bytes end with the BTH; an ACK has 60 with its padding."""
    whole = conversation()
    frames = [f._replace(data=f.data[:kept]) for f in whole]
    found = replay(frames)
    assert found.out == frames
    assert found.identical_after_extract == len(frames)
    assert found.cut == sum(len(f.data) < f.wire_length for f in frames) >= 6 * (kept < 118)
    # An ACK that is cut before its AETH says nothing.
    assert found.rtt_ns == (replay(whole).rtt_ns if kept >= 58 else [])
    assert (
        found.icrc_ok_in
        == found.icrc_ok_out
        == sum(f.data == w.data for f, w in zip(frames, whole, strict=True))
    )
    for over, frame in zip(found.wire, frames, strict=True):
        grown = 8 if kept >= 54 else 0
        assert len(over.data) - len(frame.data) == over.wire_length - frame.wire_length == grown


@pytest.mark.xdist_group("card-512")
def test_cut_frames_and_path_mtus_in_rtl() -> None:
    """READs of two packets at 4096 bytes, whose responses are cut behind their headers."""
    frames = []
    for n in range(4):
        request = packet(struct.pack(">QII", 0, 1, 8192), opcode=0x0C, psn=2 * n)
        frames.append(frame(1000 * n, request))
        for k, opcode in enumerate((0x0D, 0x0F)):
            aeth = {"syndrome": 0x1F, "msn": 1}
            data = packet(bytes(4096), opcode=opcode, psn=2 * n + k, back=True, aeth=aeth)
            frames.append(Frame(1000_000 * n + 50_000 + k, data[:64], len(data)))
    found = replay(frames, width=512)
    assert found.differences == []
    assert found.rtt_ns == [50_000] * 4
    assert found.cut == 8
    assert replay(frames, mtu=1024).rtt_ns == [50_000]  # each READ seems to reach into the next
    with pytest.raises(ValueError, match=r"mtu must be one of 256, .*4096 bytes, not 1500"):
        replay(frames, mtu=1500)


@pytest.mark.parametrize(
    "width", [None, pytest.param(512, marks=pytest.mark.xdist_group("card-512"))]
)
@pytest.mark.parametrize("gap", [1 << 38, (1 << 40) + 100_000, 3 * (1 << 40) - 10**6])
def test_what_was_timed_before_a_gap_is_forgotten(gap: int, width: int | None) -> None:
    """A request without an answer, then a pause in which the card's clock comes around."""
    asks = packet(bytes(4), psn=1, bth={"ackreq": 1})
    frames = [Frame(0, asks, len(asks))]
    for n in range(3):
        for late, data in (
            (0, packet(bytes(4), psn=n + 2, bth={"ackreq": 1})),
            (50_000, packet(psn=n + 2, **ACK)),
        ):
            frames.append(Frame(gap + 200_000 * n + late, data, len(data)))
    for timeout in (10**9, 0):
        found = replay(frames, width=width, timeout_ns=timeout)
        assert found.rtt_ns == [50_000] * 3
        assert found.differences == []


def test_shims_that_were_there_are_removed_and_counted() -> None:
    found = replay(replay(conversation()).wire)
    assert found.stripped == found.packets == 9
    assert found.identical_after_extract == 0
    assert found.out == conversation()


def test_progress() -> None:
    told: list[tuple[int, int]] = []
    replay(conversation() * 4, progress=lambda done, of: told.append((done, of)))
    assert told == [(0, 36), (16, 36), (32, 36)]


@pytest.mark.parametrize("count", [16, 100])
def test_the_queue_pair_table_has_room(count: int) -> None:
    """QPNs given in order, which share much of their keys."""
    frames = [frame(n, packet(psn=n, bth={"dqpn": 0x100 + n})) for n in range(count)]
    assert replay(frames).inserted == count


def test_nothing_and_the_wrong_host() -> None:
    assert replay([]).as_dict()["packets"] == 0
    message = r"one of the capture's, 10\.1\.2\.3, 10\.1\.200\.77, not 1\.2\.3\.4$"
    with pytest.raises(ValueError, match=message):
        replay(conversation(), local=0xFFFF_0102_0304)
    six = [frame(0, packet(bytes(4), ipv6=True))]
    with pytest.raises(ValueError, match=r"capture's, fd00::1:a, fd00::2:b, not ::1$"):
        replay(six, local=1)


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
