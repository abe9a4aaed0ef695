"""Structures of the laws TIMELY and DCQCN, from the fields that the golden models declare."""

from amaranth.hdl import Cat, Mux, Value, signed, unsigned
from amaranth.lib import data

from precog_hw.rate.layouts import MODEL
from precog_spec.contract import Fmt
from precog_spec.law_fields import (
    ACK_FIELDS,
    COUNT_MAX,
    DCQCN_PARAMETERS,
    DCQCN_STATE,
    EVENT_FIELDS,
    LAW_CONFIG,
    LAW_EVENT_FIELDS,
    RESULT_FIELDS,
    SCORE_BITS,
    TIMELY_PARAMETERS,
    TIMELY_STATE,
)

__all__ = [
    "ABOUT",
    "BOUNDS",
    "CONFIG",
    "DCQCN",
    "DCQCN_ROW",
    "LAW_ACK",
    "LAW_EVENT",
    "MADE_OF",
    "TIMELY",
    "TIMELY_ROW",
    "TRACE",
    "clamped",
    "counted",
    "event_layout",
    "result_layout",
]


def _layout(fields: tuple[tuple[str, int], ...], **other: int) -> data.StructLayout:
    """A structure of fields; `other` replaces widths."""
    widths = {name: other.get(name, bits) for name, bits in fields}
    return data.StructLayout(
        {name: unsigned(bits) if bits > 0 else signed(-bits) for name, bits in widths.items()}
    )


#: Parameters that all queue pairs share.
TIMELY = _layout(TIMELY_PARAMETERS)
DCQCN = _layout(DCQCN_PARAMETERS)

#: What the laws keep of a queue pair.
TIMELY_ROW = _layout(TIMELY_STATE)
DCQCN_ROW = _layout(DCQCN_STATE)

#: Configuration of a queue pair, and the part of it that a law needs.
CONFIG = _layout(LAW_CONFIG)
BOUNDS = _layout(tuple(field for field in LAW_CONFIG if field[0] in ("min_rate", "max_rate")))

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

#: What a decision was made of, for those who trace it.
MADE_OF = data.StructLayout(
    {
        "t": ABOUT["t"].shape,
        "rtt": ABOUT["rtt"].shape,
        "score": unsigned(SCORE_BITS),  # NO_SCORE: none moved it
        "model": MODEL,
    }
)

#: All that is kept of a queue pair; the state of a law that it does not run is zero.
TRACE = data.StructLayout(
    {"live": unsigned(1), "rate": unsigned(32), "timely": TIMELY_ROW, "dcqcn": DCQCN_ROW}
)


def event_layout(qp_bits: int) -> data.StructLayout:
    """An event of one of 2**`qp_bits` queue pairs."""
    return _layout(EVENT_FIELDS, qp=qp_bits)


def result_layout(qp_bits: int) -> data.StructLayout:
    """The outcome of an event."""
    return _layout(RESULT_FIELDS, qp=qp_bits)


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


def counted(count: Value) -> Value:
    """One more, up to the end."""
    return Mux(count == COUNT_MAX, COUNT_MAX, count + 1)
