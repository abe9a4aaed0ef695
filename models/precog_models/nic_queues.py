"""The golden profiler before the golden core: what send queues do in, forecasts out.

    event of a queue ─► `measure.profiler` row
    visit ─► is a sample due? ─► normalise ─► `nic.forecast` ─► forecast, by queue pair

Both as C functions over the block of a `GoldenNic` with a profiler, of the types of the Verilated
RTL's. Samples are taken by time only: those of every n-th event are not known here.
"""

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from precog_spec.contract import FORECAST_FIELDS, PROFILE_INPUTS, QUEUE_EVENT_FIELDS

from .jit import cfunc, njit
from .measure.profiler import Profiler, normalise_one, queue_step, queue_visit
from .nic import DROPPED, GoldenNic, forecast, queues_of

__all__ = ["QUEUE_ADDRESS", "VISIT_ADDRESS", "follow", "observe", "visit"]

Ints = NDArray[np.int64]

_INPUTS = len(PROFILE_INPUTS)
_CENTERS, _GAINS = 1, 1 + _INPUTS  # behind the period
_ANSWER = len(FORECAST_FIELDS)
_EVENT = len(QUEUE_EVENT_FIELDS)


@njit
def observe(block: Ints, event: Ints) -> int:
    """Something happened to a send queue.

    Parameters
    ----------
    block : ndarray of int64
        Of a `GoldenNic` with a profiler. Changed in place.
    event : ndarray of int64, shape (4,)
        `contract.QUEUE_EVENT_FIELDS`.

    Returns
    -------
    int
        0, or `DROPPED`: there is no such queue pair.
    """
    _, rows = queues_of(block)
    if not 0 <= event[0] < len(rows):
        return DROPPED
    queue_step(rows[event[0]], event[1], event[2], event[3], 0)
    return 0


@njit
def visit(block: Ints, t: int, profile: Ints, answers: Ints) -> int:
    """Every queue pair has its turn at `t` ticks.

    Parameters
    ----------
    block : ndarray of int64
        As `observe`. Changed in place.
    t : int
    profile : ndarray of int64, shape (6,)
        Scratch.
    answers : ndarray of int64, shape (qps, 20)
        Rows of queue pairs that have a new forecast, `contract.FORECAST_FIELDS`, are written: its
        time is `t`. The others stay.

    Returns
    -------
    int
        How many are new.
    """
    numbers, rows = queues_of(block)
    made = 0
    for qp in range(len(rows)):
        if not queue_visit(rows[qp], t, numbers[0]):
            continue
        profile[0], profile[1] = qp, t
        for n in range(_INPUTS):
            profile[2 + n] = normalise_one(rows[qp, n], numbers[_CENTERS + n], numbers[_GAINS + n])
        if forecast(block, profile, answers[qp]) != DROPPED:
            made += 1
    return made


_POINTER = types.CPointer(types.int64)


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _observe_c(handle, event, _):  # type: ignore[no-untyped-def]
    return observe(carray(handle, (carray(handle, (3,))[2],)), carray(event, (_EVENT,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _visit_c(handle, when, answers):  # type: ignore[no-untyped-def]
    head = carray(handle, (3,))
    block = carray(handle, (head[2],))
    profile = np.zeros(2 + _INPUTS, np.int64)
    return visit(block, carray(when, (1,))[0], profile, carray(answers, (head[0], _ANSWER)))


#: ``int64 observe(void* block, int64* event, void*)``, and ``int64 visit(void* block, int64* t,
#: int64* answers)``; the block is `GoldenNic.handle`'s.
QUEUE_ADDRESS = int(_observe_c.address)
VISIT_ADDRESS = int(_visit_c.address)


def follow(nic: GoldenNic, profiler: Profiler) -> None:
    """Let a block have a profiler's parameters and rows; from now on the rows are the block's.

    Raises
    ------
    ValueError
        The profiler takes samples by events, too.
    """
    if profiler.every:
        raise ValueError(f"profiler samples must be taken by time only, not every {profiler.every}")
    numbers, rows = queues_of(nic.block)
    numbers[:] = [profiler.period, *profiler.centers, *profiler.gains]
    rows[:] = profiler.rows
    profiler.rows = rows
