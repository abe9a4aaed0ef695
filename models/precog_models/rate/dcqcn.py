"""DCQCN's reaction point in integers (SIGCOMM 2015, source 004), its timers evaluated lazily.

    on a CNP:                  R_T = R, R = R (1 - alpha / 2), alpha = (1 - g) alpha + g
    every K without one:       alpha = (1 - g) alpha
    every T, and every B bytes: a step of recovery
        the first F rounds     R = (R_T + R) / 2                    fast recovery
        then                   R_T = R_T + R_AI, R as above         additive increase
        both counts above F    R_T = R_T + R_HAI, R as above        hyper increase

With a check period (vendor, ns-3) a CNP only leaves marks: the next update of alpha raises it, and
the next tick of the check cuts. The check's clock starts with the first CNP.

Time enters only with the events' stamps: `advance` does what the clocks have done since. Alpha's k
periods are one product per base-16 digit of k with a power of 1 - g (`fractions.decay_table`), not
k products; increases are made one by one, at most 8 in a row, and the rest by the next event. With
a sweep at least every T/4 there is never more than one. Two things of one moment happen in the
order: alpha's update, increase, cut, event.

Beyond 4095 periods without any event a clock starts anew, with the event, and alpha has decayed
4095 times. A queue pair may be without events for less than half of the time's range (9 minutes
at 1 ns).

Errors against real numbers: k periods at once leave alpha within k * 2**-25 for k < 16, and within
k * 2**-25 * (1-g)**(k-1) + 2**-23 for any k; a cut is within 1 LSB + rate * 2**-25, an increase
within half an LSB. Over flows of hundreds of events with the presets, clocks run eagerly in the
reference: alpha within 3e-6, the rate within 8 LSB + 2e-6 of it.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt
from precog_spec.law_fields import (
    ALPHA,
    COUNT_MAX,
    DCQCN_PARAMETERS,
    DCQCN_STATE,
    DECAY_BITS,
    DECAY_LEVELS,
    FRACTION,
    MAX_STEPS,
)

from ..fixed import clamp
from ..jit import njit
from .fractions import periods, scale

__all__ = ["dcqcn_advance", "dcqcn_bytes", "dcqcn_notify"]

(
    _G,
    _ALPHA_TICKS,
    _CUT_TICKS,
    _RATE_TICKS,
    _RECOVERY,
    _BYTE_COUNT,
    _AI,
    _HAI,
    _CLAMP_TARGET,
) = range(len(DCQCN_PARAMETERS))
(
    _STARTED,
    _TIMING,
    _ALPHA_CNP,
    _CUT_CNP,
    _TARGET,
    _ALPHA,
    _TIMER_STAGE,
    _BYTE_STAGE,
    _BYTES,
    _ALPHA_T,
    _RATE_T,
    _CUT_T,
) = range(len(DCQCN_STATE))

_TIME_MASK = Fmt.TIME.max
_TIME_HALF = 1 << (Fmt.TIME.width - 1)
_BYTES_MAX = (1 << 32) - 1
_ONE = FRACTION.one
_ALPHA_ONE = ALPHA.one
_DROP = ALPHA.frac_bits - FRACTION.frac_bits
_DIGIT_MASK = (1 << DECAY_BITS) - 1


@njit
def _raised(p: NDArray[np.int64], alpha: int) -> int:
    """(1 - g) alpha + g."""
    return int(scale(alpha, _ONE - p[_G]) + (p[_G] << _DROP))


@njit
def _cut(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    t: int,
) -> int:
    """Fall by alpha / 2 and start recovery, and the rate timer, anew."""
    if p[_CLAMP_TARGET] != 0 or state[_TIMER_STAGE] > 0 or state[_BYTE_STAGE] > 0:
        state[_TARGET] = rate
    half = (state[_ALPHA] + (1 << _DROP)) >> (_DROP + 1)
    state[_TIMER_STAGE] = 0
    state[_BYTE_STAGE] = 0
    state[_BYTES] = 0
    state[_TIMING] = 1
    state[_RATE_T] = t
    return int(clamp(rate - scale(rate, half), min_rate, max_rate))


@njit
def _increase(
    state: NDArray[np.int64], p: NDArray[np.int64], min_rate: int, max_rate: int, rate: int
) -> int:
    """A step of fast recovery, additive or hyper increase, by the stages before it."""
    high = max(state[_TIMER_STAGE], state[_BYTE_STAGE])
    low = min(state[_TIMER_STAGE], state[_BYTE_STAGE])
    # Without a byte counter the timer alone goes through all three phases.
    hyper = low if p[_BYTE_COUNT] != 0 else high
    if high >= p[_RECOVERY]:
        step = p[_HAI] if hyper > p[_RECOVERY] and p[_HAI] != 0 else p[_AI]
        state[_TARGET] = min(state[_TARGET] + step, max_rate)
    return int(clamp((rate + state[_TARGET] + 1) >> 1, min_rate, max_rate))


@njit
def _since(then: int, t: int) -> int:
    """Ticks from `then` to `t`; 0 if `t` is before.

    A sample is stamped when it arrives and may be told after an event that came later.
    """
    elapsed = (t - then) & _TIME_MASK
    return int(elapsed) if elapsed < _TIME_HALF else 0


@njit
def _run_clocks(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    table: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    t: int,
) -> int:
    """Alpha's updates and the rate timer's steps up to `t`."""
    elapsed = _since(state[_ALPHA_T], t)
    if p[_ALPHA_TICKS] != 0 and elapsed >= p[_ALPHA_TICKS]:
        k, rest = periods(elapsed, p[_ALPHA_TICKS])
        alpha = state[_ALPHA]
        if state[_ALPHA_CNP] != 0:
            alpha = _raised(p, alpha)
            k -= 1
        for level in range(DECAY_LEVELS):
            alpha = scale(alpha, table[level, (k >> (DECAY_BITS * level)) & _DIGIT_MASK])
        state[_ALPHA] = alpha
        state[_ALPHA_CNP] = 0
        state[_ALPHA_T] = (t - rest) & _TIME_MASK
    if state[_TIMING] != 0 and p[_RATE_TICKS] != 0:
        steps = 0
        while steps < MAX_STEPS and _since(state[_RATE_T], t) >= p[_RATE_TICKS]:
            rate = _increase(state, p, min_rate, max_rate, rate)
            state[_TIMER_STAGE] = min(state[_TIMER_STAGE] + 1, COUNT_MAX)
            state[_RATE_T] = (state[_RATE_T] + p[_RATE_TICKS]) & _TIME_MASK
            steps += 1
    return rate


@njit
def dcqcn_advance(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    table: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    t: int,
) -> int:
    """The rate after all that the clocks have done up to time `t`; before every event.

    Parameters
    ----------
    state : ndarray of int64, shape (12,)
        `DCQCN_STATE` of the queue pair; zeros at the start. Changed in place.
    p : ndarray of int64, shape (9,)
        `DCQCN_PARAMETERS` in order.
    table : ndarray of int64, shape (3, 16)
        ``decay_table(g)``.
    min_rate, max_rate, rate : int
        RATE's format.
    t : int
        Ticks, TIME's format. The clocks do not run for one before the last event's.
    """
    if state[_STARTED] == 0:
        return rate
    due = state[_CUT_T]
    if state[_CUT_CNP] != 0 and (due == t or _since(due, t) != 0):
        rate = _run_clocks(state, p, table, min_rate, max_rate, rate, due)
        rate = _cut(state, p, min_rate, max_rate, rate, due)
        state[_CUT_CNP] = 0
    return int(_run_clocks(state, p, table, min_rate, max_rate, rate, t))


@njit
def dcqcn_notify(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    t: int,
) -> int:
    """The rate after a CNP at time `t`; the clocks have been advanced. As `dcqcn_advance`."""
    first = state[_STARTED] == 0
    if first:
        state[_STARTED] = 1
        state[_ALPHA] = _ALPHA_ONE
        state[_TARGET] = rate
    if p[_CUT_TICKS] == 0:
        rate = _cut(state, p, min_rate, max_rate, rate, t)
        state[_ALPHA] = _raised(p, state[_ALPHA])
        state[_ALPHA_T] = t
        return rate
    if first:
        state[_ALPHA_T] = t
        state[_CUT_T] = t
    else:
        state[_ALPHA_CNP] = 1
    if state[_CUT_CNP] == 0:
        _, rest = periods((t - state[_CUT_T]) & _TIME_MASK, p[_CUT_TICKS])
        state[_CUT_T] = (t - rest + p[_CUT_TICKS]) & _TIME_MASK
        state[_CUT_CNP] = 1
    return rate


@njit
def dcqcn_bytes(
    state: NDArray[np.int64],
    p: NDArray[np.int64],
    min_rate: int,
    max_rate: int,
    rate: int,
    sent: int,
) -> int:
    """The rate after `sent` more bytes (32 bits); the clocks have been advanced.

    Bytes of steps beyond the eighth stay in the counter.
    """
    if state[_STARTED] == 0 or p[_BYTE_COUNT] == 0:
        return rate
    state[_BYTES] = min(state[_BYTES] + sent, _BYTES_MAX)
    steps = 0
    while steps < MAX_STEPS and state[_BYTES] >= p[_BYTE_COUNT]:
        state[_BYTES] -= p[_BYTE_COUNT]
        rate = _increase(state, p, min_rate, max_rate, rate)
        state[_BYTE_STAGE] = min(state[_BYTE_STAGE] + 1, COUNT_MAX)
        steps += 1
    return rate
