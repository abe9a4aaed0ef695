"""The trial of advice: does following it lower delay x time? A randomised controlled trial.

    now ─► round ─► draw ─► arm: follow or hold ─► law ─► rate ─┐
    verdict ──────────┘                  RTT - base RTT ─► delay ┴─► sums of the arm ─► verdict

Time is cut into rounds. In each a draw, a hash of the round and a seed, puts all decisions into one
of two arms: in one advice is followed, in the other it is held, as `advice_hold` does. Samples in
a round's second half are counted: the first half shows what the last arm left. What a transfer
takes is proportional to 1 / rate, so following is worse by the margin m where

    sum delay    sum delay                   follow arm: left; hold arm: right
    --------- >  --------- (1 + 2^-m)
    sum rate     sum rate

which is compared in products, without division, once when a round begins. The verdict moves the
odds: while an arm has too few samples one round in two holds, while following is worth it one in
eight, as a control, and while it is worthless seven in eight. It may win its way back: then without
the margin. When an arm is full, all counts and sums are halved, so that both arms forget alike.

The draws that hold or follow whatever the verdict is are alone counted, an eighth of all in each
arm. Were all counted, an arm would have most samples of the times in which the verdict favoured it,
and what those times were like would look like its effect.

Queue pairs that share a queue share its delay: one that gives way serves those that do not. So all
are in one arm at a time, unless they are said to be apart; then each has draws of its own.

A trial only takes advice away.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.trial_fields import (
    DRAWS,
    FULL,
    HOLDS,
    MIX_LEFT,
    MIX_RIGHT,
    MIXES,
    ROUND_LEAST,
    SEED_BITS,
    TESTS,
    TRIAL_PARAMETERS,
    TRIAL_RATE_DROP,
    TRIAL_STATE,
    Verdict,
)

from ..jit import njit

__all__ = ["trial_arm", "trial_count"]

_NAMES = [name for name, _ in TRIAL_PARAMETERS]
_APART, _ROUND, _MARGIN, _LEAST, _SEED = (
    _NAMES.index(f"trial_{name}") for name in ("apart", "round", "margin", "least", "seed")
)
_NUMBER, _VERDICT, _FOLLOW, _FOLLOW_DELAY, _FOLLOW_RATE, _HOLD, _HOLD_DELAY, _HOLD_RATE = range(
    len(TRIAL_STATE)
)
_UNDECIDED, _WORTH, _WORTHLESS = (int(verdict) for verdict in Verdict)
_HOLDS = np.array([HOLDS[verdict] for verdict in Verdict])
_MASK = (1 << SEED_BITS) - 1
_DRAW_AT = SEED_BITS - DRAWS.bit_length() + 1
_LOW = 18  # bits of a factor that the sums' products are taken with at a time


@njit
def _draw(number: int, qp: int, seed: int) -> int:
    """One of 0 to 15 for a round."""
    word = ((number ^ qp << 16) + seed) & _MASK
    for _ in range(MIXES):
        word = (word + (word << MIX_LEFT)) & _MASK
        word ^= word >> MIX_RIGHT
    return int(word >> _DRAW_AT)


@njit
def _more(a: int, b: int, c: int, d: int) -> bool:
    """Whether ``a * b > c * d``, of factors of up to 37 bits: their products need 74."""
    low = (1 << _LOW) - 1
    # a b - c d = high 2^18 + rest
    rest = a * (b & low) - c * (d & low)
    high = a * (b >> _LOW) - c * (d >> _LOW) + (rest >> _LOW)
    return bool(high > 0 or (high == 0 and rest & low > 0))


@njit
def _judge(state: NDArray[np.int64], least: int, margin: int) -> int:
    """The verdict on what has been counted."""
    if min(state[_FOLLOW], state[_HOLD]) < least:
        return _UNDECIDED
    bar = state[_HOLD_DELAY]
    if state[_VERDICT] != _WORTHLESS:
        bar += bar >> margin
    worse = _more(state[_FOLLOW_DELAY], state[_HOLD_RATE], bar, state[_FOLLOW_RATE])
    return _WORTHLESS if worse else _WORTH


@njit
def trial_arm(
    state: NDArray[np.int64], parameters: NDArray[np.int64], kind: int, qp: int, t: int
) -> int:
    """A decision's arm: bit 0, its advice is held; bit 1, it counts. A round begins with a verdict.

    Parameters
    ----------
    state : ndarray of int64, shape (8,)
        `TRIAL_STATE` of the kind; zeros after a reset. Changed in place.
    parameters : ndarray of int64, shape (7,)
        `TRIAL_PARAMETERS`.
    kind : int
        Of `TRIAL_KINDS`.
    qp : int
    t : int
        Now, ticks.
    """
    if not parameters[kind]:
        return 0
    number = t >> (ROUND_LEAST + parameters[_ROUND])
    if number != state[_NUMBER]:
        state[_NUMBER] = number
        state[_VERDICT] = _judge(state, parameters[_LEAST], parameters[_MARGIN])
    seed = parameters[_SEED] ^ (_MASK if kind else 0)
    draw = _draw(number, qp if parameters[_APART] else 0, seed)
    arm = 1 if draw < _HOLDS[state[_VERDICT]] else 0
    return arm | 2 if draw < TESTS or draw >= DRAWS - TESTS else arm


@njit
def trial_count(
    state: NDArray[np.int64],
    parameters: NDArray[np.int64],
    t: int,
    arm: int,
    delay: int,
    rate: int,
) -> None:
    """Count a decision on a sample for which there was advice.

    Parameters
    ----------
    state, parameters, t
        As `trial_arm` has them.
    arm : int
        What it says.
    delay : int
        The sample's RTT above the base RTT, ticks.
    rate : int
        That was decided, RATE's format.
    """
    second = t >> (ROUND_LEAST - 1 + parameters[_ROUND]) & 1
    if not arm & 2 or not second:
        return
    at = _HOLD if arm & 1 else _FOLLOW
    state[at] += 1
    state[at + 1] += delay
    state[at + 2] += rate >> TRIAL_RATE_DROP
    if state[at] == FULL:
        state[_FOLLOW:] >>= 1
