"""The golden receiver as a C function over one block of int64, for compiled callers."""

from collections.abc import Mapping

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from precog_spec.law_fields import NO_SCORE
from precog_spec.receiver_fields import (
    RECEIVER_CONFIG,
    RECEIVER_EVENT,
    RECEIVER_PARAMETERS,
    RECEIVER_RESULT,
    RECEIVER_STATE,
    ReceiverKind,
)

from ..jit import cfunc
from .receiver import receive

__all__ = ["ReceiverBlock"]

Ints = NDArray[np.int64]

_QPS = 0
_PARAMETERS = 1
_USED = _PARAMETERS + len(RECEIVER_PARAMETERS)
_ROWS = _USED + 1
_ROW = len(RECEIVER_CONFIG) + len(RECEIVER_STATE)
_QP = [name for name, _ in RECEIVER_EVENT].index("qp")
_EVENT, _RESULT, _CONFIG = len(RECEIVER_EVENT), len(RECEIVER_RESULT), len(RECEIVER_CONFIG)
_POINTER = types.CPointer(types.int64)


@cfunc(types.int64(_POINTER, _POINTER, _POINTER))
def _receive_c(handle, event, result):  # type: ignore[no-untyped-def]
    size = _ROWS + carray(handle, (1,))[_QPS] * _ROW
    block = carray(handle, (size,))
    what = carray(event, (_EVENT,))
    if not 0 <= what[_QP] < block[_QPS]:
        return -1
    at = _ROWS + what[_QP] * _ROW
    receive(
        block[at + _CONFIG : at + _ROW],
        block[_USED:_ROWS],
        block[at : at + _CONFIG],
        block[_PARAMETERS:_USED],
        what,
        carray(result, (_RESULT,)),
    )
    return 0


class ReceiverBlock:
    """All queue pairs of a receiver, all configured alike.

    Parameters
    ----------
    qps : int
    parameters, config : mapping of str to int
        `RECEIVER_PARAMETERS`, and every queue pair's `RECEIVER_CONFIG`, which takes effect at 0.
    """

    #: ``int64 receive(void* block, int64* event, int64* result)``: `RECEIVER_EVENT` in,
    #: `RECEIVER_RESULT` out; -1: no such queue pair.
    ADDRESS = int(_receive_c.address)

    def __init__(self, qps: int, parameters: Mapping[str, int], config: Mapping[str, int]) -> None:
        self.block: Ints = np.zeros(_ROWS + qps * _ROW, dtype=np.int64)
        self.block[_QPS] = qps
        self.block[_PARAMETERS:_USED] = [parameters[name] for name, _ in RECEIVER_PARAMETERS]
        rows = self.block[_ROWS:].reshape(qps, _ROW)
        rows[:, :_CONFIG] = [config[name] for name, _ in RECEIVER_CONFIG]
        result = np.zeros(_RESULT, dtype=np.int64)
        for qp in range(qps):
            event = np.array([ReceiverKind.CONFIGURE, qp, 0, NO_SCORE, 0], dtype=np.int64)
            receive(
                rows[qp, _CONFIG:],
                self.block[_USED:_ROWS],
                rows[qp, :_CONFIG],
                self.block[_PARAMETERS:_USED],
                event,
                result,
            )

    @property
    def handle(self) -> int:
        """Address of the block; valid as long as this object lives."""
        return int(self.block.ctypes.data)
