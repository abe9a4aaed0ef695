"""The event queue: a timing wheel with exact picosecond order inside each of its buckets.

An event due within the wheel's 65,536 buckets waits in its bucket's list, sorted by time, first
come first served among equals; a bitmap finds the next bucket that is not empty. Later events wait
in a binary heap and move to the wheel as soon as it reaches them, before anything else can be put
there, so that the order among equals is the order of scheduling, throughout.

A bucket is a power of two of picoseconds: about 1 ns in a network of few ports, less in one of
many, so that few events share one. With 1 ns, 320 busy hosts put 16 into each, and the search for
an event's place among them took a fifth of the run.

Cost: O(1) per event; a bucket rarely holds more than three.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import Cfg, Ctl, Rec
from precog_sim.network.net import Net

__all__ = ["SLOTS", "WORDS", "bucket_bits", "cancel", "pop", "schedule"]

SLOTS = 1 << 16
WORDS = SLOTS // 64
_MASK = SLOTS - 1
_MOST_BITS = 10
_PORTS_PER_EVENT = 60  # busy ports at 100 Gb/s that together make one event a nanosecond

_Table = NDArray[np.int64]


def bucket_bits(ports: int, reach_ps: int) -> int:
    """Binary logarithm of the picoseconds in a bucket.

    The wheel must reach at least `reach_ps`; with so many ports, a bucket then gets two events or
    less while all of them are busy.
    """
    few = _MOST_BITS - max(ports // _PORTS_PER_EVENT, 1).bit_length() + 1
    return max(few, (reach_ps // SLOTS).bit_length())


@intrinsic
def _trailing_zeros(_context: Any, word: Any) -> Any:
    """Trailing zero bits of a non-zero 64-bit word."""

    def codegen(_ctx: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


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
def _insert(net: Net, row: int, t: int) -> None:
    """Put `row` into the bucket of `t`, behind everything due no later."""
    slot = (t >> net.cfg[Cfg.BUCKET_BITS]) & _MASK
    tail = net.wheel[slot, 1]
    if tail < 0:
        net.wheel[slot, 0] = row
        net.wheel[slot, 1] = row
        net.rec[row, Rec.NEXT] = -1
        net.bits[slot >> 6] |= 1 << (slot & 63)
    elif net.rec[tail, Rec.TIME] <= t:
        net.rec[tail, Rec.NEXT] = row
        net.rec[row, Rec.NEXT] = -1
        net.wheel[slot, 1] = row
    else:
        before = -1
        here = int(net.wheel[slot, 0])
        while net.rec[here, Rec.TIME] <= t:
            before = here
            here = net.rec[here, Rec.NEXT]
        net.rec[row, Rec.NEXT] = here
        if before < 0:
            net.wheel[slot, 0] = row
        else:
            net.rec[before, Rec.NEXT] = row


@inlined
def schedule(net: Net, row: int, t: int) -> None:
    """Let record `row` be due at `t` ps (not before the present)."""
    net.rec[row, Rec.TIME] = t
    if (t >> net.cfg[Cfg.BUCKET_BITS]) - net.ctl[Ctl.BUCKET] >= SLOTS:
        _heap_push(net.heap, net.ctl, row, t)
    else:
        _insert(net, row, t)


@outlined
def cancel(net: Net, row: int) -> None:
    """Take the scheduled record `row` back."""
    t = net.rec[row, Rec.TIME]
    if (t >> net.cfg[Cfg.BUCKET_BITS]) - net.ctl[Ctl.BUCKET] >= SLOTS:
        for at in range(net.ctl[Ctl.HEAP]):
            if net.heap[at, 2] == row:
                _heap_take(net.heap, net.ctl, at)
                return
        return
    slot = (t >> net.cfg[Cfg.BUCKET_BITS]) & _MASK
    before = -1
    here = int(net.wheel[slot, 0])
    while here != row:
        before = here
        here = net.rec[here, Rec.NEXT]
    after = net.rec[row, Rec.NEXT]
    if before < 0:
        net.wheel[slot, 0] = after
    else:
        net.rec[before, Rec.NEXT] = after
    if after < 0:
        net.wheel[slot, 1] = before
        if before < 0:
            net.bits[slot >> 6] &= ~(1 << (slot & 63))


@inlined
def pop(net: Net) -> int:
    """The record that is due next, taken out; -1 when nothing is scheduled."""
    bucket = net.ctl[Ctl.BUCKET]
    slot = bucket & _MASK
    row = int(net.wheel[slot, 0])
    if row < 0:
        at = slot >> 6
        word = net.bits[at] & (-1 << (slot & 63))
        left = WORDS
        while word == 0 and left > 0:
            at = (at + 1) & (WORDS - 1)
            word = net.bits[at]
            left -= 1
        if word != 0:
            bucket += (at * 64 + _trailing_zeros(word) - slot) & _MASK
        elif net.ctl[Ctl.HEAP] > 0:
            bucket = net.heap[0, 0] >> net.cfg[Cfg.BUCKET_BITS]
        else:
            return -1
        net.ctl[Ctl.BUCKET] = bucket
        bits = net.cfg[Cfg.BUCKET_BITS]
        while net.ctl[Ctl.HEAP] > 0 and (net.heap[0, 0] >> bits) - bucket < SLOTS:
            due = net.heap[0, 0]
            _insert(net, _heap_take(net.heap, net.ctl, 0), due)
        slot = bucket & _MASK
        row = int(net.wheel[slot, 0])
    after = net.rec[row, Rec.NEXT]
    net.wheel[slot, 0] = after
    if after < 0:
        net.wheel[slot, 1] = -1
        net.bits[slot >> 6] &= ~(1 << (slot & 63))
    return row
