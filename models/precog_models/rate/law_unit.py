"""Rows of state of all queue pairs, and what an event does to one of them.

An event leaves the rate that it ends with in the row. The first one after power-up or a RESET
begins with the configured initial rate. Rates are clamped to [min, max] before the law sees them,
and after it.
"""

import numpy as np
from numpy.typing import NDArray

from precog_spec.contract import Fmt
from precog_spec.law_fields import (
    DCQCN_STATE,
    EVENT_FIELDS,
    LAW_CONFIG,
    RESULT_FIELDS,
    TIMELY_STATE,
    EventKind,
    Law,
)

from ..fixed import clamp
from ..jit import njit
from .dcqcn import dcqcn_advance, dcqcn_bytes, dcqcn_notify
from .fractions import decay_table
from .timely import timely_step

__all__ = ["LAW_ROW", "LawUnit", "law_event"]

#: A row: whether the next event begins with its rate, the rate, then both laws' states, of which
#: one at least is all zeros.
LAW_ROW = ("live", "rate", *(name for name, _ in TIMELY_STATE), *(name for name, _ in DCQCN_STATE))

_LIVE, _RATE, _TIMELY_AT = range(3)
_DCQCN_AT = _TIMELY_AT + len(TIMELY_STATE)
_CONFIG_AT = len(EVENT_FIELDS) - len(LAW_CONFIG)
_KIND, _QP, _T, _VALUE = range(_CONFIG_AT)
_LAW, _MIN, _MAX, _INIT = range(len(LAW_CONFIG))
_RTT_MASK = Fmt.RTT.max

_IS_RTT = int(EventKind.RTT)
_IS_CNP = int(EventKind.CNP)
_IS_BYTES = int(EventKind.BYTES)
_IS_CONFIGURE = int(EventKind.CONFIGURE)
_IS_RESET = int(EventKind.RESET)
_IS_TIMELY = int(Law.TIMELY)
_IS_DCQCN = int(Law.DCQCN)


@njit
def law_event(
    row: NDArray[np.int64],
    config: NDArray[np.int64],
    timely: NDArray[np.int64],
    dcqcn: NDArray[np.int64],
    table: NDArray[np.int64],
    event: NDArray[np.int64],
) -> tuple[int, bool]:
    """Let one event happen to one queue pair.

    Parameters
    ----------
    row : ndarray of int64, shape (18,)
        `LAW_ROW`. Changed in place.
    config : ndarray of int64, shape (4,)
        `LAW_CONFIG`. Changed by CONFIGURE.
    timely, dcqcn : ndarray of int64
        `TIMELY_PARAMETERS` and `DCQCN_PARAMETERS` in order.
    table : ndarray of int64
        ``decay_table`` of DCQCN's g.
    event : ndarray of int64, shape (8,)
        `EVENT_FIELDS`; all but CONFIGURE need the first four only.

    Returns
    -------
    rate : int
        RATE's format.
    changed : bool
        It is another one than before, or the first.
    """
    kind, t = event[_KIND], event[_T]
    if kind == _IS_CONFIGURE:
        if event[_CONFIG_AT] != config[_LAW]:
            row[_TIMELY_AT:] = 0
        config[:] = event[_CONFIG_AT:]
    elif kind == _IS_RESET:
        row[:] = 0
    low, high = config[_MIN], config[_MAX]
    law = config[_LAW]
    last, live = row[_RATE], row[_LIVE]
    running = live != 0 and law in (_IS_TIMELY, _IS_DCQCN)
    rate = clamp(last if running else config[_INIT], low, high)
    if kind < _IS_CONFIGURE and law == _IS_TIMELY:
        if kind == _IS_RTT:
            rtt = event[_VALUE] & _RTT_MASK
            rate = timely_step(row[_TIMELY_AT:_DCQCN_AT], timely, low, high, rate, rtt, t)
    elif kind < _IS_CONFIGURE and law == _IS_DCQCN:
        state = row[_DCQCN_AT:]
        rate = dcqcn_advance(state, dcqcn, table, low, high, rate, t)
        if kind == _IS_CNP:
            rate = dcqcn_notify(state, dcqcn, low, high, rate, t)
        elif kind == _IS_BYTES:
            rate = dcqcn_bytes(state, dcqcn, low, high, rate, event[_VALUE])
    row[_LIVE] = kind != _IS_RESET
    row[_RATE] = rate
    return int(rate), bool(live == 0 or rate != last)


@njit
def _events(
    rows: NDArray[np.int64],
    configs: NDArray[np.int64],
    timely: NDArray[np.int64],
    dcqcn: NDArray[np.int64],
    table: NDArray[np.int64],
    events: NDArray[np.int64],
    results: NDArray[np.int64],
    after: NDArray[np.int64],
) -> None:
    for n in range(len(events)):
        qp = events[n, _QP]
        rate, changed = law_event(rows[qp], configs[qp], timely, dcqcn, table, events[n])
        results[n, 0] = qp
        results[n, 1] = rate
        results[n, 2] = changed
        after[n] = rows[qp]


class LawUnit:
    """The laws' state and parameters; events go in, results come out, in order.

    Parameters
    ----------
    qps : int
        Number of queue pairs.

    Attributes
    ----------
    rows : ndarray of int64, shape (qps, 18)
        `LAW_ROW` of each.
    configs : ndarray of int64, shape (qps, 4)
        `LAW_CONFIG` of each; zeros (FIXED, no rate) at the start.
    """

    def __init__(self, qps: int) -> None:
        self.rows = np.zeros((qps, len(LAW_ROW)), dtype=np.int64)
        self.configs = np.zeros((qps, len(LAW_CONFIG)), dtype=np.int64)
        self._timely = np.zeros(0, dtype=np.int64)
        self._dcqcn = np.zeros(0, dtype=np.int64)
        self._table = decay_table(0)

    def set_parameters(self, timely: NDArray[np.int64], dcqcn: NDArray[np.int64]) -> None:
        """Parameters of all queue pairs: `TIMELY_PARAMETERS` and `DCQCN_PARAMETERS` in order."""
        self._timely, self._dcqcn = timely.copy(), dcqcn.copy()
        self._table = decay_table(int(dcqcn[0]))

    def run(self, events: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Let events happen, in order.

        Parameters
        ----------
        events : ndarray of int64, shape (n, 8)
            `EVENT_FIELDS` of each.

        Returns
        -------
        results : ndarray of int64, shape (n, 3)
            `RESULT_FIELDS` of each event.
        rows : ndarray of int64, shape (n, 18)
            The queue pair's `LAW_ROW` after each event.
        """
        results = np.zeros((len(events), len(RESULT_FIELDS)), dtype=np.int64)
        after = np.zeros((len(events), len(LAW_ROW)), dtype=np.int64)
        _events(
            self.rows,
            self.configs,
            self._timely,
            self._dcqcn,
            self._table,
            events,
            results,
            after,
        )
        return results, after
