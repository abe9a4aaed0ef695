"""The skill monitor of scores: does a score say more than what is known without it?

A score is a claim, in percent: the probability that the queueing delay of the sample after the next
is at least `psched_delay`. One that still holds when a sample arrives is a claim about the next
sample. The outcome is 0 or 100. All scores between two samples may have been followed, so all of
them are judged as one: by the one that is furthest from the outcome. A right one in time hides no
wrong one.

The sum of the claims' squared errors (Brier's), but for one whole miss, must be at most three
quarters of climatology's, which always says how often there has been congestion: n p (100 - p), p
the mean of the n outcomes.

A queue pair's scores are not followed before `JUDGED_MIN` claims have been judged. From 64 on the
sums are 64 times running means. A source without skill is not followed, and the law decides alone.

    scores ─► least, most ─► claim ─┐
             sample ─► outcome ─────┴─► sum (claim - outcome)^2 - 100^2 <= 3/4 n p (100 - p) ?
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import SKILL_SHIFT
from precog_spec.law_fields import JUDGED_MIN, SCORE_MAX

from ..jit import njit

__all__ = ["SCORE_SKILL_STATE", "score_heard", "score_skilled", "score_step"]

#: How many claims have been judged, 64 at most; the least and the greatest score since the last
#: sample, whether there was one; the same of the claim that the next sample judges; of the claims
#: the sum of squared errors, and of the outcomes, 0 or 100, the sum: 64 times the means later on.
SCORE_SKILL_STATE = (
    "judged",
    "least",
    "most",
    "heard",
    "claim_least",
    "claim_most",
    "claimed",
    "error",
    "often",
)

_LAST = 1 << SKILL_SHIFT
_SLACK = SCORE_MAX * SCORE_MAX
(
    _JUDGED,
    _LEAST,
    _MOST,
    _HEARD,
    _CLAIM_LEAST,
    _CLAIM_MOST,
    _CLAIMED,
    _ERROR,
    _OFTEN,
) = range(len(SCORE_SKILL_STATE))


@njit
def score_heard(state: NDArray[np.int64], score: int) -> None:
    """Take a score, 0 to 100, that has come since the last sample.

    Parameters
    ----------
    state : ndarray of int64, shape (9,)
        `SCORE_SKILL_STATE`; zeros after a reset. Changed in place.
    score : int
    """
    first = state[_HEARD] == 0
    if first or score < state[_LEAST]:
        state[_LEAST] = score
    if first or score > state[_MOST]:
        state[_MOST] = score
    state[_HEARD] = 1


@njit
def score_step(state: NDArray[np.int64], congested: bool, scored: bool, score: int) -> None:
    """Judge the last claim by a sample, and take the scores since the last sample as the next.

    Parameters
    ----------
    state : ndarray of int64, shape (9,)
        `SCORE_SKILL_STATE`; zeros after a reset. Changed in place.
    congested : bool
        The sample's queueing delay is at least `psched_delay`.
    scored : bool
        A score still holds: the claim, where none has come since the last sample.
    score : int
        0 to 100.
    """
    outcome = SCORE_MAX if congested else 0
    if state[_CLAIMED]:
        missed = outcome - state[_CLAIM_LEAST] if congested else state[_CLAIM_MOST]
        if state[_JUDGED] == _LAST:
            state[_ERROR] -= state[_ERROR] >> SKILL_SHIFT
            state[_OFTEN] -= state[_OFTEN] >> SKILL_SHIFT
        else:
            state[_JUDGED] += 1
        state[_ERROR] += missed * missed
        state[_OFTEN] += outcome
    if not state[_HEARD]:
        state[_LEAST] = state[_MOST] = score if scored else 0
    state[_CLAIM_LEAST], state[_CLAIM_MOST] = state[_LEAST], state[_MOST]
    state[_CLAIMED] = state[_HEARD] or scored
    state[_LEAST] = state[_MOST] = state[_HEARD] = 0


@njit
def score_skilled(state: NDArray[np.int64]) -> bool:
    """Whether scores are to be followed."""
    judged, often = state[_JUDGED], state[_OFTEN]
    excess = max(state[_ERROR] - _SLACK, 0) >> 3
    spread = often * (SCORE_MAX * judged - often)
    return bool(judged >= JUDGED_MIN and (excess * judged) << 5 <= 3 * spread)
