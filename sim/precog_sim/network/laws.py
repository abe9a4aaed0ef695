"""Decisions: which law acts on an acknowledgement, and DCQCN's timers."""

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor, timely
from precog_sim.network.jit import inlined
from precog_sim.network.layout import Cfg, FCfg, FlowCol, Kind, Law, Rec
from precog_sim.network.outside import decide_outside, notify_outside, retime
from precog_sim.network.wheel import schedule

__all__ = ["arm", "dcqcn_timer", "decide"]

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
    old = rate[f]
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
    retime(flow, cfg, f, rate[f], old)


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
    asked: _Table,
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
    if marked and cfg[Cfg.TELL_MARKS] != 0 and cfg[Cfg.CNP_PS] == 0:
        notify_outside(rec, wheel, bits, heap, flow, rate, ctl, cfg, asked, decision, log, f, now)
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
            rate[f], predicted = decide_outside(
                flow, ctl, cfg, asked, decision, log, f, rtt, now, old
            )
    retime(flow, cfg, f, rate[f], old)
    return predicted
