"""What send queues do, told to a Verilated NIC that watches them and has no packets."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import FORECAST_FIELDS, Fmt, QueueEvent

from .library import NicLibrary, RtlError

__all__ = ["RtlQueues"]

_P64 = ctypes.POINTER(ctypes.c_int64)


class RtlQueues:
    """A NIC's queue profiler, told as `EmulatedProfiler` is.

    Parameters
    ----------
    nic : NicLibrary
        Built with ``profile=1`` and ``forecast=1``, without packets and grants.
    qps : int

    Attributes
    ----------
    order : list of int
        Queue pairs of the forecasts of the last turns, in their order: the profiler begins
        anywhere.
    """

    def __init__(self, nic: NicLibrary, qps: int) -> None:
        self._nic = nic
        self.order: list[int] = []
        self._forecasts = np.zeros((qps, len(FORECAST_FIELDS)), dtype=np.int64)
        for function in (nic.functions.precog_observe, nic.functions.precog_visit):
            function.restype = ctypes.c_int64
            function.argtypes = [ctypes.c_void_p, _P64, _P64]
        self._forecast_order = nic.functions.precog_forecast_order
        self._forecast_order.restype = _P64
        self._forecast_order.argtypes = [ctypes.c_void_p]

    def observe(self, qp: int, kind: QueueEvent, size: int, t: int) -> None:
        """Something happened to a queue pair's send queue, at `t` ticks."""
        event = np.array([qp, kind, size, t & Fmt.TIME.max], dtype=np.int64)
        self._check(self._nic.functions.precog_observe(self._nic.handle, _pointer(event), None))

    def pass_time(self, t: int) -> None:
        """It is `t` ticks: each queue pair has its turn, and what is due is forecast."""
        now = np.array([t & Fmt.TIME.max], dtype=np.int64)
        visit = self._nic.functions.precog_visit
        made = self._check(visit(self._nic.handle, _pointer(now), _pointer(self._forecasts)))
        self.order = self._forecast_order(self._nic.handle)[:made]

    @staticmethod
    def _check(result: int) -> int:
        if result < 0:
            raise RtlError(f"RTL: the queue profiler answered {result}")
        return result


def _pointer(array: NDArray[np.int64]) -> object:
    return array.ctypes.data_as(_P64)
