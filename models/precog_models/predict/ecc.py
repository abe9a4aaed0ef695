"""SECDED: golden encoder and decoder of `secded_fields`' code, for words of any width.

Bits are arrays of 0 and 1, so that a word may have more than 64 of them.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_spec.engine.image_fields import CODE_AT, ENTRIES_AT, SLOT_AT
from precog_spec.secded import (
    PAIR_BITS,
    PROGRAM_ENTRIES,
    PROGRAM_SLOT,
    PROGRAM_WORDS,
    STORED_BITS,
    check_bits,
    columns,
    program_bits,
)

__all__ = [
    "Found",
    "decode",
    "decode_pairs",
    "decode_program",
    "encode",
    "guard",
    "guard_program",
    "matrix",
    "syndromes",
]

Ints = NDArray[np.int64]
Bits = NDArray[np.uint8]


class Found(IntEnum):
    """What a decoder found in a word."""

    CLEAN = 0
    CORRECTED = 1
    UNCORRECTABLE = 2


def matrix(data_bits: int) -> Bits:
    """The parity matrix, shape (check bits, data bits + check bits); data bits first."""
    rows = check_bits(data_bits)
    whole = [*columns(data_bits), *(1 << r for r in range(rows))]
    return (np.array(whole)[np.newaxis, :] >> np.arange(rows)[:, np.newaxis] & 1).astype(np.uint8)


def encode(data: Bits) -> Bits:
    """Code words of data, shapes (..., data bits) and (..., data bits + check bits)."""
    parity = matrix(data.shape[-1])[:, : data.shape[-1]]
    check = (data.astype(np.int64) @ parity.T.astype(np.int64)) & 1
    return np.concatenate([data, check.astype(np.uint8)], axis=-1)


def syndromes(words: Bits, data_bits: int) -> Ints:
    """The syndrome of each code word as a number, shapes (..., bits) and (...)."""
    parity = matrix(data_bits).astype(np.int64)
    bits = (words.astype(np.int64) @ parity.T) & 1
    numbers: Ints = (bits << np.arange(len(parity))).sum(axis=-1)
    return numbers


def decode(words: Bits, data_bits: int) -> tuple[Bits, Ints, Ints]:
    """Correct code words of shape (..., data bits + check bits).

    Returns
    -------
    words : ndarray, the same shape
        Corrected; those that cannot be are as they were.
    found : ndarray of int64, shape (...)
        `Found`.
    place : ndarray of int64, shape (...)
        Of the bit that was corrected, check bits after the data; -1: none was.
    """
    rows = check_bits(data_bits)
    place_of = np.full(1 << rows, -1, dtype=np.int64)
    place_of[list(columns(data_bits))] = np.arange(data_bits)
    place_of[1 << np.arange(rows)] = data_bits + np.arange(rows)
    syndrome = syndromes(words, data_bits)
    place = place_of[syndrome]
    found = np.where(syndrome == 0, Found.CLEAN, Found.UNCORRECTABLE)
    found = np.where(place >= 0, Found.CORRECTED, found).astype(np.int64)
    flips = place[..., np.newaxis] == np.arange(data_bits + rows)
    return words ^ flips.astype(np.uint8), found, place


def guard(words: ArrayLike) -> Ints:
    """Stored words (..., 2k) of 36 bits of an image's words (..., 2k): data, then check bits."""
    image = np.asarray(words, dtype=np.int64)
    pair = image.reshape(*image.shape[:-1], -1, 2)
    check = encode(_to_bits(pair, 32))[..., PAIR_BITS:].astype(np.int64)
    nibbles = (check.reshape(*pair.shape, 4) << np.arange(4)).sum(axis=-1)
    stored: Ints = (pair | nibbles << 32).reshape(image.shape)
    return stored


def decode_pairs(stored: ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Correct pairs (..., 2) of stored words.

    Returns
    -------
    stored, found, place
        As `decode`; `place` is ``STORED_BITS * which + bit``.
    """
    pair = np.asarray(stored, dtype=np.int64)
    bits = _to_bits(pair, 32)
    check = _to_bits(pair >> 32, 4)
    words, found, place = decode(np.concatenate([bits, check], axis=-1), PAIR_BITS)
    fixed = words[..., :PAIR_BITS].reshape(*pair.shape, 32).astype(np.int64) << np.arange(32)
    nibbles = words[..., PAIR_BITS:].reshape(*pair.shape, 4).astype(np.int64) << np.arange(32, 36)
    is_check = place >= PAIR_BITS
    which = np.where(is_check, (place - PAIR_BITS) // 4, place // 32)
    bit = np.where(is_check, 32 + (place - PAIR_BITS) % 4, place % 32)
    place = np.where(place < 0, -1, STORED_BITS * which + bit)
    return fixed.sum(axis=-1) + nibbles.sum(axis=-1), found, place


def guard_program(image: ArrayLike) -> Ints:
    """Stored words (1542, 2) of a program's image: each of its words as a pair, as `guard` has it.

    Data bits 32 and above are in the second word of a pair.
    """
    words = np.asarray(image, dtype=np.int64)
    pairs = np.zeros((PROGRAM_WORDS, 2), dtype=np.int64)
    pairs[:PROGRAM_SLOT, 0] = words[CODE_AT:SLOT_AT]
    pairs[PROGRAM_SLOT:PROGRAM_ENTRIES] = words[SLOT_AT:].reshape(-1, 2)
    pairs[PROGRAM_SLOT:PROGRAM_ENTRIES, 1] &= (1 << program_bits(PROGRAM_SLOT) - 32) - 1
    entries = words[ENTRIES_AT : ENTRIES_AT + PROGRAM_WORDS - PROGRAM_ENTRIES]
    heard_at = program_bits(PROGRAM_ENTRIES) - 1
    place = entries & (1 << heard_at) - 1
    pairs[PROGRAM_ENTRIES:, 0] = place | (entries >> 16 & 1) << heard_at
    return guard(pairs)


def decode_program(at: int, stored: ArrayLike) -> tuple[Ints, Found, int]:
    """Correct the pair of a program's word `at`.

    Returns
    -------
    stored, found, place
        As `decode_pairs`. An error in a data bit that the word lacks is one of three bits or more.
    """
    fixed, found, place = decode_pairs(stored)
    which, bit = divmod(int(place), STORED_BITS)
    lacks = bit < 32 and 32 * which + bit >= program_bits(at)
    if found == Found.CORRECTED and lacks:
        return np.asarray(stored, dtype=np.int64), Found.UNCORRECTABLE, -1
    return fixed, Found(int(found)), int(place)


def _to_bits(words: Ints, width: int) -> Bits:
    """Bits (..., n * width) of words (..., n), the lowest of the first word first."""
    bits = (words[..., np.newaxis] >> np.arange(width) & 1).astype(np.uint8)
    return bits.reshape(*words.shape[:-1], -1)
