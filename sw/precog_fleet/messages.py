"""Messages between peers: a compressed JSON head, then frames, each with its length."""

import struct
from collections.abc import Sequence
from typing import Any

from precog_models.limits import parse_json

from .bodies import body_of
from .compact import expand, shrink
from .fields import NAME
from .records import MAX_FRAME_BYTES, canonical

__all__ = ["MAX_MESSAGE_BYTES", "MessageError", "as_pair", "number", "numbers", "pack", "unpack"]

MAX_MESSAGE_BYTES = 1 << 20
_MAX_HEAD = 1 << 22  # expanded
_HEAD = struct.Struct(">I")
_LENGTH = struct.Struct(">H")


class MessageError(ValueError):
    """A message of a peer that says nothing."""


def pack(head: dict[str, Any], frames: Sequence[bytes]) -> bytes:
    """A message."""
    text = shrink(canonical(head))
    parts = [_HEAD.pack(len(text)), text]
    for frame in frames:
        parts += [_LENGTH.pack(len(frame)), frame]
    return b"".join(parts)


def unpack(message: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Head and frames.

    Raises
    ------
    MessageError
        The message is none, or too large.
    """
    if not _HEAD.size <= len(message) <= MAX_MESSAGE_BYTES:
        raise MessageError(
            f"message must have {_HEAD.size}..{MAX_MESSAGE_BYTES} bytes, not {len(message)}"
        )
    at = _HEAD.size + _HEAD.unpack_from(message)[0]
    try:
        head = parse_json(expand(message[_HEAD.size : at], _MAX_HEAD))
    except ValueError as error:
        raise MessageError(f"head must be compressed JSON: {error}") from error
    if type(head) is not dict:
        raise MessageError(f"head must be an object, not {head!r}")
    frames = []
    while at < len(message):
        if at + _LENGTH.size > len(message):
            raise MessageError("frame must have a length")
        (length,) = _LENGTH.unpack_from(message, at)
        at += _LENGTH.size
        if length > MAX_FRAME_BYTES or at + length > len(message):
            raise MessageError(f"frame must have at most {MAX_FRAME_BYTES} bytes, not {length}")
        frames.append(message[at : at + length])
        at += length
    return head, frames


def number(head: dict[str, Any], name: str, low: int, high: int) -> int:
    """An integer of a head."""
    value = head.get(name)
    if type(value) is not int or not low <= value <= high:
        raise MessageError(f"{name} must be in {low}..{high}, not {value!r}")
    return value


def numbers(head: dict[str, Any], name: str, below: int) -> list[int]:
    """Integers of a head."""
    values = head.get(name)
    if type(values) is not list or not all(type(n) is int and 0 <= n < below for n in values):
        raise MessageError(f"{name} must be numbers below {below}")
    return values


def as_pair(item: Any) -> tuple[str, str]:
    """An origin and a key, both as records spell them: a peer's text goes no further."""
    if type(item) is not list or len(item) != 2 or not all(type(part) is str for part in item):
        raise MessageError(f"pair must be an origin and a key, not {item!r}")
    origin, key = item
    if not NAME.fullmatch(origin):
        raise MessageError(f"origin must be a name of a-z, 0-9 and .:_-, not {origin!r}")
    try:
        body_of(key)
    except ValueError as error:
        raise MessageError(str(error)) from error
    return origin, key
