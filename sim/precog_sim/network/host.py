"""Hosts: sending under pace and window, receiving, acknowledging, go-back-N or selective repeat.

Acknowledgements leave before data; a host's flows take turns. A packet is made when the NIC is
free for it, so no packet waits in the host and an RTT has no NIC queueing in it; what waits are
bytes that have been handed over, a flow's send queue.
"""

from precog_sim.network.answers import waits
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.laws import sent, start_law
from precog_sim.network.layout import (
    TIMERS,
    Cfg,
    Ctl,
    Err,
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
from precog_sim.network.outside import observe, tell
from precog_sim.network.port import allocate, free, gap_ps, push_answer, take
from precog_sim.network.selective import accept, any_lost, says
from precog_sim.network.told import begin_hinted, count_inbound, keep_cap
from precog_sim.network.turns import next_priority, priority_of
from precog_sim.network.wheel import cancel, schedule
from precog_spec.contract import QueueEvent
from precog_spec.law_fields import EventKind

__all__ = [
    "CNP_BYTES",
    "add_flow",
    "after_send",
    "begin_flow",
    "deliver",
    "hand_over",
    "host_next",
    "note_queue",
    "receive_data",
    "release_followers",
    "remove_flow",
    "wake",
    "wake_earlier",
]

CNP_BYTES = 74  # Ethernet 14, IPv4 20, UDP 8, BTH 12, 16 reserved, ICRC 4
_NEVER = 1 << 62
_ACK, _NACK = int(Kind.ACK), int(Kind.NACK)
_BYTES = int(EventKind.BYTES)
_ARRIVAL, _DEPARTURE = int(QueueEvent.ARRIVAL), int(QueueEvent.DEPARTURE)


@inlined
def wake(net: Net, p: int, t: int) -> None:
    """Let host port `p` look for work at `t` or earlier."""
    row = 2 + net.cfg[Cfg.PORTS] + p
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


@outlined
def add_flow(net: Net, f: int) -> None:
    """Put `f` at the end of the ring of active flows of its host and priority."""
    q = priority_of(net, net.flow[f, FlowCol.PORT], f)
    first = net.prio[q, PrioCol.RING]
    if first < 0:
        net.prio[q, PrioCol.RING] = f
        net.flow[f, FlowCol.RING_NEXT] = f
        net.flow[f, FlowCol.RING_PREVIOUS] = f
        return
    last = net.flow[first, FlowCol.RING_PREVIOUS]
    net.flow[f, FlowCol.RING_NEXT] = first
    net.flow[f, FlowCol.RING_PREVIOUS] = last
    net.flow[last, FlowCol.RING_NEXT] = f
    net.flow[first, FlowCol.RING_PREVIOUS] = f


@outlined
def remove_flow(net: Net, f: int) -> None:
    """Take the finished flow `f` out of its ring."""
    q = priority_of(net, net.flow[f, FlowCol.PORT], f)
    after = net.flow[f, FlowCol.RING_NEXT]
    before = net.flow[f, FlowCol.RING_PREVIOUS]
    if after == f:
        net.prio[q, PrioCol.RING] = -1
        net.prio[q, PrioCol.LAST] = -1
        return
    net.flow[before, FlowCol.RING_NEXT] = after
    net.flow[after, FlowCol.RING_PREVIOUS] = before
    if net.prio[q, PrioCol.RING] == f:
        net.prio[q, PrioCol.RING] = after
    if net.prio[q, PrioCol.LAST] == f:
        net.prio[q, PrioCol.LAST] = before


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
    if net.cfg[Cfg.HINT_START] != 0:
        begin_hinted(net, f, now)
    start_law(net, f, now)
    if net.cfg[Cfg.HINT_CAPS] != 0:
        keep_cap(net, f)
    if net.flow[f, FlowCol.OFFERED] > 0:
        size = net.flow[f, FlowCol.OFFERED]
        note_queue(net, f, size, now)
    if net.cfg[Cfg.TIMEOUT_PS] > 0:
        timer = net.cfg[Cfg.FIRST_FLOW_TIMER] + (TIMERS + 1) * f + TIMERS
        schedule(net, timer, now + (net.cfg[Cfg.LOW_TIMEOUT_PS] or net.cfg[Cfg.TIMEOUT_PS]))


@inlined
def release_followers(net: Net, f: int, now: int) -> None:
    """All of `f` has arrived: those that waited for it alone begin after their gap."""
    first = net.flow[f, FlowCol.FOLLOWER]
    for k in range(first, first + net.flow[f, FlowCol.FOLLOWERS]):
        g = net.followers[k]
        net.flow[g, FlowCol.WAITS] -= 1
        if net.flow[g, FlowCol.WAITS] == 0:
            row = allocate(net)
            if row < 0:
                return
            net.rec[row, Rec.KIND] = Kind.BEGIN
            net.rec[row, Rec.OWNER] = g
            schedule(net, row, now + net.flow[g, FlowCol.GAP])
    net.flow[f, FlowCol.FOLLOWERS] = 0


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
        window = max(int(window * net.rate[f] / net.top[f]), 1)
    return bool(net.flow[f, FlowCol.NEXT] - net.flow[f, FlowCol.ACKED] < window)


@inlined
def _pick(net: Net, q: int, now: int) -> tuple[int, int]:
    """The flow of a host's priority `q` that may send now, -1: none; and when one may, if none."""
    ns3 = net.cfg[Cfg.NS3] != 0
    soonest = _NEVER
    chosen = -1
    first = net.prio[q, PrioCol.RING]
    if first < 0:
        return chosen, soonest
    if net.prio[q, PrioCol.LAST] >= 0:
        first = net.flow[net.prio[q, PrioCol.LAST], FlowCol.RING_NEXT]
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
        f = net.flow[f, FlowCol.RING_NEXT]
        if f == first:
            break
    return chosen, soonest


@outlined
def _pick_priority(net: Net, p: int, now: int) -> tuple[int, int]:
    """As `_pick`, of all priorities of host port `p`."""
    count = net.cfg[Cfg.PRIORITIES]
    soonest = _NEVER
    for c in range(count):
        f, due = _pick(net, p * count + c, now)
        if now < due:  # a priority that is paused does not keep others from waking
            soonest = min(soonest, due)
        net.ready[c] = 0
        if f >= 0:
            header = net.law[net.flow[f, FlowCol.LAW], LawCol.HEADER]
            net.ready[c] = _next_bytes(net, f) + header
    c = next_priority(net, p)
    if c < 0:
        return -1, soonest
    f, _ = _pick(net, p * count + c, now)
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
        chosen, soonest = _pick(net, p, now)
    else:
        chosen, soonest = _pick_priority(net, p, now)
    if chosen < 0:
        if now < soonest < _NEVER and not (ns3 and net.port[p, PortCol.WAKE] >= 0):
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
    net.flow[f, FlowCol.AVAILABLE] = now + gap_ps(net, wire, net.rate[f])
    net.prio[priority_of(net, p, f), PrioCol.LAST] = f
    net.ctl[Ctl.DATA_SENT] += 1
    if net.law[net.flow[f, FlowCol.LAW], LawCol.SEND] != 0:
        sent(net, f, wire, now)
    if net.cfg[Cfg.TELL_BYTES] != 0:
        tell(net, _BYTES, f, wire, now)
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


@inlined
def receive_data(net: Net, row: int, now: int) -> int:
    """Data has reached its host: answer in place. Returns the port to serve, -1: no answer."""
    p = net.rec[row, Rec.PORT]
    f = net.rec[row, Rec.OWNER]
    mark = net.rec[row, Rec.KIND] & Kind.MARK
    law = net.flow[f, FlowCol.LAW]
    expected = net.flow[f, FlowCol.EXPECTED]
    seq = net.rec[row, Rec.SEQ]
    net.ctl[Ctl.DATA_GOT] += 1
    answer = _ACK
    payload = net.rec[row, Rec.SIZE] - net.law[law, LawCol.HEADER]
    if net.cfg[Cfg.SELECTIVE] != 0:
        accept(net, f, seq, payload)
        says(net, f, seq, row)
    elif seq == expected:
        net.flow[f, FlowCol.EXPECTED] = expected + payload
    elif seq > expected:
        if net.flow[f, FlowCol.NACK_SEQ] == expected and now < net.flow[f, FlowCol.NACK_TIME]:
            free(net, row)
            return -1
        net.flow[f, FlowCol.NACK_SEQ] = expected
        net.flow[f, FlowCol.NACK_TIME] = now + net.cfg[Cfg.NACK_PS]
        answer = _NACK
        net.ctl[Ctl.NACKS] += 1
    else:
        net.ctl[Ctl.DUPLICATES] += 1
    cnp_ps = net.law[law, LawCol.CNP_PS]
    if cnp_ps > 0 and mark != 0 and now >= net.flow[f, FlowCol.CNP_TIME]:
        cnp = allocate(net)
        if cnp < 0:
            return cnp
        net.flow[f, FlowCol.CNP_TIME] = now + cnp_ps
        net.rec[cnp, Rec.KIND] = Kind.CNP
        net.rec[cnp, Rec.OWNER] = f
        net.rec[cnp, Rec.SIZE] = CNP_BYTES
        net.rec[cnp, Rec.PORT] = p
        push_answer(net, cnp)
        net.ctl[Ctl.CNPS] += 1
    if net.cfg[Cfg.HINT_ECHO] != 0:
        count_inbound(net, f, row, now)
    next_seq = net.flow[f, FlowCol.EXPECTED]
    net.rec[row, Rec.KIND] = answer | mark
    net.rec[row, Rec.SEQ] = next_seq
    net.rec[row, Rec.SIZE] = net.law[law, LawCol.ACK_BYTES]
    if net.cfg[Cfg.ACK_EVERY] > 1:
        in_order = 0 < next_seq - expected <= net.cfg[Cfg.PAYLOAD]
        prompt = not in_order or next_seq >= net.flow[f, FlowCol.SIZE]
        if waits(net, f, row, prompt, now):
            return int(p) if net.prio[priority_of(net, p, f), PrioCol.HEAD] >= 0 else -1
    push_answer(net, row)
    return int(p)
