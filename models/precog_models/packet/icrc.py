"""The invariant CRC of RoCEv2: over eight bytes of ones, IP, UDP, BTH and payload.

CRC-32 of Ethernet, with ones in the fields that the network may change (`wire.headers.ICRC_MASKED`)
and sent least significant byte first (InfiniBand Architecture Specification 1, annex A17). It is
defined on a packet without a shim, with destination port 4791. Checked and counted, never repaired.
"""

import zlib

from precog_spec.frames.descriptor import Reason
from precog_spec.frames.headers import BTH, ICRC_BYTES, ICRC_MASKED, IPV4, IPV6, UDP

from .parser import Parsed

__all__ = ["icrc", "icrc_ok"]

_ONES = b"\xff" * 8  # in the place of InfiniBand's local route header
_MASKS = {
    header.name: int.from_bytes(header.pack(**{name: header[name].max for name in names}), "big")
    for header, names in ICRC_MASKED
}


def icrc(frame: bytes | bytearray, parsed: Parsed) -> int:
    """The ICRC of a packet as its four bytes stand for it, read in little-endian order.

    Parameters
    ----------
    frame : bytes
        Frame without FCS; the four bytes in the ICRC's place do not count.
    parsed : Parsed
        `parse` of it.

    Raises
    ------
    ValueError
        The packet is not RoCEv2, carries a shim, or ends before its IP length.
    """
    found = parsed.descriptor
    if found.reason is not Reason.NONE or found.shim or parsed.end > len(frame):
        raise ValueError(
            "packet must be a whole RoCEv2 packet without shim to have an ICRC, not one with "
            f"reason {found.reason.name}, shim {found.shim}, error {found.error}"
        )
    ip = IPV6 if found.ipv6 else IPV4
    covered = bytearray(_ONES)
    at = parsed.l3
    for header in (ip, UDP, BTH):
        raw = int.from_bytes(frame[at : at + header.size], "big")
        covered += (raw | _MASKS[header.name]).to_bytes(header.size, "big")
        at += header.size
    covered += frame[at : parsed.end - ICRC_BYTES]
    return zlib.crc32(covered)


def icrc_ok(frame: bytes | bytearray, parsed: Parsed) -> bool:
    """Whether the packet's ICRC is right; False if it has none (see `icrc`)."""
    found = parsed.descriptor
    if found.reason is not Reason.NONE or found.shim or parsed.end > len(frame):
        return False
    sent = int.from_bytes(frame[parsed.end - ICRC_BYTES : parsed.end], "little")
    return sent == icrc(frame, parsed)
