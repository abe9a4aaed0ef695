"""Queue Behavior Profiler (`000` section 1): what each queue pair's send queue is doing.

Four numbers of a queue are the inputs of a `queue` head: bytes that are queued, ticks between the
last two arrivals, ticks that the last departure took since it stood first in the queue, and bytes
of the last arrival. A departure stands first from the later of its arrival and the departure
before it; of what has left a queue that was not empty, the first is the one that made it so.

A sample of them is taken with every n-th arrival or departure of the queue pair, or once in a
period: then the queue pairs are visited in turn, and a visit finds out whether a sample is due. One
visit takes one sample, however many periods have passed; the first one is due a period after the
last visit before the first arrival.

Numbers are normalised by a base-2 logarithm with a linear mantissa, which lies at most 0.087 below
the true one. A model is trained on the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from precog_spec.contract import (
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    PROFILE_RESETS,
    QUEUE_VALUE_FIELDS,
    Fmt,
    QueueEvent,
)

from ..fixed import saturate, shift_half_up
from ..jit import njit

__all__ = [
    "PROFILE_STATE",
    "ProfileSample",
    "Profiler",
    "denormalise",
    "normalise",
    "normalise_one",
    "queue_clear",
    "queue_step",
    "queue_visit",
]

Ints = NDArray[np.int64]

#: A queue pair's row of state: what the host reads, then times of the last arrival, of when the
#: queue's first bytes came to stand there, and of the last sample; whether there was an arrival
#: since the connection began; events since the last sample of an event.
PROFILE_STATE = (
    *(name for name, _ in QUEUE_VALUE_FIELDS),
    *("last_arrival", "start", "sampled", "seen", "since"),
)
_VALUES = len(QUEUE_VALUE_FIELDS)

_OCCUPANCY, _INTER, _SERVICE, _SIZE, _PEAK = range(5)
_ARRIVALS, _DEPARTURES, _BYTES_IN, _BYTES_OUT = range(5, _VALUES)
_LAST, _START, _SAMPLED, _SEEN, _SINCE = range(_VALUES, len(PROFILE_STATE))

_ARRIVAL, _DEPARTURE, _RESET = (
    int(kind) for kind in (QueueEvent.ARRIVAL, QueueEvent.DEPARTURE, QueueEvent.RESET)
)
_WORD = (1 << 32) - 1
_BYTES_MASK = (1 << dict(QUEUE_VALUE_FIELDS)["bytes_in"]) - 1
_TIME_MASK = Fmt.TIME.max
_LOG_FRAC = PROFILE_CENTER.frac_bits
_LOG_MASK = (1 << _LOG_FRAC) - 1
_SHIFT = PROFILE_CENTER.frac_bits + PROFILE_GAIN.frac_bits - Fmt.X.frac_bits
_X_BITS = Fmt.X.width


@njit
def normalise_one(value: int, center: int, gain: int) -> int:
    """An input of a `queue` head.

    Parameters
    ----------
    value : int
        0 or more; saturates at 2**32 - 1.
    center : int
        In `PROFILE_CENTER`'s format: the logarithm of what becomes 0.
    gain : int
        In `PROFILE_GAIN`'s format.

    Returns
    -------
    int
        (log2(value + 1) - center) * gain in X's format, rounded to nearest, ties up, saturated.
    """
    n = min(value, _WORD) + 1
    e = 0
    while n >> (e + 1):
        e += 1
    log = (e << _LOG_FRAC) | (((n << _LOG_FRAC) >> e) & _LOG_MASK)
    return int(saturate(shift_half_up((log - center) * gain, _SHIFT), _X_BITS))


def normalise(values: ArrayLike, centers: ArrayLike, gains: ArrayLike) -> Ints:
    """As `normalise_one`, of arrays that broadcast against each other."""
    n = np.minimum(np.asarray(values, dtype=np.int64), _WORD) + 1
    e = np.frexp(n.astype(np.float64))[1].astype(np.int64) - 1  # exact: n has 33 bits
    log = (e << _LOG_FRAC) | (((n << _LOG_FRAC) >> e) & _LOG_MASK)
    product = (log - np.asarray(centers, dtype=np.int64)) * np.asarray(gains, dtype=np.int64)
    rounded = ((product >> (_SHIFT - 1)) + 1) >> 1
    return np.asarray(np.clip(rounded, Fmt.X.min, Fmt.X.max), dtype=np.int64)


@njit
def _smallest(x: Ints, centers: Ints, gains: Ints, values: Ints) -> None:
    for n in range(len(x)):
        for k in range(x.shape[1]):
            low, high = 0, _WORD
            while low < high:  # normalise_one never falls with its value
                middle = (low + high) >> 1
                if normalise_one(middle, centers[k], gains[k]) < x[n, k]:
                    low = middle + 1
                else:
                    high = middle
            values[n, k] = low


def denormalise(x: ArrayLike, centers: ArrayLike, gains: ArrayLike) -> Ints:
    """The smallest values [n, 4] that `normalise` makes `x` [n, 4] of.

    They lead to the same inputs again, bit for bit. With gains of 1/4 and more, the value that was
    normalised is at most 0.1 % larger, unless it saturated.
    """
    rows = np.ascontiguousarray(x, dtype=np.int64)
    values = np.zeros_like(rows)
    _smallest(rows, np.asarray(centers, np.int64), np.asarray(gains, np.int64), values)
    return values


@njit
def queue_step(row: Ints, kind: int, size: int, t: int, every: int) -> bool:
    """What an event does to its queue pair.

    Parameters
    ----------
    row : ndarray of int64
        `PROFILE_STATE`; zeros at power-up. Changed in place.
    kind : int
        `QueueEvent.ARRIVAL`, `DEPARTURE` or `RESET`.
    size : int
        Bytes, 32 bits. What departs without having arrived is counted only.
    t : int
        When, ticks (40 bits, wraps).
    every : int
        A sample is due with every `every`-th arrival or departure; 0: with none.

    Returns
    -------
    bool
        A sample is due.
    """
    if kind == _RESET:
        for name in (_OCCUPANCY, _INTER, _SERVICE, _SIZE, _SEEN, _SINCE):
            row[name] = 0
        return False
    if kind == _ARRIVAL:
        if row[_OCCUPANCY] == 0:
            row[_START] = t
        if row[_SEEN]:
            row[_INTER] = min((t - row[_LAST]) & _TIME_MASK, _WORD)
        row[_LAST] = t
        row[_SEEN] = 1
        row[_SIZE] = size
        row[_OCCUPANCY] = min(row[_OCCUPANCY] + size, _WORD)
        row[_PEAK] = max(row[_PEAK], row[_OCCUPANCY])
        row[_ARRIVALS] = (row[_ARRIVALS] + 1) & _WORD
        row[_BYTES_IN] = (row[_BYTES_IN] + size) & _BYTES_MASK
    elif kind == _DEPARTURE:
        if row[_OCCUPANCY]:
            row[_SERVICE] = min((t - row[_START]) & _TIME_MASK, _WORD)
            row[_START] = t
        row[_OCCUPANCY] = max(row[_OCCUPANCY] - size, 0)
        row[_DEPARTURES] = (row[_DEPARTURES] + 1) & _WORD
        row[_BYTES_OUT] = (row[_BYTES_OUT] + size) & _BYTES_MASK
    row[_SINCE] += 1
    due = every != 0 and row[_SINCE] >= every
    if due or every == 0:
        row[_SINCE] = 0
    return bool(due)


@njit
def queue_visit(row: Ints, t: int, period: int) -> bool:
    """Whether a sample is due at `t`; `period` in ticks, 32 bits, 0: never."""
    elapsed = (t - row[_SAMPLED]) & _TIME_MASK
    watched = row[_SEEN] != 0 and period != 0
    if watched and elapsed < period:
        return False
    if watched and elapsed < 2 * period:
        row[_SAMPLED] = (row[_SAMPLED] + period) & _TIME_MASK
    else:
        row[_SAMPLED] = t
    return bool(watched)


@njit
def queue_clear(row: Ints) -> None:
    """Counts start again from 0, and the peak from what is queued."""
    row[_PEAK] = row[_OCCUPANCY]
    for name in (_ARRIVALS, _DEPARTURES, _BYTES_IN, _BYTES_OUT):
        row[name] = 0


@dataclass(frozen=True)
class ProfileSample:
    """A `queue` head's inputs of one instant, in the order of `PROFILE_FIELDS`."""

    qp: int
    t: int
    x: tuple[int, ...]


class Profiler:
    """All queue pairs.

    Parameters
    ----------
    qps : int

    Attributes
    ----------
    period : int
        Ticks from a sample to the next one; 0: none but those of events.
    every : int
        Events from a sample to the next one; 0: none but those of periods.
    centers, gains : sequence of 4 int
        Of the normalisation.
    rows : ndarray of int64, shape (qps, len(PROFILE_STATE))
    """

    def __init__(self, qps: int) -> None:
        center, gain = PROFILE_RESETS
        self.period = 0
        self.every = 0
        self.centers: Sequence[int] = [center] * len(PROFILE_INPUTS)
        self.gains: Sequence[int] = [gain] * len(PROFILE_INPUTS)
        self.rows: Ints = np.zeros((qps, len(PROFILE_STATE)), dtype=np.int64)

    def observe(self, qp: int, kind: QueueEvent, size: int, t: int) -> ProfileSample | None:
        """An event of a queue pair's queue; the sample that it brings."""
        due = queue_step(self.rows[qp], int(kind), size, t, self.every)
        return self.sample(qp, t) if due else None

    def visit(self, qp: int, t: int) -> ProfileSample | None:
        """The queue pair has its turn; the sample that is due."""
        due = queue_visit(self.rows[qp], t, self.period)
        return self.sample(qp, t) if due else None

    def sample(self, qp: int, t: int) -> ProfileSample:
        """A queue pair's inputs, as they are."""
        inputs = self.rows[qp, : len(PROFILE_INPUTS)].tolist()
        x = (
            normalise_one(*numbers)
            for numbers in zip(inputs, self.centers, self.gains, strict=True)
        )
        return ProfileSample(qp, t, tuple(x))

    def read(self, qp: int, *, clear: bool = False) -> dict[str, int]:
        """All numbers of one instant; `clear` starts counts and peak again behind it."""
        values = self.rows[qp, :_VALUES].tolist()
        if clear:
            queue_clear(self.rows[qp])
        return dict(zip(PROFILE_STATE, values, strict=False))
