"""From a rate to the gap behind a packet, by a reciprocal that is made once per rate update.

A rate is R * 2**-24 bytes per tick (`Fmt.RATE`); a gap has 16 fraction bits of a tick. The
reciprocal is a mantissa of 18 bits, whose first is 1 and is not stored, and an exponent of 6::

    2**40 / R <= (2**17 + mantissa) * 2**(exponent - 9)      16ths of a bit of a tick per byte

Every rounding is up: no queue pair ever sends faster than its rate. It is slower by at most 2**-17
of the rate, and by less than 2**-16 of a tick per packet.
"""

from precog_spec.contract import GAP_TICK_BITS, TICK_FRAC_BITS
from precog_spec.contract import PACE_MANTISSA_BITS as MANTISSA_BITS

__all__ = ["DEBT_FRAC_BITS", "GAP_MAX", "gap", "reciprocal", "rescaled"]

GAP_MAX = (1 << (GAP_TICK_BITS + TICK_FRAC_BITS)) - 1
DEBT_FRAC_BITS = 16  # of a byte

_RATE_BITS = 32
_RATE_FRAC_BITS = 24
_SCALE = 9  # 2**40 / R = 2**49 / (R * 2**n) * 2**(n - 9)


def _ceil_shift(value: int, right: int) -> int:
    """`value` * 2**-`right`, rounded up; `right` may be negative."""
    return value << -right if right <= 0 else -(-value >> right)


def reciprocal(rate: int) -> tuple[int, int]:
    """Mantissa and exponent of 1 / `rate`.

    Parameters
    ----------
    rate : int
        Unsigned Q8.24; 0 counts as 1.
    """
    rate = max(rate, 1)
    zeros = _RATE_BITS - rate.bit_length()
    quotient = -(-(1 << 49) // (rate << zeros))
    if quotient >> (MANTISSA_BITS + 1):  # just 2**18: the next power of two
        return 0, zeros + 1
    return quotient - (1 << MANTISSA_BITS), zeros


def gap(size: int, mantissa: int, exponent: int) -> int:
    """Ticks behind `size` bytes, with 16 fraction bits, rounded up and saturated."""
    product = size * ((1 << MANTISSA_BITS) + mantissa)
    return min(_ceil_shift(product, _SCALE - exponent), GAP_MAX)


def rescaled(pending: int, old_rate: int, mantissa: int, exponent: int) -> int:
    """What is left of a gap after a change of the rate: the same bytes at the new rate.

    Parameters
    ----------
    pending : int
        Rest of the gap, with 16 fraction bits.
    old_rate : int
        Rate under which it was made; 0 counts as 1.
    mantissa, exponent : int
        ``reciprocal`` of the new rate.
    """
    debt = _ceil_shift(pending * max(old_rate, 1), _RATE_FRAC_BITS)
    product = debt * ((1 << MANTISSA_BITS) + mantissa)
    return min(_ceil_shift(product, DEBT_FRAC_BITS + _SCALE - exponent), GAP_MAX)
