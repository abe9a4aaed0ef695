"""Softmax in integers: the sum is exact, the error against float is what the module says."""

import numpy as np
import pytest

from precog_models.predict.softmax import distributions, exp_minus
from precog_spec.contract import EXP_CHORDS, LOG2E, PROBABILITY, Fmt, exp_table

ONE = PROBABILITY.one
OTHERS_LSB, TOP_LSB = 2, 16  # as the module says


def logits(rng: np.random.Generator, count: int) -> np.ndarray:
    """From flat to saturated, with ties: every row has its own spread."""
    spread = 2.0 ** rng.uniform(-2, 16, (count, 1))
    z = rng.normal(0, 1, (count, 16)) * spread + rng.integers(-(1 << 15), 1 << 15, (count, 1))
    z = np.clip(z, Fmt.OUT.min, Fmt.OUT.max).astype(np.int64)
    same = rng.random((count, 16)) < 0.1
    return np.where(same, z[:, :1], z)


def of_float(z: np.ndarray, outputs: int) -> np.ndarray:
    """The same in float."""
    real = z[:, :outputs] / Fmt.OUT.one
    e = np.exp(real - real.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_table_fits_the_multiplier() -> None:
    rows = exp_table()
    assert len(rows) == EXP_CHORDS
    assert max(base for base, _ in rows) < 1 << 21
    assert max(fall for _, fall in rows) < 1 << 14
    assert LOG2E < 1 << 17


def test_exponential_of_every_argument() -> None:
    d = np.arange(1 << 16)
    w = np.array([exp_minus(n) for n in d])
    assert w[0] == 1 << 16
    assert (np.diff(w) <= 0).all()
    error = np.abs(w - np.exp(-d / Fmt.OUT.one) * (1 << 16))
    print(f"largest error of e**-d: {error.max():.3f} LSB")
    assert error.max() < 1.6


@pytest.mark.parametrize("outputs", range(1, 17))
def test_sum_is_exact_and_error_stated(outputs: int, seed: int, volume: int) -> None:
    rng = np.random.default_rng(seed)
    z = logits(rng, 20_000 * volume)
    p = distributions(z, outputs)
    assert (p.sum(axis=1) == ONE).all()
    assert (p >= 0).all()
    assert not p[:, outputs:].any()
    error = np.abs(p[:, :outputs] - of_float(z, outputs) * ONE)
    top = z[:, :outputs].argmax(axis=1)
    rows = np.arange(len(z))
    largest = error[rows, top].max()
    error[rows, top] = 0
    print(f"{outputs} bins: most likely {largest:.3f} LSB, others {error.max():.3f} LSB")
    assert largest < TOP_LSB
    assert error.max() < OTHERS_LSB


def test_extremes() -> None:
    low, high = Fmt.OUT.min, Fmt.OUT.max
    z = np.full((4, 16), low, dtype=np.int64)
    z[0, 5] = z[1, :] = high
    z[2, :2] = high
    p = distributions(z, 16)
    assert p[0].tolist() == [0] * 5 + [ONE] + [0] * 10
    assert p[1].tolist() == p[3].tolist() == [ONE // 16] * 16
    assert p[2].tolist() == [ONE // 2] * 2 + [0] * 14


def test_no_order_is_turned(seed: int) -> None:
    """Of two bins the likelier never gets less, but for what rounding leaves the most likely."""
    z = logits(np.random.default_rng(seed), 20_000)
    p = distributions(z, 16)
    order = np.argsort(z, axis=1, kind="stable")
    sorted_p = np.take_along_axis(p, order, axis=1)
    assert (np.diff(sorted_p[:, :-1], axis=1) >= -TOP_LSB).all()
    top = z.argmax(axis=1)
    z[np.arange(len(z)), top] = np.iinfo(np.int64).min
    p[np.arange(len(z)), top] = -1
    order = np.argsort(z, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, axis=1), axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("shape", "value", "outputs", "message"),
    [
        ((3, 8), 0, 4, r"logits must have shape \(n, 16\), not \(3, 8\)"),
        ((3, 16), 0, 0, r"outputs must be in 1\.\.16, not 0"),
        ((3, 16), 0, 17, r"outputs must be in 1\.\.16, not 17"),
        ((3, 16), 1 << 15, 4, r"logits must lie in -32768\.\.32767, not 32768\.\.32768"),
    ],
)
def test_refused(shape: tuple[int, ...], value: int, outputs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distributions(np.full(shape, value, dtype=np.int64), outputs)
