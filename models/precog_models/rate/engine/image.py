"""Programs as images, and images as what a bank of the engine holds."""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from precog_spec.engine.events import EVENTS
from precog_spec.engine.image_fields import (
    CODE_AT,
    ENTRIES_AT,
    FILLER,
    FORMAT,
    IMAGE_WORDS,
    LAW_CONTRACT,
    NAME_AT,
    NAME_WORDS,
    SLOT_AT,
    TAG_AT,
    VERSION_AT,
    WINDOWED_AT,
    LoadStatus,
)
from precog_spec.engine.isa import CODE_WORDS, SLOT_WORDS

from .program import Program
from .verify import verify

__all__ = ["image_name", "image_name_of", "image_of", "judged", "unpacked"]

Ints = NDArray[np.int64]
_HEARD = 1 << 16
_HALF = 32


def image_of(program: Program, values: Mapping[str, int | Sequence[int]]) -> Ints:
    """The image of a program with these parameters, words of 32 bits.

    Raises
    ------
    ValueError
        The program could trap or read what it has not written, its name is too long, or a
        parameter is missing or unknown.
    """
    verify(program.instructions(), program.entries.values())
    name = image_name_of(program.name)
    words = np.zeros(IMAGE_WORDS, dtype=np.int64)
    words[:2] = FORMAT, LAW_CONTRACT
    kept = (program.name, *program.state, *program.formats)
    words[TAG_AT] = zlib.crc32(",".join(kept).encode())
    words[WINDOWED_AT] = program.windowed
    for kind, event in enumerate(EVENTS):
        if event in program.entries:
            words[ENTRIES_AT + kind] = _HEARD | program.entries[event]
    words[VERSION_AT] = program.crc
    words[NAME_AT : NAME_AT + NAME_WORDS] = np.frombuffer(name, dtype="<u4")
    words[CODE_AT:SLOT_AT] = FILLER
    words[CODE_AT : CODE_AT + len(program.code)] = program.code
    slot = np.array(program.slot_words(values), dtype=np.int64)
    words[SLOT_AT::2] = slot & FILLER
    words[SLOT_AT + 1 :: 2] = slot >> _HALF & FILLER
    return words


def image_name_of(name: str) -> bytes:
    """A law's name as a header has it.

    Raises
    ------
    ValueError
        It is too long, empty, or steers a terminal.
    """
    if not (name.isascii() and name.isprintable() and 0 < len(name) <= 4 * NAME_WORDS):
        raise ValueError(
            f"law's name must have 1 to {4 * NAME_WORDS} ASCII characters that can be printed, "
            f"not be {name!r}: give the law's file such a name"
        )
    return name.encode().ljust(4 * NAME_WORDS, b"\0")


def image_name(words: Sequence[int]) -> str:
    """The name in a header's words; "?" for what is no ASCII or steers a terminal."""
    raw = np.array(words, dtype="<u4").tobytes().rstrip(b"\0")
    text = raw.decode("ascii", errors="replace")
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)


def judged(words: Ints, crc: int) -> LoadStatus:
    """What the loader says of an image and the CRC-32 that is expected of it."""
    if len(words) != IMAGE_WORDS:
        return LoadStatus.BAD_LENGTH
    if zlib.crc32(words.astype("<u4").tobytes()) != crc:
        return LoadStatus.BAD_CRC
    if words[0] != FORMAT:
        return LoadStatus.BAD_FORMAT
    return LoadStatus.OK if words[1] == LAW_CONTRACT else LoadStatus.BAD_CONTRACT


def unpacked(words: Ints) -> tuple[Ints, Ints, Ints]:
    """Entries (-1: not heard), code and slot memory of an image."""
    entries = words[ENTRIES_AT : ENTRIES_AT + len(EVENTS)]
    low, high = words[SLOT_AT::2], words[SLOT_AT + 1 :: 2] & 0xFFFF
    slot = low | (high - ((high >> 15) << 16)) << _HALF
    heard = np.where(entries & _HEARD, entries & (CODE_WORDS - 1), -1)
    return heard, words[CODE_AT:SLOT_AT].copy(), slot[:SLOT_WORDS]
