"""Gigabit Ethernet MAC on GMII: what a frame is on the line, and what a line's bytes are.

IEEE 802.3 clauses 3 and 35. `precog_hw.mac` is the gateware.
"""

import zlib
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from precog_spec.frames.headers import MIN_FRAME
from precog_spec.frames.line import FCS_BYTES, MOST_BYTES, PREAMBLE

__all__ = [
    "Arrived",
    "Fault",
    "Symbol",
    "arrivals",
    "line_bytes",
]


class Fault(Enum):
    """Why a frame is damaged; one frame may be so for several reasons, the first here counts."""

    RUNT = "runt"  # shorter than 64 bytes with its FCS
    OVERSIZE = "oversize"  # longer than `MOST_BYTES`; what is beyond is not taken
    FCS = "fcs"  # wrong FCS, or the PHY signalled an error


class Symbol(NamedTuple):
    """What GMII says in a cycle: RXD, RX_DV and RX_ER."""

    data: int
    valid: bool = True
    error: bool = False


class Arrived(NamedTuple):
    """A frame from the line, without its FCS; a runt of fewer than 5 bytes has none."""

    frame: bytes
    fault: Fault | None


def line_bytes(frame: bytes, *, error: bool = False) -> bytes:
    """Bytes of a frame on the line, from preamble to FCS; with `error` its FCS is inverted.

    Raises
    ------
    ValueError
        `frame` is empty.
    """
    if not frame:
        raise ValueError("frame must have a byte or more, not none")
    padded = frame.ljust(MIN_FRAME, b"\0")
    fcs = zlib.crc32(padded) ^ (0xFFFFFFFF if error else 0)
    return PREAMBLE + padded + fcs.to_bytes(FCS_BYTES, "little")


def arrivals(symbols: Iterable[Symbol], most_bytes: int = MOST_BYTES) -> list[Arrived]:
    """What a receiver makes of a line: bytes after a preamble of any length, up to RX_DV's end.

    Bursts without a start frame delimiter are no frames.
    """
    arrived, burst = [], list[Symbol]()
    for symbol in (*symbols, Symbol(0, valid=False)):
        if symbol.valid:
            burst.append(symbol)
            continue
        found = _frame(burst, most_bytes)
        if found is not None:
            arrived.append(found)
        burst = []
    return arrived


def _frame(burst: Sequence[Symbol], most_bytes: int) -> Arrived | None:
    """A burst of valid symbols as a frame."""
    at = 0
    while at < len(burst) and burst[at].data == PREAMBLE[0]:
        at += 1
    if at == len(burst) or burst[at].data != PREAMBLE[-1]:
        return None
    body = burst[at + 1 :]
    octets = bytes(symbol.data for symbol in body)
    if len(octets) > most_bytes + FCS_BYTES:
        return Arrived(octets[: most_bytes + 1], Fault.OVERSIZE)
    frame, fcs = octets[:-FCS_BYTES], octets[-FCS_BYTES:]
    if len(octets) < MIN_FRAME + FCS_BYTES:
        return Arrived(frame, Fault.RUNT)
    wrong = zlib.crc32(frame) != int.from_bytes(fcs, "little")
    damaged = wrong or any(symbol.error for symbol in body)
    return Arrived(frame, Fault.FCS if damaged else None)
