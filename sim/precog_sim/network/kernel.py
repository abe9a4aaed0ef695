"""The simulation loop: one compiled function for every scenario and every rate law.

Each event names at most one port that may now have something to send; serving that port is the
same code for all events. In exact timing a TX_DONE is scheduled only when something waits for it;
in ns3 timing always, because ns-3 does and equal times are served in the order of scheduling.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.rate.reference import dcqcn, dctcp, hpcc, pid, predictor, timely
from precog_sim.network.host import add_flow, after_send, host_next, receive_data, remove_flow, wake
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import Cfg, Ctl, Err, FCfg, FlowCol, Kind, Law, PortCol, Rec
from precog_sim.network.native import call_decide
from precog_sim.network.port import free, gap_ps, switch_arrive, switch_next, tx_done_row, tx_ps
from precog_sim.network.wheel import pop, schedule

__all__ = ["simulate"]

_RATE_ONE = float(1 << 24)  # Q8.24 bytes per tick
_SRTT_ONE = 256.0
_TIME_MASK = (1 << 40) - 1
_PS_PER_TICK = 1000
_BPS = 8e9  # bit/s of one byte per 1-ns tick

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]
_Wheel = NDArray[np.int32]


@inlined
def _arm(
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
def _dcqcn_timer(
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
            _arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, 4, now)
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
def _decide(
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
            _arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, timers, now)
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


@inlined
def _probe(
    ctl: _Table,
    cfg: _Table,
    port: _Table,
    flow: _Table,
    rate: _Reals,
    watched: _Table,
    probe_time: _Table,
    probe_rate: NDArray[np.float32],
    probe_queue: _Table,
    now: int,
) -> None:
    """Note all rates and the watched queues; when the table is full, keep every other row."""
    n = ctl[Ctl.PROBES]
    if n == probe_time.size:
        n //= 2
        for i in range(n):
            probe_time[i] = probe_time[2 * i]
            for f in range(cfg[Cfg.FLOWS]):
                probe_rate[i, f] = probe_rate[2 * i, f]
            for k in range(cfg[Cfg.WATCHED]):
                probe_queue[i, k] = probe_queue[2 * i, k]
        ctl[Ctl.PROBE_PS] *= 2
    probe_time[n] = now
    for f in range(cfg[Cfg.FLOWS]):
        running = flow[f, FlowCol.END] < 0 and flow[f, FlowCol.START] <= now
        probe_rate[n, f] = rate[f] * 1e-9 if running else 0.0
    for i in range(cfg[Cfg.WATCHED]):
        probe_queue[n, i] = port[watched[i], PortCol.LOW_BYTES]
    ctl[Ctl.PROBES] = n + 1


@compiled
def simulate(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    port_f: _Reals,
    switch: _Table,
    flow: _Table,
    rate: _Reals,
    top: _Reals,
    state: _Reals,
    par: _Reals,
    weights: _Reals,
    work: _Reals,
    telemetry: _Table,
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    order: _Table,
    ctl: _Table,
    cfg: _Table,
    fcfg: _Reals,
    packet_rtt: _Table,
    samples: _Table,
    sample_f: _Reals,
    watched: _Table,
    probe_time: _Table,
    probe_rate: NDArray[np.float32],
    probe_queue: _Table,
    sample: _Table,
    decision: _Table,
    log: _Table,
) -> None:
    """Run until every flow is complete, nothing is left to happen, or the horizon is reached.

    All arguments are laid out by `layout`; `run.py` makes them. Errors are left in ``ctl``.
    """
    hosts = cfg[Cfg.HOSTS]
    ns3 = cfg[Cfg.NS3] != 0
    schedule(rec, wheel, bits, heap, ctl, 0, flow[order[0], FlowCol.START])
    if ctl[Ctl.PROBE_PS] > 0:
        schedule(rec, wheel, bits, heap, ctl, 1, 0)
    while ctl[Ctl.ERROR] == 0:
        row = pop(rec, wheel, bits, heap, ctl)
        if row < 0:
            break
        now = rec[row, Rec.TIME]
        if now > cfg[Cfg.HORIZON]:
            break
        ctl[Ctl.NOW] = now
        ctl[Ctl.EVENTS] += 1
        kind = rec[row, Rec.KIND]
        if kind < Kind.TX_DONE:
            kind &= 7  # a packet, without its mark
        kick = -1
        if kind < Kind.PAUSE:
            p = rec[row, Rec.PORT]
            if port[p, PortCol.NODE] >= hosts:
                kick = switch_arrive(
                    rec, wheel, bits, heap, port, port_f, switch, flow, ctl, cfg, fcfg,
                    route_start, route_count, route_ports, row, now,
                )  # fmt: skip
            elif kind == Kind.DATA:
                kick = receive_data(rec, port, flow, ctl, cfg, row, now)
            elif kind == Kind.CNP:
                f = rec[row, Rec.OWNER]
                if flow[f, FlowCol.END] < 0 and cfg[Cfg.LAW] == Law.DCQCN:
                    rate[f], timers = dcqcn.dcqcn_notify(state, f, par, rate[f])
                    _arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, timers, now)
                free(rec, ctl, row)
            else:
                f = rec[row, Rec.OWNER]
                seq = rec[row, Rec.SEQ]
                rtt = now - rec[row, Rec.SENT]
                if cfg[Cfg.KEEP_PACKETS] != 0 and ctl[Ctl.PACKETS] < packet_rtt.size:
                    packet_rtt[ctl[Ctl.PACKETS]] = rtt
                ctl[Ctl.PACKETS] += 1
                if flow[f, FlowCol.END] < 0:
                    if seq > flow[f, FlowCol.ACKED]:
                        flow[f, FlowCol.ACKED] = seq
                        flow[f, FlowCol.PROGRESS] = now
                        if seq > flow[f, FlowCol.NEXT]:
                            flow[f, FlowCol.NEXT] = seq
                    if seq >= flow[f, FlowCol.SIZE]:
                        flow[f, FlowCol.END] = now
                        remove_flow(port, flow, f)
                        ctl[Ctl.DONE] += 1
                    if kind == Kind.NACK:
                        flow[f, FlowCol.NEXT] = flow[f, FlowCol.ACKED]
                    full = seq > flow[f, FlowCol.SAMPLE_SEQ]
                    predicted = _decide(
                        rec, wheel, bits, heap, flow, rate, top, state, par, weights, work,
                        telemetry, ctl, cfg, fcfg, sample, decision, log, row, full, rtt, now,
                    )  # fmt: skip
                    if full:
                        n = ctl[Ctl.SAMPLES]
                        if n >= samples.shape[0]:
                            ctl[Ctl.ERROR] = Err.RECORD
                            break
                        samples[n, 0] = f
                        samples[n, 1] = now
                        samples[n, 2] = rtt
                        sample_f[n, 0] = rate[f]
                        sample_f[n, 1] = predicted
                        ctl[Ctl.SAMPLES] = n + 1
                        if flow[f, FlowCol.NEXT] > flow[f, FlowCol.SAMPLE_SEQ]:
                            flow[f, FlowCol.SAMPLE_SEQ] = flow[f, FlowCol.NEXT]
                    if ns3 and cfg[Cfg.RETIME] != 0:
                        p = flow[f, FlowCol.PORT]
                        due = max(now, flow[f, FlowCol.AVAILABLE])
                        if port[p, PortCol.WAKE] > due:
                            wake(rec, wheel, bits, heap, port, ctl, cfg, p, due)
                    kick = flow[f, FlowCol.PORT]
                free(rec, ctl, row)
                if ctl[Ctl.DONE] == cfg[Cfg.FLOWS]:
                    break
        elif kind <= Kind.RESUME:
            p = rec[row, Rec.PORT]
            free(rec, ctl, row)
            if kind == Kind.PAUSE:
                port[p, PortCol.PAUSED] = 1
                ctl[Ctl.PAUSES] += 1
            else:
                port[p, PortCol.PAUSED] = 0
                ctl[Ctl.RESUMES] += 1
                kick = p
        elif kind == Kind.TX_DONE:
            kick = rec[row, Rec.OWNER]
            port[kick, PortCol.PENDING] = 0
        elif kind == Kind.WAKE:
            kick = rec[row, Rec.OWNER]
            port[kick, PortCol.WAKE] = -1
        elif kind == Kind.START:
            f = order[ctl[Ctl.STARTED]]
            ctl[Ctl.STARTED] += 1
            if ctl[Ctl.STARTED] < cfg[Cfg.FLOWS]:
                due = flow[order[ctl[Ctl.STARTED]], FlowCol.START]
                schedule(rec, wheel, bits, heap, ctl, row, due)
            flow[f, FlowCol.AVAILABLE] = now
            flow[f, FlowCol.PROGRESS] = now
            add_flow(port, flow, f)
            if cfg[Cfg.TIMEOUT_PS] > 0:
                timer = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f + 3
                schedule(rec, wheel, bits, heap, ctl, timer, now + cfg[Cfg.TIMEOUT_PS])
            kick = flow[f, FlowCol.PORT]
        elif kind == Kind.PROBE:
            _probe(ctl, cfg, port, flow, rate, watched, probe_time, probe_rate, probe_queue, now)
            schedule(rec, wheel, bits, heap, ctl, row, now + ctl[Ctl.PROBE_PS])
        elif kind == Kind.TIMEOUT:
            f = rec[row, Rec.OWNER]
            if flow[f, FlowCol.END] < 0:
                due = flow[f, FlowCol.PROGRESS] + cfg[Cfg.TIMEOUT_PS]
                if now >= due:
                    if flow[f, FlowCol.NEXT] > flow[f, FlowCol.ACKED]:
                        flow[f, FlowCol.NEXT] = flow[f, FlowCol.ACKED]
                        ctl[Ctl.TIMEOUTS] += 1
                        kick = flow[f, FlowCol.PORT]
                    flow[f, FlowCol.PROGRESS] = now
                    due = now + cfg[Cfg.TIMEOUT_PS]
                schedule(rec, wheel, bits, heap, ctl, row, due)
        else:
            f = rec[row, Rec.OWNER]
            _dcqcn_timer(rec, wheel, bits, heap, flow, rate, state, par, ctl, cfg, kind, f, now)
        if kick < 0:
            continue
        is_host = port[kick, PortCol.NODE] < hosts
        if is_host:
            row = host_next(
                rec, wheel, bits, heap, port, flow, rate, top, state, par, telemetry, ctl, cfg,
                kick, now,
            )  # fmt: skip
        else:
            row = switch_next(
                rec, wheel, bits, heap, port, port_f, switch, ctl, cfg, fcfg, telemetry, kick, now
            )
        if row < 0:
            continue
        done = now + tx_ps(cfg, port_f, kick, rec[row, Rec.SIZE])
        port[kick, PortCol.BUSY_UNTIL] = done
        if ns3:
            port[kick, PortCol.PENDING] = 1
            schedule(rec, wheel, bits, heap, ctl, tx_done_row(kick), done)
        elif is_host:
            after_send(rec, wheel, bits, heap, port, flow, rate, top, ctl, cfg, kick)
        elif port[kick, PortCol.LOW_HEAD] >= 0 or port[kick, PortCol.HIGH_HEAD] >= 0:
            port[kick, PortCol.PENDING] = 1
            schedule(rec, wheel, bits, heap, ctl, tx_done_row(kick), done)
        rec[row, Rec.PORT] = port[kick, PortCol.PEER]
        schedule(rec, wheel, bits, heap, ctl, row, done + port[kick, PortCol.DELAY])
