"""What the golden models of PSCHED and of events share with their gateware.

Parameters and events: names and widths, declared once, standard library only.
"""

from enum import IntEnum

from precog_spec.contract import NO_SCORE, Fmt

__all__ = [
    "ACK_FIELDS",
    "DOUBT_MAX",
    "DROP",
    "DROP_FRAC",
    "FACTOR_FRAC",
    "INCREASE_MAX",
    "JUDGED_MIN",
    "LAW_EVENT_FIELDS",
    "LEVEL_ALONE",
    "NO_SCORE",
    "PROGRAM_EVENTS",
    "PSCHED_CONFIG",
    "PSCHED_EVENTS",
    "PSCHED_PARAMETERS",
    "RAISE",
    "RING_PLACES",
    "RING_STAMP_BITS",
    "SCORE_BITS",
    "SCORE_MAX",
    "SENDERS_AT",
    "SENDERS_BITS",
    "EventKind",
    "ScoreCommand",
]


class EventKind(IntEnum):
    """What happened to a queue pair besides a sample; `value` is a number of bytes or a score."""

    CNP = 1  # a congestion notification has come
    BYTES = 2  # bytes that have left; the receiver of scores counts them
    SWEEP = 3  # time has passed
    LOSS = 4  # a NAK or a time-out
    SCORE = 7  # a score has come, for `rate.psched`, or a level of senders, for programs


class ScoreCommand(IntEnum):
    """What PSCHED may do with a score; above its `SCORE_BITS` in the event's value."""

    FREE = 0  # as it has it
    HOLD = 1  # not raise the rate
    REDUCE = 2  # as above its threshold, wherever that lies
    KEEP = 3  # a level came without a score: the last one holds


_RTT = Fmt.RTT.width
_TIME = Fmt.TIME.width

#: What the host of a device or its packets can say; samples have a way of their own.
LAW_EVENT_FIELDS = (
    ("kind", 3),
    ("qp", 16),
    ("t", _TIME),  # ticks
    ("value", 32),
)

#: An acknowledgement, for laws that are programs.
ACK_FIELDS = (
    ("qp", 16),
    ("t", _TIME),  # ticks
    ("rtt", _RTT),  # ticks, at least 1
    ("bytes", 32),  # newly acknowledged
    ("marked", 1),  # it echoes a congestion mark
    ("seq", 24),  # first packet sequence number that is not acknowledged
    ("next", 24),  # next one to be sent
)

#: Packets in flight of each queue pair whose round trips a card measures; the bits of their T0.
RING_PLACES, RING_STAMP_BITS = 8, 32

#: Those that programs may hear of, in addition to samples and acknowledgements.
PROGRAM_EVENTS = (EventKind.CNP, EventKind.SWEEP, EventKind.LOSS, EventKind.SCORE)

#: Those that PSCHED takes, whatever the law: scores, and that time has passed.
PSCHED_EVENTS = (EventKind.SWEEP, EventKind.SCORE)

# --- PSCHED: scores, and the factors that they make --------------------------------------------
#: Parameters shared by all queue pairs, and their widths: scores; UQ0.16; ticks, 0: for ever; the
#: queueing delay in ticks that a score is about; whether scores are followed only with skill; of
#: the law's rate scores take 2**-cut at most.
PSCHED_PARAMETERS = (
    ("psched_threshold", 7),
    ("psched_hysteresis", 7),
    ("psched_increase", 16),
    ("psched_score_ticks", 32),
    ("psched_delay", _RTT),
    ("psched_skill", 1),
    ("psched_cut", 3),
)

#: A queue pair's configuration: priority, latency in ticks (0: none promised), RATE's.
PSCHED_CONFIG = ("sla_priority", "sla_latency", "min_rate", "max_rate")

SCORE_MAX = 100
SCORE_BITS = 8
#: The receiver's level, binary logarithm of its senders, above score and command in the value.
SENDERS_AT, SENDERS_BITS = 16, 4
#: Score and command of a level that comes without a score.
LEVEL_ALONE = NO_SCORE | ScoreCommand.KEEP << SCORE_BITS
JUDGED_MIN = 16  # scores that must have been judged before one is followed
DOUBT_MAX = 7  # halvings of what scores may take
FACTOR_FRAC = 16
INCREASE_MAX = 6553  # the factor stays below 1.1

#: By priority: 1 + p/20, with 16 fraction bits.
RAISE = tuple(round((1 + p / 20) * (1 << 16)) for p in range(8))
#: By priority: (1 - p/20) / 100, with 22 fraction bits.
DROP_FRAC = 22
DROP = tuple(round((1 - p / 20) / SCORE_MAX * (1 << DROP_FRAC)) for p in range(8))
