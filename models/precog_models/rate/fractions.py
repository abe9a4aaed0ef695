"""The laws' arithmetic: products and quotients with factors in [0, 1], and elapsed periods.

All operands are magnitudes; signs are kept apart, hence a product's ties round away from 0.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.law_fields import DECAY_BITS, DECAY_LEVELS, FRACTION

from ..jit import njit

__all__ = ["MAX_PERIODS", "decay_table", "fraction", "periods", "scale"]

_BITS = FRACTION.frac_bits
_ONE = FRACTION.one
_HALF = _ONE >> 1
_DIGITS = 1 << DECAY_BITS
_PERIOD_BITS = DECAY_BITS * DECAY_LEVELS

#: Most periods that `periods` counts.
MAX_PERIODS = (1 << _PERIOD_BITS) - 1


@njit
def scale(value: int, factor: int) -> int:
    """`value` times a factor in FRACTION's format, rounded to nearest, ties up.

    Parameters
    ----------
    value : int
        0..2**38 - 1.
    factor : int
        0..2**24; 2**24 stands for 1.
    """
    return (value * factor + _HALF) >> _BITS


@njit
def fraction(part: int, whole: int) -> int:
    """`part` / `whole` in FRACTION's format, rounded down; 1 if it is more, or if `whole` is 0.

    Parameters
    ----------
    part : int
        0..2**40 - 1.
    whole : int
        0..2**37 - 1.
    """
    if part >= whole:
        return _ONE
    return (part << _BITS) // whole


@njit
def periods(elapsed: int, period: int) -> tuple[int, int]:
    """Whole periods in a time, and what is left of it.

    More than 4095 periods count as 4095, with nothing left: the clock starts anew.

    Parameters
    ----------
    elapsed : int
        0..2**40 - 1.
    period : int
        1..2**24 - 1.
    """
    if elapsed >= period << _PERIOD_BITS:
        return MAX_PERIODS, 0
    return elapsed // period, elapsed % period


def decay_table(g: int) -> NDArray[np.int64]:
    """Powers of 1 - g: ``table[level, digit]`` is (1-g)**(digit * 16**level), FRACTION's format.

    Each entry is the one before it times the level's first power, rounded by `scale`; that of the
    next level follows the level's last entry in the same way. (1-g)**k for k < 16 is at most k / 2
    LSB from the exact power.

    Parameters
    ----------
    g : int
        0..2**24 - 1.
    """
    table = np.zeros((DECAY_LEVELS, _DIGITS), dtype=np.int64)
    base = _ONE - g
    for level in range(DECAY_LEVELS):
        power = _ONE
        for digit in range(_DIGITS):
            table[level, digit] = power
            power = int(scale(power, base))
        base = power
    return table
