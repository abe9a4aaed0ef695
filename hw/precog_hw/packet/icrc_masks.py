"""The ICRC's constants, and what a beat of headers must become before a CRC may run over it.

InfiniBand Architecture Specification 1, annex A17. Positions are those of the headers behind all
tags: with fewer tags a packet is taken to begin this many bytes later. Those bytes are whole beats
and a rest, the phase; so few phases stand for all headers.
"""

import zlib
from collections import defaultdict
from functools import cache

from precog_spec.frames.headers import (
    BTH,
    ETHERNET,
    ICRC_BYTES,
    ICRC_MASKED,
    IPV4,
    IPV6,
    MAX_TAGS,
    UDP,
    VLAN,
)

__all__ = [
    "ICRC_RESIDUE",
    "ICRC_START",
    "crc_state",
    "header_beats",
    "icrc_masks",
    "mask_patterns",
    "tag_gap",
    "tag_phases",
]

_STATE_BITS = 8 * ICRC_BYTES
_ONES = (1 << _STATE_BITS) - 1
_L3 = ETHERNET.size + MAX_TAGS * VLAN.size  # IP header's first byte with all tags


def crc_state(state: int, part: bytes) -> int:
    """State of the ICRC's shift register after `part`; linear in both."""
    return zlib.crc32(part, state ^ _ONES) ^ _ONES


#: State before the IP header.
ICRC_START = crc_state(_ONES, b"\xff" * 8)
ICRC_RESIDUE = crc_state(_ONES, zlib.crc32(b"").to_bytes(ICRC_BYTES, "little"))


def icrc_masks(ipv6: bool) -> bytes:
    """Ones in the bits of IP, UDP and BTH that the ICRC does not cover."""
    masked = dict(ICRC_MASKED)
    return b"".join(
        header.pack(**{name: header[name].max for name in masked[header]})
        for header in (IPV6 if ipv6 else IPV4, UDP, BTH)
    )


def tag_gap(tags: int) -> int:
    """Bytes by which the headers stand before the place that they have behind all tags."""
    return (MAX_TAGS - tags) * VLAN.size


def tag_phases(size: int) -> list[int]:
    """What can remain of `tag_gap` after whole beats of `size` bytes."""
    return sorted({tag_gap(tags) % size for tags in range(MAX_TAGS + 1)})


def header_beats(size: int) -> int:
    """Beats of `size` bytes with all headers, whatever the phase."""
    return -(-(_L3 + IPV6.size + UDP.size + BTH.size) // size)


@cache
def mask_patterns(size: int) -> dict[tuple[int, int], list[str]]:
    """(Bits that count, bits that are then inverted): patterns of index, phase and IPv6."""
    phases, beats = tag_phases(size), header_beats(size)
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for number, phase in enumerate(phases):
        for index in range(beats):
            place = f"{index:0{beats.bit_length()}b}"
            if len(phases) > 1:
                place += f"{number:0{(len(phases) - 1).bit_length()}b}"
            four, six = (_bits(ipv6, index * size + phase, size) for ipv6 in (False, True))
            if four == six:
                found[four].append(f"{place}-")
            else:
                found[four].append(f"{place}0")
                found[six].append(f"{place}1")
    return dict(found)


def _bits(ipv6: bool, at: int, size: int) -> tuple[int, int]:
    """What `mask_patterns` says of `size` bytes from byte `at` on, headers behind all tags."""
    masks = icrc_masks(ipv6)
    through = bytes(_L3) + bytes(byte ^ 0xFF for byte in masks)
    start = ICRC_START.to_bytes(ICRC_BYTES, "little").ljust(len(masks), b"\0")
    flip = bytes(_L3) + bytes(a ^ b for a, b in zip(masks, start, strict=True))
    return (
        int.from_bytes(through[at : at + size].ljust(size, b"\xff"), "little"),
        int.from_bytes(flip[at : at + size], "little"),
    )
