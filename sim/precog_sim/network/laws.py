"""Decisions: which law acts on an acknowledgement, and DCQCN's timers."""

from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor, timely
from precog_sim.network.jit import inlined
from precog_sim.network.layout import Cfg, FCfg, FlowCol, Kind, Law, Rec
from precog_sim.network.net import Net
from precog_sim.network.outside import decide_outside, notify_outside, retime
from precog_sim.network.wheel import schedule

__all__ = ["arm", "dcqcn_timer", "decide"]


@inlined
def arm(net: Net, f: int, timers: int, now: int) -> None:
    """(Re)start DCQCN timers of `f`: 1 alpha, 2 cut, 4 rate.

    A running alpha or rate timer is not moved: its record finds the new due time when it fires.
    """
    first = net.cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f
    if timers & 1:
        due = now + int(net.par[dcqcn.Param.ALPHA_US] * 1e6)
        net.flow[f, FlowCol.ALPHA_DUE] = due
        if net.flow[f, FlowCol.ALPHA_ARMED] == 0:
            net.flow[f, FlowCol.ALPHA_ARMED] = 1
            schedule(net, first, due)
    if timers & 2:
        # 1 ns later than its period, so that the check comes after the alpha update
        due = now + int(net.par[dcqcn.Param.CUT_US] * 1e6) + 1000
        schedule(net, first + 1, due)
    if timers & 4:
        due = now + int(net.par[dcqcn.Param.RATE_US] * 1e6)
        net.flow[f, FlowCol.RATE_DUE] = due
        if net.flow[f, FlowCol.RATE_ARMED] == 0:
            net.flow[f, FlowCol.RATE_ARMED] = 1
            schedule(net, first + 2, due)


@inlined
def dcqcn_timer(net: Net, kind: int, f: int, now: int) -> None:
    """One of DCQCN's three timers has run out."""
    if net.flow[f, FlowCol.END] >= 0:
        return
    first = net.cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f
    old = net.rate[f]
    if kind == Kind.ALPHA:
        due = net.flow[f, FlowCol.ALPHA_DUE]
        if now >= due:
            dcqcn.dcqcn_alpha_timer(net.state, f, net.par)
            due = now + int(net.par[dcqcn.Param.ALPHA_US] * 1e6)
            net.flow[f, FlowCol.ALPHA_DUE] = due
        schedule(net, first, due)
    elif kind == Kind.CUT:
        due = now + int(net.par[dcqcn.Param.CUT_US] * 1e6)
        schedule(net, first + 1, due)
        net.rate[f], cut = dcqcn.dcqcn_cut_timer(net.state, f, net.par, net.rate[f])
        if cut:
            arm(net, f, 4, now)
    else:
        due = net.flow[f, FlowCol.RATE_DUE]
        if now >= due:
            due = now + int(net.par[dcqcn.Param.RATE_US] * 1e6)
            net.flow[f, FlowCol.RATE_DUE] = due
            net.rate[f] = dcqcn.dcqcn_rate_timer(net.state, f, net.par, net.rate[f])
        schedule(net, first + 2, due)
    retime(net, f, net.rate[f], old)


@inlined
def decide(net: Net, row: int, full: bool, rtt: int, now: int) -> float:
    """Let the flow's law act on one acknowledgement; `full`: it completes a sample.

    The new rate is in `rate`; returned is the predicted RTT in us, 0 where there is none.
    """
    f = net.rec[row, Rec.OWNER]
    law = net.cfg[Cfg.LAW]
    marked = net.rec[row, Rec.KIND] & Kind.MARK != 0
    if marked and net.cfg[Cfg.TELL_MARKS] != 0 and net.cfg[Cfg.CNP_PS] == 0:
        notify_outside(net, f, now)
    old = net.rate[f]
    predicted = 0.0
    if law == Law.HPCC:
        net.rate[f] = hpcc.hpcc_ack(net.state, f, net.par, net.telemetry, row, full, old)
    elif law == Law.DCTCP:
        net.rate[f] = dctcp.dctcp_ack(
            net.state,
            f,
            net.par,
            marked,
            full,
            net.rec[row, Rec.SEQ],
            net.flow[f, FlowCol.NEXT],
            old,
        )
    elif law == Law.DCQCN:
        if marked and net.cfg[Cfg.CNP_PS] == 0:
            net.rate[f], timers = dcqcn.dcqcn_notify(net.state, f, net.par, old)
            arm(net, f, timers, now)
    elif full:
        rtt_us = rtt * 1e-6
        if law == Law.PID or law == Law.PREDPID:
            signal = rtt_us
            if law == Law.PREDPID:
                predicted = predictor.predict_step(
                    net.state, f, net.par, net.weights, net.work, rtt_us
                )
                signal = predicted
            new = pid.pid_step(net.state, f, net.par, rtt_us, signal, now * 1e-6, old)
            net.rate[f] = min(max(new, net.fcfg[FCfg.MIN_BPS]), net.top[f])
        elif law == Law.TIMELY:
            net.rate[f] = timely.timely_step(net.state, f, net.par, rtt_us, now * 1e-6, old)
        elif law == Law.LOOP:
            net.rate[f], predicted = decide_outside(net, f, rtt, now, old)
    retime(net, f, net.rate[f], old)
    return predicted
