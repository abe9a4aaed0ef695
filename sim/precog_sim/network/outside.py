"""Decisions by a C function outside: on samples, and on events that are no samples.

What a law like DCQCN must be told besides samples: that a notification has come, that bytes have
left, and that time has passed, for outside its clocks run only with events.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.law_fields import EventKind
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import Cfg, Ctl, Err, FlowCol, Kind, Rec
from precog_sim.network.native import call_decide
from precog_sim.network.port import gap_ps
from precog_sim.network.wheel import schedule

__all__ = ["decide_outside", "notify_outside", "observe", "retime", "sweep", "tell", "ticks"]

_RATE_ONE = float(1 << 24)  # Q8.24 bytes per tick
_SRTT_ONE = 256.0
_TIME_MASK = (1 << 40) - 1
_PS_PER_TICK = 1000
_BPS = 8e9  # bit/s of one byte per 1-ns tick
_CNP, _SWEEP = int(EventKind.CNP), int(EventKind.SWEEP)

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]
_Wheel = NDArray[np.int32]


@inlined
def retime(flow: _Table, cfg: _Table, f: int, rate: float, old: float) -> None:
    """Move the departure that waits for its pace from the `old` rate to the new one."""
    if cfg[Cfg.RETIME] != 0 and rate != old:
        wire = flow[f, FlowCol.LAST_WIRE]
        flow[f, FlowCol.AVAILABLE] += gap_ps(cfg, wire, rate) - gap_ps(cfg, wire, old)


@inlined
def ticks(ps: int) -> int:
    """The tick of a time, 40 bits."""
    return (ps + _PS_PER_TICK // 2) // _PS_PER_TICK & _TIME_MASK


@inlined
def _accept(ctl: _Table, decision: _Table, f: int, status: int, code: int) -> bool:
    """Whether the answer is one; if not, the error is noted. `code` is the call's own."""
    if status < 0:
        ctl[Ctl.ERROR] = code
        ctl[Ctl.ERROR_VALUE] = status
    elif decision[0] != f:
        ctl[Ctl.ERROR] = Err.LOOP_QP
        ctl[Ctl.ERROR_VALUE] = decision[0]
    elif decision[1] <= 0:
        ctl[Ctl.ERROR] = Err.LOOP_RATE
        ctl[Ctl.ERROR_VALUE] = decision[1]
    else:
        return True
    return False


@inlined
def _note(
    ctl: _Table, cfg: _Table, decision: _Table, log: _Table, f: int, value: int, t: int
) -> None:
    """Add a row to the log, if one is kept: what was asked, then the decision."""
    if cfg[Cfg.KEEP_LOG] == 0:
        return
    n = ctl[Ctl.LOGGED]
    if n >= log.shape[0]:
        ctl[Ctl.ERROR] = Err.LOG
        ctl[Ctl.ERROR_VALUE] = n
        return
    log[n, 0] = f
    log[n, 1] = value
    log[n, 2] = t
    for k in range(decision.size):
        log[n, 3 + k] = decision[k]
    ctl[Ctl.LOGGED] = n + 1


@inlined
def decide_outside(
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    rtt: int,
    now: int,
    rate_bps: float,
) -> tuple[float, float]:
    """Ask about a sample; returns rate in bit/s and predicted RTT in us (0: none)."""
    asked[0] = f
    asked[1] = ticks(rtt)
    asked[2] = ticks(now)
    status = call_decide(
        cfg[Cfg.FUNCTION], cfg[Cfg.HANDLE], asked.ctypes.data, decision.ctypes.data
    )
    if not _accept(ctl, decision, f, status, Err.LOOP):
        return rate_bps, 0.0
    _note(ctl, cfg, decision, log, f, asked[1], asked[2])
    flow[f, FlowCol.WINDOW] = decision[2]
    return decision[1] / _RATE_ONE * _BPS, decision[3] / _SRTT_ONE * 1e-3


@compiled
def tell(
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    kind: int,
    f: int,
    value: int,
    now: int,
) -> None:
    """Let an event happen to `f`; the new rate is in `rate`, and holds for what waits already.

    The caller must let the flow's port look again, for the next departure may be earlier.
    """
    asked[0] = kind
    asked[1] = f
    asked[2] = ticks(now)
    asked[3] = value
    status = call_decide(
        cfg[Cfg.EVENT_FUNCTION], cfg[Cfg.HANDLE], asked.ctypes.data, decision.ctypes.data
    )
    if not _accept(ctl, decision, f, status, Err.LOOP_EVENT):
        return
    _note(ctl, cfg, decision, log, f, value, asked[2])
    old = rate[f]
    rate[f] = decision[1] / _RATE_ONE * _BPS
    retime(flow, cfg, f, rate[f], old)


@inlined
def observe(
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    f: int,
    kind: int,
    size: int,
    now: int,
) -> None:
    """Tell the device what happened to the send queue of `f`, if it wants to know."""
    if cfg[Cfg.QUEUE_FUNCTION] == 0:
        return
    asked[0] = f
    asked[1] = kind
    asked[2] = size
    asked[3] = ticks(now)
    status = call_decide(
        cfg[Cfg.QUEUE_FUNCTION], cfg[Cfg.HANDLE], asked.ctypes.data, decision.ctypes.data
    )
    if status < 0:
        ctl[Ctl.ERROR] = Err.QUEUE_EVENT
        ctl[Ctl.ERROR_VALUE] = status


@compiled
def notify_outside(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    now: int,
) -> None:
    """A congestion notification has come; the flow's first one starts its sweeps."""
    tell(flow, rate, ctl, cfg, asked, decision, log, _CNP, f, 0, now)
    if cfg[Cfg.SWEEP_PS] > 0 and flow[f, FlowCol.SWEEPING] == 0:
        flow[f, FlowCol.SWEEPING] = 1
        row = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f
        rec[row, Rec.KIND] = Kind.SWEEP
        schedule(rec, wheel, bits, heap, ctl, row, now + cfg[Cfg.SWEEP_PS])


@compiled
def sweep(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    row: int,
    now: int,
) -> None:
    """Time has passed for the flow of timer `row`."""
    f = rec[row, Rec.OWNER]
    if flow[f, FlowCol.END] >= 0:
        return
    tell(flow, rate, ctl, cfg, asked, decision, log, _SWEEP, f, 0, now)
    schedule(rec, wheel, bits, heap, ctl, row, now + cfg[Cfg.SWEEP_PS])
