"""Ports and packets: the pool, the queues, pacing times, and what a switch does with a packet.

A switch stores and forwards without delay. Ingress accounting, PFC thresholds and the order of
marking, RESUME and telemetry at dequeue are those of the HPCC authors' ns-3 code.
"""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.ecmp import route
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import Cfg, Ctl, Err, FCfg, Kind, PortCol, Rec, SwitchCol
from precog_sim.network.ns3_random import ns3_uniform
from precog_sim.network.wheel import schedule

__all__ = [
    "PFC_BYTES",
    "allocate",
    "drawn",
    "free",
    "gap_ps",
    "push",
    "switch_arrive",
    "switch_next",
    "tx_done_row",
    "tx_ps",
    "uniform",
]

PFC_BYTES = 43
_FIRST_PORT_TIMER = 2  # rows 0 and 1 are START and PROBE

_Table = NDArray[np.int64]
_Wheel = NDArray[np.int32]


@inlined
def tx_done_row(p: int) -> int:
    """Record of port `p`'s TX_DONE; its WAKE is `Cfg.PORTS` further on."""
    return _FIRST_PORT_TIMER + p


@inlined
def drawn(ctl: _Table, column: int) -> float:
    """A random number in [0, 1), xorshift64, of the generator in a column of ``ctl``."""
    x = ctl[column]
    x ^= x << 13
    x ^= (x >> 7) & ((1 << 57) - 1)
    x ^= x << 17
    ctl[column] = x
    return float(((x >> 11) & ((1 << 53) - 1)) * 2.0**-53)


@inlined
def uniform(ctl: _Table) -> float:
    """A random number in [0, 1) for marks, losses and jitter."""
    return drawn(ctl, Ctl.RNG)


@inlined
def allocate(rec: _Table, ctl: _Table, cfg: _Table) -> int:
    """A record for a new packet; -1 and `Err.POOL` when the pool is exhausted."""
    row = ctl[Ctl.FREE]
    if row >= 0:
        ctl[Ctl.FREE] = rec[row, Rec.NEXT]
        return int(row)
    row = ctl[Ctl.FRESH]
    if row >= cfg[Cfg.ROWS]:
        ctl[Ctl.ERROR] = Err.POOL
        return -1
    ctl[Ctl.FRESH] = row + 1
    return int(row)


@inlined
def free(rec: _Table, ctl: _Table, row: int) -> None:
    """Give a packet's record back."""
    rec[row, Rec.NEXT] = ctl[Ctl.FREE]
    ctl[Ctl.FREE] = row


@inlined
def tx_ps(cfg: _Table, port_f: NDArray[np.float64], p: int, size: int) -> int:
    """Time on the wire of `size` bytes at port `p`; whole nanoseconds, cut off, in ns3 timing."""
    if cfg[Cfg.NS3] != 0:
        return int(size * port_f[p]) // 1000 * 1000
    return int(size * port_f[p] + 0.5)


@inlined
def gap_ps(cfg: _Table, size: int, rate: float) -> int:
    """Pacing gap of `size` bytes at `rate` bit/s.

    In ns3 timing the seconds pass through a 64.64-bit fixed-point number and are then cut to
    nanoseconds, so that a gap that is a whole number of them may come out one less.
    """
    if cfg[Cfg.NS3] != 0:
        seconds = size * 8 / rate
        high = int(seconds * 4294967296.0)
        low = int((seconds * 4294967296.0 - high) * 4294967296.0)
        return ((high * 1_000_000_000 + ((low * 1_000_000_000) >> 32)) >> 32) * 1000
    return int(size * 8e12 / rate + 0.5)


@inlined
def push(rec: _Table, port: _Table, p: int, row: int, head: int) -> None:
    """Append a packet to the queue of port `p` whose head column is `head`."""
    rec[row, Rec.NEXT] = -1
    tail = port[p, head + 1]
    if tail < 0:
        port[p, head] = row
    else:
        rec[tail, Rec.NEXT] = row
    port[p, head + 1] = row


@inlined
def take(rec: _Table, port: _Table, p: int, head: int) -> int:
    """Remove the first packet of a queue that is not empty."""
    row = port[p, head]
    port[p, head] = rec[row, Rec.NEXT]
    if port[p, head] < 0:
        port[p, head + 1] = -1
    return int(row)


@compiled
def _send_pfc(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    port_f: NDArray[np.float64],
    ctl: _Table,
    cfg: _Table,
    p: int,
    kind: int,
    now: int,
) -> None:
    """Send PAUSE or RESUME out of port `p`, ahead of everything that waits there."""
    row = allocate(rec, ctl, cfg)
    if row < 0:
        return
    rec[row, Rec.KIND] = kind
    rec[row, Rec.OWNER] = p
    rec[row, Rec.SIZE] = PFC_BYTES
    if cfg[Cfg.NS3] != 0:
        ns3_uniform(ctl)  # ns-3 draws the frame's IP identification
    if port[p, PortCol.PENDING] != 0 or port[p, PortCol.BUSY_UNTIL] > now:
        push(rec, port, p, row, PortCol.HIGH_HEAD)
        port[p, PortCol.HIGH_BYTES] += PFC_BYTES
        if port[p, PortCol.PENDING] == 0:
            port[p, PortCol.PENDING] = 1
            schedule(rec, wheel, bits, heap, ctl, tx_done_row(p), port[p, PortCol.BUSY_UNTIL])
        return
    port[p, PortCol.SENT] += PFC_BYTES
    done = now + tx_ps(cfg, port_f, p, PFC_BYTES)
    port[p, PortCol.BUSY_UNTIL] = done
    if cfg[Cfg.NS3] != 0:
        port[p, PortCol.PENDING] = 1
        schedule(rec, wheel, bits, heap, ctl, tx_done_row(p), done)
    rec[row, Rec.PORT] = port[p, PortCol.PEER]
    schedule(rec, wheel, bits, heap, ctl, row, done + port[p, PortCol.DELAY])


@inlined
def _threshold(cfg: _Table, port: _Table, switch: _Table, p: int, s: int) -> int:
    """Bytes of the shared part that ingress port `p` of switch `s` may hold now."""
    left = switch[s, SwitchCol.FREE] - switch[s, SwitchCol.SHARED]
    if cfg[Cfg.PFC] == 1:
        return int(left >> port[p, PortCol.SHIFT])
    return int(min(left, switch[s, SwitchCol.STATIC]))


@inlined
def switch_arrive(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    port_f: NDArray[np.float64],
    switch: _Table,
    flow: _Table,
    ctl: _Table,
    cfg: _Table,
    fcfg: NDArray[np.float64],
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    row: int,
    now: int,
) -> int:
    """A packet has reached a switch: route, admit, queue. Returns the output port, -1: dropped."""
    p = rec[row, Rec.PORT]
    f = rec[row, Rec.OWNER]
    size = rec[row, Rec.SIZE]
    node = port[p, PortCol.NODE]
    kind = rec[row, Rec.KIND] & 7
    is_data = kind == Kind.DATA
    loss = fcfg[FCfg.LOSS_DATA] if is_data else fcfg[FCfg.LOSS_ACK]
    if loss > 0 and uniform(ctl) < loss:
        ctl[Ctl.LOST] += 1
        if is_data:
            ctl[Ctl.DATA_DROPPED] += 1
        free(rec, ctl, row)
        return -1
    out = route(cfg, flow, route_start, route_count, route_ports, node, f, not is_data)
    if out < 0:
        ctl[Ctl.ERROR] = Err.NO_ROUTE
        ctl[Ctl.ERROR_VALUE] = f
        return out
    if kind == Kind.CNP:
        port[out, PortCol.HIGH_BYTES] += size
        push(rec, port, out, row, PortCol.HIGH_HEAD)
        return out
    s = node - cfg[Cfg.HOSTS]
    reserve = cfg[Cfg.RESERVE]
    held = port[p, PortCol.INGRESS]
    limit = _threshold(cfg, port, switch, p, s)
    if (
        size + port[p, PortCol.HEADROOM_USED] > port[p, PortCol.HEADROOM]
        and size + max(held - reserve, 0) > limit
    ):
        ctl[Ctl.DROPS] += 1
        if is_data:
            ctl[Ctl.DATA_DROPPED] += 1
        free(rec, ctl, row)
        return -1
    total = held + size
    if total <= reserve:
        port[p, PortCol.INGRESS] = total
    elif total - reserve > limit:
        port[p, PortCol.HEADROOM_USED] += size
    else:
        port[p, PortCol.INGRESS] = total
        switch[s, SwitchCol.SHARED] += min(size, total - reserve)
    queued = port[out, PortCol.LOW_BYTES] + size
    port[out, PortCol.LOW_BYTES] = queued
    if queued > port[out, PortCol.LARGEST]:
        port[out, PortCol.LARGEST] = queued
    if (
        cfg[Cfg.PFC] != 0
        and port[p, PortCol.PAUSING] == 0
        and (
            port[p, PortCol.HEADROOM_USED] > 0
            or max(port[p, PortCol.INGRESS] - reserve, 0) >= _threshold(cfg, port, switch, p, s)
        )
    ):
        port[p, PortCol.PAUSING] = 1
        _send_pfc(rec, wheel, bits, heap, port, port_f, ctl, cfg, p, Kind.PAUSE, now)
    push(rec, port, out, row, PortCol.LOW_HEAD)
    return out


@inlined
def _leave(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    port_f: NDArray[np.float64],
    switch: _Table,
    ctl: _Table,
    cfg: _Table,
    fcfg: NDArray[np.float64],
    out: int,
    row: int,
    now: int,
) -> None:
    """Accounts of a packet that leaves the low queue of `out`; marking and RESUME."""
    p = rec[row, Rec.PORT]
    size = rec[row, Rec.SIZE]
    s = port[p, PortCol.NODE] - cfg[Cfg.HOSTS]
    reserve = cfg[Cfg.RESERVE]
    from_headroom = min(port[p, PortCol.HEADROOM_USED], size)
    from_shared = min(size - from_headroom, max(port[p, PortCol.INGRESS] - reserve, 0))
    port[p, PortCol.HEADROOM_USED] -= from_headroom
    port[p, PortCol.INGRESS] -= size - from_headroom
    switch[s, SwitchCol.SHARED] -= from_shared
    behind = port[out, PortCol.LOW_BYTES] - size
    port[out, PortCol.LOW_BYTES] = behind
    if cfg[Cfg.ECN] != 0 and behind > port[out, PortCol.ECN_MIN]:
        mark = behind > port[out, PortCol.ECN_MAX]
        if not mark:
            span = port[out, PortCol.ECN_MAX] - port[out, PortCol.ECN_MIN]
            share = (behind - port[out, PortCol.ECN_MIN]) / span if span > 0 else 1.0
            draw = ns3_uniform(ctl) if cfg[Cfg.NS3] != 0 else uniform(ctl)
            mark = draw < fcfg[FCfg.ECN_P] * share
        # An acknowledgement's mark is the echo of its data's: one of its own way back says nothing
        # of that way, and the sender ignores it.
        if mark and rec[row, Rec.KIND] == Kind.DATA:
            ctl[Ctl.MARKS] += 1
            rec[row, Rec.KIND] |= Kind.MARK
    if port[p, PortCol.PAUSING] != 0:
        held = max(port[p, PortCol.INGRESS] - reserve, 0)
        if port[p, PortCol.HEADROOM_USED] == 0 and (
            held == 0 or held + cfg[Cfg.RESUME] <= _threshold(cfg, port, switch, p, s)
        ):
            port[p, PortCol.PAUSING] = 0
            _send_pfc(rec, wheel, bits, heap, port, port_f, ctl, cfg, p, Kind.RESUME, now)


@inlined
def switch_next(
    rec: _Table,
    wheel: _Wheel,
    bits: _Table,
    heap: _Table,
    port: _Table,
    port_f: NDArray[np.float64],
    switch: _Table,
    ctl: _Table,
    cfg: _Table,
    fcfg: NDArray[np.float64],
    telemetry: _Table,
    p: int,
    now: int,
) -> int:
    """The packet that switch port `p` sends next, out of its queue; -1: none now."""
    if port[p, PortCol.PENDING] != 0:
        return -1
    if port[p, PortCol.BUSY_UNTIL] > now:
        port[p, PortCol.PENDING] = 1
        schedule(rec, wheel, bits, heap, ctl, tx_done_row(p), port[p, PortCol.BUSY_UNTIL])
        return -1
    if port[p, PortCol.HIGH_HEAD] >= 0:
        row = take(rec, port, p, PortCol.HIGH_HEAD)
        port[p, PortCol.HIGH_BYTES] -= rec[row, Rec.SIZE]
    elif port[p, PortCol.LOW_HEAD] >= 0 and port[p, PortCol.PAUSED] == 0:
        row = take(rec, port, p, PortCol.LOW_HEAD)
        _leave(rec, wheel, bits, heap, port, port_f, switch, ctl, cfg, fcfg, p, row, now)
        if cfg[Cfg.TELEMETRY] != 0 and rec[row, Rec.KIND] & 7 == Kind.DATA:
            hop = telemetry[row, 0]
            telemetry[row, 0] = hop + 1
            telemetry[row, 1 + 4 * hop] = now // 1000
            telemetry[row, 2 + 4 * hop] = port[p, PortCol.SENT]
            telemetry[row, 3 + 4 * hop] = port[p, PortCol.LOW_BYTES] + port[p, PortCol.HIGH_BYTES]
            telemetry[row, 4 + 4 * hop] = port[p, PortCol.MBPS]
    else:
        return -1
    port[p, PortCol.SENT] += rec[row, Rec.SIZE]
    return row
