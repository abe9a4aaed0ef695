"""C functions of the golden NIC, for callers that have its block's address."""

from numba import carray, types

from precog_spec.contract import FORECAST_FIELDS, PROFILE_FIELDS

from ..jit import cfunc
from .events import acknowledge, happen
from .forecasts import forecast
from .laws import ACK_SIZE
from .layout import (
    BLOCK_SIZE,
    HEAD_WORDS,
)
from .samples import decide

__all__ = ["ANSWER_SIZE", "acknowledge_c", "decide_c", "forecast_c", "happen_c"]

_PROFILE_SIZE, ANSWER_SIZE = len(PROFILE_FIELDS), len(FORECAST_FIELDS)
_POINTER = types.CPointer(types.int64)


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def decide_c(handle, sample, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (HEAD_WORDS,))
    return decide(carray(handle, (head[BLOCK_SIZE],)), carray(sample, (3,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def happen_c(handle, event, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (HEAD_WORDS,))
    return happen(carray(handle, (head[BLOCK_SIZE],)), carray(event, (4,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def acknowledge_c(handle, ack, decision):  # type: ignore[no-untyped-def]
    head = carray(handle, (HEAD_WORDS,))
    block = carray(handle, (head[BLOCK_SIZE],))
    return acknowledge(block, carray(ack, (ACK_SIZE,)), carray(decision, (8,)))


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def forecast_c(handle, profile, answer):  # type: ignore[no-untyped-def]
    head = carray(handle, (HEAD_WORDS,))
    block = carray(handle, (head[BLOCK_SIZE],))
    return forecast(block, carray(profile, (_PROFILE_SIZE,)), carray(answer, (ANSWER_SIZE,)))
