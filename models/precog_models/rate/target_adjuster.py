"""The RTT target of a queue pair, and its adjuster RTTch (thesis 3.5.4, (27)-(28)).

The nominal target is a fixed number or the base RTT plus a queue budget. RTTch moves it when the
RTT stays on one side for long, in the form that the resolutions ask for:

    side  = +1 if RTT > target else -1
    count = count + side, or 0 after a crossing
    mean  = mean + (RTT - target - mean) / 8                from 0 on
    at |count| > threshold: target += mean, count = 0

The counter is signed (the thesis' can only ever raise the target), the mean decays, and the target
stays within [base + margin, 3 * base]. What is stored is the distance from the nominal target,
hence a new base RTT moves the target at once.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt

from ..fixed import clamp, shift_half_up
from ..jit import njit

__all__ = ["MEAN_SHIFT", "TARGET_STATE", "nominal_target", "target_step"]

#: A queue pair's row of state: distance from the nominal target, mean deviation, signed count.
TARGET_STATE = ("offset", "mean", "count")

MEAN_SHIFT = 3

_FRAC = Fmt.SRTT.frac_bits
_MAX = Fmt.SRTT.max
_COUNT_MAX = 255


@njit
def nominal_target(from_base: bool, fixed: int, base: int, budget: int) -> int:
    """Target before any adjustment, SRTT's format.

    Parameters
    ----------
    from_base : bool
        True: `base` (ticks) plus `budget` (SRTT's format). False: `fixed`.
    fixed, base, budget : int
        See above.
    """
    if from_base:
        return int(min((base << _FRAC) + budget, _MAX))
    return fixed


@njit
def target_step(
    state: NDArray[np.int64],
    rtt: int,
    base: int,
    nominal: int,
    adjust: bool,
    threshold: int,
    margin: int,
) -> tuple[int, bool]:
    """Take a sample.

    Parameters
    ----------
    state : ndarray of int64, shape (3,)
        `TARGET_STATE` of the queue pair; zeros after a reset. Changed in place.
    rtt, base : int
        The sample and the base RTT, ticks.
    nominal : int
        From `nominal_target`.
    adjust : bool
        RTTch is on. While it is off the state is held at zero and the target is `nominal`.
    threshold : int
        Samples on one side that do not yet fire, 0..255; 255 never fires.
    margin : int
        Least distance of the target from `base`, SRTT's format.

    Returns
    -------
    target : int
        Target of this sample's decision, SRTT's format; a move counts from the next one on.
    fired : bool
        The adjuster fired.
    """
    if not adjust:
        state[:] = 0
        return nominal, False
    low = min((base << _FRAC) + margin, _MAX)
    high = min(3 * base << _FRAC, _MAX)
    target = clamp(nominal + state[0], low, high)
    gap = (rtt << _FRAC) - target
    side = 1 if gap > 0 else -1
    state[2] = clamp(state[2] + side, -_COUNT_MAX, _COUNT_MAX) if state[2] * side >= 0 else 0
    state[1] += shift_half_up(gap - state[1], MEAN_SHIFT)
    fired = abs(state[2]) > threshold
    if fired:
        state[0] = clamp(target + state[1], low, high) - nominal
        state[2] = 0
    return int(target), fired
