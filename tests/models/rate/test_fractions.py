"""The laws' arithmetic against exact rationals."""

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from precog_models.rate.fractions import MAX_PERIODS, decay_table, fraction, periods, scale

_ONE = 1 << 24


@given(st.integers(0, 2**38 - 1), st.integers(0, _ONE))
@example(2**38 - 1, _ONE)
@example(1, _ONE // 2)
def test_scale_rounds_to_nearest_ties_up(value: int, factor: int) -> None:
    error = Fraction(value * factor, _ONE) - scale(value, factor)
    assert -Fraction(1, 2) <= error < Fraction(1, 2)


@given(st.integers(0, 2**40 - 1), st.integers(0, 2**37 - 1))
@example(0, 0)
@example(2**37 - 2, 2**37 - 1)
def test_fraction_rounds_down_and_ends_at_one(part: int, whole: int) -> None:
    got = fraction(part, whole)
    if part >= whole:
        assert got == _ONE
    else:
        assert 0 <= Fraction(part * _ONE, whole) - got < 1


@given(st.integers(0, 2**40 - 1), st.integers(1, 2**24 - 1))
def test_periods(elapsed: int, period: int) -> None:
    k, rest = periods(elapsed, period)
    if elapsed // period > MAX_PERIODS:
        assert (k, rest) == (4095, 0)
    else:
        assert (k, rest) == divmod(elapsed, period)


@pytest.mark.parametrize("g", [0, 1, 655, _ONE // 256, _ONE // 16, _ONE // 2, _ONE - 1])
def test_powers(g: int) -> None:
    """The table's entries, and what a k's three entries multiply to, against exact powers."""
    table = decay_table(g)
    exact = 1 - g / _ONE
    for digit in range(16):
        assert abs(table[0, digit] - exact**digit * _ONE) <= digit / 2
    for k in (1, 15, 16, 17, 75, 255, 256, 4095):
        made = 1.0
        for level in range(3):
            made *= table[level, k >> (4 * level) & 15] / _ONE
        assert abs(made - exact**k) <= k * exact ** max(k - 16, 0) * 2**-25 + 2**-24
