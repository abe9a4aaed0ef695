"""The law language's primitives, exactly: laws, interpreter and gateware share these.

Words are signed, of `isa.WORD` bits. Where a primitive's operand may not take every word, its
docstring says so: the compiler proves it, and the interpreter masks as the gateware does.
"""

import numpy as np

from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, chord_table
from precog_spec.engine.isa import FACTOR_BITS, NORM_BITS, PART_BITS, SMALL_BITS, WHOLE_BITS, WORD
from precog_spec.engine.tables import rsqrt_table

from ...fixed import clamp, shift_half_up
from ...jit import njit

__all__ = [
    "align",
    "clamp",
    "fraction",
    "narrow",
    "product",
    "reciprocal",
    "rounded",
    "rsqrt",
    "scale",
    "wrap",
    "zeros",
]

_FACTOR_ONE = 1 << FACTOR_BITS
_FACTOR_HALF = _FACTOR_ONE >> 1
_WORD_MAX = (1 << (WORD - 1)) - 1
_SPLIT = 24
_SPLIT_MASK = (1 << _SPLIT) - 1
_NORM_MASK = (1 << NORM_BITS) - 1
_PART_MASK = (1 << PART_BITS) - 1
_WHOLE_MASK = (1 << WHOLE_BITS) - 1
_X_BITS = 13  # position inside of a chord
_X_MASK = (1 << _X_BITS) - 1
_S_SHIFT = NORM_BITS - 1 - 7  # the chord's number lies below the leading one
_BASE = np.array([base for base, _ in chord_table()], dtype=np.int64)
_FALL = np.array([fall for _, fall in chord_table()], dtype=np.int64)
_ROOT_BASE = np.array([base for base, _ in rsqrt_table()], dtype=np.int64)
_ROOT_FALL = np.array([fall for _, fall in rsqrt_table()], dtype=np.int64)

#: `value` * 2**-shift, rounded to nearest, ties up.
rounded = shift_half_up


@njit
def wrap(value: int, bits: int) -> int:
    """`value` modulo 2**bits: 0..2**bits - 1. `bits` is 1..47."""
    return value & ((1 << bits) - 1)


@njit
def narrow(value: int, bits: int) -> int:
    """The signed number in the lowest `bits` bits of `value`; what registers do to results."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


@njit
def scale(value: int, factor: int) -> int:
    """`value` times a factor with 24 fraction bits, rounded to nearest, ties up.

    |factor| < 2**25, |value * factor| < 2**62.
    """
    return (value * factor + _FACTOR_HALF) >> FACTOR_BITS


@njit
def fraction(part: int, whole: int) -> int:
    """`part` / `whole` with 24 fraction bits, rounded down; 1 if it is more, or if `whole` is 0.

    `part` is 0..2**40 - 1, `whole` 0..2**37 - 1.
    """
    part &= _PART_MASK
    whole &= _WHOLE_MASK
    if part >= whole:
        return _FACTOR_ONE
    return (part << FACTOR_BITS) // whole


@njit
def zeros(v: int) -> int:
    """Leading zeros of `v` in 32 bits, 0..31. `v` is 0..2**32 - 1; 0 counts as 1."""
    m = max(v & _NORM_MASK, 1)
    n = 0
    for bits in (16, 8, 4, 2, 1):
        if m < (1 << (NORM_BITS - bits)):
            m <<= bits
            n += bits
    return n


@njit
def reciprocal(v: int) -> int:
    """Mantissa of 1 / `v`: about 2**48 / (v * 2**zeros(v)), in 2**16..2**17 - 1.

    1 / `v` is the mantissa times 2**(zeros(v) - 48); relative error at most 2**-16.2. `v` is
    0..2**32 - 1; 0 counts as 1.
    """
    m = max(v & _NORM_MASK, 1) << zeros(v)
    s = (m >> _S_SHIFT) & (CHORDS - 1)
    x = (m >> (_S_SHIFT - _X_BITS)) & _X_MASK
    return int((_BASE[s] - ((_FALL[s] * x) >> _X_BITS)) >> CHORD_GUARD_BITS)


@njit
def rsqrt(v: int) -> int:
    """Mantissa of 1 / sqrt(`v`): about 2**32 / sqrt(v * 4**h), h = zeros(v) >> 1.

    In 2**16..2**17 - 1. 1 / sqrt(`v`) is the mantissa times 2**(h - 32); relative error at most
    2**-16. `v` is 0..2**32 - 1; 0 counts as 1.
    """
    n = zeros(v)
    m = max(v & _NORM_MASK, 1) << n
    s = (m >> _S_SHIFT) & (CHORDS - 1)
    if n & 1 == 0:
        s += CHORDS  # an even shift leaves the leading one at the top
    x = (m >> (_S_SHIFT - _X_BITS)) & _X_MASK
    return int((_ROOT_BASE[s] - ((_ROOT_FALL[s] * x) >> _X_BITS)) >> CHORD_GUARD_BITS)


@njit
def align(value: int, shift: int) -> int:
    """`value` * 2**shift, or the end of the word that it lies beyond. `shift` is 0..47."""
    most = _WORD_MAX >> shift
    if value > most:
        return _WORD_MAX
    if value < -most - 1:
        return -_WORD_MAX - 1
    return value << shift


@njit
def product(a: int, b: int, shift: int, half: bool) -> int:
    """(a * b) * 2**-shift as the multiplier does it: any word by any small operand.

    The full product, plus half an LSB of the result if `half`, shifted right, cut to a word. Of `b`
    only the lowest `isa.SMALL_BITS` bits count, as a signed number.
    """
    b = narrow(b, SMALL_BITS)
    low = (a & _SPLIT_MASK) * b
    high = (a >> _SPLIT) * b
    if half and shift > 0:
        if shift <= _SPLIT:
            low += 1 << (shift - 1)
        else:
            high += 1 << (shift - 1 - _SPLIT)
    high += low >> _SPLIT
    low &= _SPLIT_MASK
    if shift >= _SPLIT:
        return narrow(high >> (shift - _SPLIT), WORD)
    return narrow((high << (_SPLIT - shift)) | (low >> shift), WORD)
