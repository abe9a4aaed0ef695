"""Outcomes of received frames, and what a store keeps of a pair of origin and key."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from .records import Record

__all__ = ["Entry", "Outcome", "Pair", "Row"]

Pair: TypeAlias = tuple[str, str]  # origin, key


class Outcome(StrEnum):
    """What became of a frame."""

    ACCEPTED = "accepted"
    KNOWN = "known"  # the very record that is held
    STALE = "stale"  # older than what has been seen of the pair
    CONFLICT = "conflict"  # another record of the version that is held
    OVERSIZED = "oversized"
    MALFORMED = "malformed"
    STRANGER = "stranger"  # its origin is no member
    REVOKED = "revoked"
    FORGED = "forged"
    FORBIDDEN = "forbidden"  # the origin's role may not sign such a key
    EXPIRED = "expired"
    FUTURE = "future"
    WRONG_CONTRACT = "wrong_contract"
    WRONG_BASE = "wrong_base"
    POISONED = "poisoned"
    FULL = "full"


@dataclass(frozen=True)
class Entry:
    """A record that is held, and the frame that carried it."""

    record: Record
    frame: bytes


@dataclass(frozen=True)
class Row:
    """The state of a pair as it goes to disk; `frame` is None where only the mark is left."""

    origin: str
    key: str
    version: int
    t1: int
    frame: bytes | None
