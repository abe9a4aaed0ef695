"""Calibration tables for the score: isotonic regression on validation data, as 65 integer knots."""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import CALIBRATION_KNOTS, PROBABILITY

__all__ = ["fit_knots", "isotonic"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEP = PROBABILITY.one // (CALIBRATION_KNOTS - 1)
_PRIOR = 1.0  # windows that each knot is worth, where it says what the position says


def isotonic(value: Floats, weight: Floats) -> Floats:
    """The sequence that never falls and is nearest to `value` in weighted squares.

    Pool adjacent violators: neighbours that fall are replaced by their mean.
    """
    means: list[float] = []
    weights: list[float] = []
    counts: list[int] = []
    for v, w in zip(value.tolist(), weight.tolist(), strict=True):
        mean, total, count = v, w, 1
        while means and means[-1] > mean:
            before = weights.pop()
            mean = (means.pop() * before + mean * total) / (before + total)
            total += before
            count += counts.pop()
        means.append(mean)
        weights.append(total)
        counts.append(count)
    return np.repeat(np.array(means), counts)


def fit_knots(position: Ints, event: NDArray[np.bool_]) -> Ints:
    """The table that turns positions into rates of the event.

    Each window counts for the two knots around its position, by nearness, as the table
    interpolates; the identity is the prior of knots that no window is near to.

    Parameters
    ----------
    position : ndarray of int64, shape (n,)
        What enters the table, 0..32768.
    event : ndarray of bool, shape (n,)
        Whether it happened.

    Returns
    -------
    ndarray of int64, shape (65,)
        Rises; for the registers.

    Raises
    ------
    ValueError
        The lengths differ, or a position is outside its range.
    """
    if len(position) != len(event):
        raise ValueError(
            f"positions must be as many as events, not {len(position)} and {len(event)}"
        )
    if len(position) and not 0 <= position.min() <= position.max() <= PROBABILITY.one:
        raise ValueError(
            f"positions must lie in 0..{PROBABILITY.one}, not {position.min()}..{position.max()}"
        )
    knots = np.arange(CALIBRATION_KNOTS)
    # The knots' values that minimise the Brier score of what the table interpolates.
    left = np.minimum(position // _STEP, CALIBRATION_KNOTS - 2)
    share = position / _STEP - left
    design = np.zeros((CALIBRATION_KNOTS, CALIBRATION_KNOTS))
    target = np.zeros(CALIBRATION_KNOTS)
    for a, wa in ((left, 1 - share), (left + 1, share)):
        target += np.bincount(a, wa * event, CALIBRATION_KNOTS)
        for b, wb in ((left, 1 - share), (left + 1, share)):
            np.add.at(design, (a, b), wa * wb)
    identity = knots / (CALIBRATION_KNOTS - 1)
    design[knots, knots] += _PRIOR
    solved = np.linalg.solve(design, target + _PRIOR * identity).astype(np.float64)
    rising = isotonic(solved, design.sum(axis=1))
    return np.clip(np.floor(rising * PROBABILITY.one + 0.5), 0, PROBABILITY.one).astype(np.int64)
