"""Fixed-point arithmetic on plain integers: rounding, saturation, and one `quantize` of both.

The same functions exist for gateware in `precog_hw.fixed`; a test holds the two together. The
compiled scalars (`shift_half_up`, `saturate`, ...) are the vocabulary of every golden model.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_spec.contract import Overflow, Q, Rounding

from .jit import njit

__all__ = ["Overflow", "Rounding", "clamp", "quantize", "saturate", "shift_half_up"]


@njit
def shift_half_up(value: int, shift: int) -> int:
    """`value` * 2**-`shift`, rounded to nearest, ties up; `shift` >= 0."""
    if shift == 0:
        return value
    return ((value >> (shift - 1)) + 1) >> 1


@njit
def clamp(value: int, low: int, high: int) -> int:
    """`value`, or the end of [`low`, `high`] that it lies beyond."""
    return min(max(value, low), high)


@njit
def saturate(value: int, bits: int) -> int:
    """`value` limited to a signed word of `bits` bits."""
    return int(clamp(value, -(1 << (bits - 1)), (1 << (bits - 1)) - 1))


def quantize(
    value: ArrayLike,
    frac_bits: int,
    to: Q,
    *,
    rounding: Rounding = Rounding.HALF_UP,
    overflow: Overflow = Overflow.SATURATE,
) -> NDArray[np.int64]:
    """Bring integers of one scale into a format.

    Parameters
    ----------
    value : array_like of int
        Integers with `frac_bits` fraction bits.
    frac_bits : int
        Fraction bits of `value`.
    to : Q
        The format of the result.
    rounding, overflow
        What to do with bits below and above the format.

    Returns
    -------
    ndarray of int64
        Integers of `to`, in the shape of `value`.
    """
    v = np.asarray(value, dtype=np.int64)
    drop = frac_bits - to.frac_bits
    if drop <= 0:
        v = v << -drop
    elif rounding is Rounding.FLOOR:
        v = v >> drop
    else:
        up = (v >> (drop - 1)) & 1
        if rounding is Rounding.HALF_EVEN:
            tie = (v & ((1 << drop) - 1)) == 1 << (drop - 1)
            up = np.where(tie, (v >> drop) & 1, up)
        v = (v >> drop) + up
    if overflow is Overflow.SATURATE:
        return np.clip(v, to.min, to.max)
    v = v & ((1 << to.width) - 1)
    if to.signed:
        v = v - ((v >> (to.width - 1)) << to.width)
    return np.asarray(v, dtype=np.int64)
