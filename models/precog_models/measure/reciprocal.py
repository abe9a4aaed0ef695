"""Division as the gateware does it: a tabled reciprocal, then one multiplication.

K_t = (R - S)/S of thesis (3) and e(t) = (in - target)/target of (14) are both quotients `d / v`
with 32-bit unsigned `v`. `reciprocal` brings `v` to m = v * 2**n in [2**31, 2**32) and looks up
y, close to 2**48 / m, on 128 chords; `quotient` multiplies.

Errors against the exact rational: y is within 2**-16.2 of 2**48 / m relatively, hence `quotient`
within 0.51 + |q| * 2**-16.2 LSB of the exact q (asserted over every segment and in millions of
random and extreme vectors). With K's |q| <= 2**15 that is below 1 LSB.
"""

import numpy as np

from precog_spec.contract import CHORD_GUARD_BITS, CHORDS, chord_table

from ..jit import njit

__all__ = ["QUOTIENT_FRAC_BITS", "quotient", "quotients", "reciprocal"]

QUOTIENT_FRAC_BITS = 12  # of X and of ERR

_X_BITS = 13  # position inside a segment
_DROP = 4  # low bits of the aligned d that do not reach the multiplier
_HALF_BITS = 17  # the aligned d goes through two multipliers, 17 bits below, 17 above
_HALF_MASK = (1 << _HALF_BITS) - 1
_ROUND_BITS = 15


_BASE = np.array([base for base, _ in chord_table()], dtype=np.int64)
_FALL = np.array([fall for _, fall in chord_table()], dtype=np.int64)


@njit
def reciprocal(v: int) -> tuple[int, int]:
    """Shift `n` and mantissa `y` of 1 / `v`.

    Parameters
    ----------
    v : int
        Unsigned, 32 bits. 0 counts as 1.

    Returns
    -------
    n : int
        Leading zeros of `v` in 32 bits, 0..31.
    y : int
        About 2**48 / (v * 2**n), 17 bits.
    """
    m = max(v, 1)
    n = 0
    for bits in (16, 8, 4, 2, 1):
        if m < (1 << (32 - bits)):
            m <<= bits
            n += bits
    s = (m >> 24) & (CHORDS - 1)
    x = (m >> (24 - _X_BITS)) & ((1 << _X_BITS) - 1)
    return n, (_BASE[s] - ((_FALL[s] * x) >> _X_BITS)) >> CHORD_GUARD_BITS


@njit
def quotient(d: int, n: int, y: int) -> int:
    """`d` / `v` with 12 fraction bits, rounded, ties up.

    Parameters
    ----------
    d : int
        Signed, |d| < 2**32 and |d / v| < 64.
    n, y : int
        ``reciprocal(v)``.
    """
    aligned = (d << n) >> _DROP
    high = (aligned >> _HALF_BITS) * y
    low = ((aligned & _HALF_MASK) * y) >> _HALF_BITS
    return (high + low + (1 << (_ROUND_BITS - 1))) >> _ROUND_BITS


@njit
def _fill(d: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    for k in range(len(d)):
        n, y = reciprocal(v[k])
        out[k] = quotient(d[k], n, y)


def quotients(d: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vector form of `quotient` over `reciprocal`: int64 arrays of one length."""
    out = np.zeros(len(d), dtype=np.int64)
    _fill(d, v, out)
    return out
