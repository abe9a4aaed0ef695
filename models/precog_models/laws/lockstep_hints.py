"""Lockstep that heeds its receiver: at a rise of N, the flows that share the receiver's link, it
cuts its window at once.

    N rises to 2**senders or less:  W = min(W, 2 part BDP / 2**senders)

`lockstep` decides on acknowledgements; its own delay shows a new queue a round trip later. Levels
below `heeded` are left to it. A receiver cannot raise a window. What it can take is down to
`2 part BDP / 2**deepest`, from those who send to it; lockstep's ramp brings that back on an idle
link.
"""

from .language import FACTOR, Parameter, Q, Record, clamp, scale
from .library import bytes_over, rate_over
from .lockstep import PARAMETERS as _LOCKSTEP_PARAMETERS
from .lockstep import STATE, WINDOWED, on_ack

__all__ = ["PARAMETERS", "STATE", "WINDOWED", "on_ack"]

_LEVEL = Q(4, 0, signed=False)
_T_MIN = 16
_T_MAX = (1 << 24) - 1

PARAMETERS = (
    *_LOCKSTEP_PARAMETERS,
    Parameter("part", FACTOR, "", 0.75, "half of the window at a rise, in fair shares"),
    Parameter("heeded", _LEVEL, "", 2, "least binary logarithm of N that is heeded"),
    Parameter("deepest", _LEVEL, "", 6, "greatest one; more counts as this"),
)


def on_score(p: Record, s: Record, e: Record) -> tuple[int, int]:
    """The receiver says that more flows share its link."""
    if e.held > 0 or e.senders < p.heeded or s.w == 0:
        return e.rate, e.window
    t = clamp(e.base, _T_MIN, _T_MAX)
    share = scale(bytes_over(e.max_rate, t) << 1, p.part) >> min(e.senders, p.deepest)
    share = max(share, max(bytes_over(e.min_rate, t), 1))
    if share >= s.w:
        return e.rate, e.window
    s.w = share
    return min(e.rate, rate_over(share, t)), min(e.window, max(share >> 8, 1))
