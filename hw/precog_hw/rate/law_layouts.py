"""Structures of events and decisions, from the fields that the golden models declare."""

from amaranth.hdl import Cat, Mux, Shape, Value, unsigned
from amaranth.lib import data

from precog_hw.rate.layouts import MODEL
from precog_spec.contract import TRACE_BODIES, Fmt, TraceKind
from precog_spec.law_fields import ACK_FIELDS, LAW_EVENT_FIELDS, SCORE_BITS

__all__ = [
    "ABOUT",
    "BOUNDS",
    "LAW_ACK",
    "LAW_EVENT",
    "MADE_OF",
    "RAN",
    "clamped",
]


def _layout(fields: tuple[tuple[str, int], ...]) -> data.StructLayout:
    """A structure of unsigned fields."""
    return data.StructLayout(_fields(fields))


def _fields(fields: tuple[tuple[str, int], ...]) -> dict[str, Shape]:
    return {name: unsigned(bits) for name, bits in fields}


#: Within what a law decides.
BOUNDS = data.StructLayout(dict.fromkeys(("min_rate", "max_rate"), unsigned(Fmt.RATE.width)))

#: What the host or a packet says.
LAW_EVENT = _layout(LAW_EVENT_FIELDS)

#: An acknowledgement, for programs.
LAW_ACK = _layout(ACK_FIELDS)

#: What a decision is of, for those behind the laws.
ABOUT = data.StructLayout(
    {
        "t": unsigned(Fmt.TIME.width),
        "psched": unsigned(1),  # the queue pair runs PSCHED
        "sample": unsigned(1),  # else an event
        "rated": unsigned(1),  # the rate is a law's; else there is none
        "score_stb": unsigned(1),  # the event is this score
        "score": unsigned(SCORE_BITS),
        "command": unsigned(2),  # `ScoreCommand`, with the score
        "rtt": unsigned(Fmt.RTT.width),  # the sample's; 0: an event
        "above": unsigned(1),  # an RTT above the law engine's threshold: no rate may rise
    }
)

#: A decision's inputs, for the trace.
MADE_OF = data.StructLayout(
    {
        "t": ABOUT["t"].shape,
        "rtt": ABOUT["rtt"].shape,
        "score": unsigned(SCORE_BITS),  # NO_SCORE: none moved it
        "model": MODEL,
    }
)

#: What the law engine did for a decision, for the trace; `stb` 0: it only passed.
RAN = data.StructLayout({"stb": unsigned(1)} | _fields(TRACE_BODIES[TraceKind.PROGRAM]))


def clamped(value: Value, bounds: data.View) -> Value:
    """An unsigned `value` within the bounds; if they cross, the upper one counts."""
    return within(value, bounds, beyond(value, bounds))


def beyond(value: Value, bounds: data.View) -> Value:
    """Whether an unsigned `value` is below the bounds, and whether above: 2 bits."""
    low, high = bounds.min_rate, bounds.max_rate
    below = value < low
    return Cat(below, (value > high) | (below & (low > high)))


def within(value: Value, bounds: data.View, out: Value) -> Value:
    """`value` within the bounds, where `out` is what `beyond` says of it."""
    low, high = bounds.min_rate, bounds.max_rate
    return Cat(Mux(out[1], high, Mux(out[0], low, value)))[: len(high)]
