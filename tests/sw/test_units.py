"""Conversions between register integers and real quantities."""

import math
import random

import pytest

from precog_host.units import from_real, real_name, to_real
from precog_spec.registers.model import Access, Field

RATE = Field("rate", 32, Access.RW, "s", unit="bytes/tick", frac_bits=24)
TARGET = Field("target", 32, Access.RW, "s", unit="ticks", frac_bits=8)
GAIN = Field("kp", 16, Access.RW, "s", signed=True, frac_bits=13)
COUNT = Field("count", 8, Access.RW, "s")


@pytest.mark.parametrize("tick_ps", [1000, 777, 6400])
@pytest.mark.parametrize("field", [RATE, TARGET, GAIN, COUNT], ids=lambda field: field.name)
def test_round_trip_is_exact(field: Field, tick_ps: int, seed: int) -> None:
    rng = random.Random(seed)
    for value in (field.min, field.max, *(rng.randint(field.min, field.max) for _ in range(200))):
        assert from_real(field, to_real(field, value, tick_ps), tick_ps) == value


def test_known_values() -> None:
    assert to_real(RATE, 1 << 24, 1000) == 8.0
    assert to_real(TARGET, 5000 << 8, 1000) == 5.0
    assert from_real(TARGET, 5.0, 2000) == 2500 << 8
    assert from_real(GAIN, -0.358, 1000) == -2933
    assert to_real(COUNT, 7, 1000) == 7
    assert [real_name(f) for f in (RATE, TARGET, GAIN)] == ["rate_gbps", "target_us", "kp"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.01, 2049.0])
def test_what_does_not_fit_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"rate_gbps must be in 0\.\.2048, not"):
        from_real(RATE, value, 1000)


def test_what_would_become_nothing_is_refused() -> None:
    period = Field("period_ticks", 32, Access.RW, "s", unit="ticks")
    assert from_real(period, 0.0, 4000) == 0
    assert from_real(period, 0.002, 4000) == 1
    with pytest.raises(ValueError, match=r"period_us must be 0 or at least 0\.004, not 0\.001"):
        from_real(period, 0.001, 4000)
    assert from_real(GAIN, 1e-6, 1000) == 0  # a gain is rounded, as every real number is


@pytest.mark.parametrize("value", [1.5, 1e-9, 254.999])
def test_a_count_is_a_whole_number(value: float) -> None:
    with pytest.raises(ValueError, match=f"count must be a whole number, not {value!r}"):
        from_real(COUNT, value, 1000)
