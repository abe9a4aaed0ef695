"""`RtlNic`: the Verilated NIC as a Python object, and as a C function for compiled callers.

Latency of a call from numba through `address` is the RTL's own: no Python runs in between.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precog_spec.config import NicConfig

from .build import nic_library
from .fields import DECISION_NAMES, EVENT_NAMES, SAMPLE_NAMES

__all__ = ["Batch", "NicLibrary", "RtlError", "RtlNic"]

_I64 = ctypes.c_int64
_P64 = ctypes.POINTER(ctypes.c_int64)
_P32 = ctypes.POINTER(ctypes.c_int32)
_HANDLE = ctypes.c_void_p
#: Quiet cycles until a sample counts as dropped, with few lanes: a new model of eight steps and
#: inputs has 36 passes of 576 cycles.
_SLOW_SETTLE = 30_000
#: And with a law engine: its longest event.
_LAW_SETTLE = 8_000
_ERRORS = {
    -1: "no answer within the watchdog's {watchdog} cycles",
    -2: "a decision that no sample asked for",
    -3: "the slot number must be below 65536",
    -4: "an event that the queue pair's law does not take",
    -5: "it takes no events (built with laws=0)",
    -7: "it takes no acknowledgements (built without law_cores=1)",
    -6: "it watches no queues (built without profile=1 and forecast=1, or with grants)",
}


class RtlError(RuntimeError):
    """The RTL broke its contract; the message says how."""


@dataclass(frozen=True)
class Batch:
    """A volume run's result.

    Attributes
    ----------
    decisions : (n, len(DECISION_FIELDS)) int64
        One row per sample, in the samples' order; zeros for a sample that was dropped.
    latency : (n,) int32
        Cycles from a sample's transfer to its decision's transfer; -1 for a dropped sample.
    commit_order : (made,) int32
        Sample index of each decision in the order in which they came out.
    cycles : int
        Cycles that the whole batch took.
    """

    decisions: NDArray[np.int64]
    latency: NDArray[np.int32]
    commit_order: NDArray[np.int32]
    cycles: int


class NicLibrary:
    """A NIC in a shared library made by `build.nic_library` (or from any top with its ports).

    Parameters
    ----------
    path : Path
        The ``.so`` file.
    watchdog_cycles : int
        After this many cycles without an answer a call fails.

    Raises
    ------
    ValueError
        `watchdog_cycles` is not positive.
    """

    def __init__(self, path: Path, *, watchdog_cycles: int = 100_000) -> None:
        if watchdog_cycles < 1:
            raise ValueError(f"watchdog_cycles must be positive, not {watchdog_cycles!r}")
        self.path = path
        self._watchdog = watchdog_cycles
        self._lib = ctypes.CDLL(str(path))
        _declare(self._lib)
        self._handle: int | None = self._lib.precog_new()
        self._lib.precog_set_watchdog(self.handle, watchdog_cycles)

    @property
    def handle(self) -> int:
        """The instance's pointer: first argument of every C function."""
        if not self._handle:
            raise RtlError("the NIC must be open")
        return self._handle

    @property
    def functions(self) -> ctypes.CDLL:
        """The library's functions (harness.cpp), their types declared."""
        return self._lib

    @property
    def address(self) -> int:
        """Address of ``int64 decide(void* handle, const int64* sample, int64* decision)``.

        It returns the decision's latency in cycles, or a negative error.
        """
        return int(ctypes.cast(self._lib.precog_decide, ctypes.c_void_p).value or 0)

    @property
    def event_address(self) -> int:
        """Address of ``int64 event(void* handle, const int64* event, int64* decision)``.

        It returns the decision's latency in cycles, or a negative error.
        """
        return int(ctypes.cast(self._lib.precog_event, ctypes.c_void_p).value or 0)

    @property
    def ack_address(self) -> int:
        """Address of ``int64 acknowledge(void* handle, const int64* ack, int64* decision)``.

        It returns the decision's latency in cycles, or a negative error.
        """
        return int(ctypes.cast(self._lib.precog_acknowledge, ctypes.c_void_p).value or 0)

    @property
    def queue_address(self) -> int:
        """Address of ``int64 observe(void* handle, const int64* event, void*)``.

        It takes `contract.QUEUE_EVENT_FIELDS` and returns 0, or a negative error.
        """
        return int(ctypes.cast(self._lib.precog_observe, ctypes.c_void_p).value or 0)

    @property
    def visit_address(self) -> int:
        """Address of ``int64 visit(void* handle, const int64* t, int64* forecasts)``.

        The queue profiler's clock is set to `t` ticks, and all that is due is forecast: rows of
        queue pairs that have a new one, `contract.FORECAST_FIELDS`, are written. It returns how
        many are, or a negative error.
        """
        return int(ctypes.cast(self._lib.precog_visit, ctypes.c_void_p).value or 0)

    @property
    def cycles(self) -> int:
        """Clock cycles since the instance was made."""
        return int(self._lib.precog_cycles(self.handle))

    @property
    def decisions(self) -> int:
        """Decisions since the instance was made."""
        return int(self._lib.precog_decisions(self.handle))

    @property
    def pending(self) -> bool:
        """True while a decision waits at the output."""
        return bool(self._lib.precog_pending(self.handle))

    def close(self) -> None:
        """Free the instance; further calls raise `RtlError`."""
        if self._handle:
            self._lib.precog_free(self._handle)
            self._handle = None

    def __enter__(self) -> "NicLibrary":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reset(self) -> None:
        """Power-up state: memories too are as they were at first; the counts go on."""
        self._lib.precog_reset(self.handle)

    def idle(self, cycles: int) -> None:
        """Clock the NIC with nothing to do."""
        self._lib.precog_idle(self.handle, cycles)

    def set_strict(self, on: bool) -> None:
        """Evaluate twice per cycle, as Verilator's manual has it, instead of once."""
        self._lib.precog_set_strict(self.handle, int(on))

    def set_gating(self, on: bool) -> None:
        """Clock only the units that have work, as it is from the start, or all of them."""
        self._lib.precog_set_gating(self.handle, int(on))

    def axil_write(self, address: int, data: int) -> int:
        """One AXI4-Lite write; the result is BRESP (0 OKAY, 2 SLVERR, 3 DECERR).

        Raises
        ------
        RtlError
            No response within the watchdog's cycles.
        """
        return self._check(self._lib.precog_axil_write(self.handle, address, data))

    def axil_read(self, address: int) -> tuple[int, int]:
        """One AXI4-Lite read: (data, RRESP).

        Raises
        ------
        RtlError
            No response within the watchdog's cycles.
        """
        answer = self._check(self._lib.precog_axil_read(self.handle, address))
        return answer & 0xFFFF_FFFF, answer >> 32

    def decide(self, **sample: int) -> dict[str, int]:
        """One sample in, one decision out, by field name (`contract.SAMPLE_FIELDS`).

        Raises
        ------
        RtlError
            No decision within the watchdog's cycles.
        """
        row = np.array([sample[name] for name in SAMPLE_NAMES], dtype=np.int64)
        out = np.zeros(len(DECISION_NAMES), dtype=np.int64)
        self._check(self._lib.precog_decide(self.handle, _p64(row), _p64(out)))
        return dict(zip(DECISION_NAMES, map(int, out), strict=True))

    def event(self, **event: int) -> dict[str, int]:
        """One event in, one decision out, by field name (`law_fields.LAW_EVENT_FIELDS`).

        Raises
        ------
        RtlError
            No decision within the watchdog's cycles, the queue pair's law takes no events, or the
            NIC does not.
        """
        row = np.array([event[name] for name in EVENT_NAMES], dtype=np.int64)
        out = np.zeros(len(DECISION_NAMES), dtype=np.int64)
        self._check(self._lib.precog_event(self.handle, _p64(row), _p64(out)))
        return dict(zip(DECISION_NAMES, map(int, out), strict=True))

    def acknowledge(self, ack: NDArray[np.int64]) -> NDArray[np.int64]:
        """One acknowledgement in, `law_fields.ACK_FIELDS`, its decision out.

        Raises
        ------
        RtlError
            No decision within the watchdog's cycles, the queue pair's law is no program, or the
            NIC has no law engine.
        """
        row = np.ascontiguousarray(ack, dtype=np.int64)
        out = np.zeros(len(DECISION_NAMES), dtype=np.int64)
        self._check(self._lib.precog_acknowledge(self.handle, _p64(row), _p64(out)))
        return out

    def mixed(
        self,
        samples: NDArray[np.int64],
        events: NDArray[np.int64],
        *,
        seed: int = 0,
        sample: float = 1.0,
        event: float = 1.0,
        stall: float = 0.0,
    ) -> NDArray[np.int64]:
        """Samples and events at random times, each in order; all decisions as they come out.

        Parameters
        ----------
        samples : (n, len(SAMPLE_FIELDS)) int64
        events : (m, len(LAW_EVENT_FIELDS)) int64
        seed : int
            Of the times.
        sample, event, stall : float
            Probability per cycle that the next sample is offered, that the next event is, and that
            no decision is accepted.

        Raises
        ------
        RtlError
            Not all was taken within the watchdog's cycles, more came out than went in, or the NIC
            takes no events.
        """
        rows = _rows(samples)
        told = np.ascontiguousarray(events, dtype=np.int64).reshape(-1, len(EVENT_NAMES))
        out = np.zeros((len(rows) + len(told), len(DECISION_NAMES)), dtype=np.int64)
        made = self._check(
            self._lib.precog_mixed(
                self.handle,
                len(rows),
                _p64(rows),
                len(told),
                _p64(told),
                _p64(out),
                seed & 0xFFFF_FFFF,
                *(round(256 * chance) for chance in (sample, event, stall)),
            )
        )
        return out[:made]

    def decide_each(self, samples: NDArray[np.int64]) -> Batch:
        """`decide` for every row in turn: the next sample enters after the last decision is out.

        Raises
        ------
        RtlError
            No decision within the watchdog's cycles.
        """
        rows = _rows(samples)
        out = np.zeros((len(rows), len(DECISION_NAMES)), dtype=np.int64)
        latency = np.zeros(len(rows), dtype=np.int32)
        start = self.cycles
        self._check(
            self._lib.precog_decide_each(
                self.handle, len(rows), _p64(rows), _p64(out), _p32(latency)
            )
        )
        order = np.arange(len(rows), dtype=np.int32)
        return Batch(out, latency, order, self.cycles - start)

    def batch(
        self,
        samples: NDArray[np.int64],
        *,
        seed: int = 0,
        idle: float = 0.0,
        stall: float = 0.0,
        allow_drops: bool = False,
    ) -> Batch:
        """Run all samples through the full pipeline.

        Parameters
        ----------
        samples : (n, len(SAMPLE_FIELDS)) int64
        seed : int
            Of the random idle and stall cycles.
        idle, stall : float
            Probability per cycle that no sample is offered, that no decision is accepted.
        allow_drops : bool
            Samples without a decision (of a QP that is not enabled) are no error.

        Raises
        ------
        RtlError
            Samples were not taken within the watchdog's cycles, got no decision, or a decision
            came that nothing asked for.
        """
        rows = _rows(samples)
        out = np.zeros((len(rows), len(DECISION_NAMES)), dtype=np.int64)
        latency = np.zeros(len(rows), dtype=np.int32)
        order = np.zeros(len(rows), dtype=np.int32)
        start = self.cycles
        made = self._check(
            self._lib.precog_batch(
                self.handle,
                len(rows),
                _p64(rows),
                _p64(out),
                _p32(latency),
                seed & 0xFFFF_FFFF,
                round(idle * 256),
                round(stall * 256),
                _p32(order),
            )
        )
        if made < len(rows) and not allow_drops:
            raise RtlError(f"RTL: {len(rows) - made} of {len(rows)} samples got no decision")
        return Batch(out, latency, order[:made], self.cycles - start)

    def _check(self, result: int) -> int:
        if result < 0:
            text = _ERRORS.get(result, f"error {result}").format(watchdog=self._watchdog)
            raise RtlError(f"RTL: {text}")
        return result


class RtlNic(NicLibrary):
    """The exported NIC of `config`, built if need be.

    Parameters
    ----------
    config : NicConfig
    watchdog_cycles : int
        After this many cycles without an answer a call fails.
    quiet : bool
        No progress bar while building.

    Raises
    ------
    VerilateError
        A tool of the build is missing or failed.
    """

    def __init__(
        self, config: NicConfig, *, watchdog_cycles: int = 100_000, quiet: bool = False
    ) -> None:
        self.config = config
        super().__init__(nic_library(config, quiet=quiet), watchdog_cycles=watchdog_cycles)
        if config.micro or config.lanes < 16:
            self._lib.precog_set_settle(self.handle, _SLOW_SETTLE)
        elif config.law_cores:
            self._lib.precog_set_settle(self.handle, _LAW_SETTLE)


def _declare(lib: ctypes.CDLL) -> None:
    """Types of the C ABI (harness.cpp)."""
    table: dict[str, tuple[object, list[object]]] = {
        "new": (_HANDLE, []),
        "free": (None, [_HANDLE]),
        "reset": (None, [_HANDLE]),
        "idle": (None, [_HANDLE, _I64]),
        "axil_write": (_I64, [_HANDLE, ctypes.c_uint32, ctypes.c_uint32]),
        "axil_read": (_I64, [_HANDLE, ctypes.c_uint32]),
        "decide": (_I64, [_HANDLE, _P64, _P64]),
        "event": (_I64, [_HANDLE, _P64, _P64]),
        "acknowledge": (_I64, [_HANDLE, _P64, _P64]),
        "mixed": (
            _I64,
            [_HANDLE, _I64, _P64, _I64, _P64, _P64, ctypes.c_uint64, *[ctypes.c_int] * 3],
        ),
        "decide_each": (_I64, [_HANDLE, _I64, _P64, _P64, _P32]),
        "batch": (
            _I64,
            [_HANDLE, _I64, _P64, _P64, _P32, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, _P32],
        ),
        "cycles": (_I64, [_HANDLE]),
        "decisions": (_I64, [_HANDLE]),
        "pending": (_I64, [_HANDLE]),
        "set_settle": (None, [_HANDLE, _I64]),
        "set_watchdog": (None, [_HANDLE, _I64]),
        "set_strict": (None, [_HANDLE, ctypes.c_int]),
        "set_gating": (None, [_HANDLE, ctypes.c_int]),
        "faults": (None, [_HANDLE, _I64, _P64]),
        "memories": (_I64, [_HANDLE]),
        "memory": (ctypes.c_char_p, [_HANDLE, _I64, _P64]),
        "memory_words": (ctypes.POINTER(ctypes.c_uint8), [_HANDLE, _I64]),
    }
    for name, (result, arguments) in table.items():
        function: Callable[..., object] = getattr(lib, f"precog_{name}")
        function.restype = result  # type: ignore[attr-defined]
        function.argtypes = arguments  # type: ignore[attr-defined]


def _rows(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    rows = np.ascontiguousarray(samples, dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] != len(SAMPLE_NAMES):
        raise ValueError(f"samples must be (n, {len(SAMPLE_NAMES)}), not {rows.shape!r}")
    return rows


def _p64(array: NDArray[np.int64]) -> object:
    return array.ctypes.data_as(_P64)


def _p32(array: NDArray[np.int32]) -> object:
    return array.ctypes.data_as(_P32)
