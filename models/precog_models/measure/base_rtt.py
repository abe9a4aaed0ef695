"""Base RTT: the smallest RTT of the last one to two windows of time.

Time is cut into epochs of one window. The minimum of the running epoch and that of the one before
are kept, and the base is the smaller: a route change is forgotten after at most two windows, and
two numbers suffice. Epochs start with a sample; time comes from the samples' stamps alone.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import BASE_EARLY_BITS, BASE_NONE, Fmt

from ..jit import njit

__all__ = ["BASE_STATE", "base_step"]

#: A queue pair's row of state. `start` is the running epoch's, in ticks (wraps).
BASE_STATE = ("valid", "current", "previous", "start")

_TIME_MASK = Fmt.TIME.max
_EARLY = (1 << Fmt.TIME.width) - (1 << BASE_EARLY_BITS)


@njit
def base_step(state: NDArray[np.int64], rtt: int, t: int, window: int) -> int:
    """Take a sample.

    Parameters
    ----------
    state : ndarray of int64, shape (4,)
        `BASE_STATE` of the queue pair; zeros after a reset. Changed in place.
    rtt : int
        The sample, ticks.
    t : int
        Its time, ticks in 40 bits. A stamp that is up to 2**32 ticks before the epoch's
        start (reordered samples) leaves the epoch as it is; farther ahead it is after a pause.
    window : int
        Length of an epoch in ticks, 32 bits; 0: one epoch without end.

    Returns
    -------
    int
        The base RTT in ticks, this sample included.
    """
    elapsed = (t - state[3]) & _TIME_MASK
    if elapsed >= _EARLY or window == 0:
        elapsed = 0
    if state[0] == 0 or elapsed >= 2 * window > 0:
        state[1] = rtt
        state[2] = BASE_NONE
        state[3] = t
    elif elapsed >= window > 0:
        state[2] = state[1]
        state[1] = rtt
        state[3] = (state[3] + window) & _TIME_MASK
    else:
        state[1] = min(state[1], rtt)
    state[0] = 1
    return int(min(state[1], state[2]))
