"""The simulation loop: one compiled function for every scenario and every rate law.

Each event names at most one port that may now have something to send; serving that port is the
same code for all events. In exact timing a TX_DONE is scheduled only when something waits for it;
in ns3 timing always, because ns-3 does and equal times are served in the order of scheduling.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.contract import QueueEvent
from precog_models.rate.reference import dcqcn
from precog_sim.network.forecasts import hear_peer, visit_queues
from precog_sim.network.host import (
    after_send,
    begin_flow,
    deliver,
    hand_over,
    host_next,
    receive_data,
    release_followers,
    remove_flow,
    wake_earlier,
)
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.jitter import completes, held_back
from precog_sim.network.laws import arm, dcqcn_timer, decide
from precog_sim.network.layout import (
    Cfg,
    Ctl,
    Err,
    FlowCol,
    Kind,
    Law,
    MessageCol,
    PortCol,
    Rec,
    ScoreSource,
)
from precog_sim.network.outside import notify_outside, observe, retime, sweep
from precog_sim.network.port import free, switch_arrive, switch_next, tx_done_row, tx_ps
from precog_sim.network.scores import hear, make_score, restore_score
from precog_sim.network.wheel import pop, schedule

__all__ = ["simulate"]

_ARRIVAL = int(QueueEvent.ARRIVAL)

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]
_Wheel = NDArray[np.int32]


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
    probe_got: _Table,
    probe_queue: _Table,
    now: int,
) -> None:
    """Note rates, arrivals and watched queues; when the table is full, keep every other row."""
    n = ctl[Ctl.PROBES]
    if n == probe_time.size:
        n //= 2
        for i in range(n):
            probe_time[i] = probe_time[2 * i]
            for f in range(cfg[Cfg.FLOWS]):
                probe_rate[i, f] = probe_rate[2 * i, f]
                probe_got[i, f] = probe_got[2 * i, f]
            for k in range(cfg[Cfg.WATCHED]):
                probe_queue[i, k] = probe_queue[2 * i, k]
        ctl[Ctl.PROBE_PS] *= 2
    probe_time[n] = now
    for f in range(cfg[Cfg.FLOWS]):
        running = flow[f, FlowCol.END] < 0 and flow[f, FlowCol.START] <= now
        probe_rate[n, f] = rate[f] * 1e-9 if running else 0.0
        probe_got[n, f] = flow[f, FlowCol.EXPECTED]
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
    probe_got: _Table,
    probe_queue: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    messages: _Table,
    changes: _Table,
    knots: _Table,
    forecasts: _Table,
    forecast_log: _Table,
    received: _Table,
    receiver_log: _Table,
    followers: _Table,
    depths: _Table,
) -> None:
    """Run until every flow is complete, nothing is left to happen, or the horizon is reached.

    All arguments are laid out by `layout`; `run.py` makes them. Errors are left in ``ctl``.
    """
    hosts = cfg[Cfg.HOSTS]
    ns3 = cfg[Cfg.NS3] != 0
    schedule(rec, wheel, bits, heap, ctl, 0, flow[order[0], FlowCol.START])
    if ctl[Ctl.PROBE_PS] > 0:
        schedule(rec, wheel, bits, heap, ctl, 1, 0)
    if messages.shape[0] > 0:
        timer = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * cfg[Cfg.FLOWS]
        schedule(rec, wheel, bits, heap, ctl, timer, messages[0, MessageCol.TIME])
    if cfg[Cfg.VISIT_FUNCTION] != 0:
        timer = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * cfg[Cfg.FLOWS] + 1
        schedule(rec, wheel, bits, heap, ctl, timer, cfg[Cfg.VISIT_PS])
    if cfg[Cfg.DEPTH_PS] != 0:
        timer = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * cfg[Cfg.FLOWS] + 2
        schedule(rec, wheel, bits, heap, ctl, timer, cfg[Cfg.DEPTH_PS])
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
                if cfg[Cfg.RECEIVER_FUNCTION] != 0:
                    hear_peer(
                        flow, rate, ctl, cfg, asked, decision, log, received, receiver_log,
                        rec[row, Rec.OWNER], telemetry[row, 0], now,
                    )  # fmt: skip
                f = rec[row, Rec.OWNER]
                kick = receive_data(rec, port, flow, ctl, cfg, row, now)
                arrived = flow[f, FlowCol.EXPECTED] >= flow[f, FlowCol.SIZE]
                if arrived and flow[f, FlowCol.FOLLOWERS] > 0:
                    release_followers(rec, wheel, bits, heap, flow, ctl, cfg, followers, f, now)
            elif kind == Kind.CNP:
                f = rec[row, Rec.OWNER]
                if flow[f, FlowCol.END] < 0:
                    old = rate[f]
                    if cfg[Cfg.LAW] == Law.DCQCN:
                        rate[f], timers = dcqcn.dcqcn_notify(state, f, par, old)
                        arm(rec, wheel, bits, heap, flow, ctl, cfg, par, f, timers, now)
                        retime(flow, cfg, f, rate[f], old)
                    elif cfg[Cfg.TELL_MARKS] != 0:
                        notify_outside(
                            rec, wheel, bits, heap, flow, rate, ctl, cfg, asked, decision, log,
                            f, now,
                        )  # fmt: skip
                    if rate[f] != old and cfg[Cfg.RETIME] != 0:
                        wake_earlier(rec, wheel, bits, heap, port, flow, ctl, cfg, f, now)
                        kick = flow[f, FlowCol.PORT]
                free(rec, ctl, row)
            else:
                if held_back(rec, wheel, bits, heap, flow, ctl, kind, row, now):
                    continue
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
                        deliver(flow, messages, f, now)
                    if seq >= flow[f, FlowCol.SIZE]:
                        flow[f, FlowCol.END] = now
                        remove_flow(port, flow, f)
                        ctl[Ctl.DONE] += 1
                    if kind == Kind.NACK:
                        again = flow[f, FlowCol.NEXT] - flow[f, FlowCol.ACKED]
                        flow[f, FlowCol.NEXT] = flow[f, FlowCol.ACKED]
                        if again > 0:
                            observe(ctl, cfg, asked, decision, f, _ARRIVAL, again, now)
                    full = completes(flow, f, seq, row)
                    if full and cfg[Cfg.SCORE_SOURCE] == ScoreSource.FORGED:
                        restore_score(
                            port, port_f, flow, rate, ctl, cfg, route_start, route_count,
                            route_ports, knots, asked, decision, log, f, now,
                        )  # fmt: skip
                    predicted = decide(
                        rec, wheel, bits, heap, flow, rate, top, state, par, weights, work,
                        telemetry, ctl, cfg, fcfg, asked, decision, log, row, full, rtt, now,
                    )  # fmt: skip
                    if full and 0 < cfg[Cfg.SCORE_SOURCE] < ScoreSource.QUEUE:
                        make_score(
                            port, port_f, flow, rate, ctl, cfg, route_start, route_count,
                            route_ports, knots, asked, decision, log, f, now,
                        )  # fmt: skip
                    if cfg[Cfg.SCORE_ECHO] != 0:
                        hear(
                            flow, rate, ctl, cfg, asked, decision, log, f, telemetry[row, 0], full,
                            now,
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
                    wake_earlier(rec, wheel, bits, heap, port, flow, ctl, cfg, f, now)
                    kick = flow[f, FlowCol.PORT]
                free(rec, ctl, row)
                if ctl[Ctl.DONE] == cfg[Cfg.FLOWS]:
                    break
        elif kind <= Kind.RESUME:
            p = rec[row, Rec.PORT]
            free(rec, ctl, row)
            if kind == Kind.PAUSE:
                port[p, PortCol.PAUSED] = 1
                port[p, PortCol.PAUSED_AT] = now
                ctl[Ctl.PAUSES] += 1
            else:
                port[p, PortCol.PAUSED] = 0
                port[p, PortCol.PAUSED_PS] += now - port[p, PortCol.PAUSED_AT]
                ctl[Ctl.RESUMES] += 1
                kick = p
        elif kind == Kind.TX_DONE:
            kick = rec[row, Rec.OWNER]
            port[kick, PortCol.PENDING] = 0
        elif kind == Kind.WAKE:
            kick = rec[row, Rec.OWNER]
            port[kick, PortCol.WAKE] = -1
        elif kind == Kind.START:
            if ns3 and rec[row, Rec.OWNER] == 0:
                # In ns-3 the event of a start schedules the event that starts the flow: whatever
                # else is due now goes before it.
                rec[row, Rec.OWNER] = 1
                schedule(rec, wheel, bits, heap, ctl, row, now)
                continue
            rec[row, Rec.OWNER] = 0
            f = order[ctl[Ctl.STARTED]]
            ctl[Ctl.STARTED] += 1
            if ctl[Ctl.STARTED] < order.size:
                due = flow[order[ctl[Ctl.STARTED]], FlowCol.START]
                schedule(rec, wheel, bits, heap, ctl, row, due)
            begin_flow(
                rec, wheel, bits, heap, port, flow, ctl, cfg, asked, decision, changes, f, now
            )
            kick = flow[f, FlowCol.PORT]
        elif kind == Kind.BEGIN:
            f = rec[row, Rec.OWNER]
            free(rec, ctl, row)
            flow[f, FlowCol.START] = now
            begin_flow(
                rec, wheel, bits, heap, port, flow, ctl, cfg, asked, decision, changes, f, now
            )
            kick = flow[f, FlowCol.PORT]
        elif kind == Kind.DEPTH:
            for p in range(cfg[Cfg.PORTS]):
                if port[p, PortCol.NODE] >= hosts:
                    depths[min(port[p, PortCol.LOW_BYTES] >> 10, depths.size - 1)] += 1
            schedule(rec, wheel, bits, heap, ctl, row, now + cfg[Cfg.DEPTH_PS])
        elif kind == Kind.PROBE:
            _probe(
                ctl, cfg, port, flow, rate, watched, probe_time, probe_rate, probe_got,
                probe_queue, now,
            )  # fmt: skip
            schedule(rec, wheel, bits, heap, ctl, row, now + ctl[Ctl.PROBE_PS])
        elif kind == Kind.MESSAGE:
            n = ctl[Ctl.MESSAGES]
            ctl[Ctl.MESSAGES] = n + 1
            if n + 1 < messages.shape[0]:
                schedule(rec, wheel, bits, heap, ctl, row, messages[n + 1, MessageCol.TIME])
            f = messages[n, MessageCol.FLOW]
            size = messages[n, MessageCol.SIZE]
            hand_over(flow, ctl, cfg, asked, decision, changes, f, size, now)
            kick = flow[f, FlowCol.PORT]
        elif kind == Kind.VISIT:
            visit_queues(
                rec, wheel, bits, heap, port, flow, rate, ctl, cfg, asked, decision, log,
                forecasts, forecast_log, received, receiver_log, now,
            )  # fmt: skip
            schedule(rec, wheel, bits, heap, ctl, row, now + cfg[Cfg.VISIT_PS])
        elif kind == Kind.TIMEOUT:
            f = rec[row, Rec.OWNER]
            if flow[f, FlowCol.END] < 0:
                due = flow[f, FlowCol.PROGRESS] + cfg[Cfg.TIMEOUT_PS]
                if now >= due:
                    again = flow[f, FlowCol.NEXT] - flow[f, FlowCol.ACKED]
                    if again > 0:
                        flow[f, FlowCol.NEXT] = flow[f, FlowCol.ACKED]
                        observe(ctl, cfg, asked, decision, f, _ARRIVAL, again, now)
                        ctl[Ctl.TIMEOUTS] += 1
                        kick = flow[f, FlowCol.PORT]
                    flow[f, FlowCol.PROGRESS] = now
                    due = now + cfg[Cfg.TIMEOUT_PS]
                schedule(rec, wheel, bits, heap, ctl, row, due)
        else:
            f = rec[row, Rec.OWNER]
            old = rate[f]
            if kind == Kind.SWEEP:
                sweep(rec, wheel, bits, heap, flow, rate, ctl, cfg, asked, decision, log, row, now)
            else:
                dcqcn_timer(rec, wheel, bits, heap, flow, rate, state, par, ctl, cfg, kind, f, now)
            if rate[f] != old and cfg[Cfg.RETIME] != 0:
                wake_earlier(rec, wheel, bits, heap, port, flow, ctl, cfg, f, now)
                kick = flow[f, FlowCol.PORT]
        if kick < 0:
            continue
        is_host = port[kick, PortCol.NODE] < hosts
        if is_host:
            row = host_next(
                rec, wheel, bits, heap, port, flow, rate, top, state, par, telemetry, ctl, cfg,
                asked, decision, log, changes, kick, now,
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
