"""The tabled division against exact rationals."""

from fractions import Fraction

import numpy as np

from precog_models.measure.reciprocal import quotient, quotients, reciprocal
from precog_spec.contract import CHORDS, chord_table

MAX = (1 << 32) - 1


def corners() -> list[int]:
    """Divisors where something could go wrong: powers of two, chord ends, and their neighbours."""
    values = {1, 2, 3, MAX, MAX - 1}
    for n in range(32):
        values |= {(1 << n) + k for k in (-1, 0, 1)}
    for s in range(CHORDS):
        first = (CHORDS + s) << 24
        values |= {first + k for k in (0, 1, (1 << 24) - 1, 1 << 23)}
    return sorted(v for v in values if 1 <= v <= MAX)


def test_table_fits_the_multiplier() -> None:
    rows = chord_table()
    assert max(base for base, _ in rows) < 1 << 21
    assert max(fall for _, fall in rows) < 1 << 14
    assert rows[0][0] >> 4 < 1 << 17


def test_reciprocal_of_corners() -> None:
    for v in corners():
        n, y = reciprocal(v)
        assert n == 32 - v.bit_length(), v
        assert 0 < y < 1 << 17, v
        assert abs(Fraction(y * (v << n), 1 << 48) - 1) < Fraction(132, 10**7), v  # 2**-16.2


def test_zero_counts_as_one() -> None:
    assert reciprocal(0) == reciprocal(1)


def test_quotient_within_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 2_000_000
    v = np.maximum(rng.integers(1, 1 << 32, count) >> rng.integers(0, 32, count), 1)
    v[: len(corners())] = corners()
    # Quotients of every size below 64, both signs, in exact integers.
    size = rng.integers(0, 1 << 19, count) - (1 << 18)
    d = np.clip(size * v >> 12, -MAX, MAX)
    q = quotients(d, v)
    # |q - d 2**12 / v| <= 0.51 + |q| 2**-16.2, times 10**7 v, without rounding.
    error = np.abs(q * v - (d << 12))
    worst = (error - 0.51 * v) / v.astype(float) - np.abs(q) * 132e-7
    print(f"largest excess over the bound: {worst.max():.4f} LSB")
    assert worst.max() <= 0.0
    small = np.abs(d << 12) < v << 15
    assert (error[small] < v[small]).all()  # below 1 LSB wherever K lies


def test_quotient_of_equals_is_exact() -> None:
    for v in corners():
        assert quotient(v, *reciprocal(v)) == 1 << 12
        assert quotient(0, *reciprocal(v)) == 0
