"""Samples and events at once: the golden NIC's decisions in the order of the RTL's."""

import numpy as np

from precog_models.jit import njit
from precog_models.nic import DROPPED, LOGGED, decide, happen
from precog_spec.contract import DECISION_FIELDS, Flag

from .stimulus import Ints

__all__ = ["replayed"]

_FLAGS = [name for name, _ in DECISION_FIELDS].index("flags")
_EVENT = int(Flag.EVENT)
_TIMED = 1 << Flag.LATE | 1 << Flag.HELD


@njit
def _replay(
    block: Ints, samples: Ints, events: Ints, rows: Ints, want: Ints
) -> tuple[bool, int, int]:
    """Fill `want`; whether the numbers are right, and how many samples and events were dropped."""
    sample = event = dropped = ignored = 0
    answer = np.zeros(rows.shape[1], dtype=np.int64)
    for n in range(len(rows)):
        made = False
        block[LOGGED] = rows[n, _FLAGS] & _TIMED
        if rows[n, _FLAGS] >> _EVENT & 1:
            while event < len(events) and not made:
                made = happen(block, events[event], answer) != DROPPED
                ignored += not made
                event += 1
        else:
            while sample < len(samples) and not made:
                made = decide(block, samples[sample], answer) != DROPPED
                dropped += not made
                sample += 1
        if not made:
            block[LOGGED] = 0
            return False, dropped, ignored
        want[n] = answer
    block[LOGGED] = 0
    for n in range(event, len(events)):
        if happen(block, events[n], answer) != DROPPED:
            return False, dropped, ignored
    for n in range(sample, len(samples)):
        if decide(block, samples[n], answer) != DROPPED:
            return False, dropped, ignored
    return True, dropped + len(samples) - sample, ignored + len(events) - event


def replayed(block: Ints, samples: Ints, events: Ints, rows: Ints) -> tuple[Ints, int, int] | None:
    """Decisions of the golden NIC.

    When the RTL takes a sample and when an event of one queue pair is its own affair: it shows in
    the order of the decisions, which the golden NIC therefore follows. Samples among each other
    keep their order, and so do events.

    Parameters
    ----------
    block : ndarray of int64
        `GoldenNic.block`. Changed in place.
    samples : ndarray of int64, shape (n, 3)
    events : ndarray of int64, shape (m, 4)
    rows : ndarray of int64, shape (k, 8)
        The RTL's decisions; only the flags are read that tell an event's, and what was late or
        held.

    Returns
    -------
    decisions : ndarray of int64, shape (k, 8)
    dropped, ignored : int
        Samples and events without a decision.

    None if the number of decisions is wrong.
    """
    want = np.zeros_like(rows)
    right, dropped, ignored = _replay(block, samples, events, rows, want)
    return (want, int(dropped), int(ignored)) if right else None
