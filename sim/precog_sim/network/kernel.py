"""The loop of a partition: one compiled function for every scenario and every rate law.

Each event names at most one port that may now have something to send; serving that port is the
same code for all events. In exact timing a TX_DONE is scheduled only when something waits for it;
in ns3 timing always, because ns-3 does and equal times are served in the order of scheduling.
"""

from precog_sim.network.acknowledged import acknowledged, timed_out
from precog_sim.network.answers import answer_timer
from precog_sim.network.arrivals import take
from precog_sim.network.control import Cfg, Ctl, Halt, Own
from precog_sim.network.faults import link_changes, schedule_outages, wire_lost
from precog_sim.network.forecasts import hear_peer, visit_queues
from precog_sim.network.host import after_send, begin_flow, hand_over, host_next, wake_earlier
from precog_sim.network.jit import merged
from precog_sim.network.laws import notify, time_out
from precog_sim.network.layout import FlowCol, Kind, MessageCol, PortCol, PrioCol, Rec
from precog_sim.network.net import Net
from precog_sim.network.outside import sweep
from precog_sim.network.pool import free
from precog_sim.network.port import onto_wire, tx_done_row, tx_ps
from precog_sim.network.receiver import receive_data, release_followers
from precog_sim.network.switch import something_waits, switch_arrive, switch_next
from precog_sim.network.watch import count_once, probe, sample_depths
from precog_sim.network.wheel import schedule

__all__ = ["advance"]


@merged
def _begin(net: Net) -> None:
    """Schedule what happens by itself."""
    own = net.ctl[Ctl.OWN]
    if net.order.size > 0:
        schedule(net, own + Own.START, net.flow[net.order[0], FlowCol.START])
    if net.ctl[Ctl.PROBE_PS] > 0:
        schedule(net, own + Own.PROBE, 0)
    if net.messages.shape[0] > 0:
        schedule(net, own + Own.MESSAGE, net.messages[0, MessageCol.TIME])
    if net.cfg[Cfg.VISIT_FUNCTION] != 0:
        schedule(net, own + Own.VISIT, net.cfg[Cfg.VISIT_PS])
    if net.cfg[Cfg.DEPTH_PS] != 0:
        schedule(net, own + Own.DEPTH, net.cfg[Cfg.DEPTH_PS])
    schedule_outages(net)
    net.ctl[Ctl.BEGUN] = 1


@merged
def _packet(
    net: Net, row: int, kind: int, now: int, hosts: int, ns3: bool, hears: bool
) -> tuple[int, bool]:
    """A packet arrives: the port to be served, and whether the packet leaves there at once."""
    p = net.rec[row, Rec.PORT]
    if net.port[p, PortCol.NODE] >= hosts:
        return switch_arrive(net, row, now)
    kick = -1
    if kind == Kind.DATA:
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
            old = net.real[f, FlowCol.RATE]
            notify(net, f, now)
            if net.real[f, FlowCol.RATE] != old and net.cfg[Cfg.RETIME] != 0:
                wake_earlier(net, f, now)
                kick = net.flow[f, FlowCol.PORT]
        free(net, row)
    else:
        kick = acknowledged(net, kind, row, now, hears)
        if ns3 and net.ctl[Ctl.DONE] == net.cfg[Cfg.FLOWS]:
            net.ctl[Ctl.HALT] = Halt.DONE
    return kick, False


@merged
def _pause(net: Net, row: int, kind: int, now: int) -> int:
    """PFC stops a port's priority, or lets it go on: the port to be served, or -1."""
    p = net.rec[row, Rec.PORT]
    q = p * net.cfg[Cfg.PRIORITIES] + net.rec[row, Rec.SEQ]
    free(net, row)
    if kind == Kind.PAUSE:
        net.prio[q, PrioCol.PAUSED] = 1
        net.prio[q, PrioCol.PAUSED_AT] = now
        net.ctl[Ctl.PAUSES] += 1
        return -1
    net.prio[q, PrioCol.PAUSED] = 0
    net.prio[q, PrioCol.PAUSED_PS] += now - net.prio[q, PrioCol.PAUSED_AT]
    net.ctl[Ctl.RESUMES] += 1
    return int(p)


@merged
def _start(net: Net, row: int, now: int, ns3: bool) -> int:
    """The next flow starts: the port to be served, or -1."""
    if ns3 and net.rec[row, Rec.OWNER] == 0:
        # In ns-3 the event of a start schedules the event that starts the flow: whatever
        # else is due now goes before it.
        net.rec[row, Rec.OWNER] = 1
        schedule(net, row, now)
        return -1
    net.rec[row, Rec.OWNER] = 0
    f = net.order[net.ctl[Ctl.STARTED]]
    net.ctl[Ctl.STARTED] += 1
    if net.ctl[Ctl.STARTED] < net.order.size:
        due = net.flow[net.order[net.ctl[Ctl.STARTED]], FlowCol.START]
        schedule(net, row, due)
    begin_flow(net, f, now)
    return int(net.flow[f, FlowCol.PORT])


@merged
def _message(net: Net, row: int, now: int) -> int:
    """A host has the next message to send: the port to be served."""
    n = net.ctl[Ctl.MESSAGES]
    net.ctl[Ctl.MESSAGES] = n + 1
    if n + 1 < net.messages.shape[0]:
        schedule(net, row, net.messages[n + 1, MessageCol.TIME])
    f = net.messages[n, MessageCol.FLOW]
    size = net.messages[n, MessageCol.SIZE]
    hand_over(net, f, size, now)
    return int(net.flow[f, FlowCol.PORT])


@merged
def _law_timer(net: Net, row: int, kind: int, now: int) -> int:
    """A law's timer, or a sweep of the loop outside: the port to be served, or -1."""
    kick = -1
    f = net.rec[row, Rec.OWNER]
    old = net.real[f, FlowCol.RATE]
    if kind == Kind.SWEEP:
        sweep(net, row, now)
    else:
        window = net.flow[f, FlowCol.WINDOW]
        time_out(net, f, kind - Kind.TIMER, now)
        if net.flow[f, FlowCol.WINDOW] > window:
            kick = net.flow[f, FlowCol.PORT]
    if net.real[f, FlowCol.RATE] != old and net.cfg[Cfg.RETIME] != 0:
        wake_earlier(net, f, now)
        kick = net.flow[f, FlowCol.PORT]
    return kick


@merged
def _by_itself(net: Net, row: int, kind: int, now: int, ns3: bool) -> int:
    """What happens without a packet: the port to be served, or -1."""
    kick = -1
    if kind == Kind.START:
        kick = _start(net, row, now, ns3)
    elif kind == Kind.BEGIN:
        f = net.rec[row, Rec.OWNER]
        free(net, row)
        net.flow[f, FlowCol.START] = now
        begin_flow(net, f, now)
        kick = net.flow[f, FlowCol.PORT]
    elif kind == Kind.DEPTH:
        count_once(net)
        sample_depths(net)
        schedule(net, row, now + net.cfg[Cfg.DEPTH_PS])
    elif kind == Kind.PROBE:
        probe(net, now)
        schedule(net, row, now + net.ctl[Ctl.PROBE_PS])
    elif kind == Kind.MESSAGE:
        kick = _message(net, row, now)
    elif kind == Kind.VISIT:
        visit_queues(net, now)
        schedule(net, row, now + net.cfg[Cfg.VISIT_PS])
    elif kind == Kind.TIMEOUT:
        kick = timed_out(net, row, now)
    elif kind == Kind.ANSWER:
        kick = answer_timer(net, row, now)
    elif kind == Kind.DOWN or kind == Kind.UP:
        kick = net.rec[row, Rec.OWNER]
        free(net, row)
        link_changes(net, kick, kind == Kind.DOWN, now)
    elif kind == Kind.ROUTES:
        free(net, row)
        count_once(net)
        net.ctl[Ctl.EPOCH] += 1
        net.ctl[Ctl.HALT] = Halt.ROUTES
    else:
        kick = _law_timer(net, row, kind, now)
    return kick


@merged
def _serve(net: Net, kick: int, row: int, now: int, passes: bool, hosts: int, ns3: bool) -> None:
    """Port `kick` sends what it has: the packet in `row` if that passes, else its next one."""
    is_host = False
    if not passes:
        is_host = net.port[kick, PortCol.NODE] < hosts
        row = host_next(net, kick, now) if is_host else switch_next(net, kick, now)
        if row < 0:
            return
    done = now + tx_ps(net, kick, net.rec[row, Rec.SIZE])
    net.port[kick, PortCol.BUSY_UNTIL] = done
    if ns3:
        net.port[kick, PortCol.PENDING] = 1
        schedule(net, tx_done_row(kick), done)
    elif is_host:
        after_send(net, kick)
    elif not passes and something_waits(net, kick):
        net.port[kick, PortCol.PENDING] = 1
        schedule(net, tx_done_row(kick), done)
    onto_wire(net, row, kick, done)


@merged
def advance(net: Net, until: int) -> None:
    """Let a partition do all that is due before `until` ps.

    It stops before with an error in ``ctl``, and with a `Halt` there: where routes change, it is
    called again with the new ones.
    """
    hosts = net.cfg[Cfg.HOSTS]
    ns3 = net.cfg[Cfg.NS3] != 0
    faults = net.cfg[Cfg.FAULTS] != 0
    hears = net.cfg[Cfg.NOISE_PS] != 0 or net.cfg[Cfg.BASE_LEARNT] != 0
    net.ctl[Ctl.HALT] = Halt.NONE
    if net.ctl[Ctl.BEGUN] == 0:
        _begin(net)
    while net.ctl[Ctl.ERROR] == 0:
        row = take(net, until)
        if row < 0:
            break
        now = net.rec[row, Rec.TIME]
        net.ctl[Ctl.NOW] = now
        net.ctl[Ctl.EVENTS] += 1
        kind = net.rec[row, Rec.KIND]
        if kind < Kind.TX_DONE:
            kind &= 7  # a packet, without its mark
        passes = False  # the packet in `row` leaves at once
        if faults and kind <= Kind.RESUME and wire_lost(net, row, now):
            continue
        if kind < Kind.PAUSE:
            kick, passes = _packet(net, row, kind, now, hosts, ns3, hears)
            if ns3 and net.ctl[Ctl.HALT] == Halt.DONE:
                break
        elif kind <= Kind.RESUME:
            kick = _pause(net, row, kind, now)
        elif kind == Kind.TX_DONE:
            kick = net.rec[row, Rec.OWNER]
            net.port[kick, PortCol.PENDING] = 0
        elif kind == Kind.WAKE:
            kick = net.rec[row, Rec.OWNER]
            net.port[kick, PortCol.WAKE] = -1
        else:
            kick = _by_itself(net, row, kind, now, ns3)
            if net.ctl[Ctl.HALT] == Halt.ROUTES:
                break
        if kick >= 0:
            _serve(net, kick, row, now, passes, hosts, ns3)
