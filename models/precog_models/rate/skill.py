"""The skill monitor: is the predictor clearly better than persistence on this queue pair?

The prediction made with a sample is of the next sample's RTT; persistence says that RTT will be
this sample's. Both errors go into running sums over 64 samples. Advice is followed while the
prediction's sum and one RTT together are at most three quarters of persistence's:

    sum |RTT - prediction| + RTT <= 3/4 sum |RTT - last RTT|

So a predictor must first have saved an RTT of error. One that is false never has: what it costs is
bounded by what it was right about before. The predictor goes on predicting, so that it can win its
way back.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import SKILL_PART_SHIFT, SKILL_SHIFT, Fmt

from ..jit import njit

__all__ = ["SKILL_STATE", "skill_step"]

#: What is kept: whether the last sample came with a prediction, that prediction (SRTT), the last
#: RTT, and 2**SKILL_SHIFT times the mean error of prediction and persistence (SRTT).
SKILL_STATE = ("skill_valid", "skill_pred", "skill_rtt", "skill_error", "skill_persistence")

_VALID, _PRED, _RTT, _ERROR, _PERSISTENCE = range(len(SKILL_STATE))
_FRAC = Fmt.SRTT.frac_bits


@njit
def skill_step(state: NDArray[np.int64], rtt: int, pred_valid: bool, rtt_pred: int) -> bool:
    """Judge the last prediction by this sample, and keep this one; whether to follow the advice.

    Parameters
    ----------
    state : ndarray of int64, shape (5,)
        `SKILL_STATE`; zeros after a reset. Changed in place.
    rtt : int
        The sample, ticks.
    pred_valid : bool
        There is a prediction.
    rtt_pred : int
        The prediction, SRTT's format.
    """
    if state[_VALID]:
        error = abs((rtt << _FRAC) - state[_PRED])
        persistence = abs(rtt - state[_RTT]) << _FRAC
        state[_ERROR] += error - (state[_ERROR] >> SKILL_SHIFT)
        state[_PERSISTENCE] += persistence - (state[_PERSISTENCE] >> SKILL_SHIFT)
    state[_VALID] = pred_valid
    state[_PRED] = rtt_pred if pred_valid else 0
    state[_RTT] = rtt
    most = state[_PERSISTENCE] - (state[_PERSISTENCE] >> SKILL_PART_SHIFT)
    return bool(state[_ERROR] + (rtt << _FRAC) <= most)
