"""Functions of the law language that several laws call."""

from .language import align, fraction, reciprocal, zeros

__all__ = ["bytes_over", "periods", "quotient", "rate_over", "since", "upper"]

_TIME_MASK = (1 << 40) - 1
_TIME_HALF = 1 << 39
_PERIOD_BITS = 12
_MOST_PERIODS = (1 << _PERIOD_BITS) - 1
_DROP = 4
_WINDOW_MAX = (1 << 32) - 1
_ROUND = 32


def upper(word: int, place: int) -> int:
    """What `word` has from the bit `place` on, at its place."""
    return (word >> place) << place


def since(then: int, now: int) -> int:
    """Ticks from `then` to `now`; 0 if `now` is before."""
    elapsed = (now - then) & _TIME_MASK
    return elapsed if elapsed < _TIME_HALF else 0


def periods(elapsed: int, period: int) -> tuple[int, int]:
    """Whole periods in a time, and what is left; beyond 4095 periods 4095, and nothing left.

    `elapsed` is 0..2**40 - 1, `period` 1..2**24 - 1. The quotient's fraction bits are dropped in
    two steps, which is the same as in one.
    """
    if elapsed >= period << _PERIOD_BITS:
        return _MOST_PERIODS, 0
    count = fraction(elapsed, period << _PERIOD_BITS) >> _PERIOD_BITS
    return count, elapsed - count * period


def quotient(d: int, v: int) -> int:
    """`d` / `v` with 12 fraction bits, rounded, ties up, by the table of reciprocals.

    |d| < 2**32, |d / v| < 64: within 0.51 + |d / v| * 2**-4.2 of the exact one. `v` is
    0..2**32 - 1; 0 counts as 1.
    """
    aligned = align(d, zeros(v)) >> _DROP
    return (aligned * reciprocal(v) + (1 << (_ROUND - 1))) >> _ROUND


def bytes_over(rate: int, time: int) -> int:
    """Bytes, with 8 fraction bits, that a rate gives in a time of up to 2**24 - 1 ticks."""
    return min((rate * time) >> 16, _WINDOW_MAX)


def rate_over(window: int, time: int) -> int:
    """Rate that gives a window, bytes with 8 fraction bits, in a time of 16..2**25 ticks.

    The reciprocal is a table's.
    """
    return ((window * reciprocal(time)) >> 4) >> (28 - zeros(time))
