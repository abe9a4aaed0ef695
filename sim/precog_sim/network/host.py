"""Hosts that send: under pace and window, go-back-N or selective repeat.

Acknowledgements leave before data; a host's flows take turns. A packet is made when the NIC is
free for it, so no packet waits in the host and an RTT has no NIC queueing in it. A flow's send
queue holds bytes that the application has handed over.
"""

from precog_sim.network.control import Cfg, Ctl, Err
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.laws import sent, start_law
from precog_sim.network.layout import (
    NEVER,
    TIMERS,
    FlowCol,
    Kind,
    LawCol,
    MessageCol,
    PortCol,
    PrioCol,
    QueueCol,
    Rec,
    RepeatCol,
    Window,
)
from precog_sim.network.net import Net
from precog_sim.network.outside import observe, tell_bytes
from precog_sim.network.pool import allocate
from precog_sim.network.port import gap_ps
from precog_sim.network.queues import take
from precog_sim.network.ring import add_flow, at_turn, clear_finished, note_turn
from precog_sim.network.selective import any_lost
from precog_sim.network.told import believe, count_own, keep_cap
from precog_sim.network.turns import next_priority, priority_of
from precog_sim.network.wheel import cancel, schedule
from precog_spec.contract import QueueEvent

__all__ = [
    "after_send",
    "begin_flow",
    "deliver",
    "hand_over",
    "host_next",
    "pick",
    "wake",
    "wake_earlier",
]

_ARRIVAL, _DEPARTURE = int(QueueEvent.ARRIVAL), int(QueueEvent.DEPARTURE)


@inlined
def wake(net: Net, p: int, t: int) -> None:
    """Let host port `p` look for work at `t` or earlier."""
    row = net.cfg[Cfg.PORTS] + p
    if net.port[p, PortCol.WAKE] >= 0:
        if net.port[p, PortCol.WAKE] <= t:
            return
        cancel(net, row)
    net.port[p, PortCol.WAKE] = t
    schedule(net, row, t)


@inlined
def wake_earlier(net: Net, f: int, now: int) -> None:
    """In ns3 timing, where a WAKE that is set stays: move it for `f`, whose rate may have risen."""
    if net.cfg[Cfg.NS3] != 0 and net.cfg[Cfg.RETIME] != 0:
        p = net.flow[f, FlowCol.PORT]
        due = max(now, net.flow[f, FlowCol.AVAILABLE])
        if net.port[p, PortCol.WAKE] > due:
            wake(net, p, due)


@inlined
def note_queue(net: Net, f: int, size: int, now: int) -> None:
    """A send queue has changed: `size` bytes came, or -`size` left. The device's profiler is told;
    a row is added to the queues' log, if one is kept."""
    kind = _ARRIVAL if size > 0 else _DEPARTURE
    observe(net, f, kind, abs(size), now)
    if net.cfg[Cfg.KEEP_QUEUES] == 0:
        return
    n = net.ctl[Ctl.NOTED]
    if n >= net.changes.shape[0]:
        net.ctl[Ctl.ERROR] = Err.QUEUES
        net.ctl[Ctl.ERROR_VALUE] = n
        return
    net.changes[n, QueueCol.TIME] = now
    net.changes[n, QueueCol.FLOW] = f
    net.changes[n, QueueCol.BYTES] = size
    net.changes[n, QueueCol.QUEUE] = net.flow[f, FlowCol.OFFERED] - net.flow[f, FlowCol.NEXT]
    net.ctl[Ctl.NOTED] = n + 1


@outlined
def begin_flow(net: Net, f: int, now: int) -> None:
    """`f` may send from now on."""
    net.flow[f, FlowCol.AVAILABLE] = now
    net.flow[f, FlowCol.PROGRESS] = now
    add_flow(net, f)
    if net.cfg[Cfg.HINT_ECHO] != 0:
        count_own(net, f)
    start_law(net, f, now)
    if net.cfg[Cfg.HINT_START] != 0:
        believe(net, f, now)
        keep_cap(net, f)
    if net.flow[f, FlowCol.OFFERED] > 0:
        size = net.flow[f, FlowCol.OFFERED]
        note_queue(net, f, size, now)
    if net.cfg[Cfg.TIMEOUT_PS] > 0:
        timer = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * f + TIMERS
        schedule(net, timer, now + (net.cfg[Cfg.LOW_TIMEOUT_PS] or net.cfg[Cfg.TIMEOUT_PS]))


@inlined
def hand_over(net: Net, f: int, size: int, now: int) -> None:
    """A message of `size` bytes has come for `f`."""
    if net.flow[f, FlowCol.ACKED] == net.flow[f, FlowCol.OFFERED]:
        net.flow[f, FlowCol.PROGRESS] = now  # it was idle: its time-out begins now
    net.flow[f, FlowCol.OFFERED] += size
    note_queue(net, f, size, now)


@inlined
def deliver(net: Net, f: int, now: int) -> None:
    """More of `f` has been acknowledged: note the messages that are through with it."""
    m = net.flow[f, FlowCol.MESSAGE]
    while m >= 0 and net.messages[m, MessageCol.END] <= net.flow[f, FlowCol.ACKED]:
        net.messages[m, MessageCol.DONE] = now
        m = net.messages[m, MessageCol.AFTER]
    net.flow[f, FlowCol.MESSAGE] = m


@inlined
def _has_bytes(net: Net, f: int) -> bool:
    """Whether `f` has bytes that wait to be sent or repeated."""
    return bool(
        net.flow[f, FlowCol.NEXT] < net.flow[f, FlowCol.OFFERED]
        or (net.cfg[Cfg.SELECTIVE] != 0 and any_lost(net, f))
    )


@inlined
def _may_send(net: Net, f: int) -> bool:
    """Whether `f` has bytes to repeat, or bytes to send and room in its windows."""
    if net.cfg[Cfg.SELECTIVE] != 0:
        if any_lost(net, f):
            return True
        payload = net.cfg[Cfg.PAYLOAD]
        outstanding = net.flow[f, FlowCol.NEXT] // payload - net.flow[f, FlowCol.ACKED] // payload
        if outstanding >= net.cfg[Cfg.REPEAT_WINDOW]:
            return False
    if net.flow[f, FlowCol.NEXT] >= net.flow[f, FlowCol.OFFERED]:
        return False
    window = net.flow[f, FlowCol.WINDOW]
    if window == 0:
        return True
    if net.law[net.flow[f, FlowCol.LAW], LawCol.WINDOW] == Window.RATE:
        window = max(int(window * net.real[f, FlowCol.RATE] / net.real[f, FlowCol.TOP]), 1)
    return bool(net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED] < window)


@inlined
def pick(net: Net, q: int, now: int) -> tuple[int, int]:
    """The flow of a host's priority `q` that may send now, -1: none; and when one may, if none."""
    ns3 = net.cfg[Cfg.NS3] != 0
    soonest = NEVER
    chosen = -1
    ring = net.prio[q, PrioCol.RING]
    if ring < 0:
        return chosen, soonest
    finished = NEVER
    first, place = at_turn(net, q)
    f = first
    while True:
        if _has_bytes(net, f):
            due = net.flow[f, FlowCol.AVAILABLE]
            open_window = _may_send(net, f)
            if open_window and due <= now and net.prio[q, PrioCol.PAUSED] == 0:
                # Flows of the same priority take turns; a receiver may have raised some.
                if chosen < 0 or net.flow[f, FlowCol.BOOST] > net.flow[chosen, FlowCol.BOOST]:
                    chosen = f
                if net.cfg[Cfg.RECEIVER_FUNCTION] == 0:
                    break
            # ns-3 also wakes for a flow that its window will hold back.
            if due < soonest and (open_window or ns3):
                soonest = due
        elif ns3 and net.flow[f, FlowCol.END] >= 0:
            finished = min(finished, place)
        f = net.flow[f, FlowCol.RING_NEXT]
        if f == first:
            break
        place = 0 if f == ring else place + 1
    if finished < NEVER:
        clear_finished(net, q, finished)
    return chosen, soonest


@outlined
def _pick_priority(net: Net, p: int, now: int) -> tuple[int, int]:
    """As `pick`, of all priorities of host port `p`."""
    count = net.cfg[Cfg.PRIORITIES]
    soonest = NEVER
    for c in range(count):
        f, due = pick(net, p * count + c, now)
        if now < due:  # a priority that is paused does not keep others from waking
            soonest = min(soonest, due)
        net.ready[c] = 0
        if f >= 0:
            header = net.law[net.flow[f, FlowCol.LAW], LawCol.HEADER]
            net.ready[c] = _next_bytes(net, f) + header
    c = next_priority(net, p)
    if c < 0:
        return -1, soonest
    f, _ = pick(net, p * count + c, now)
    return f, soonest


@inlined
def _next_bytes(net: Net, f: int) -> int:
    """Bytes of payload in the packet that `f` sends next."""
    seq = net.flow[f, FlowCol.NEXT]
    if net.cfg[Cfg.SELECTIVE] != 0 and any_lost(net, f):
        seq = net.repeat[f, RepeatCol.AGAIN]
    return int(min(net.flow[f, FlowCol.OFFERED] - seq, net.cfg[Cfg.PAYLOAD]))


@inlined
def host_next(net: Net, p: int, now: int) -> int:
    """The packet that host port `p` sends next; -1: none now (and a WAKE is set if one will be)."""
    ns3 = net.cfg[Cfg.NS3] != 0
    if net.port[p, PortCol.PENDING] != 0:
        return -1
    if net.port[p, PortCol.BUSY_UNTIL] > now:
        wake(net, p, net.port[p, PortCol.BUSY_UNTIL])
        return -1
    count = net.cfg[Cfg.PRIORITIES]
    for q in range(p * count, (p + 1) * count):
        if net.prio[q, PrioCol.HEAD] >= 0 and (
            net.prio[q, PrioCol.PAUSED] == 0 or net.cfg[Cfg.ACK_HIGH] != 0
        ):
            return take(net, q)
    if count == 1:
        chosen, soonest = pick(net, p, now)
    else:
        chosen, soonest = _pick_priority(net, p, now)
    if chosen < 0:
        if now < soonest < NEVER and not (ns3 and net.port[p, PortCol.WAKE] >= 0):
            wake(net, p, soonest)
        return -1
    row = allocate(net)
    if row < 0:
        return row
    f = chosen
    again = net.cfg[Cfg.SELECTIVE] != 0 and any_lost(net, f)
    seq = net.repeat[f, RepeatCol.AGAIN] if again else net.flow[f, FlowCol.NEXT]
    payload = min(net.flow[f, FlowCol.OFFERED] - seq, net.cfg[Cfg.PAYLOAD])
    wire = payload + net.law[net.flow[f, FlowCol.LAW], LawCol.HEADER]
    net.rec[row, Rec.KIND] = Kind.DATA
    net.rec[row, Rec.OWNER] = f
    net.rec[row, Rec.SEQ] = seq
    net.rec[row, Rec.SIZE] = wire
    net.rec[row, Rec.SENT] = now
    if net.cfg[Cfg.TELEMETRY] != 0:
        net.telemetry[row, 0] = 0
        net.telemetry[row, 1] = 0
    elif net.cfg[Cfg.SCORE_ECHO] != 0:
        net.telemetry[row, 0] = net.flow[f, FlowCol.SCORE]
    if again:
        net.repeat[f, RepeatCol.AGAIN] += payload
    else:
        net.flow[f, FlowCol.NEXT] += payload
        note_queue(net, f, -payload, now)
    net.flow[f, FlowCol.LAST_WIRE] = wire
    net.flow[f, FlowCol.SENT_PACKETS] += 1
    net.flow[f, FlowCol.AVAILABLE] = now + gap_ps(net, wire, net.real[f, FlowCol.RATE])
    note_turn(net, priority_of(net, p, f), f)
    net.ctl[Ctl.DATA_SENT] += 1
    if net.law[net.flow[f, FlowCol.LAW], LawCol.SEND] != 0:
        sent(net, f, wire, now)
    if net.cfg[Cfg.ACK_FUNCTION] != 0:
        tell_bytes(net, f, wire, now)
    return row


@inlined
def after_send(net: Net, p: int) -> None:
    """In exact timing, set the WAKE for whatever port `p` may send next."""
    free_at = net.port[p, PortCol.BUSY_UNTIL]
    count = net.cfg[Cfg.PRIORITIES]
    if count > 1:
        for q in range(p * count, (p + 1) * count):
            if net.prio[q, PrioCol.HEAD] >= 0 or net.prio[q, PrioCol.RING] >= 0:
                wake(net, p, free_at)
                return
        return
    f = net.prio[p, PrioCol.RING]
    if net.prio[p, PrioCol.HEAD] >= 0 or (f >= 0 and net.flow[f, FlowCol.RING_NEXT] != f):
        wake(net, p, free_at)
    elif f >= 0 and _may_send(net, f):
        due = max(free_at, net.flow[f, FlowCol.AVAILABLE])
        wake(net, p, due)
