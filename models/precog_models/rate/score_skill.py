"""The skill monitor of scores: does a score say more than what is known without it?

The score that holds when a sample comes claims that the next one's queueing delay is at least
`psched_delay`, with so many percent. The next one shows whether it was: the outcome is 0 or 100.
The sum of the claims' squared errors (Brier's), but for one whole miss, must be at most three
quarters of climatology's, who always says how often there has been congestion: n p (100 - p), p the
mean of the n outcomes.
A queue pair's scores are not followed before `JUDGED_MIN` of them have been judged. From 64 on the
sums are 64 times running means. A source without skill is not followed, and the law decides alone.

         score ─► claim ─┐
    sample ─► outcome ───┴─► sum (claim - outcome)^2 - 100^2 <= 3/4 n p (100 - p) ?
"""

import numpy as np
from numpy.typing import NDArray

from ..contract import SKILL_SHIFT
from ..jit import njit
from .law_fields import JUDGED_MIN, SCORE_MAX

__all__ = ["SCORE_SKILL_STATE", "score_skilled", "score_step"]

#: How many claims have been judged, 64 at most; the claim, whether there is one; of the claims the
#: sum of squared errors, and of the outcomes, 0 or 100, the sum: 64 times the means later on.
SCORE_SKILL_STATE = ("judged", "claim", "claimed", "error", "often")

_LAST = 1 << SKILL_SHIFT
_SLACK = SCORE_MAX * SCORE_MAX
_JUDGED, _CLAIM, _CLAIMED, _ERROR, _OFTEN = range(len(SCORE_SKILL_STATE))


@njit
def score_step(state: NDArray[np.int64], congested: bool, scored: bool, score: int) -> None:
    """Judge the last claim by a sample, and take the score that holds now as the next.

    Parameters
    ----------
    state : ndarray of int64, shape (5,)
        `SCORE_SKILL_STATE`; zeros after a reset. Changed in place.
    congested : bool
        The sample's queueing delay is at least `psched_delay`.
    scored : bool
        There is a score.
    score : int
        0 to 100.
    """
    outcome = SCORE_MAX if congested else 0
    if state[_CLAIMED]:
        missed = outcome - state[_CLAIM]
        if state[_JUDGED] == _LAST:
            state[_ERROR] -= state[_ERROR] >> SKILL_SHIFT
            state[_OFTEN] -= state[_OFTEN] >> SKILL_SHIFT
        else:
            state[_JUDGED] += 1
        state[_ERROR] += missed * missed
        state[_OFTEN] += outcome
    state[_CLAIMED] = scored
    state[_CLAIM] = score if scored else 0


@njit
def score_skilled(state: NDArray[np.int64]) -> bool:
    """Whether scores are to be followed."""
    judged, often = state[_JUDGED], state[_OFTEN]
    excess = max(state[_ERROR] - _SLACK, 0) >> 3
    spread = often * (SCORE_MAX * judged - often)
    return bool(judged >= JUDGED_MIN and (excess * judged) << 5 <= 3 * spread)
