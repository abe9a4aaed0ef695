"""C functions of the golden NIC, for callers that have its block's address."""

from numba import carray, types

from ..jit import cfunc
from .events import acknowledge, happen
from .laws import ACK_SIZE
from .layout import BLOCK_SIZE, HEAD_WORDS
from .samples import decide

__all__ = ["acknowledge_c", "decide_c", "happen_c"]

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
