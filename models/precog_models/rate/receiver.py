"""CPS-RX, the receiver: a congestion score's band decides on rate, priority and buffer. 001.

    score ─► [3 bands, hysteresis] ─┬─ command ─► PSCHED: HIGH reduce, MEDIUM hold, LOW rise
    age ────────▲                   ├─ boost ───► the pacer's priority, while HIGH
                                    └─ quota ───► cells, base << shift while HIGH, within a limit

A band is left upwards at its threshold, downwards only once the score lies `hysteresis` below it,
or is 0: a score that oscillates round a threshold changes nothing. 001 says neither by how much a
"reduced" rate falls, nor what "bandwidth is available" means. Here a command only takes away from
what PSCHED may do with the score (`ScoreCommand`), so that a score is never counted twice: HIGH
forces PSCHED's reduction, MEDIUM forbids its increase, and so does LOW unless bandwidth is
available: the bytes that left in the last whole window were no more than a budget
(`BandwidthMeter`).

What all queue pairs have beyond their base quotas is never more than the limit, or, after the limit
was lowered, falls to it as they are visited: the first one has it.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt
from precog_spec.law_fields import NO_SCORE, SCORE_MAX, ScoreCommand
from precog_spec.receiver_fields import (
    QUOTA_BITS,
    RECEIVER_CONFIG,
    RECEIVER_PARAMETERS,
    RECEIVER_RESULT,
    RECEIVER_STATE,
    Act,
    Band,
    ReceiverKind,
)

from ..jit import njit

__all__ = ["BandwidthMeter", "Receiver", "band_after", "receive"]

_NONE, _LOW, _MEDIUM, _HIGH = (int(band) for band in Band)
_SCORE, _VISIT, _CONFIGURE = (int(kind) for kind in ReceiverKind)
_FREE, _HOLD, _REDUCE = (int(ScoreCommand[name]) for name in ("FREE", "HOLD", "REDUCE"))
_ACT_BAND, _ACT_COMMAND, _ACT_BOOST, _ACT_QUOTA, _ACT_AGED, _ACT_STARVED, _ACT_SHORT = (
    int(act) for act in Act
)
(
    _P_HIGH,
    _P_LOW,
    _P_HYSTERESIS,
    _P_TICKS,
    _P_RATE,
    _P_PRIORITY,
    _P_QUOTA,
    _P_BOOST,
    _P_SHIFT,
    _P_LIMIT,
) = range(len(RECEIVER_PARAMETERS))
_COMMANDS, _BOOSTS, _GROWS, _BASE_QUOTA = range(len(RECEIVER_CONFIG))
_BAND, _SCORE_T, _BOOST, _EXTRA = range(len(RECEIVER_STATE))
_TIME_MAX = Fmt.TIME.max
_TIME_SIGN = Fmt.TIME.width - 1
_QUOTA_MAX = (1 << QUOTA_BITS) - 1

Ints = NDArray[np.int64]


@njit
def _band(score: int, high: int, low: int) -> int:
    if score >= high:
        return _HIGH
    return _MEDIUM if score >= low else _LOW


@njit
def band_after(was: int, score: int, high: int, low: int, hysteresis: int) -> int:
    """The `Band` that a score of 0..100 leads to."""
    band = _band(score, high, low)
    if was == _NONE or score == 0:
        return int(band)
    stays = _band(score + hysteresis, high, low)
    return int(max(band, min(was, stays)))


@njit
def receive(
    state: Ints, used: Ints, config: Ints, parameters: Ints, event: Ints, result: Ints
) -> None:
    """Take an event of one queue pair.

    Parameters
    ----------
    state : ndarray of int64, shape (4,)
        `RECEIVER_STATE` of the queue pair. Changed in place.
    used : ndarray of int64, shape (1,)
        Cells that all queue pairs have beyond their base quotas. Changed in place.
    config : ndarray of int64, shape (4,)
        `RECEIVER_CONFIG`; with CONFIGURE the new one.
    parameters : ndarray of int64, shape (10,)
        `RECEIVER_PARAMETERS`.
    event : ndarray of int64, shape (5,)
        `RECEIVER_EVENT`.
    result : ndarray of int64, shape (7,)
        Receives `RECEIVER_RESULT`.
    """
    kind, t = event[0], event[2]
    was, acts = state[_BAND], 0
    band, score = was, NO_SCORE
    if kind == _SCORE:
        if event[3] < NO_SCORE:
            score = min(event[3], SCORE_MAX)
            band = band_after(
                was, score, parameters[_P_HIGH], parameters[_P_LOW], parameters[_P_HYSTERESIS]
            )
        else:
            band = _NONE
        state[_SCORE_T] = t
    elif kind == _VISIT:
        age = (t - state[_SCORE_T]) & _TIME_MAX
        past = age >> _TIME_SIGN == 0
        if was != _NONE and parameters[_P_TICKS] and past and age > parameters[_P_TICKS]:
            band = _NONE
            acts |= _ACT_AGED
    else:
        band = _NONE

    command = _FREE
    if parameters[_P_RATE] and config[_COMMANDS]:
        if band == _HIGH:
            command = _REDUCE
        elif band == _MEDIUM:
            command = _HOLD
        elif band == _LOW and not event[4]:
            command = _HOLD
            if kind == _SCORE:
                acts |= _ACT_STARVED
    if kind == _SCORE or (band == _NONE and was != _NONE):
        acts |= _ACT_COMMAND

    boost = 0
    if band == _HIGH and parameters[_P_PRIORITY] and config[_BOOSTS]:
        boost = parameters[_P_BOOST]
    base = config[_BASE_QUOTA]
    wanted = 0
    if band == _HIGH and parameters[_P_QUOTA] and config[_GROWS]:
        wanted = min(base << parameters[_P_SHIFT], _QUOTA_MAX) - base
    others = used[0] - state[_EXTRA]
    extra = min(wanted, max(parameters[_P_LIMIT] - others, 0))
    if extra < wanted and kind == _SCORE:
        acts |= _ACT_SHORT
    if band != was:
        acts |= _ACT_BAND
    if boost != state[_BOOST]:
        acts |= _ACT_BOOST
    if extra != state[_EXTRA] or kind == _CONFIGURE:
        acts |= _ACT_QUOTA
    used[0] = others + extra
    state[_BAND], state[_BOOST], state[_EXTRA] = band, boost, extra
    result[0], result[1], result[2], result[3] = was, band, command, score
    result[4], result[5], result[6] = boost, base + extra, acts


class Receiver:
    """All queue pairs of a receiver.

    Parameters
    ----------
    qps : int

    Attributes
    ----------
    parameters : dict of str to int
        `RECEIVER_PARAMETERS`.
    states : ndarray of int64, shape (qps, 4)
    configs : ndarray of int64, shape (qps, 4)
    used : ndarray of int64, shape (1,)
    """

    def __init__(self, qps: int) -> None:
        self.parameters = dict.fromkeys((name for name, _ in RECEIVER_PARAMETERS), 0)
        self.states: Ints = np.zeros((qps, len(RECEIVER_STATE)), dtype=np.int64)
        self.configs: Ints = np.zeros((qps, len(RECEIVER_CONFIG)), dtype=np.int64)
        self.used: Ints = np.zeros(1, dtype=np.int64)

    def configure(self, qp: int, values: dict[str, int], t: int) -> dict[str, int]:
        """A queue pair's `RECEIVER_CONFIG` at `t` ticks; what came of it."""
        self.configs[qp] = [values[name] for name, _ in RECEIVER_CONFIG]
        return self.happen(ReceiverKind.CONFIGURE, qp, t)

    def happen(
        self, kind: int, qp: int, t: int, score: int = NO_SCORE, available: int = 0
    ) -> dict[str, int]:
        """What came of an event, `RECEIVER_RESULT` by name."""
        event = np.array([kind, qp, t, score, available], dtype=np.int64)
        result = np.zeros(len(RECEIVER_RESULT), dtype=np.int64)
        parameters = np.array(
            [self.parameters[name] for name, _ in RECEIVER_PARAMETERS], dtype=np.int64
        )
        receive(self.states[qp], self.used, self.configs[qp], parameters, event, result)
        names = (name for name, _ in RECEIVER_RESULT)
        return dict(zip(names, result.tolist(), strict=True))


class BandwidthMeter:
    """Whether bandwidth is available: what left in the last whole window was within the budget.

    Attributes
    ----------
    ticks : int
        Length of a window; 0: bandwidth is always available.
    budget : int
        Bytes.
    available : int
    """

    def __init__(self) -> None:
        self.ticks = self.budget = 0
        self.available = 0
        self._passed = self._sent = 0

    def tick(self, sent: int) -> None:
        """A tick in which `sent` bytes have left."""
        self._sent = min(self._sent + sent, 0xFFFF_FFFF)
        self._passed += 1
        if self._passed >= self.ticks:
            self.available = int(self.ticks == 0 or self._sent <= self.budget)
            self._passed = self._sent = 0
