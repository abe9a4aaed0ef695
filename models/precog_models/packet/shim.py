"""Mode S's shim: its eight bytes, and putting them into a packet and taking them out again.

Insertion updates IP length, IPv4 header checksum, UDP length, UDP destination port and, if there is
one, the UDP checksum, all incrementally. Removal does the reverse, so that it gives back every
byte, also where a checksum was wrong from the start.
"""

from typing import NamedTuple

from precog_spec.frames.cps import SCORE_MAX, SCORE_NONE, SHIM, SHIM_VERSION, ShimFault, ShimType
from precog_spec.frames.crc import crc8
from precog_spec.frames.headers import IPV4, IPV6, ROCE_PORT, UDP

from .checksum import udp_field, update, words
from .parser import Parsed

__all__ = ["Shim", "clamp_score", "decode", "encode", "insert", "remove", "update_udp_checksum"]


class Shim(NamedTuple):
    """What a shim says; None: that field is not valid."""

    type: ShimType
    score: int | None = None  # 0..100
    echo: int | None = None  # 0..100
    time: int | None = None  # ns, 24 bits
    senders: int = 0  # level of the queue pairs that send to its sender, 0..15


def encode(shim: Shim) -> bytes:
    """The eight bytes.

    Raises
    ------
    ValueError
        A score or an echo is not 0..100, or the time or the level does not fit.
    """
    for name, value in (("score", shim.score), ("echo", shim.echo)):
        if value is not None and not 0 <= value <= SCORE_MAX:
            raise ValueError(f"{name} must be 0..{SCORE_MAX} or None, not {value!r}")
    body = SHIM.pack(
        version=SHIM_VERSION,
        type=shim.type,
        v=int(shim.score is not None),
        e=int(shim.echo is not None),
        t=int(shim.time is not None),
        senders=shim.senders,
        score=SCORE_NONE if shim.score is None else shim.score,
        echo=SCORE_NONE if shim.echo is None else shim.echo,
        time=shim.time or 0,
    )[: SHIM["crc"].byte]
    return body + bytes([crc8(body)])


def decode(data: bytes | bytearray) -> tuple[ShimFault, Shim | None, int]:
    """Read eight bytes.

    Returns
    -------
    fault : ShimFault
        NONE, VERSION, TYPE or CRC.
    shim : Shim or None
        None with a fault. The zero bit is not looked at.
    clamped : int
        How many of score and echo were 101..254 and are given as 100.
    """
    fields = SHIM.unpack(data)
    if fields["version"] != SHIM_VERSION:
        return ShimFault.VERSION, None, 0
    if fields["type"] not in tuple(ShimType):
        return ShimFault.TYPE, None, 0
    if fields["crc"] != crc8(data[: SHIM["crc"].byte]):
        return ShimFault.CRC, None, 0
    score, wild_score = clamp_score(fields["score"]) if fields["v"] else (None, 0)
    echo, wild_echo = clamp_score(fields["echo"]) if fields["e"] else (None, 0)
    time = fields["time"] if fields["t"] else None
    shim = Shim(ShimType(fields["type"]), score, echo, time, fields["senders"])
    return ShimFault.NONE, shim, wild_score + wild_echo


def clamp_score(byte: int) -> tuple[int | None, int]:
    """Score in a byte of the wire, and 1 if it was 101..254; 0xFF is no score."""
    if byte == SCORE_NONE:
        return None, 0
    return min(byte, SCORE_MAX), int(byte > SCORE_MAX)


def insert(frame: bytes | bytearray, parsed: Parsed, shim: bytes, port: int) -> bytes:
    """The frame with a shim between UDP and BTH.

    Parameters
    ----------
    frame : bytes
        RoCEv2 to port 4791.
    parsed : Parsed
        `parse` of it, without a reason and without a shim. The IP packet may grow by eight bytes.
    shim : bytes
        The eight bytes.
    port : int
        The shim's UDP destination port.
    """
    out = bytearray(frame)
    _resize(out, parsed, SHIM.size, port, new=words(shim), old=[])
    return bytes(out[: parsed.bth]) + shim + bytes(out[parsed.bth :])


def remove(frame: bytes | bytearray, parsed: Parsed) -> bytes:
    """The frame without its shim, as it was before `insert`; `parsed` found a shim in it."""
    out = bytearray(frame)
    at = parsed.bth - SHIM.size
    _resize(out, parsed, -SHIM.size, ROCE_PORT, new=[], old=words(out[at : parsed.bth]))
    return bytes(out[:at] + out[parsed.bth :])


def _resize(
    out: bytearray, parsed: Parsed, grown: int, port: int, *, new: list[int], old: list[int]
) -> None:
    """Lengths, port and checksums for a packet that grows by `grown` bytes."""
    l3, l4 = parsed.l3, parsed.l4
    if parsed.descriptor.ipv6:
        length = IPV6.get(out, l3, "payload_length")
        IPV6.put(out, l3, "payload_length", length + grown)
    else:
        length = IPV4.get(out, l3, "total_length")
        checksum = update(IPV4.get(out, l3, "checksum"), [length], [length + grown])
        IPV4.put(out, l3, "total_length", length + grown)
        IPV4.put(out, l3, "checksum", checksum)
    length = UDP.get(out, l4, "length")
    was = UDP.get(out, l4, "destination_port")
    UDP.put(out, l4, "length", length + grown)
    UDP.put(out, l4, "destination_port", port)
    # The length counts twice: it stands in the pseudo-header too.
    update_udp_checksum(
        out,
        l4,
        old=[length, length, was, *old],
        new=[length + grown, length + grown, port, *new],
    )


def update_udp_checksum(out: bytearray, l4: int, *, old: list[int], new: list[int]) -> None:
    """Update the UDP checksum for words that changed; 0 means that there is none, and stays."""
    checksum = UDP.get(out, l4, "checksum")
    if checksum:
        UDP.put(out, l4, "checksum", udp_field(update(checksum, old, new)))
