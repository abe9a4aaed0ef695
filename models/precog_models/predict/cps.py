"""The Congestion Prediction Score: a number that is predicted, through a calibration table.

    queue model: P(queue >= threshold bin) ─────────┐
                                                    ├─► table of 65 knots ─► round(100 P), 0..100
    rtt model: (RTTpred - base) / budget, up to 2 ──┘

Each of the two has its own table. A *position* is what enters a table: 0..32768, a probability in
PROBABILITY's format, or for the `rtt` model 16384 for a queueing delay that equals the budget. The
table's values are probabilities; between knots they are interpolated.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_spec.contract import CALIBRATION_KNOTS, MAX_OUTPUTS, PROBABILITY, Fmt

from ..fixed import shift_half_up
from ..jit import njit

__all__ = [
    "calibrated",
    "check_knots",
    "identity_knots",
    "rtt_position",
    "rtt_positions",
    "score",
    "scores",
    "tail",
    "tails",
]

_ONE = PROBABILITY.one
_STEP_BITS = (_ONE // (CALIBRATION_KNOTS - 1)).bit_length() - 1
_STEP_MASK = (1 << _STEP_BITS) - 1
_FRAC_BITS = PROBABILITY.frac_bits
_SRTT_FRAC = Fmt.SRTT.frac_bits
_FULL = 100
_BUDGET_BITS = 14  # a delay that equals the budget is at 2**14
_RATIO_SHIFT = _BUDGET_BITS - _SRTT_FRAC

Ints = NDArray[np.int64]


def identity_knots() -> Ints:
    """The table that changes nothing, as after reset."""
    return np.arange(CALIBRATION_KNOTS, dtype=np.int64) << _STEP_BITS


def check_knots(knots: ArrayLike) -> Ints:
    """`knots` as a table.

    Raises
    ------
    ValueError
        Not 65 integers of 0..32768 that never fall.
    """
    table = np.asarray(knots)
    if table.shape != (CALIBRATION_KNOTS,):
        raise ValueError(f"knots must be {CALIBRATION_KNOTS} numbers, not shape {table.shape}")
    if table.dtype.kind not in "iu":
        raise ValueError(f"knots must be integers, not {table.dtype}")
    if table.min() < 0 or table.max() > _ONE:
        raise ValueError(f"knots must lie in 0..{_ONE}, not {table.min()}..{table.max()}")
    if (np.diff(table.astype(np.int64)) < 0).any():
        at = int(np.argmax(np.diff(table.astype(np.int64)) < 0))
        raise ValueError(f"knots must not fall, but {table[at + 1]} follows {table[at]} at {at}")
    return table.astype(np.int64)


@njit
def tail(p: Ints, threshold_bin: int) -> int:
    """P(bin >= `threshold_bin`) of a distribution [16], 0..32768."""
    total = 0
    for n in range(threshold_bin, MAX_OUTPUTS):
        total += p[n]
    return total


@njit
def rtt_position(predicted: int, base: int, budget: int) -> int:
    """Where a predicted RTT stands: its queueing delay over the budget, limited to 2.

    Parameters
    ----------
    predicted : int
        In SRTT's format.
    base : int
        Base RTT in ticks.
    budget : int
        Queueing delay in ticks that counts as congestion, 24 bits; 0 counts as 1.

    Returns
    -------
    int
        0..32768, rounded down; 16384 at the budget.
    """
    delay = max(predicted - (base << _SRTT_FRAC), 0)
    return min((delay << _RATIO_SHIFT) // max(budget, 1), _ONE)


@njit
def calibrated(knots: Ints, position: int) -> int:
    """A table's value at `position`, 0..32768: between knots, nearest, ties up."""
    at = position >> _STEP_BITS
    if at == CALIBRATION_KNOTS - 1:
        return int(knots[at])
    rise = (knots[at + 1] - knots[at]) * (position & _STEP_MASK)
    return int(knots[at] + shift_half_up(rise, _STEP_BITS))


@njit
def score(knots: Ints, position: int) -> int:
    """Congestion score 0..100 at `position`: 100 times the table's value, nearest, ties up."""
    return int(shift_half_up(_FULL * calibrated(knots, position), _FRAC_BITS))


@njit
def _scores(knots: Ints, positions: Ints, out: Ints) -> None:
    for n in range(len(positions)):
        out[n] = score(knots, positions[n])


@njit
def _tails(p: Ints, threshold_bin: int, out: Ints) -> None:
    for n in range(len(p)):
        out[n] = tail(p[n], threshold_bin)


@njit
def _rtt_positions(predicted: Ints, base: Ints, budget: int, out: Ints) -> None:
    for n in range(len(predicted)):
        out[n] = rtt_position(predicted[n], base[n], budget)


def scores(knots: ArrayLike, positions: Ints) -> Ints:
    """Vector form of `score`: positions [n] to scores [n].

    Raises
    ------
    ValueError
        A bad table (`check_knots`), or a position outside 0..32768.
    """
    table = check_knots(knots)
    where = np.ascontiguousarray(positions, dtype=np.int64)
    if len(where) and (where.min() < 0 or where.max() > _ONE):
        raise ValueError(f"positions must lie in 0..{_ONE}, not {where.min()}..{where.max()}")
    out = np.zeros_like(where)
    _scores(table, where, out)
    return out


def tails(p: Ints, threshold_bin: int) -> Ints:
    """Vector form of `tail`: distributions [n, 16] to probabilities [n].

    Raises
    ------
    ValueError
        The shape or the bin is outside its range.
    """
    if p.ndim != 2 or p.shape[1] != MAX_OUTPUTS:
        raise ValueError(f"p must have shape (n, {MAX_OUTPUTS}), not {p.shape}")
    if not 0 <= threshold_bin < MAX_OUTPUTS:
        raise ValueError(f"threshold bin must be in 0..{MAX_OUTPUTS - 1}, not {threshold_bin!r}")
    out = np.zeros(len(p), dtype=np.int64)
    _tails(np.ascontiguousarray(p, dtype=np.int64), threshold_bin, out)
    return out


def rtt_positions(predicted: Ints, base: Ints, budget: int) -> Ints:
    """Vector form of `rtt_position`: predicted [n] and base [n] to positions [n].

    Raises
    ------
    ValueError
        The shapes differ, or the budget is outside 1..2**24 - 1.
    """
    if predicted.shape != base.shape or predicted.ndim != 1:
        raise ValueError(
            f"predicted and base must have one shape (n,), not {predicted.shape}, {base.shape}"
        )
    if not 1 <= budget <= Fmt.RTT.max:
        raise ValueError(f"budget must be in 1..{Fmt.RTT.max} ticks, not {budget!r}")
    out = np.zeros(len(predicted), dtype=np.int64)
    _rtt_positions(
        np.ascontiguousarray(predicted, dtype=np.int64),
        np.ascontiguousarray(base, dtype=np.int64),
        budget,
        out,
    )
    return out
