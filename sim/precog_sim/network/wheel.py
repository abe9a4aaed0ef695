"""The event queue: a timing wheel with exact picosecond order.

An event due within the wheel's reach waits in its bucket's list, the last comer first; a bitmap
finds the next bucket that is not empty. When the wheel comes to a bucket, its list is sorted. So
putting an event into the wheel touches no other event's record, which is hardly ever in the cache.
Later events wait in a binary heap and move to the wheel as soon as it reaches them, before anything
else can be put there.

Among events of one time, packets go first, by the port that they arrive at, then timers, by kind
and owner: an order that does not depend on who scheduled them when, so that partitions of a network
keep it each for itself. In ns3 timing it is the order of scheduling, throughout, as in ns-3.

A bucket is a power of two of picoseconds: about 1 ns in a network of few ports, less in one of
many, so that few events share one.

Cost: O(1) per event; a bucket rarely holds more than three.
"""

import numpy as np
from numpy.typing import NDArray

from precog_sim.network.ahead import look_ahead, next_bucket
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import NEVER, Kind, Rec
from precog_sim.network.net import Net

__all__ = ["bucket_bits", "buckets_ahead", "cancel", "pop", "schedule", "soonest"]

_MOST_BITS = 10
_PORTS_PER_EVENT = 60  # busy ports at 100 Gb/s that together make one event a nanosecond
_NEAR_BUCKETS = 16
_NS3_STEP_PS = 1000

_Table = NDArray[np.int64]


def bucket_bits(ports: int, reach_ps: int, slots: int) -> int:
    """Binary logarithm of the picoseconds in a bucket.

    The wheel must reach at least `reach_ps` in its `slots`; a bucket then gets two events or less
    while all `ports` are busy.
    """
    few = _MOST_BITS - max(ports // _PORTS_PER_EVENT, 1).bit_length() + 1
    return max(few, (reach_ps // slots).bit_length())


def buckets_ahead(bits: int, *, ns3: bool) -> int:
    """How far before the present the memory of events is asked for; in ns3 timing all events of a
    nanosecond are in one bucket."""
    return max(_NEAR_BUCKETS, ((_NS3_STEP_PS >> bits) + 1) * ns3)


@outlined
def _heap_put(heap: _Table, ctl: _Table, row: int, t: int, seq: int, at: int) -> None:
    """Place (t, seq, row) at `at`, towards the root."""
    while at > 0:
        up = (at - 1) >> 1
        if heap[up, 0] < t or (heap[up, 0] == t and heap[up, 1] < seq):
            break
        for k in range(3):
            heap[at, k] = heap[up, k]
        at = up
    heap[at, 0] = t
    heap[at, 1] = seq
    heap[at, 2] = row


@outlined
def _heap_push(heap: _Table, ctl: _Table, row: int, t: int) -> None:
    ctl[Ctl.HEAP_SEQ] += 1
    at = ctl[Ctl.HEAP]
    ctl[Ctl.HEAP] = at + 1
    _heap_put(heap, ctl, row, t, ctl[Ctl.HEAP_SEQ], at)


@outlined
def _heap_take(heap: _Table, ctl: _Table, at: int) -> int:
    """Remove the entry at `at` and return its record."""
    taken = heap[at, 2]
    n = ctl[Ctl.HEAP] - 1
    ctl[Ctl.HEAP] = n
    if at == n:
        return int(taken)
    t, seq, row = heap[n, 0], heap[n, 1], heap[n, 2]
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        right = down + 1
        if right < n and (
            heap[right, 0] < heap[down, 0]
            or (heap[right, 0] == heap[down, 0] and heap[right, 1] < heap[down, 1])
        ):
            down = right
        if t < heap[down, 0] or (t == heap[down, 0] and seq < heap[down, 1]):
            break
        for k in range(3):
            heap[at, k] = heap[down, k]
        at = down
    _heap_put(heap, ctl, row, t, seq, at)
    return int(taken)


@inlined
def _put(net: Net, row: int, t: int) -> None:
    """Put `row` into the bucket of `t`, which is not the present one."""
    slot = (t >> net.cfg[Cfg.BUCKET_BITS]) & net.cfg[Cfg.SLOT_MASK]
    net.rec[row, Rec.NEXT] = net.wheel[slot]
    net.wheel[slot] = row
    net.bits[slot >> 6] |= 1 << (slot & 63)


@outlined
def _first_of(rec: _Table, a: int, b: int) -> bool:
    """Whether `a` goes before `b`, which is due at the same time, in exact timing."""
    first, second = rec[a, Rec.KIND], rec[b, Rec.KIND]
    if first < Kind.TX_DONE and second < Kind.TX_DONE:
        if rec[a, Rec.PORT] != rec[b, Rec.PORT]:
            return bool(rec[a, Rec.PORT] < rec[b, Rec.PORT])
        # Only acknowledgements that were held back arrive at one port at one time.
        if rec[a, Rec.OWNER] != rec[b, Rec.OWNER]:
            return bool(rec[a, Rec.OWNER] < rec[b, Rec.OWNER])
        if rec[a, Rec.SEQ] != rec[b, Rec.SEQ]:
            return bool(rec[a, Rec.SEQ] < rec[b, Rec.SEQ])
        return bool(rec[a, Rec.SENT] < rec[b, Rec.SENT])
    if first < Kind.TX_DONE or second < Kind.TX_DONE:
        return bool(first < Kind.TX_DONE)
    if first != second:
        return bool(first < second)
    return bool(rec[a, Rec.OWNER] < rec[b, Rec.OWNER])


@outlined
def _put_sorted(
    rec: _Table, wheel: NDArray[np.int32], bits: _Table, slot: int, row: int, t: int, ns3: bool
) -> None:
    """Put `row` into the present bucket; in ns3 timing behind everything due no later."""
    before = -1
    here = int(wheel[slot])
    while here >= 0 and (
        rec[here, Rec.TIME] < t
        or (rec[here, Rec.TIME] == t and (ns3 or not _first_of(rec, row, here)))
    ):
        before = here
        here = rec[here, Rec.NEXT]
    rec[row, Rec.NEXT] = here
    if before < 0:
        wheel[slot] = row
        bits[slot >> 6] |= 1 << (slot & 63)
    else:
        rec[before, Rec.NEXT] = row


@inlined
def _sort(net: Net, slot: int) -> None:
    """Sort a bucket's list, the last comer first till now."""
    ns3 = net.cfg[Cfg.NS3] != 0
    first = int(net.wheel[slot])
    row = net.rec[first, Rec.NEXT]
    if row < 0:
        return
    net.rec[first, Rec.NEXT] = -1
    while row >= 0:  # each came before all that are in the new list
        after = net.rec[row, Rec.NEXT]
        t = net.rec[row, Rec.TIME]
        before = -1
        here = first
        while here >= 0 and (
            net.rec[here, Rec.TIME] < t
            or (net.rec[here, Rec.TIME] == t and not ns3 and _first_of(net.rec, here, row))
        ):
            before = here
            here = net.rec[here, Rec.NEXT]
        net.rec[row, Rec.NEXT] = here
        if before < 0:
            first = row
        else:
            net.rec[before, Rec.NEXT] = row
        row = after
    net.wheel[slot] = first


@inlined
def schedule(net: Net, row: int, t: int) -> None:
    """Let record `row` be due at `t` ps (not before the present)."""
    net.rec[row, Rec.TIME] = t
    if t < net.ctl[Ctl.SOON]:
        net.ctl[Ctl.SOON] = t
    bucket = t >> net.cfg[Cfg.BUCKET_BITS]
    ahead = bucket - net.ctl[Ctl.BUCKET]
    if ahead > net.cfg[Cfg.SLOT_MASK]:
        _heap_push(net.heap, net.ctl, row, t)
    elif ahead > 0:
        _put(net, row, t)
    else:
        slot = bucket & net.cfg[Cfg.SLOT_MASK]
        _put_sorted(net.rec, net.wheel, net.bits, slot, row, t, net.cfg[Cfg.NS3] != 0)


@outlined
def cancel(net: Net, row: int) -> None:
    """Take the scheduled record `row` back."""
    t = net.rec[row, Rec.TIME]
    if (t >> net.cfg[Cfg.BUCKET_BITS]) - net.ctl[Ctl.BUCKET] > net.cfg[Cfg.SLOT_MASK]:
        for at in range(net.ctl[Ctl.HEAP]):
            if net.heap[at, 2] == row:
                _heap_take(net.heap, net.ctl, at)
                return
        return
    slot = (t >> net.cfg[Cfg.BUCKET_BITS]) & net.cfg[Cfg.SLOT_MASK]
    before = -1
    here = int(net.wheel[slot])
    while here != row:
        before = here
        here = net.rec[here, Rec.NEXT]
    after = net.rec[row, Rec.NEXT]
    if before >= 0:
        net.rec[before, Rec.NEXT] = after
        return
    net.wheel[slot] = after
    if after < 0:
        net.bits[slot >> 6] &= ~(1 << (slot & 63))


@inlined
def pop(net: Net, until: int, rival: int = -1) -> int:
    """The record that is due next, taken out; -1: nothing is due before `until` ps.

    The record `rival`, which is not in the wheel, is due at that time: one that goes before it is
    taken, too.
    """
    bucket = net.ctl[Ctl.BUCKET]
    slot = bucket & net.cfg[Cfg.SLOT_MASK]
    row = int(net.wheel[slot])
    if row < 0:
        bucket = next_bucket(net, bucket)
        if bucket < 0:
            if net.ctl[Ctl.HEAP] == 0:
                net.ctl[Ctl.SOON] = NEVER
                return -1
            bucket = net.heap[0, 0] >> net.cfg[Cfg.BUCKET_BITS]
        bits = net.cfg[Cfg.BUCKET_BITS]
        if bucket << bits > until:
            net.ctl[Ctl.SOON] = bucket << bits
            return -1
        net.ctl[Ctl.BUCKET] = bucket
        while net.ctl[Ctl.HEAP] > 0 and (net.heap[0, 0] >> bits) - bucket <= net.cfg[Cfg.SLOT_MASK]:
            due = net.heap[0, 0]
            _put(net, _heap_take(net.heap, net.ctl, 0), due)
        slot = bucket & net.cfg[Cfg.SLOT_MASK]
        _sort(net, slot)
        row = int(net.wheel[slot])
    due = net.rec[row, Rec.TIME]
    net.ctl[Ctl.SOON] = due
    if due >= until and (due > until or rival < 0 or not _first_of(net.rec, row, rival)):
        return -1
    look_ahead(net, bucket)
    after = net.rec[row, Rec.NEXT]
    net.wheel[slot] = after
    if after < 0:
        net.bits[slot >> 6] &= ~(1 << (slot & 63))
    return row


@outlined
def soonest(net: Net) -> int:
    """Time before which nothing is due, ps; the end of time: nothing is scheduled."""
    bucket = next_bucket(net, net.ctl[Ctl.BUCKET])
    if bucket >= 0:
        return int(bucket << net.cfg[Cfg.BUCKET_BITS])
    return int(net.heap[0, 0]) if net.ctl[Ctl.HEAP] > 0 else NEVER
