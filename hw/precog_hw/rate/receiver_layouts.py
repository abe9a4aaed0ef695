"""Structures of the receiver, from the fields that the golden model declares."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from precog_spec.receiver_fields import (
    QUOTA_BITS,
    RECEIVER_CONFIG,
    RECEIVER_EVENT,
    RECEIVER_PARAMETERS,
    RECEIVER_RESULT,
    RECEIVER_STATE,
)

__all__ = [
    "COMMIT",
    "CONFIG",
    "EVENT",
    "PARAMETERS",
    "RESULT",
    "STATE",
    "quota_layout",
    "word_layout",
]


def _layout(fields: tuple[tuple[str, int], ...]) -> data.StructLayout:
    return data.StructLayout({name: unsigned(bits) for name, bits in fields})


PARAMETERS = _layout(RECEIVER_PARAMETERS)
CONFIG = _layout(RECEIVER_CONFIG)
STATE = _layout(RECEIVER_STATE)
EVENT = _layout(RECEIVER_EVENT)
RESULT = _layout(RECEIVER_RESULT)

#: All that the golden model needs to follow, and what came of it.
COMMIT = data.StructLayout({"event": EVENT, "result": RESULT})


def word_layout(qp_bits: int, name: str, bits: int) -> data.StructLayout:
    """One number of a queue pair."""
    return data.StructLayout({"qp": unsigned(qp_bits), name: unsigned(bits)})


def quota_layout(qp_bits: int) -> data.StructLayout:
    """A queue pair may hold `quota` cells."""
    return word_layout(qp_bits, "quota", QUOTA_BITS)
