"""Rounding and saturation against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from precog_models.fixed import Overflow, Rounding, clamp, quantize, saturate, shift_half_up
from precog_spec.contract import Q


def rounded(value: Fraction, rounding: Rounding) -> int:
    if rounding is Rounding.FLOOR:
        return math.floor(value)
    if rounding is Rounding.HALF_UP:
        return math.floor(value + Fraction(1, 2))
    return round(value)  # Python rounds ties to even


@given(
    value=st.integers(-(2**40), 2**40),
    frac_bits=st.integers(0, 20),
    to=st.builds(Q, st.integers(1, 16), st.integers(0, 15), st.booleans()),
    rounding=st.sampled_from(Rounding),
    overflow=st.sampled_from(Overflow),
)
def test_quantize(value, frac_bits, to, rounding, overflow):
    exact = rounded(Fraction(value, 1 << frac_bits) * to.one, rounding)
    if overflow is Overflow.SATURATE:
        expected = min(max(exact, to.min), to.max)
    else:
        expected = (exact - to.min) % (1 << to.width) + to.min
    assert quantize(value, frac_bits, to, rounding=rounding, overflow=overflow) == expected


def test_quantize_keeps_the_shape():
    assert quantize(np.zeros((2, 3), dtype=np.int64), 4, Q(3, 2)).shape == (2, 3)


@given(value=st.integers(-(2**40), 2**40), shift=st.integers(0, 30))
def test_shift_half_up(value, shift):
    assert shift_half_up(value, shift) == math.floor(Fraction(value, 1 << shift) + Fraction(1, 2))


@pytest.mark.parametrize(
    ("value", "expected"), [(127, 127), (128, 127), (-128, -128), (-129, -128), (0, 0)]
)
def test_saturate(value, expected):
    assert saturate(value, 8) == expected


def test_clamp():
    assert [clamp(v, -2, 5) for v in (-3, -2, 0, 5, 6)] == [-2, -2, 0, 5, 5]
