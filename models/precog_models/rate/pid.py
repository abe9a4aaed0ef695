"""PIDNN's control law with constant gains, thesis (14)-(18) and (20), in integers.

    e     = in / target - 1                                 ERR; limited to +-32
    mean  = mean + (e - mean) / n,  n = 1, 2, ..., 256, 256, ...
    delta = Kp e + Ki mean + Kd (e - e_before)              one rounding, then the clamp (20)

The thesis' integral term is a long-run average. Here n stops at 256, so that the average forgets
with a time constant of 256 samples instead of freezing; for the first 256 samples it is the plain
average. It is kept with 8 more fraction bits than e, which the product with Ki drops. Before the
first sample e_before = e, so the first derivative is 0.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import (
    INVERSE_FRAC_BITS,
    MEAN_GUARD_BITS,
    MEAN_SAMPLES,
    Fmt,
    inverse_table,
)

from ..fixed import saturate, shift_half_up
from ..jit import njit
from ..measure.reciprocal import quotient, reciprocal

__all__ = ["PID_STATE", "pid_delta", "pid_error"]

#: A queue pair's row of state. `count` is min(samples, 256).
PID_STATE = ("count", "mean", "error")

_ERR_BITS = Fmt.ERR.width
_ERR_ONE = Fmt.ERR.one
_ERR_MAX = Fmt.ERR.max
_NEAR_MAX = Fmt.ERR.frac_bits - 2
_DELTA_DROP = Fmt.GAIN.frac_bits + Fmt.ERR.frac_bits - Fmt.DELTA.frac_bits


_INVERSE = np.array(inverse_table(), dtype=np.int64)


@njit
def pid_error(value: int, target: int) -> int:
    """e(t) of (14) in ERR's format; from 32 - 2**-10 on it is ERR's greatest number.

    Within 0.51 + (1 + e) * 2**-4.2 LSB of the exact quotient, limited to that.

    Parameters
    ----------
    value : int
        The RTT, measured or predicted, in SRTT's format.
    target : int
        In SRTT's format. 0 gives ERR's greatest number.
    """
    if value >= 33 * target - (target >> _NEAR_MAX):
        return _ERR_MAX
    n, y = reciprocal(target)
    return int(quotient(value, n, y) - _ERR_ONE)


@njit
def pid_delta(state: NDArray[np.int64], error: int, kp: int, ki: int, kd: int) -> int:
    """The rate step before the clamp (20).

    Parameters
    ----------
    state : ndarray of int64, shape (3,)
        `PID_STATE` of the queue pair; zeros after a reset. Changed in place.
    error : int
        e(t) in ERR's format.
    kp, ki, kd : int
        Gains in GAIN's format.

    Returns
    -------
    int
        delta with DELTA's fraction bits (27 bits), rounded once.
    """
    step = 0 if state[0] == 0 else saturate(error - state[2], _ERR_BITS)
    state[0] = min(state[0] + 1, MEAN_SAMPLES)
    gap = (error << MEAN_GUARD_BITS) - state[1]
    state[1] += shift_half_up(gap * _INVERSE[state[0] - 1], INVERSE_FRAC_BITS)
    state[2] = error
    total = kp * error + ki * (state[1] >> MEAN_GUARD_BITS) + kd * step
    return int(shift_half_up(total, _DELTA_DROP))
