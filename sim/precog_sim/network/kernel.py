"""The simulation loop: one compiled function for every scenario and every rate law.

Each event names at most one port that may now have something to send; serving that port is the
same code for all events. In exact timing a TX_DONE is scheduled only when something waits for it;
in ns3 timing always, because ns-3 does and equal times are served in the order of scheduling.
"""

from precog_sim.network.answers import answer_timer
from precog_sim.network.faults import link_changes, schedule_outages, wire_lost
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
from precog_sim.network.laws import decide, lose, notify, time_out
from precog_sim.network.layout import (
    TIMERS,
    Cfg,
    Ctl,
    Err,
    FlowCol,
    Kind,
    MessageCol,
    PortCol,
    PrioCol,
    Rec,
    ScoreSource,
)
from precog_sim.network.net import Net
from precog_sim.network.outside import observe, sweep
from precog_sim.network.port import (
    free,
    something_waits,
    switch_arrive,
    switch_next,
    tx_done_row,
    tx_ps,
)
from precog_sim.network.scores import hear, make_score, restore_score
from precog_sim.network.selective import all_lost, learn
from precog_sim.network.stamps import heard
from precog_sim.network.told import hear_level, keep_cap
from precog_sim.network.wheel import pop, schedule
from precog_spec.contract import QueueEvent

__all__ = ["simulate"]

_ARRIVAL = int(QueueEvent.ARRIVAL)


@inlined
def _queued(net: Net, p: int) -> int:
    """Bytes in all of a port's priorities."""
    count = net.cfg[Cfg.PRIORITIES]
    total = 0
    for q in range(p * count, (p + 1) * count):
        total += net.prio[q, PrioCol.BYTES]
    return total


@inlined
def _probe(net: Net, now: int) -> None:
    """Note rates, arrivals and watched queues; when the table is full, keep every other row."""
    n = net.ctl[Ctl.PROBES]
    if n == net.probe_time.size:
        n //= 2
        for i in range(n):
            net.probe_time[i] = net.probe_time[2 * i]
            for f in range(net.cfg[Cfg.FLOWS]):
                net.probe_rate[i, f] = net.probe_rate[2 * i, f]
                net.probe_got[i, f] = net.probe_got[2 * i, f]
            for k in range(net.cfg[Cfg.WATCHED]):
                net.probe_queue[i, k] = net.probe_queue[2 * i, k]
        net.ctl[Ctl.PROBE_PS] *= 2
    net.probe_time[n] = now
    for f in range(net.cfg[Cfg.FLOWS]):
        running = net.flow[f, FlowCol.END] < 0 and net.flow[f, FlowCol.START] <= now
        net.probe_rate[n, f] = net.rate[f] * 1e-9 if running else 0.0
        net.probe_got[n, f] = net.flow[f, FlowCol.EXPECTED]
    for i in range(net.cfg[Cfg.WATCHED]):
        net.probe_queue[n, i] = _queued(net, net.watched[i])
    net.ctl[Ctl.PROBES] = n + 1


@inlined
def _begin(net: Net) -> None:
    """Schedule what happens by itself."""
    schedule(net, 0, net.flow[net.order[0], FlowCol.START])
    if net.ctl[Ctl.PROBE_PS] > 0:
        schedule(net, 1, 0)
    if net.messages.shape[0] > 0:
        timer = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * net.cfg[Cfg.FLOWS]
        schedule(net, timer, net.messages[0, MessageCol.TIME])
    if net.cfg[Cfg.VISIT_FUNCTION] != 0:
        timer = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * net.cfg[Cfg.FLOWS] + 1
        schedule(net, timer, net.cfg[Cfg.VISIT_PS])
    if net.cfg[Cfg.DEPTH_PS] != 0:
        timer = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * net.cfg[Cfg.FLOWS] + 2
        schedule(net, timer, net.cfg[Cfg.DEPTH_PS])
    schedule_outages(net)


@compiled
def simulate(net: Net) -> None:
    """Run until every flow is complete, nothing is left to happen, the horizon is reached, or
    routes change: then it is called again with the new ones.

    `run.py` makes the tables. Errors are left in ``ctl``.
    """
    hosts = net.cfg[Cfg.HOSTS]
    ns3 = net.cfg[Cfg.NS3] != 0
    faults = net.cfg[Cfg.FAULTS] != 0
    hears = net.cfg[Cfg.NOISE_PS] != 0 or net.cfg[Cfg.BASE_LEARNT] != 0
    if net.ctl[Ctl.EPOCH] == 0:
        _begin(net)
    while net.ctl[Ctl.ERROR] == 0:
        row = pop(net)
        if row < 0:
            break
        now = net.rec[row, Rec.TIME]
        if now > net.cfg[Cfg.HORIZON]:
            break
        net.ctl[Ctl.NOW] = now
        net.ctl[Ctl.EVENTS] += 1
        kind = net.rec[row, Rec.KIND]
        if kind < Kind.TX_DONE:
            kind &= 7  # a packet, without its mark
        kick = -1
        if faults and kind <= Kind.RESUME and wire_lost(net, row, now):
            continue
        if kind < Kind.PAUSE:
            p = net.rec[row, Rec.PORT]
            if net.port[p, PortCol.NODE] >= hosts:
                kick = switch_arrive(net, row, now)
            elif kind == Kind.DATA:
                if net.cfg[Cfg.RECEIVER_FUNCTION] != 0:
                    hear_peer(net, net.rec[row, Rec.OWNER], net.telemetry[row, 0], now)
                f = net.rec[row, Rec.OWNER]
                kick = receive_data(net, row, now)
                arrived = net.flow[f, FlowCol.EXPECTED] >= net.flow[f, FlowCol.SIZE]
                if arrived and net.flow[f, FlowCol.FOLLOWERS] > 0:
                    release_followers(net, f, now)
            elif kind == Kind.CNP:
                f = net.rec[row, Rec.OWNER]
                if net.flow[f, FlowCol.END] < 0:
                    old = net.rate[f]
                    notify(net, f, now)
                    if net.rate[f] != old and net.cfg[Cfg.RETIME] != 0:
                        wake_earlier(net, f, now)
                        kick = net.flow[f, FlowCol.PORT]
                free(net, row)
            else:
                if held_back(net, kind, row, now):
                    continue
                f = net.rec[row, Rec.OWNER]
                seq = net.rec[row, Rec.SEQ]
                rtt = now - net.rec[row, Rec.SENT]
                if net.cfg[Cfg.KEEP_PACKETS] != 0 and net.ctl[Ctl.PACKETS] < net.packet_rtt.size:
                    net.packet_rtt[net.ctl[Ctl.PACKETS]] = rtt
                net.ctl[Ctl.PACKETS] += 1
                if net.flow[f, FlowCol.END] < 0:
                    acked = net.flow[f, FlowCol.ACKED]
                    if seq > acked:
                        net.flow[f, FlowCol.ACKED] = seq
                        net.flow[f, FlowCol.PROGRESS] = now
                        if seq > net.flow[f, FlowCol.NEXT]:
                            net.flow[f, FlowCol.NEXT] = seq
                        deliver(net, f, now)
                    gap = net.cfg[Cfg.SELECTIVE] != 0 and learn(net, f, acked, row)
                    if seq >= net.flow[f, FlowCol.SIZE]:
                        net.flow[f, FlowCol.END] = now
                        remove_flow(net, f)
                        net.ctl[Ctl.DONE] += 1
                    if kind == Kind.NACK:
                        again = net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED]
                        net.flow[f, FlowCol.NEXT] = net.flow[f, FlowCol.ACKED]
                        if again > 0:
                            observe(net, f, _ARRIVAL, again, now)
                    if kind == Kind.NACK or gap:
                        lose(net, f, False, now)
                    full = completes(net, f, seq, row)
                    if full and net.cfg[Cfg.SCORE_SOURCE] == ScoreSource.FORGED:
                        restore_score(net, f, now)
                    told = rtt
                    if hears:
                        told = heard(net, f, rtt, now)
                    predicted = decide(net, row, max(seq - acked, 0), full, told, now)
                    if full and 0 < net.cfg[Cfg.SCORE_SOURCE] < ScoreSource.QUEUE:
                        make_score(net, f, now)
                    if net.cfg[Cfg.HINT_ECHO] != 0:
                        hear_level(net, f, net.telemetry[row, 0], now)
                    if net.cfg[Cfg.HINT_CAPS] != 0:
                        keep_cap(net, f)
                    if net.cfg[Cfg.SCORE_ECHO] != 0:
                        hear(net, f, net.telemetry[row, 0], full, now)
                    if full:
                        n = net.ctl[Ctl.SAMPLES]
                        if n >= net.samples.shape[0]:
                            net.ctl[Ctl.ERROR] = Err.RECORD
                            break
                        net.samples[n, 0] = f
                        net.samples[n, 1] = now
                        net.samples[n, 2] = rtt
                        net.sample_f[n, 0] = net.rate[f]
                        net.sample_f[n, 1] = predicted
                        net.ctl[Ctl.SAMPLES] = n + 1
                        if net.flow[f, FlowCol.NEXT] > net.flow[f, FlowCol.SAMPLE_SEQ]:
                            net.flow[f, FlowCol.SAMPLE_SEQ] = net.flow[f, FlowCol.NEXT]
                    wake_earlier(net, f, now)
                    kick = net.flow[f, FlowCol.PORT]
                free(net, row)
                if net.ctl[Ctl.DONE] == net.cfg[Cfg.FLOWS]:
                    break
        elif kind <= Kind.RESUME:
            p = net.rec[row, Rec.PORT]
            q = p * net.cfg[Cfg.PRIORITIES] + net.rec[row, Rec.SEQ]
            free(net, row)
            if kind == Kind.PAUSE:
                net.prio[q, PrioCol.PAUSED] = 1
                net.prio[q, PrioCol.PAUSED_AT] = now
                net.ctl[Ctl.PAUSES] += 1
            else:
                net.prio[q, PrioCol.PAUSED] = 0
                net.prio[q, PrioCol.PAUSED_PS] += now - net.prio[q, PrioCol.PAUSED_AT]
                net.ctl[Ctl.RESUMES] += 1
                kick = p
        elif kind == Kind.TX_DONE:
            kick = net.rec[row, Rec.OWNER]
            net.port[kick, PortCol.PENDING] = 0
        elif kind == Kind.WAKE:
            kick = net.rec[row, Rec.OWNER]
            net.port[kick, PortCol.WAKE] = -1
        elif kind == Kind.START:
            if ns3 and net.rec[row, Rec.OWNER] == 0:
                # In ns-3 the event of a start schedules the event that starts the flow: whatever
                # else is due now goes before it.
                net.rec[row, Rec.OWNER] = 1
                schedule(net, row, now)
                continue
            net.rec[row, Rec.OWNER] = 0
            f = net.order[net.ctl[Ctl.STARTED]]
            net.ctl[Ctl.STARTED] += 1
            if net.ctl[Ctl.STARTED] < net.order.size:
                due = net.flow[net.order[net.ctl[Ctl.STARTED]], FlowCol.START]
                schedule(net, row, due)
            begin_flow(net, f, now)
            kick = net.flow[f, FlowCol.PORT]
        elif kind == Kind.BEGIN:
            f = net.rec[row, Rec.OWNER]
            free(net, row)
            net.flow[f, FlowCol.START] = now
            begin_flow(net, f, now)
            kick = net.flow[f, FlowCol.PORT]
        elif kind == Kind.DEPTH:
            for p in range(net.cfg[Cfg.PORTS]):
                if net.port[p, PortCol.NODE] >= hosts:
                    net.depths[min(_queued(net, p) >> 10, net.depths.size - 1)] += 1
            schedule(net, row, now + net.cfg[Cfg.DEPTH_PS])
        elif kind == Kind.PROBE:
            _probe(net, now)
            schedule(net, row, now + net.ctl[Ctl.PROBE_PS])
        elif kind == Kind.MESSAGE:
            n = net.ctl[Ctl.MESSAGES]
            net.ctl[Ctl.MESSAGES] = n + 1
            if n + 1 < net.messages.shape[0]:
                schedule(net, row, net.messages[n + 1, MessageCol.TIME])
            f = net.messages[n, MessageCol.FLOW]
            size = net.messages[n, MessageCol.SIZE]
            hand_over(net, f, size, now)
            kick = net.flow[f, FlowCol.PORT]
        elif kind == Kind.VISIT:
            visit_queues(net, now)
            schedule(net, row, now + net.cfg[Cfg.VISIT_PS])
        elif kind == Kind.TIMEOUT:
            f = net.rec[row, Rec.OWNER]
            if net.flow[f, FlowCol.END] < 0:
                again = net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED]
                low = net.cfg[Cfg.LOW_TIMEOUT_PS]
                wait = net.cfg[Cfg.TIMEOUT_PS]
                if low > 0 and again <= net.cfg[Cfg.FEW_BYTES]:
                    wait = low
                due = net.flow[f, FlowCol.PROGRESS] + wait
                if now >= due:
                    if again > 0:
                        if net.cfg[Cfg.SELECTIVE] != 0:
                            all_lost(net, f)
                        else:
                            net.flow[f, FlowCol.NEXT] = net.flow[f, FlowCol.ACKED]
                            observe(net, f, _ARRIVAL, again, now)
                        net.ctl[Ctl.TIMEOUTS] += 1
                        lose(net, f, True, now)
                        kick = net.flow[f, FlowCol.PORT]
                    net.flow[f, FlowCol.PROGRESS] = now
                    due = now + wait
                if low > 0:
                    due = min(due, now + low)  # few may be outstanding by then
                schedule(net, row, due)
        elif kind == Kind.ANSWER:
            kick = answer_timer(net, row, now)
        elif kind == Kind.DOWN or kind == Kind.UP:
            kick = net.rec[row, Rec.OWNER]
            free(net, row)
            link_changes(net, kick, kind == Kind.DOWN, now)
        elif kind == Kind.ROUTES:
            free(net, row)
            net.ctl[Ctl.EPOCH] += 1
            break
        else:
            f = net.rec[row, Rec.OWNER]
            old = net.rate[f]
            if kind == Kind.SWEEP:
                sweep(net, row, now)
            else:
                window = net.flow[f, FlowCol.WINDOW]
                time_out(net, f, kind - Kind.TIMER, now)
                if net.flow[f, FlowCol.WINDOW] > window:
                    kick = net.flow[f, FlowCol.PORT]
            if net.rate[f] != old and net.cfg[Cfg.RETIME] != 0:
                wake_earlier(net, f, now)
                kick = net.flow[f, FlowCol.PORT]
        if kick < 0:
            continue
        is_host = net.port[kick, PortCol.NODE] < hosts
        row = host_next(net, kick, now) if is_host else switch_next(net, kick, now)
        if row < 0:
            continue
        done = now + tx_ps(net, kick, net.rec[row, Rec.SIZE])
        net.port[kick, PortCol.BUSY_UNTIL] = done
        if ns3:
            net.port[kick, PortCol.PENDING] = 1
            schedule(net, tx_done_row(kick), done)
        elif is_host:
            after_send(net, kick)
        elif something_waits(net, kick):
            net.port[kick, PortCol.PENDING] = 1
            schedule(net, tx_done_row(kick), done)
        net.rec[row, Rec.PORT] = net.port[kick, PortCol.PEER]
        schedule(net, row, done + net.port[kick, PortCol.DELAY])
