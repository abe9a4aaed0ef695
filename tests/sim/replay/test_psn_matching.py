"""The collector's RTTs are those that an independent matching by PSN finds."""

import random
import struct
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from precog_sim.capture import Frame, read
from precog_sim.replay.run import replay

from ...models.packet.frames import A_ADDRESS, packet
from .psn_matching import dissect, match


def roce(time: int, data: bytes) -> Frame:
    return Frame(time, data, len(data))


def both(frames: list[Frame], local: bytes) -> tuple[list[int], list[int]]:
    """RTTs of the collector and of the matching; `local` has 4 or 16 bytes."""
    capture = [(frame.time_ns, frame.data) for frame in frames]
    mapped = bytes(10) + b"\xff\xff" if len(local) == 4 else b""
    found = replay(frames, local=int.from_bytes(mapped + local, "big"))
    return found.rtt_ns, match(capture, local)


def lossy(rng: random.Random, count: int, mtu: int = 1024) -> list[Frame]:
    """Requests and answers of one connection with losses, NAKs, RNRs, go-back-N and wraps.

    The first packet tells the path MTU.
    """
    first = packet(bytes(mtu), opcode=0x00, psn=(1 << 24) - count // 2 - 1)
    frames = [Frame(0, first, len(first))]
    time, psn = 0, (1 << 24) - count // 2
    unanswered: list[int] = []
    for _ in range(count):
        time += rng.randrange(1_000, 20_000)
        kind = rng.random()
        if kind < 0.5 or not unanswered:
            if rng.random() < 0.1 and unanswered:
                data = packet(bytes(8), psn=rng.choice(unanswered), bth={"ackreq": 1})
            elif rng.random() < 0.2:
                length = rng.choice([1, mtu, mtu + 1, 5 * mtu - 3])
                reth = struct.pack(">QII", 0, 0, length)
                data = packet(reth, opcode=0x0C, psn=psn & 0xFFFFFF)
                unanswered.append(psn & 0xFFFFFF)
                psn += -(-length // mtu)
            else:
                asks = int(rng.random() < 0.6)
                data = packet(bytes(8), psn=psn & 0xFFFFFF, bth={"ackreq": asks})
                unanswered.append(psn & 0xFFFFFF)
                psn += 1
        else:
            about = rng.choice(unanswered)
            syndrome = rng.choice([0x1F, 0x1F, 0x00, 0x60, 0x2E, 0x40])
            if rng.random() < 0.05:
                about = about + 1000 & 0xFFFFFF  # never sent
            aeth = {"syndrome": syndrome, "msn": 1}
            data = packet(opcode=0x11, psn=about, back=True, aeth=aeth)
            unanswered = (
                unanswered[unanswered.index(about) :] if about in unanswered else unanswered
            )
        frames.append(Frame(time, data, len(data)))
    return frames


def test_random_conversations(seed: int) -> None:
    rng = random.Random(seed)
    samples = 0
    for mtu in (256, 512, 1024, 1024, 2048, 4096) * 2:
        got, wanted = both(lossy(rng, 200, mtu), IPv6Address(A_ADDRESS).packed[-4:])
        assert got == wanted
        samples += len(got)
    assert samples > 0


@pytest.mark.parametrize("mtu", [256, 1024, 2048, 4096])
@pytest.mark.parametrize("told", ["responses", "sends", "whole"])
def test_reads_of_any_path_mtu(mtu: int, told: str) -> None:
    """A READ's answers, or what the requester sends, tell the MTU; every READ gives its RTT."""
    ranges = {"responses": 3 * mtu, "sends": 2 * mtu, "whole": mtu}
    frames, psn = [], 0
    if told == "sends":
        frames.append(roce(0, packet(bytes(16 + mtu), opcode=0x06, psn=psn)))
        psn += 1
    for n in range(20):
        at, length = 100_000 * (n + 1), ranges[told]
        count = length // mtu
        reth = struct.pack(">QII", 0, 1, length)
        frames.append(roce(at, packet(reth, opcode=0x0C, psn=psn)))
        for k in range(count) if told != "sends" else ():
            opcode = 0x10 if count == 1 else 0x0D if k == 0 else 0x0F if k == count - 1 else 0x0E
            aeth = None if opcode == 0x0E else {"syndrome": 0x1F, "msn": 1}
            data = packet(bytes(mtu), opcode=opcode, psn=psn + k, back=True, aeth=aeth)
            frames.append(roce(at + 50_000 + k, data))
        if told == "sends":
            aeth = {"syndrome": 0x1F, "msn": 1}
            frames.append(roce(at + 50_000, packet(opcode=0x11, psn=psn, back=True, aeth=aeth)))
        psn += count
    got, wanted = both(frames, IPv6Address(A_ADDRESS).packed[-4:])
    assert got == wanted == [50_000] * 20


def test_brought_captures(captures: list[Path]) -> None:
    """Every host's side of every capture; the same RTTs if frames are cut behind their headers."""
    samples = 0
    for path in captures:
        frames = list(read(path))
        packets = [p for f in frames if (p := dissect(f.time_ns, f.data)) is not None]
        for host in sorted({p.source for p in packets}):
            got, wanted = both(frames, host)
            assert got == wanted, path.name
            samples += len(got)
            cut = [frame._replace(data=frame.data[:128]) for frame in frames]
            assert both(cut, host) == (wanted, wanted), path.name
    print(f"{samples} RTTs in {len(captures)} captures")
    assert samples > 0
