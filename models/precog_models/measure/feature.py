"""Features of a queue pair: the smoothed RTT S (2) and its relative deviation K (3).

S_0 = R_0, S_t = sigma * R_t + (1 - sigma) * S_{t-1}, rounded to nearest (ties up) to SRTT's format;
K_t = (R_t - S_t) / S_t in X's format through `reciprocal.quotient`. K takes the rounded S_t, so it
is the feature of exactly the state that is kept. S = 0 counts as 1 LSB in the division. From
8 - 2**-12 on K is X's greatest number; a comparison in parallel with the division finds that out. K
lies within 1 LSB of the exact quotient, limited to that.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt

from ..jit import njit
from .reciprocal import quotient, reciprocal

__all__ = ["FEATURE_STATE", "feature_step", "feature_stream"]

#: A queue pair's row of state.
FEATURE_STATE = ("valid", "srtt")

_SIGMA_ONE = 1 << Fmt.SIGMA.frac_bits
_SIGMA_HALF = _SIGMA_ONE >> 1
_FRAC = Fmt.SRTT.frac_bits
_SIGMA_BITS = Fmt.SIGMA.frac_bits
_X_MAX = Fmt.X.max
_X_RANGE = Fmt.X.int_bits
_X_FRAC = Fmt.X.frac_bits


@njit
def feature_step(state: NDArray[np.int64], rtt: int, sigma: int) -> int:
    """Take a sample.

    Parameters
    ----------
    state : ndarray of int64, shape (2,)
        `FEATURE_STATE` of the queue pair; zeros after a reset. Changed in place.
    rtt : int
        The sample, ticks.
    sigma : int
        Weight of the sample, SIGMA's format.

    Returns
    -------
    int
        K_t in X's format; S_t is ``state[1]``.
    """
    fine = rtt << _FRAC
    if state[0] == 0:
        srtt = fine
    else:
        srtt = ((_SIGMA_ONE - sigma) * state[1] + sigma * fine + _SIGMA_HALF) >> _SIGMA_BITS
    state[0] = 1
    state[1] = srtt
    gap = fine - srtt
    if gap > 0 and gap >= (srtt << _X_RANGE) - (srtt >> _X_FRAC):
        return _X_MAX
    n, y = reciprocal(srtt)
    return int(quotient(gap, n, y))


@njit
def _run(rtt: NDArray[np.int64], sigma: int, srtt: NDArray[np.int64], k: NDArray[np.int64]) -> None:
    state = np.zeros(2, dtype=np.int64)
    for t in range(len(rtt)):
        k[t] = feature_step(state, rtt[t], sigma)
        srtt[t] = state[1]


def feature_stream(
    rtt: NDArray[np.int64], sigma: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """S and K after each sample of one queue pair.

    Parameters
    ----------
    rtt : ndarray of int64
        Samples in order, ticks.
    sigma : int
        Weight of a new sample, SIGMA's format.

    Returns
    -------
    srtt, k : ndarray of int64
        In SRTT's and X's formats.
    """
    srtt = np.zeros(len(rtt), dtype=np.int64)
    k = np.zeros(len(rtt), dtype=np.int64)
    _run(rtt, sigma, srtt, k)
    return srtt, k
