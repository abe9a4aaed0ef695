"""How good probabilistic forecasts are: CRPS, calibration of distributions and of events.

Definitions
-----------
CRPS
    Sum over the bins' edges of (P(y < edge) - [y < edge])**2: the ranked probability score, the
    CRPS of the bin's number, in which every edge weighs the same. 0 is perfect.
skill
    1 - score / score of the reference; both are means over the same windows.
PIT
    P(bin < y) + u P(bin = y), with u uniform in [0, 1): uniform where forecasts are calibrated.
reliability
    Share of windows whose PIT is below q, less q; at each decile q.
Brier
    Mean of (P(event) - event)**2; its skill is over climatology, the event's own rate.
ECE
    Mean over windows of |mean P - rate of the event| of their class of P.
interval
    95 %, by a bootstrap over whole blocks of time of a run with all its queues: neighbouring
    windows are not independent, and neither are queues that share a bottleneck.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CLASSES",
    "DECILES",
    "Calibration",
    "Interval",
    "bootstrap",
    "brier_skill",
    "crps",
    "event_calibration",
    "pit",
    "reliability",
    "skill",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASSES = 10  # of an event's probability, of equal width
DECILES = np.arange(1, 10) / 10
_CONFIDENCE = (2.5, 97.5)


@dataclass(frozen=True)
class Interval:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """How an event's probabilities agree with what happened.

    Attributes
    ----------
    ece : Interval
    count : tuple of int
        Windows in each class of probability.
    gap : tuple of float
        Rate of the event less mean probability in each class; NaN where there is no window.
    """

    ece: Interval
    count: tuple[int, ...]
    gap: tuple[float, ...]


def _check(p: Floats, y: Ints) -> None:
    if p.ndim != 2 or len(p) != len(y) or not len(y):
        raise ValueError(f"p must have shape (n, bins) for n = {len(y)} > 0 bins, not {p.shape}")
    if y.min() < 0 or y.max() >= p.shape[1]:
        raise ValueError(f"bins must be in 0..{p.shape[1] - 1}, not {y.min()}..{y.max()}")


def crps(p: Floats, y: Ints) -> Floats:
    """CRPS of each window.

    Parameters
    ----------
    p : ndarray, shape (n, bins)
        Probabilities.
    y : ndarray of int64, shape (n,)
        The bin that came.

    Raises
    ------
    ValueError
        The shapes differ, there is no window, or a bin does not exist.
    """
    _check(p, y)
    below = np.cumsum(p, axis=1)[:, :-1]
    came = y[:, None] <= np.arange(p.shape[1] - 1)
    return np.asarray(((below - came) ** 2).sum(axis=1))


def pit(p: Floats, y: Ints, rng: np.random.Generator) -> Floats:
    """Probability integral transform of each window, spread over its bin at random.

    Raises
    ------
    ValueError
        As `crps`.
    """
    _check(p, y)
    rows = np.arange(len(y))
    at = p[rows, y]
    below = np.cumsum(p, axis=1)[rows, y] - at
    return np.asarray(below + rng.random(len(y)) * at)


def bootstrap(
    block: Ints,
    columns: Floats,
    statistic: Callable[[Floats], Floats],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[Interval, ...]:
    """Figures of sums over windows, with intervals from resampled blocks.

    Parameters
    ----------
    block : ndarray of int64, shape (n,)
        Block of each window.
    columns : ndarray, shape (n, k)
        What is summed.
    statistic : callable
        From sums [..., k] to figures [..., m].
    draws : int
        Resamples.
    seed : int

    Returns
    -------
    tuple of Interval, one for each figure
    """
    units, unit = np.unique(block, return_inverse=True)
    sums: Floats = np.stack(
        [np.bincount(unit, column, len(units)) for column in columns.T], axis=1
    ).astype(np.float64)
    rng = np.random.default_rng(seed)
    picks = rng.multinomial(len(units), np.full(len(units), 1.0 / len(units)), size=draws)
    figures = np.atleast_1d(statistic(sums.sum(axis=0)))
    drawn = statistic(picks @ sums).reshape(draws, -1)
    found = []
    for value, column in zip(figures, drawn.T, strict=True):
        defined = column[np.isfinite(column)]  # a draw may hold nothing of what is judged
        low, high = np.percentile(defined, _CONFIDENCE) if defined.size else (np.nan, np.nan)
        found.append(Interval(float(value), float(low), float(high)))
    return tuple(found)


def skill(score: Floats, reference: Floats, block: Ints, **options: int) -> Interval:
    """Skill of scores [n] over a reference's scores [n]."""

    def ratio(sums: Floats) -> Floats:
        return np.asarray(1.0 - sums[..., :1] / sums[..., 1:])

    return bootstrap(block, np.column_stack([score, reference]), ratio, **options)[0]


def reliability(pits: Floats, block: Ints, **options: int) -> tuple[Interval, ...]:
    """Share of PITs below each decile, less the decile."""
    columns = np.column_stack([pits[:, None] <= DECILES, np.ones(len(pits))])

    def gap(sums: Floats) -> Floats:
        return np.asarray(sums[..., :-1] / sums[..., -1:] - DECILES)

    return bootstrap(block, columns.astype(np.float64), gap, **options)


def brier_skill(
    probability: Floats, event: NDArray[np.bool_], block: Ints, **options: int
) -> Interval:
    """Brier skill of probabilities [n] over the event's rate; NaN where the event is constant."""
    columns = np.column_stack([(probability - event) ** 2, event, np.ones(len(event))])

    def over_climatology(sums: Floats) -> Floats:
        rate = sums[..., 1] / sums[..., 2]
        variance = rate * (1.0 - rate)
        variance = np.where(variance > 0, variance, np.nan)
        return np.asarray(1.0 - sums[..., 0] / sums[..., 2] / variance)[..., None]

    return bootstrap(block, columns.astype(np.float64), over_climatology, **options)[0]


def event_calibration(
    probability: Floats, event: NDArray[np.bool_], block: Ints, **options: int
) -> Calibration:
    """ECE and gaps of `CLASSES` classes of probability, [0, 0.1) to [0.9, 1]."""
    label = np.minimum((probability * CLASSES).astype(np.int64), CLASSES - 1)
    member = label[:, None] == np.arange(CLASSES)
    columns = np.concatenate([member * (event - probability)[:, None], member], axis=1)

    def error(sums: Floats) -> Floats:
        gaps, count = sums[..., :CLASSES], sums[..., CLASSES:]
        return np.asarray(np.abs(gaps).sum(axis=-1) / count.sum(axis=-1))[..., None]

    count = np.bincount(label, minlength=CLASSES)
    with np.errstate(invalid="ignore"):
        gap = columns[:, :CLASSES].sum(axis=0) / count
    return Calibration(
        ece=bootstrap(block, columns.astype(np.float64), error, **options)[0],
        count=tuple(int(n) for n in count),
        gap=tuple(float(g) for g in gap),
    )
