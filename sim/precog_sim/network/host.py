"""Hosts: sending under pace and window, receiving, acknowledging, go-back-N.

Acknowledgements leave before data; a host's flows take turns. A packet is made when the NIC is
free for it, so no packet waits in the host and an RTT has no NIC queueing in it; what waits are
bytes that have been handed over, a flow's send queue.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.contract import QueueEvent
from precog_models.rate.law_fields import EventKind
from precog_models.rate.reference import dcqcn
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import (
    Cfg,
    Ctl,
    Err,
    FlowCol,
    Kind,
    Law,
    MessageCol,
    PortCol,
    QueueCol,
    Rec,
)
from precog_sim.network.outside import observe, retime, tell
from precog_sim.network.port import allocate, free, gap_ps, push, take
from precog_sim.network.wheel import cancel, schedule

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

_Table = NDArray[np.int64]
_Wheel = NDArray[np.int32]


@inlined
def wake(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    ctl: _Table,
    cfg: _Table,
    p: int,
    t: int,
) -> None:
    """Let host port `p` look for work at `t` or earlier."""
    row = 2 + cfg[Cfg.PORTS] + p
    if port[p, PortCol.WAKE] >= 0:
        if port[p, PortCol.WAKE] <= t:
            return
        cancel(rec, wheel, bits, heap, ctl, row)
    port[p, PortCol.WAKE] = t
    schedule(rec, wheel, bits, heap, ctl, row, t)


@inlined
def wake_earlier(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    f: int,
    now: int,
) -> None:
    """In ns3 timing, where a WAKE that is set stays: move it for `f`, whose rate may have risen."""
    if cfg[Cfg.NS3] != 0 and cfg[Cfg.RETIME] != 0:
        p = flow[f, FlowCol.PORT]
        due = max(now, flow[f, FlowCol.AVAILABLE])
        if port[p, PortCol.WAKE] > due:
            wake(rec, wheel, bits, heap, port, ctl, cfg, p, due)


@compiled
def add_flow(port: _Table, flow: _Table, f: int) -> None:
    """Put `f` at the end of its host's ring of active flows."""
    p = flow[f, FlowCol.PORT]
    first = port[p, PortCol.RING]
    if first < 0:
        port[p, PortCol.RING] = f
        flow[f, FlowCol.RING_NEXT] = f
        flow[f, FlowCol.RING_PREVIOUS] = f
        return
    last = flow[first, FlowCol.RING_PREVIOUS]
    flow[f, FlowCol.RING_NEXT] = first
    flow[f, FlowCol.RING_PREVIOUS] = last
    flow[last, FlowCol.RING_NEXT] = f
    flow[first, FlowCol.RING_PREVIOUS] = f


@compiled
def remove_flow(port: _Table, flow: _Table, f: int) -> None:
    """Take the finished flow `f` out of its host's ring."""
    p = flow[f, FlowCol.PORT]
    after = flow[f, FlowCol.RING_NEXT]
    before = flow[f, FlowCol.RING_PREVIOUS]
    if after == f:
        port[p, PortCol.RING] = -1
        port[p, PortCol.LAST] = -1
        return
    flow[before, FlowCol.RING_NEXT] = after
    flow[after, FlowCol.RING_PREVIOUS] = before
    if port[p, PortCol.RING] == f:
        port[p, PortCol.RING] = after
    if port[p, PortCol.LAST] == f:
        port[p, PortCol.LAST] = before


@inlined
def note_queue(
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    changes: _Table,
    f: int,
    size: int,
    now: int,
) -> None:
    """A send queue has changed: `size` bytes came, or -`size` left. The device's profiler is told;
    a row is added to the queues' log, if one is kept."""
    kind = _ARRIVAL if size > 0 else _DEPARTURE
    observe(ctl, cfg, asked, decision, f, kind, abs(size), now)
    if cfg[Cfg.KEEP_QUEUES] == 0:
        return
    n = ctl[Ctl.NOTED]
    if n >= changes.shape[0]:
        ctl[Ctl.ERROR] = Err.QUEUES
        ctl[Ctl.ERROR_VALUE] = n
        return
    changes[n, QueueCol.TIME] = now
    changes[n, QueueCol.FLOW] = f
    changes[n, QueueCol.BYTES] = size
    changes[n, QueueCol.QUEUE] = flow[f, FlowCol.OFFERED] - flow[f, FlowCol.NEXT]
    ctl[Ctl.NOTED] = n + 1


@inlined
def begin_flow(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    changes: _Table,
    f: int,
    now: int,
) -> None:
    """`f` may send from now on."""
    flow[f, FlowCol.AVAILABLE] = now
    flow[f, FlowCol.PROGRESS] = now
    add_flow(port, flow, f)
    if flow[f, FlowCol.OFFERED] > 0:
        size = flow[f, FlowCol.OFFERED]
        note_queue(flow, ctl, cfg, asked, decision, changes, f, size, now)
    if cfg[Cfg.TIMEOUT_PS] > 0:
        timer = cfg[Cfg.FIRST_FLOW_TIMER] + 4 * f + 3
        schedule(rec, wheel, bits, heap, ctl, timer, now + cfg[Cfg.TIMEOUT_PS])


@inlined
def release_followers(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    followers: _Table,
    f: int,
    now: int,
) -> None:
    """All of `f` has arrived: those that waited for it alone begin after their gap."""
    first = flow[f, FlowCol.FOLLOWER]
    for k in range(first, first + flow[f, FlowCol.FOLLOWERS]):
        g = followers[k]
        flow[g, FlowCol.WAITS] -= 1
        if flow[g, FlowCol.WAITS] == 0:
            row = allocate(rec, ctl, cfg)
            if row < 0:
                return
            rec[row, Rec.KIND] = Kind.BEGIN
            rec[row, Rec.OWNER] = g
            schedule(rec, wheel, bits, heap, ctl, row, now + flow[g, FlowCol.GAP])
    flow[f, FlowCol.FOLLOWERS] = 0


@inlined
def hand_over(
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    changes: _Table,
    f: int,
    size: int,
    now: int,
) -> None:
    """A message of `size` bytes has come for `f`."""
    if flow[f, FlowCol.ACKED] == flow[f, FlowCol.OFFERED]:
        flow[f, FlowCol.PROGRESS] = now  # it was idle: its time-out begins now
    flow[f, FlowCol.OFFERED] += size
    note_queue(flow, ctl, cfg, asked, decision, changes, f, size, now)


@inlined
def deliver(flow: _Table, messages: _Table, f: int, now: int) -> None:
    """More of `f` has been acknowledged: note the messages that are through with it."""
    m = flow[f, FlowCol.MESSAGE]
    while m >= 0 and messages[m, MessageCol.END] <= flow[f, FlowCol.ACKED]:
        messages[m, MessageCol.DONE] = now
        m = messages[m, MessageCol.AFTER]
    flow[f, FlowCol.MESSAGE] = m


@inlined
def _may_send(
    flow: _Table, rate: NDArray[np.float64], top: NDArray[np.float64], cfg: _Table, f: int
) -> bool:
    """Whether `f` has bytes to send and room in its window."""
    if flow[f, FlowCol.NEXT] >= flow[f, FlowCol.OFFERED]:
        return False
    window = flow[f, FlowCol.WINDOW]
    if window == 0:
        return True
    if cfg[Cfg.WINDOW_MODE] == 2:
        window = max(int(window * rate[f] / top[f]), 1)
    return bool(flow[f, FlowCol.NEXT] - flow[f, FlowCol.ACKED] < window)


@inlined
def host_next(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    flow: _Table,
    rate: NDArray[np.float64],
    top: NDArray[np.float64],
    state: NDArray[np.float64],
    par: NDArray[np.float64],
    telemetry: _Table,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    changes: _Table,
    p: int,
    now: int,
) -> int:
    """The packet that host port `p` sends next; -1: none now (and a WAKE is set if one will be)."""
    ns3 = cfg[Cfg.NS3] != 0
    if port[p, PortCol.PENDING] != 0:
        return -1
    if port[p, PortCol.BUSY_UNTIL] > now:
        wake(rec, wheel, bits, heap, port, ctl, cfg, p, port[p, PortCol.BUSY_UNTIL])
        return -1
    if port[p, PortCol.HIGH_HEAD] >= 0 and (port[p, PortCol.PAUSED] == 0 or cfg[Cfg.ACK_HIGH] != 0):
        return take(rec, port, p, PortCol.HIGH_HEAD)
    first = port[p, PortCol.RING]
    if first < 0:
        return -1
    if port[p, PortCol.LAST] >= 0:
        first = flow[port[p, PortCol.LAST], FlowCol.RING_NEXT]
    soonest = _NEVER
    f = first
    chosen = -1
    while True:
        if flow[f, FlowCol.NEXT] < flow[f, FlowCol.OFFERED]:
            due = flow[f, FlowCol.AVAILABLE]
            open_window = _may_send(flow, rate, top, cfg, f)
            if open_window and due <= now and port[p, PortCol.PAUSED] == 0:
                # Flows of the same priority take turns; a receiver may have raised some.
                if chosen < 0 or flow[f, FlowCol.BOOST] > flow[chosen, FlowCol.BOOST]:
                    chosen = f
                if cfg[Cfg.RECEIVER_FUNCTION] == 0:
                    break
            # ns-3 also wakes for a flow that its window will hold back.
            if due < soonest and (open_window or ns3):
                soonest = due
        f = flow[f, FlowCol.RING_NEXT]
        if f == first:
            break
    if chosen < 0:
        if now < soonest < _NEVER and not (ns3 and port[p, PortCol.WAKE] >= 0):
            wake(rec, wheel, bits, heap, port, ctl, cfg, p, soonest)
        return -1
    row = allocate(rec, ctl, cfg)
    if row < 0:
        return row
    f = chosen
    payload = min(flow[f, FlowCol.OFFERED] - flow[f, FlowCol.NEXT], cfg[Cfg.PAYLOAD])
    wire = payload + cfg[Cfg.HEADER]
    rec[row, Rec.KIND] = Kind.DATA
    rec[row, Rec.OWNER] = f
    rec[row, Rec.SEQ] = flow[f, FlowCol.NEXT]
    rec[row, Rec.SIZE] = wire
    rec[row, Rec.SENT] = now
    if cfg[Cfg.TELEMETRY] != 0:
        telemetry[row, 0] = 0
    elif cfg[Cfg.SCORE_ECHO] != 0:
        telemetry[row, 0] = flow[f, FlowCol.SCORE]
    flow[f, FlowCol.NEXT] += payload
    note_queue(flow, ctl, cfg, asked, decision, changes, f, -payload, now)
    flow[f, FlowCol.LAST_WIRE] = wire
    flow[f, FlowCol.SENT_PACKETS] += 1
    flow[f, FlowCol.AVAILABLE] = now + gap_ps(cfg, wire, rate[f])
    port[p, PortCol.LAST] = f
    ctl[Ctl.DATA_SENT] += 1
    if cfg[Cfg.LAW] == Law.DCQCN:
        old = rate[f]
        rate[f] = dcqcn.dcqcn_bytes(state, f, par, wire, old)
        retime(flow, cfg, f, rate[f], old)
    elif cfg[Cfg.TELL_BYTES] != 0:
        tell(flow, rate, ctl, cfg, asked, decision, log, _BYTES, f, wire, now)
    return row


@inlined
def after_send(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    flow: _Table,
    rate: NDArray[np.float64],
    top: NDArray[np.float64],
    ctl: _Table,
    cfg: _Table,
    p: int,
) -> None:
    """In exact timing, set the WAKE for whatever port `p` may send next."""
    free_at = port[p, PortCol.BUSY_UNTIL]
    f = port[p, PortCol.RING]
    if port[p, PortCol.HIGH_HEAD] >= 0 or (f >= 0 and flow[f, FlowCol.RING_NEXT] != f):
        wake(rec, wheel, bits, heap, port, ctl, cfg, p, free_at)
    elif f >= 0 and _may_send(flow, rate, top, cfg, f):
        due = max(free_at, flow[f, FlowCol.AVAILABLE])
        wake(rec, wheel, bits, heap, port, ctl, cfg, p, due)


@inlined
def receive_data(
    rec: _Table, port: _Table, flow: _Table, ctl: _Table, cfg: _Table, row: int, now: int
) -> int:
    """Data has reached its host: answer in place. Returns the port to serve, -1: no answer."""
    p = rec[row, Rec.PORT]
    f = rec[row, Rec.OWNER]
    mark = rec[row, Rec.KIND] & Kind.MARK
    expected = flow[f, FlowCol.EXPECTED]
    seq = rec[row, Rec.SEQ]
    ctl[Ctl.DATA_GOT] += 1
    answer = _ACK
    if seq == expected:
        flow[f, FlowCol.EXPECTED] = expected + rec[row, Rec.SIZE] - cfg[Cfg.HEADER]
        flow[f, FlowCol.GOT_PACKETS] += 1
    elif seq > expected:
        if flow[f, FlowCol.NACK_SEQ] == expected and now < flow[f, FlowCol.NACK_TIME]:
            free(rec, ctl, row)
            return -1
        flow[f, FlowCol.NACK_SEQ] = expected
        flow[f, FlowCol.NACK_TIME] = now + cfg[Cfg.NACK_PS]
        answer = _NACK
        ctl[Ctl.NACKS] += 1
    if cfg[Cfg.CNP_PS] > 0 and mark != 0 and now >= flow[f, FlowCol.CNP_TIME]:
        cnp = allocate(rec, ctl, cfg)
        if cnp < 0:
            return cnp
        flow[f, FlowCol.CNP_TIME] = now + cfg[Cfg.CNP_PS]
        rec[cnp, Rec.KIND] = Kind.CNP
        rec[cnp, Rec.OWNER] = f
        rec[cnp, Rec.SIZE] = CNP_BYTES
        push(rec, port, p, cnp, PortCol.HIGH_HEAD)
        ctl[Ctl.CNPS] += 1
    rec[row, Rec.KIND] = answer | mark
    rec[row, Rec.SEQ] = flow[f, FlowCol.EXPECTED]
    rec[row, Rec.SIZE] = cfg[Cfg.ACK_BYTES]
    push(rec, port, p, row, PortCol.HIGH_HEAD)
    return int(p)
