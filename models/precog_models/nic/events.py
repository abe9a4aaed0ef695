"""Decisions of the golden NIC on events and acknowledgements."""

import numpy as np

from precog_spec.engine.events import Kind
from precog_spec.law_fields import (
    PSCHED_EVENTS,
    SCORE_BITS,
    SENDERS_AT,
    SENDERS_BITS,
    EventKind,
)

from ..jit import njit
from ..rate.psched import psched_score
from .laws import (
    EVENT_WORDS,
    W_NEXT,
    W_NOW,
    W_SCORE,
    W_SENDERS,
    is_programmed,
    run_program,
    schedule,
)
from .layout import (
    DROPPED,
    OF_EVENT,
    Q_ENABLE,
    Q_PROFILES,
    Q_PSCHED,
    Q_PSCHED_ON,
    QP_SIZE,
    QP_TABLE,
    QPS,
    Ints,
)

__all__ = ["SAMPLE_KIND", "acknowledge", "happen"]

_PSCHED_EVENTS = tuple(int(kind) for kind in PSCHED_EVENTS)
_SCORE_EVENT = int(EventKind.SCORE)
_HEARD_OF: dict[int, int] = {
    EventKind.CNP: Kind.CNP,
    EventKind.LOSS: Kind.LOSS,
    EventKind.SWEEP: Kind.TIMER,
    EventKind.SCORE: Kind.SCORE,
}
_HEARD = tuple(int(_HEARD_OF.get(kind, -1)) for kind in range(max(EventKind) + 1))
_ACK_KIND, SAMPLE_KIND = int(Kind.ACK), int(Kind.SAMPLE)
_SCORE_MASK = (1 << SCORE_BITS) - 1
_SENDERS_AT, _SENDERS_MASK = SENDERS_AT, (1 << SENDERS_BITS) - 1


@njit
def happen(block: Ints, event: Ints, decision: Ints) -> int:
    """Take an event that is no sample, and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    event : ndarray of int64, shape (4,)
        `law_fields.LAW_EVENT_FIELDS`.
    decision : ndarray of int64, shape (8,)
        Receives `contract.DECISION_FIELDS`: rate, window, `Flag.EVENT`, PSCHED's flags.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, or neither its program nor
        PSCHED takes such events (`PROGRAM_EVENTS`, `PSCHED_EVENTS`); nothing has changed.
    """
    kind, qp, t, value = event[0], event[1], event[2], event[3]
    if not 0 <= qp < block[QPS]:
        return DROPPED
    at = QP_TABLE + qp * QP_SIZE
    q = block[at : at + QP_SIZE]
    if is_programmed(block, q):
        heard = _HEARD[kind] if 0 <= kind < len(_HEARD) else -1
        if not q[Q_ENABLE] or heard < 0:
            return DROPPED
        words = np.zeros(EVENT_WORDS, dtype=np.int64)
        words[0], words[W_NOW] = heard, t
        if kind == _SCORE_EVENT:
            words[W_SCORE] = value & _SCORE_MASK
            words[W_SENDERS] = value >> _SENDERS_AT & _SENDERS_MASK
        decision[:] = 0
        decision[0], decision[7] = qp, OF_EVENT
        run_program(block, qp, words, decision)
        if kind == _SCORE_EVENT:
            psched_score(q[Q_PSCHED:Q_PROFILES], value, t)
        schedule(block, q, t, -1, 0, False, decision)
        return 0
    if not q[Q_ENABLE] or not q[Q_PSCHED_ON] or kind not in _PSCHED_EVENTS:
        return DROPPED
    decision[:] = 0
    decision[0], decision[1], decision[7] = qp, -1, OF_EVENT
    if kind == _SCORE_EVENT:
        psched_score(q[Q_PSCHED:Q_PROFILES], value, t)
    schedule(block, q, t, -1, 0, False, decision)
    return 0


@njit
def acknowledge(block: Ints, ack: Ints, decision: Ints) -> int:
    """Tell a program of an acknowledgement, and make its decision.

    Parameters
    ----------
    block : ndarray of int64
        The NIC's block. Changed in place.
    ack : ndarray of int64, shape (7,)
        `rate.law_fields.ACK_FIELDS`.
    decision : ndarray of int64, shape (8,)
        As `happen`'s.

    Returns
    -------
    int
        0, or `DROPPED`: the slot does not exist or is not enabled, or its law is no program;
        nothing has changed.
    """
    qp = ack[0]
    if not 0 <= qp < block[QPS]:
        return DROPPED
    at = QP_TABLE + qp * QP_SIZE
    q = block[at : at + QP_SIZE]
    if not q[Q_ENABLE] or not is_programmed(block, q):
        return DROPPED
    words = np.zeros(EVENT_WORDS, dtype=np.int64)
    words[0] = _ACK_KIND
    words[W_NOW : W_NEXT + 1] = ack[1:]
    decision[:] = 0
    decision[0], decision[7] = qp, OF_EVENT
    above = run_program(block, qp, words, decision)
    schedule(block, q, ack[1], -1, 0, above, decision)
    return 0
