"""When the timing wheel gives back whom it holds, for `pace_wheel`."""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from .pace_wheel_parts import BUCKET_LOG2, QPS, SLOTS, Inside, bucket_of
from .past import Past

__all__ = ["in_time"]

_LAG = 8  # buckets
_IDLE, _SLOW = 3, 2  # cycles


def in_time(m: Module, past: Past, wheel: Inside, now: Value, hold: Value) -> None:
    """Of level 0: by the cursor that passes the bucket, or the next one if that has passed.

    Parameters
    ----------
    m : Module
        Gets the assertions, and what they promise of the clock.
    past : Past
    wheel : Inside
    now, hold : Value
        Inputs of the wheel.
    """
    slots, waiting, op, found = wheel.slots, wheel.waiting, wheel.op, wheel.found
    near = wheel["near"]
    head, ready = wheel.commands.places[0], wheel["ready"]
    away, step = Signal.like(near), Signal.like(now)  # the clock is ahead of the cursor
    m.d.comb += [
        away.eq(now[BUCKET_LOG2:] - near),
        step.eq(now - past(now, "now")),
        Assume(~past.known | (step <= 1)),
        Assume((away < _LAG) | (past.known & away[-1])),  # nothing stops it for half a turn
        Assert(~away[-1] | away.all(), "no bucket is emptied before its time"),
        Assert(~ready | (wheel["bucket"] == bucket_of(head.due))),
    ]
    # The bucket that each one stands for, and those that are being emptied.
    due, placed = Signal.like(near), Signal.like(near)
    bucket = Array(Signal.like(near, name=f"bucket{q}") for q in range(QPS))
    emptied = [Signal.like(near, name=f"emptied{n}") for n in range(4)]
    m.d.sync += [
        *(due.eq(wheel["bucket"]), placed.eq(Mux(found.past, near + 1, due))),
        *(later.eq(sooner) for sooner, later in pairwise(emptied)),
    ]
    m.d.comb += emptied[0].eq(near)
    with m.If(wheel["placed"]):
        m.d.sync += bucket[wheel["whose"]].eq(placed)

    def right(number: Any, row: Any, behind: int) -> Value:
        """Ahead of the cursor and in its slot, or about to be given back."""
        ahead = Signal.like(near, name=f"ahead_{len(checks)}")
        checks.append(ahead)
        m.d.comb += ahead.eq(number - near)
        leaving = [op[n].detaches & ~op[n].far & (emptied[n] == number) for n in range(1, behind)]
        return (row == number[: len(row)]) & ((ahead < SLOTS) | Cat(leaving).any())

    checks: list[Signal] = []
    slot, bits, to_come = wheel["slot"], len(wheel["slot"]) - 1, Signal.like(near)
    m.d.comb += [
        to_come.eq(due - near),
        Assert(~(found.valid & found.near & ~found.past) | (to_come < SLOTS)),
        Assert(~wheel["placed"] | slot[-1] | right(placed, slot[:bits], 1)),
    ]
    for n in range(1, 4):
        row, mine = slots.stage[n - 1][1:], op[n]
        m.d.comb += [
            Assert(~mine.files | row[-1] | right(bucket[mine.qp], row[:bits], n)),
            Assert(~(mine.detaches & ~mine.far) | (row == emptied[n][:bits])),
            Assert(~mine.far | row[-1]),
        ]
    given = op[3].detaches & ~op[3].far
    for q in range(QPS):
        for n in range(SLOTS):
            stands = wheel.stands(q, slots.rows[n])
            m.d.comb += Assert(~stands | right(bucket[q], Const(n, bits), 4))
        old = data.View(wheel.chain, slots.old)
        m.d.comb += Assert(~(given & wheel.stands(q, old)) | (bucket[q] == emptied[3]), "its own")

    # The cursor goes on, and what it has taken off comes out.
    idle, slow = Signal(range(_IDLE + 2)), Signal(range(_SLOW + 2))
    may = ~away[-1] & ~hold & wheel["chains.room_near"] & ~op[0].detaches
    some = (wheel["chains.near"][0] | (waiting.count != 0)) & ~wheel["chains.cutting"]
    m.d.sync += [
        idle.eq(Mux(may & (idle <= _IDLE), idle + 1, 0)),
        slow.eq(Mux(some & ~wheel["chains.taking"] & (slow <= _SLOW), slow + 1, 0)),
    ]
    m.d.comb += [Assert(idle <= _IDLE, "nothing stops it"), Assert(slow <= _SLOW)]
