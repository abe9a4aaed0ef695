"""The Congestion Prediction Score on the wire: modes S, R and C.

S: an 8-byte shim between UDP and BTH, signalled by the UDP destination port. The ICRC is not
touched: it stands for the packet as it was, and extraction restores exactly that.
R: the six reserved bits of BTH byte 4, which the ICRC masks. Lossy: score // 2 + 1; 0 is none.
   Nothing in the packet says so: the receiver takes it out only for a QP that it knows to be in R.
C: a mark and the score in the reserved bytes of the CNPs that our notification point generates.
"""

from enum import IntEnum

from precog_spec.frames.layout import Header

__all__ = [
    "CNP_MARK",
    "CRC8_INIT",
    "CRC8_POLY",
    "CRC8_XOR",
    "EPOCH_LEAST",
    "HOLD_STEP",
    "LEVEL_MAX",
    "NS_BITS",
    "RESV6_MAX",
    "SCORE_MAX",
    "SCORE_NONE",
    "SHIM",
    "SHIM_PORT",
    "SHIM_VERSION",
    "TICKS_FACTOR_BITS",
    "TIME_BITS",
    "TURNAROUND_DEPTH",
    "Mode",
    "ShimFault",
    "ShimType",
    "resv6_from_score",
    "score_from_resv6",
    "ticks_factor",
]

SHIM_PORT = 54791  # register reset; never 4791
SHIM_VERSION = 1
TIME_BITS = 24
NS_BITS = 40  # a card's time in ns, wraps; differences of up to 18 minutes
TURNAROUND_DEPTH = 4  # arrivals kept for each QP
SCORE_MAX = 100
SCORE_NONE = 0xFF
CNP_MARK = 0xC5
RESV6_MAX = SCORE_MAX // 2 + 1

# AUTOSAR CRC-8H2F over bytes 0..6: nothing else protects the shim where the UDP checksum is 0.
CRC8_POLY, CRC8_INIT, CRC8_XOR = 0x2F, 0xFF, 0xFF

SHIM = Header(
    "CPS shim",
    ("version", 4),
    ("type", 4),
    ("v", 1),  # the score is valid
    ("e", 1),  # the echo is valid
    ("t", 1),  # the time field is valid
    ("zero", 1),
    ("senders", 4),  # log2 of the QPs that send to the shim's sender, rounded up; 0: one, or ?
    ("score", 8),  # 0..100, 0xFF: none
    ("echo", 8),  # the last score received from that peer QP
    ("time", TIME_BITS),  # ns. Data: the sender's time. Acknowledge: the turnaround T2 - T1
    ("crc", 8),
)

LEVEL_MAX = (1 << SHIM["senders"].bits) - 1
EPOCH_LEAST = 8  #: binary logarithm of the shortest epoch in which senders are counted, ticks
HOLD_STEP = 10  #: low bits of a time, ticks, that the age of a level leaves out
TICKS_FACTOR_BITS = 16


def ticks_factor(tick_ps: int) -> int:
    """Ticks of `tick_ps` in a nanosecond, rounded to `TICKS_FACTOR_BITS` fraction bits."""
    return ((1000 << TICKS_FACTOR_BITS) + tick_ps // 2) // tick_ps


class Mode(IntEnum):
    """How a QP's packets carry the score."""

    OFF = 0
    S = 1
    R = 2


class ShimType(IntEnum):
    """Meaning of the time field."""

    DATA = 1
    ACKNOWLEDGE = 2  # ACK, ATOMIC ACK, READ responses


class ShimFault(IntEnum):
    """Why a frame to the shim port keeps its shim; the first that holds counts."""

    NONE = 0
    LENGTH = 1  # UDP and IP lengths disagree, too small for shim and BTH, or the frame ends before
    VERSION = 2
    TYPE = 3
    CRC = 4
    UNTRUSTED = 5  # a right shim, but of no queue pair in mode S to an enabled destination


def resv6_from_score(score: int) -> int:
    """Mode R's six bits for a score of 0..100."""
    return score // 2 + 1


def score_from_resv6(bits: int) -> int | None:
    """Score in mode R's six bits; None for 0 (no score) and for 52..63 (not ours)."""
    return 2 * (bits - 1) if 1 <= bits <= RESV6_MAX else None
