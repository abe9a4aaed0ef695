"""Records of the trace FIFO."""

from enum import IntEnum

from .formats import Fmt

__all__ = [
    "TRACE_BODIES",
    "TRACE_BODY_BITS",
    "TRACE_HEAD",
    "TRACE_SERIALS",
    "TRACE_WORDS",
    "TraceKind",
]


class TraceKind(IntEnum):
    """What a record of the trace FIFO tells of."""

    DECISION = 0  # the core decided on a sample or an event
    RECEIVER = 1  # a congestion score, or its age, moved the receiver
    FORECAST = 2  # a queue model forecast a queue pair's queue
    PROGRAM = 3  # a program of the law engine decided, or the safe law in its place


#: A trace record: the head, then the body of its kind, the lowest bit of the first word first; what
#: a body does not fill is 0.
TRACE_WORDS = 8
TRACE_HEAD = (
    ("kind", 4),
    ("serial", 12),  # counts records, those that found no room too: a gap tells of a loss
    ("qp", 16),
    ("t", Fmt.TIME.width),  # ticks: the sample's or event's stamp
    ("score", 8),  # 0..100; 255: none
    ("flags", 16),
)
TRACE_SERIALS = 1 << dict(TRACE_HEAD)["serial"]
TRACE_BODY_BITS = 32 * TRACE_WORDS - sum(bits for _, bits in TRACE_HEAD)
TRACE_BODIES: dict[TraceKind, tuple[tuple[str, int], ...]] = {
    TraceKind.DECISION: (  # flags: `Flag`
        ("rtt", Fmt.RTT.width),  # 0: of an event
        ("set", 8),  # of the model that predicted; counts with Flag.PREDICTED, as does its version
        ("srtt", Fmt.SRTT.width),
        ("rtt_pred", Fmt.SRTT.width),  # 0: there was no prediction
        ("rate", Fmt.RATE.width),
        ("version", 32),
    ),
    TraceKind.RECEIVER: (  # flags: `rate.receiver_fields.Act`
        ("band", 2),
        ("was", 2),
        ("command", 2),
        ("boost", 3),  # that the pacer's priority has
        ("quota", 16),  # cells
    ),
    TraceKind.FORECAST: (
        ("probability", 16),  # of a queue at or above the threshold, UQ1.15
        ("x0", Fmt.X.width),
        ("x1", Fmt.X.width),
        ("x2", Fmt.X.width),
        ("x3", Fmt.X.width),
        ("set", 8),
        ("version", 32),
    ),
    TraceKind.PROGRAM: (  # flags: `Flag`, as the decision has them; so is the score
        ("rtt", Fmt.RTT.width),  # 0: the event has none
        ("base", Fmt.RTT.width),  # that the program heard of
        ("event", 3),  # `engine.events.Kind`
        ("slot", 3),
        ("live", 1),  # a program decided; else bank, status and turns are 0
        ("bank", 3),
        ("status", 3),  # `rate.engine.machine.Status`
        ("turns", 12),
        ("marked", 1),
        ("above", 1),  # the RTT is above the threshold: nothing rises
        ("rate", Fmt.RATE.width),  # before PSCHED moves it
        ("window", Fmt.WINDOW.width),  # 0: none
    ),
}
