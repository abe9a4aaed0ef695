"""When the timing wheel gives back whom it holds, for `pace_wheel`."""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from .pace_wheel_parts import BUCKET_LOG2, QPS, SLOTS, Inside, bucket_of
from .past import Past

__all__ = ["in_time"]

_LAG, _FAR_LAG = 8, 4  # slots
_IDLE, _SLOW = 3, 3  # cycles


def in_time(m: Module, past: Past, wheel: Inside, now: Value) -> None:
    """By the cursor that passes its bucket, or the next one if that has passed.

    Of level 1: by the cursor that is one slot ahead of level 0's, not later than that of its unit.

    Parameters
    ----------
    m : Module
        Gets the assertions, and what they promise of the clock.
    past : Past
    wheel : Inside
    now : Value
        The wheel's input.
    """
    found = wheel.found
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
    # What is placed one cycle after it was found how far away it is.
    due, far = Signal.like(near), wheel["far"]
    unit, beyond, ahead, behind = (Signal.like(far, name=f"unit{n}") for n in range(4))
    placed, placed_far = Signal.like(near), Signal.like(far)
    m.d.sync += [
        due.eq(wheel["bucket"]),
        placed.eq(Mux(found.past, near + 1, due)),
        placed_far.eq(beyond),
    ]
    to_come = Signal.like(near)
    m.d.comb += [
        to_come.eq(due - near),
        unit.eq(due[1:]),
        beyond.eq(Mux(found.far, unit, far - 1 + SLOTS)),
        ahead.eq(unit - beyond),
        behind.eq(near[1:] + 1 - far),
        Assume(behind[-1] | (behind < _FAR_LAG)),
        Assert(~behind[-1] | behind.all(), "level 1 is emptied one of its slots ahead, no more"),
        Assert(~(found.valid & found.near & ~found.past) | (to_come < SLOTS)),
        Assert(~(found.valid & ~found.near & ~found.past) | ~ahead[-1], "not behind its unit"),
    ]
    _level(m, wheel, near, placed, far=False)
    _level(m, wheel, far, placed_far, far=True)

    # The cursor goes on, and what it has taken off comes out.
    idle, slow = Signal(range(_IDLE + 2)), Signal(range(_SLOW + 2))
    may = ~away[-1] & ~wheel["holds"] & wheel["chains.room_near"] & ~wheel.choice.detaches
    waits = Cat(there for there, _ in wheel.queued).any()
    some = (wheel["chains.near"][0] | waits) & ~wheel["chains.cutting"]
    m.d.sync += [
        idle.eq(Mux(may & (idle <= _IDLE), idle + 1, 0)),
        slow.eq(Mux(some & ~wheel["chains.taking"] & (slow <= _SLOW), slow + 1, 0)),
    ]
    m.d.comb += [Assert(idle <= _IDLE, "nothing stops it"), Assert(slow <= _SLOW)]


def _level(m: Module, wheel: Inside, cursor: Value, placed: Value, *, far: bool) -> None:
    """A queue pair in a slot of a level is ahead of its cursor, or about to be given back by it.

    Parameters
    ----------
    m : Module
    wheel : Inside
    cursor : Value
        The next slot to be emptied, counted on.
    placed : Value
        As above, with `placed`: that of whom is filed next, if it is filed on this level.
    far : bool
        Level 1.
    """
    slots, op, rows, name = wheel.slots, wheel.op, wheel.rows, "far" if far else "near"
    number = Array(Signal.like(cursor, name=f"{name}_of{q}") for q in range(QPS))
    emptied = [Signal.like(cursor, name=f"{name}_emptied{n}") for n in range(4)]
    m.d.sync += [later.eq(sooner) for sooner, later in pairwise([cursor, *emptied])]
    with m.If(wheel["placed"] & (wheel["slot"][-1] == far)):
        m.d.sync += number[wheel["whose"]].eq(placed)
    takes = [one.detaches & (one.far == far) for one in op]
    distances: list[Signal] = []

    def right(mine: Any, row: Any, older: int) -> Value:
        distance = Signal.like(cursor, name=f"{name}_distance{len(distances)}")
        distances.append(distance)
        m.d.comb += distance.eq(mine - cursor)
        leaving = Cat(takes[n] & (emptied[n] == mine) for n in range(older)).any()
        return (row == mine[: len(row)]) & ((distance < SLOTS) | leaving)

    slot, bits = wheel["slot"], len(wheel["slot"]) - 1
    other = slot[-1] != far
    m.d.comb += Assert(~wheel["placed"] | other | right(placed, slot[:bits], 0))
    for n, row in enumerate(rows):
        m.d.comb += [
            Assert(~op[n].files | (row[-1] != far) | right(number[op[n].qp], row[:bits], n)),
            Assert(~takes[n] | ((row[:bits] == emptied[n][:bits]) & (row[-1] == far))),
        ]
    old = data.View(wheel.chain, slots.old)
    for q in range(QPS):
        for n in range(SLOTS):
            stands = wheel.stands(q, slots.rows[n + far * SLOTS])
            m.d.comb += Assert(~stands | right(number[q], Const(n, bits), 4))
        m.d.comb += Assert(
            ~(takes[3] & wheel.stands(q, old)) | (number[q] == emptied[3]), "its own"
        )
