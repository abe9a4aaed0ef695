"""What is in force when an event begins, and what its program hears of it."""

from typing import Any

from amaranth.hdl import Cat, Mux, Value
from amaranth.lib import data

from precog_hw.rate.law_layouts import BOUNDS
from precog_spec.contract import Fmt
from precog_spec.engine.events import Kind
from precog_spec.engine.isa import SLOTS

__all__ = ["GIVEN", "GIVEN_RATES", "begin", "event_of", "first_base"]

_RATE = Fmt.RATE.width
#: Rates of a queue pair's configuration.
GIVEN_RATES = ("min_rate", "max_rate", "init_rate")
#: A queue pair's configuration: whether it runs a program, that of which slot, whether PSCHED moves
#: its rate, within what.
GIVEN = data.StructLayout(
    {"on": 1, "slot": (SLOTS - 1).bit_length(), "psched": 1, **dict.fromkeys(GIVEN_RATES, _RATE)}
)


def _timed(words: data.View) -> Value:
    """The event has an RTT."""
    found: Value = (words.kind == Kind.ACK) | (words.kind == Kind.SAMPLE)
    return found


def begin(
    begun: data.View,
    given: data.View,
    row: data.View,
    words: data.View,
    program: data.View,
    threshold: Value,
) -> list[Any]:
    """What is in force for an event, but that the rate may be out of its bounds.

    Parameters
    ----------
    begun : data.View
        `flight.begun_layout`, assigned: all but the queue pair, the kind and the decision.
    given, row : data.View
        `GIVEN` and `commit.ROW` of the queue pair.
    words : data.View
        `intake.WORDS`.
    program : data.View
        `store.PROGRAM`.
    threshold : Value
    """
    bounds = data.View(BOUNDS, Cat(given.min_rate, given.max_rate))
    return [
        begun.live.eq(program.live),
        begun.bank.eq(program.bank),
        begun.tag.eq(program.tag),
        begun.windows.eq(program.windowed),
        begun.slot.eq(given.slot),
        begun.psched.eq(given.psched),
        begun.bounds.eq(bounds),
        begun.rate.eq(Mux(row.live, row.rate, given.init_rate)),
        begun.window.eq(row.window),  # 0 where it is not live
        begun.base.eq(Mux(words.base == 0, row.base, words.base)),
        begun.above.eq(_timed(words) & (words.rtt > threshold)),
        begun.was_tagged.eq(row.tagged),
        begun.was_tag.eq(row.tag),
    ]


def first_base(words: data.View, begun: data.View) -> Value:
    """The least RTT that a program hears of: the event's own, if there has been none.

    Parameters
    ----------
    words, begun : data.View
        As for `begin`, which has been. Of `words`, kind and RTT count.
    """
    return Mux((begun.base == 0) & _timed(words), words.rtt, begun.base)


def event_of(
    event: data.View, words: data.View, begun: data.View, init_rate: Value, base: Value
) -> list[Any]:
    """The event for a core, but for the queue pair, its number and the MTU.

    Parameters
    ----------
    event : data.View
        `layouts.event_layout`, assigned.
    words, begun : data.View
        As for `begin`, which has been.
    init_rate : Value
        Of the queue pair's configuration.
    base : Value
        `first_base`.
    """
    return [
        event.slot.eq(begun.bank),
        event.words.eq(words),
        event.words.min_rate.eq(begun.bounds.min_rate),
        event.words.max_rate.eq(begun.bounds.max_rate),
        event.words.init_rate.eq(init_rate),
        event.words.rate.eq(begun.rate),
        event.words.window.eq(begun.window),
        event.words.base.eq(base),
    ]
