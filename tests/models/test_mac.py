"""The golden MAC against frames that others have made."""

import random
import zlib

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from precog_models.mac import Arrived, Fault, Symbol, arrivals, line_bytes
from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import FCS_BYTES, MOST_BYTES, PREAMBLE

IDLE = [Symbol(0, valid=False)] * 12


def symbols(octets: bytes) -> list[Symbol]:
    return [Symbol(octet) for octet in octets]


def test_a_known_frame() -> None:
    """IEEE 802.3's residue, and the FCS in the order in which it is sent."""
    frame = bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / IP(dst="10.0.0.1") / UDP() / bytes(range(40)))
    line = line_bytes(frame)
    assert line.startswith(bytes.fromhex("55555555555555d5"))
    body = line[len(PREAMBLE) :]
    assert body[:-FCS_BYTES] == frame
    assert zlib.crc32(body) == 0x2144DF1C  # of any frame with its FCS


def test_short_frames_are_padded_and_stay_so() -> None:
    frame = bytes(range(1, 15))
    line = line_bytes(frame)
    assert len(line) == len(PREAMBLE) + MIN_FRAME + FCS_BYTES
    assert arrivals(symbols(line)) == [Arrived(frame.ljust(MIN_FRAME, b"\0"), None)]


def test_what_leaves_arrives(seed: int) -> None:
    rng = random.Random(seed)
    frames = [rng.randbytes(rng.randrange(MIN_FRAME, 300)) for _ in range(20)]
    line = [symbol for frame in frames for symbol in (*symbols(line_bytes(frame)), *IDLE)]
    assert arrivals(line) == [Arrived(frame, None) for frame in frames]


def test_damage(seed: int) -> None:
    rng = random.Random(seed)
    frame = rng.randbytes(100)
    line = symbols(line_bytes(frame))
    at = rng.randrange(len(PREAMBLE), len(line))
    flipped = [*line]
    flipped[at] = Symbol(line[at].data ^ 1 << rng.randrange(8))
    assert arrivals(flipped)[0].fault is Fault.FCS
    said = [*line]
    said[at] = Symbol(line[at].data, error=True)
    assert arrivals(said) == [Arrived(frame, Fault.FCS)]
    assert arrivals(symbols(line_bytes(frame, error=True))) == [Arrived(frame, Fault.FCS)]
    assert arrivals(line[:-50]) == [Arrived(frame[: 104 - 50 - FCS_BYTES], Fault.RUNT)]
    assert arrivals(line[: len(PREAMBLE) + 3]) == [Arrived(b"", Fault.RUNT)]
    long = rng.randbytes(MOST_BYTES + 20)
    assert arrivals(symbols(line_bytes(long))) == [Arrived(long[: MOST_BYTES + 1], Fault.OVERSIZE)]
    most = long[:MOST_BYTES]
    assert arrivals(symbols(line_bytes(most))) == [Arrived(most, None)]


def test_preambles() -> None:
    """Of any length; without a start frame delimiter, or with something else, it is no frame."""
    frame = bytes(range(64))
    line = line_bytes(frame)
    for start in range(len(PREAMBLE)):
        assert arrivals(symbols(line[start:])) == [Arrived(frame, None)]
    assert arrivals(symbols(line[len(PREAMBLE) :])) == []
    assert arrivals(symbols(b"\x55\x54" + line)) == []
    assert arrivals(symbols(b"\x55" * 9)) == []


def test_a_frame_has_bytes() -> None:
    with pytest.raises(ValueError, match="frame must have a byte or more, not none"):
        line_bytes(b"")
