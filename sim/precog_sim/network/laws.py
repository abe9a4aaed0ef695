"""Decisions: which law acts on an acknowledgement, DCQCN's timers, and the C function outside."""

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor, timely
from precog_sim.network.jit import inlined
from precog_sim.network.layout import Cfg, Ctl, Err, FCfg, FlowCol, Kind, Law, Rec
from precog_sim.network.native import call_decide
from precog_sim.network.port import gap_ps
from precog_sim.network.wheel import schedule

__all__ = ["arm", "dcqcn_timer", "decide"]

_RATE_ONE = float(1 << 24)  # Q8.24 bytes per tick
_SRTT_ONE = 256.0
_TIME_MASK = (1 << 40) - 1
_PS_PER_TICK = 1000
_BPS = 8e9  # bit/s of one byte per 1-ns tick

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]
_Wheel = NDArray[np.int32]


@inlined
def arm(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    par: _Reals,
    f: int,
    timers: int,
    now: int,
) -> None:
    """(Re)start DCQCN timers of `f`: 1 alpha, 2 cut, 4 rate.

    A running alpha or rate timer is not moved: its record finds the new due time when it fires.
    """
    first = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f
    if timers & 1:
        due = now + int(par[dcqcn.Param.ALPHA_US] * 1e6)
        flow[f, FlowCol.ALPHA_DUE] = due
        if flow[f, FlowCol.ALPHA_ARMED] == 0:
            flow[f, FlowCol.ALPHA_ARMED] = 1
            schedule(rec, wheel, bits, heap, ctl, first, due)
    if timers & 2:
        # 1 ns later than its period, so that the check comes after the alpha update
        due = now + int(par[dcqcn.Param.CUT_US] * 1e6) + 1000
        schedule(rec, wheel, bits, heap, ctl, first + 1, due)
    if timers & 4:
        due = now + int(par[dcqcn.Param.RATE_US] * 1e6)
        flow[f, FlowCol.RATE_DUE] = due
        if flow[f, FlowCol.RATE_ARMED] == 0:
            flow[f, FlowCol.RATE_ARMED] = 1
            schedule(rec, wheel, bits, heap, ctl, first + 2, due)


@inlined
def dcqcn_timer(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    rate: _Reals,
    state: _Reals,
    par: _Reals,
    ctl: _Table,
    cfg: _Table,
    kind: int,
    f: int,
    now: int,
) -> None:
    """One of DCQCN's three timers has run out."""
    if flow[f, FlowCol.END] >= 0:
        return
    first = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f
    if kind == Kind.ALPHA:
        due = flow[f, FlowCol.ALPHA_DUE]
        if now >= due:
            dcqcn.dcqcn_alpha_timer(state, f, par)
            due = now + int(par[dcqcn.Param.ALPHA_US] * 1e6)
            flow[f, FlowCol.ALPHA_DUE] = due
        schedule(rec, wheel, bits, heap, ctl, first, due)
    elif kind == Kind.CUT:
        due = now + int(par[dcqcn.Param.CUT_US] * 1e6)
        schedule(rec, wheel, bits, heap, ctl, first + 1, due)
        rate[f], cut = dcqcn.dcqcn_cut_timer(state, f, par, rate[f])
        if cut:
            arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, 4, now)
    else:
        due = flow[f, FlowCol.RATE_DUE]
        if now >= due:
            due = now + int(par[dcqcn.Param.RATE_US] * 1e6)
            flow[f, FlowCol.RATE_DUE] = due
            rate[f] = dcqcn.dcqcn_rate_timer(state, f, par, rate[f])
        schedule(rec, wheel, bits, heap, ctl, first + 2, due)


@inlined
def _decide_outside(
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    sample: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    rtt: int,
    now: int,
    rate_bps: float,
) -> tuple[float, float]:
    """Ask the C function; returns rate in bit/s and predicted RTT in us (0: none)."""
    sample[0] = f
    sample[1] = (rtt + _PS_PER_TICK // 2) // _PS_PER_TICK
    sample[2] = ((now + _PS_PER_TICK // 2) // _PS_PER_TICK) & _TIME_MASK
    status = call_decide(
        cfg[Cfg.FUNCTION], cfg[Cfg.HANDLE], sample.ctypes.data, decision.ctypes.data
    )
    if status < 0:
        ctl[Ctl.ERROR] = Err.LOOP
        ctl[Ctl.ERROR_VALUE] = status
        return rate_bps, 0.0
    if decision[0] != f:
        ctl[Ctl.ERROR] = Err.LOOP_QP
        ctl[Ctl.ERROR_VALUE] = decision[0]
        return rate_bps, 0.0
    if decision[1] <= 0:
        ctl[Ctl.ERROR] = Err.LOOP_RATE
        ctl[Ctl.ERROR_VALUE] = decision[1]
        return rate_bps, 0.0
    if cfg[Cfg.KEEP_LOG] != 0:
        n = ctl[Ctl.SAMPLES]
        for k in range(sample.size):
            log[n, k] = sample[k]
        for k in range(decision.size):
            log[n, sample.size + k] = decision[k]
    flow[f, FlowCol.WINDOW] = decision[2]
    return decision[1] / _RATE_ONE * _BPS, decision[3] / _SRTT_ONE * 1e-3


@inlined
def decide(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    rate: _Reals,
    top: _Reals,
    state: _Reals,
    par: _Reals,
    weights: _Reals,
    work: _Reals,
    telemetry: _Table,
    ctl: _Table,
    cfg: _Table,
    fcfg: _Reals,
    sample: _Table,
    decision: _Table,
    log: _Table,
    row: int,
    full: bool,
    rtt: int,
    now: int,
) -> float:
    """Let the flow's law act on one acknowledgement; `full`: it completes a sample.

    The new rate is in `rate`; returned is the predicted RTT in us, 0 where there is none.
    """
    f = rec[row, Rec.OWNER]
    law = cfg[Cfg.LAW]
    marked = rec[row, Rec.KIND] & Kind.MARK != 0
    old = rate[f]
    predicted = 0.0
    if law == Law.HPCC:
        rate[f] = hpcc.hpcc_ack(state, f, par, telemetry, row, full, old)
    elif law == Law.DCTCP:
        rate[f] = dctcp.dctcp_ack(
            state, f, par, marked, full, rec[row, Rec.SEQ], flow[f, FlowCol.NEXT], old
        )
    elif law == Law.DCQCN:
        if marked and cfg[Cfg.CNP_PS] == 0:
            rate[f], timers = dcqcn.dcqcn_notify(state, f, par, old)
            arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, timers, now)
    elif full:
        rtt_us = rtt * 1e-6
        if law == Law.PID or law == Law.PREDPID:
            signal = rtt_us
            if law == Law.PREDPID:
                predicted = predictor.predict_step(state, f, par, weights, work, rtt_us)
                signal = predicted
            new = pid.pid_step(state, f, par, rtt_us, signal, now * 1e-6, old)
            rate[f] = min(max(new, fcfg[FCfg.MIN_BPS]), top[f])
        elif law == Law.TIMELY:
            rate[f] = timely.timely_step(state, f, par, rtt_us, now * 1e-6, old)
        elif law == Law.LOOP:
            rate[f], predicted = _decide_outside(
                flow, ctl, cfg, sample, decision, log, f, rtt, now, old
            )
    if cfg[Cfg.RETIME] != 0 and rate[f] != old:
        wire = flow[f, FlowCol.LAST_WIRE]
        flow[f, FlowCol.AVAILABLE] += gap_ps(cfg, wire, rate[f]) - gap_ps(cfg, wire, old)
    return predicted
