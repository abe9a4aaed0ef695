"""What a switch does with a packet.

It stores and forwards without delay. Ingress accounting, PFC thresholds and the order of marking,
RESUME and telemetry at dequeue are those of the HPCC authors' ns-3 code.
"""

from precog_sim.network.control import Cfg, Ctl, Err, FCfg
from precog_sim.network.draws import at_port
from precog_sim.network.ecmp import next_hop
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, Kind, PortCol, PrioCol, Rec, SwitchCol, Telemetry
from precog_sim.network.net import Net
from precog_sim.network.ns3_random import ns3_uniform
from precog_sim.network.pint import note_load
from precog_sim.network.pool import allocate, free
from precog_sim.network.port import onto_wire, tx_done_row, tx_ps
from precog_sim.network.queues import first, push, push_high, take
from precog_sim.network.turns import next_priority, priority_of
from precog_sim.network.wheel import schedule

__all__ = ["PFC_BYTES", "leaves_at_once", "something_waits", "switch_arrive", "switch_next"]

PFC_BYTES = 43


@inlined
def something_waits(net: Net, p: int) -> bool:
    """Whether port `p` of a switch has a packet, though perhaps a paused one."""
    count = net.cfg[Cfg.PRIORITIES]
    for q in range(p * count, (p + 1) * count):
        if net.prio[q, PrioCol.HEAD] >= 0:
            return True
    return bool(net.port[p, PortCol.HIGH_HEAD] >= 0)


@outlined
def _send_pfc(net: Net, p: int, q: int, kind: int, now: int) -> None:
    """Send PAUSE or RESUME of priority `q` out of port `p`, ahead of all data."""
    row = allocate(net)
    if row < 0:
        return
    net.rec[row, Rec.KIND] = kind
    net.rec[row, Rec.OWNER] = p
    net.rec[row, Rec.SEQ] = q - p * net.cfg[Cfg.PRIORITIES]
    net.rec[row, Rec.SIZE] = PFC_BYTES
    if net.cfg[Cfg.NS3] != 0:
        ns3_uniform(net.ctl)  # ns-3 draws the frame's IP identification
    if net.port[p, PortCol.PENDING] != 0 or net.port[p, PortCol.BUSY_UNTIL] > now:
        push_high(net, p, row)
        if net.port[p, PortCol.PENDING] == 0:
            net.port[p, PortCol.PENDING] = 1
            schedule(net, tx_done_row(p), net.port[p, PortCol.BUSY_UNTIL])
        return
    net.port[p, PortCol.SENT] += PFC_BYTES
    done = now + tx_ps(net, p, PFC_BYTES)
    net.port[p, PortCol.BUSY_UNTIL] = done
    if net.cfg[Cfg.NS3] != 0:
        net.port[p, PortCol.PENDING] = 1
        schedule(net, tx_done_row(p), done)
    onto_wire(net, row, p, done)


@inlined
def _threshold(net: Net, p: int, s: int) -> int:
    """Bytes of the shared part that ingress port `p` of switch `s` may hold now."""
    left = net.switch[s, SwitchCol.FREE] - net.switch[s, SwitchCol.SHARED]
    if net.cfg[Cfg.PFC] == 1:
        return int(left >> net.port[p, PortCol.SHIFT])
    return int(min(left, net.switch[s, SwitchCol.STATIC]))


@inlined
def leaves_at_once(net: Net, p: int, s: int, out: int, size: int, now: int) -> bool:
    """Whether a packet of `size` bytes, in at port `p` of switch `s`, leaves `out` at once.

    Nothing else may wait there or be on its wire. What has come in at `p` must be within the
    reserve with it, so that the packet changes no account and no PAUSE or RESUME is due. All is of
    one priority; with several, the scheduler has accounts, too.
    """
    return bool(
        net.port[out, PortCol.BUSY_UNTIL] <= now
        and net.port[out, PortCol.PENDING] == 0
        and net.port[out, PortCol.HIGH_HEAD] < 0
        and net.prio[out, PrioCol.HEAD] < 0
        and net.prio[out, PrioCol.PAUSED] == 0
        and net.cfg[Cfg.PRIORITIES] == 1
        and net.prio[p, PrioCol.INGRESS] + size <= net.cfg[Cfg.RESERVE]
        and net.prio[p, PrioCol.HEADROOM_USED] == 0
        and net.prio[p, PrioCol.PAUSING] == 0
        and net.port[p, PortCol.HEADROOM] >= size
        and _threshold(net, p, s) > 0
    )


@inlined
def switch_arrive(net: Net, row: int, now: int) -> tuple[int, bool]:
    """A packet has reached a switch: route, admit, queue.

    Returns the output port, -1: dropped; and whether the packet is not in its queue, since it
    leaves at once.
    """
    p = net.rec[row, Rec.PORT]
    f = net.rec[row, Rec.OWNER]
    size = net.rec[row, Rec.SIZE]
    node = net.port[p, PortCol.NODE]
    kind = net.rec[row, Rec.KIND] & 7
    is_data = kind == Kind.DATA
    loss = net.fcfg[FCfg.LOSS_DATA] if is_data else net.fcfg[FCfg.LOSS_ACK]
    if loss > 0 and at_port(net, p) < loss:
        net.ctl[Ctl.LOST] += 1
        if is_data:
            net.ctl[Ctl.DATA_DROPPED] += 1
        free(net, row)
        return -1, False
    out = next_hop(net, node, p, f, not is_data)
    if out < 0:
        if net.cfg[Cfg.FAULTS] == 0:
            net.ctl[Ctl.ERROR] = Err.NO_ROUTE
            net.ctl[Ctl.ERROR_VALUE] = f
            return out, False
        net.ctl[Ctl.UNREACHABLE] += 1
        if is_data:
            net.ctl[Ctl.DATA_DROPPED] += 1
        free(net, row)
        return -1, False
    if kind == Kind.CNP or (net.cfg[Cfg.ANSWERS_FIRST] != 0 and not is_data):
        push_high(net, out, row)
        return out, False
    s = node - net.cfg[Cfg.HOSTS]
    if leaves_at_once(net, p, s, out, size, now):
        if size > net.prio[out, PrioCol.LARGEST]:
            net.prio[out, PrioCol.LARGEST] = size
        _stamp(net, out, out, row, now)
        return out, True
    q = priority_of(net, p, f)
    to = priority_of(net, out, f)
    reserve = net.cfg[Cfg.RESERVE]
    held = net.prio[q, PrioCol.INGRESS]
    queued = net.prio[to, PrioCol.BYTES] + size
    left = net.switch[s, SwitchCol.FREE] - net.switch[s, SwitchCol.SHARED]
    pfc = net.cfg[Cfg.PFC] != 0
    # Without PFC a port may hold whatever is left: packets are dropped when the memory is full.
    limit = _threshold(net, p, s) if pfc else held + left
    if (
        size + net.prio[q, PrioCol.HEADROOM_USED] > net.port[p, PortCol.HEADROOM]
        and size + max(held - reserve, 0) > limit
    ) or (net.cfg[Cfg.DROP_DYNAMIC] != 0 and queued > net.fcfg[FCfg.DROP_ALPHA] * left):
        net.ctl[Ctl.DROPS] += 1
        if is_data:
            net.ctl[Ctl.DATA_DROPPED] += 1
        free(net, row)
        return -1, False
    total = held + size
    if total <= reserve:
        net.prio[q, PrioCol.INGRESS] = total
    elif total - reserve > limit:
        net.prio[q, PrioCol.HEADROOM_USED] += size
    else:
        net.prio[q, PrioCol.INGRESS] = total
        net.switch[s, SwitchCol.SHARED] += min(size, total - reserve)
    net.prio[to, PrioCol.BYTES] = queued
    if queued > net.prio[to, PrioCol.LARGEST]:
        net.prio[to, PrioCol.LARGEST] = queued
    if (
        pfc
        and net.prio[q, PrioCol.PAUSING] == 0
        and (
            net.prio[q, PrioCol.HEADROOM_USED] > 0
            or max(net.prio[q, PrioCol.INGRESS] - reserve, 0) >= _threshold(net, p, s)
        )
    ):
        net.prio[q, PrioCol.PAUSING] = 1
        _send_pfc(net, p, q, Kind.PAUSE, now)
    push(net, to, row)
    return out, False


@inlined
def _leave(net: Net, out: int, to: int, row: int, now: int) -> None:
    """Accounts of a packet that leaves priority `to` of port `out`; marking and RESUME."""
    p = net.rec[row, Rec.PORT]
    q = p + to - out
    if net.cfg[Cfg.PRIORITIES] > 1:
        q = priority_of(net, p, net.rec[row, Rec.OWNER])
    size = net.rec[row, Rec.SIZE]
    s = net.port[p, PortCol.NODE] - net.cfg[Cfg.HOSTS]
    reserve = net.cfg[Cfg.RESERVE]
    from_headroom = min(net.prio[q, PrioCol.HEADROOM_USED], size)
    from_shared = min(size - from_headroom, max(net.prio[q, PrioCol.INGRESS] - reserve, 0))
    net.prio[q, PrioCol.HEADROOM_USED] -= from_headroom
    net.prio[q, PrioCol.INGRESS] -= size - from_headroom
    net.switch[s, SwitchCol.SHARED] -= from_shared
    behind = net.prio[to, PrioCol.BYTES] - size
    net.prio[to, PrioCol.BYTES] = behind
    law = net.flow[net.rec[row, Rec.OWNER], FlowCol.LAW] if net.cfg[Cfg.LAWS] > 1 else 0
    if net.cfg[Cfg.ECN] != 0 and behind > net.marking[law, to, 0]:
        mark = behind > net.marking[law, to, 1]
        if not mark:
            span = net.marking[law, to, 1] - net.marking[law, to, 0]
            share = (behind - net.marking[law, to, 0]) / span if span > 0 else 1.0
            draw = ns3_uniform(net.ctl) if net.cfg[Cfg.NS3] != 0 else at_port(net, out)
            mark = draw < net.mark_most[law, to - out * net.cfg[Cfg.PRIORITIES]] * share
        # An acknowledgement's mark is the echo of its data's: one of its own way back says nothing
        # of that way, and the sender ignores it.
        if mark and net.rec[row, Rec.KIND] == Kind.DATA:
            net.ctl[Ctl.MARKS] += 1
            net.rec[row, Rec.KIND] |= Kind.MARK
    if net.prio[q, PrioCol.PAUSING] != 0:
        held = max(net.prio[q, PrioCol.INGRESS] - reserve, 0)
        if net.prio[q, PrioCol.HEADROOM_USED] == 0 and (
            held == 0 or held + net.cfg[Cfg.RESUME] <= _threshold(net, p, s)
        ):
            net.prio[q, PrioCol.PAUSING] = 0
            _send_pfc(net, p, q, Kind.RESUME, now)


@inlined
def _stamp(net: Net, p: int, q: int, row: int, now: int) -> None:
    """A packet of priority `q` leaves port `p`: telemetry goes with it, and it is counted."""
    if net.cfg[Cfg.TELEMETRY] != 0 and net.rec[row, Rec.KIND] & 7 == Kind.DATA:
        if net.cfg[Cfg.TELEMETRY] == Telemetry.PINT:
            note_load(net, p, q, row, now, at_port(net, p))
        else:
            hop = net.telemetry[row, 0]
            net.telemetry[row, 0] = hop + 1
            net.telemetry[row, 1 + 4 * hop] = now // 1000
            net.telemetry[row, 2 + 4 * hop] = net.port[p, PortCol.SENT]
            net.telemetry[row, 3 + 4 * hop] = (
                net.prio[q, PrioCol.BYTES] + net.port[p, PortCol.HIGH_BYTES]
            )
            net.telemetry[row, 4 + 4 * hop] = net.port[p, PortCol.MBPS]
    net.port[p, PortCol.SENT] += net.rec[row, Rec.SIZE]


@outlined
def _priority(net: Net, p: int) -> int:
    """Row of the priority that switch port `p` serves next; -1: there is none."""
    count = net.cfg[Cfg.PRIORITIES]
    for c in range(count):
        head = net.prio[p * count + c, PrioCol.HEAD]
        may = head >= 0 and net.prio[p * count + c, PrioCol.PAUSED] == 0
        net.ready[c] = net.rec[head, Rec.SIZE] if may else 0
    c = next_priority(net, p)
    return int(p * count + c) if c >= 0 else -1


@inlined
def switch_next(net: Net, p: int, now: int) -> int:
    """The packet that switch port `p` sends next, out of its queue; -1: none now."""
    if net.port[p, PortCol.PENDING] != 0:
        return -1
    if net.port[p, PortCol.BUSY_UNTIL] > now:
        net.port[p, PortCol.PENDING] = 1
        schedule(net, tx_done_row(p), net.port[p, PortCol.BUSY_UNTIL])
        return -1
    if net.port[p, PortCol.HIGH_HEAD] >= 0:
        row = first(net.rec, net.port, p, PortCol.HIGH_HEAD)
        net.port[p, PortCol.HIGH_BYTES] -= net.rec[row, Rec.SIZE]
        net.port[p, PortCol.SENT] += net.rec[row, Rec.SIZE]
        return row
    q = p if net.cfg[Cfg.PRIORITIES] == 1 else _priority(net, p)
    if q >= 0 and net.prio[q, PrioCol.HEAD] >= 0 and net.prio[q, PrioCol.PAUSED] == 0:
        row = take(net, q)
        _leave(net, p, q, row, now)
        _stamp(net, p, q, row, now)
        return row
    return -1
