"""What the golden models of TIMELY, DCQCN and PSCHED share with their gateware.

Formats, rows of state, parameters, events and results: names and widths, declared once, standard
library only. A negative width is a signed field.
"""

from enum import IntEnum

from precog_spec.contract import NO_SCORE, Algorithm, Fmt, Q

__all__ = [
    "ACK_FIELDS",
    "ALPHA",
    "COUNT_MAX",
    "DCQCN_PARAMETERS",
    "DCQCN_STATE",
    "DECAY_BITS",
    "DECAY_LEVELS",
    "DOUBT_MAX",
    "DROP",
    "DROP_FRAC",
    "EVENT_FIELDS",
    "FACTOR_FRAC",
    "FRACTION",
    "INCREASE_MAX",
    "JUDGED_MIN",
    "LAW_CONFIG",
    "LAW_EVENTS",
    "LAW_EVENT_FIELDS",
    "LAW_PARAMETERS",
    "LEVEL_ALONE",
    "MAX_STEPS",
    "MEAN",
    "NO_SCORE",
    "PROGRAM_EVENTS",
    "PSCHED_CONFIG",
    "PSCHED_EVENTS",
    "PSCHED_PARAMETERS",
    "RAISE",
    "RESULT_FIELDS",
    "RING_PLACES",
    "RING_STAMP_BITS",
    "SCORE_BITS",
    "SCORE_MAX",
    "SENDERS_AT",
    "SENDERS_BITS",
    "TIMELY_PARAMETERS",
    "TIMELY_STATE",
    "EventKind",
    "Law",
    "ScoreCommand",
    "Variant",
]

FRACTION = Q(1, 24, signed=False)  # factors in [0, 1], weights and quotients
MEAN = Q(24, 12)  # ticks; the mean RTT difference
ALPHA = Q(1, 32, signed=False)  # DCQCN's alpha in [0, 1]: small gains g need the fine steps

COUNT_MAX = 255  # counters of stages and of samples in a row stop here
MAX_STEPS = 8  # most increases that one event makes by the timer, and by the byte counter

#: (1-g)^k is a product of one entry of each level: k in base 2**DECAY_BITS has DECAY_LEVELS digits.
DECAY_BITS = 4
DECAY_LEVELS = 3


class EventKind(IntEnum):
    """What happened to a queue pair; `value` is an RTT in ticks, a number of bytes, a score."""

    RTT = 0  # a sample of the round-trip time is complete
    CNP = 1  # a congestion notification has come
    BYTES = 2  # bytes that have left
    SWEEP = 3  # time has passed
    LOSS = 4  # a NAK or a time-out; none of the sources' laws reacts to one
    CONFIGURE = 5  # take the event's configuration; another law starts anew from the present rate
    RESET = 6  # forget all but the configuration
    SCORE = 7  # a score has come, for `rate.psched`, or a level of senders, for programs


class ScoreCommand(IntEnum):
    """What PSCHED may do with a score; above its `SCORE_BITS` in the event's value."""

    FREE = 0  # as it has it
    HOLD = 1  # not raise the rate
    REDUCE = 2  # as above its threshold, wherever that lies
    KEEP = 3  # a level came without a score: the last one holds


class Law(IntEnum):
    """Those of `contract.Algorithm` that run on this state, and one for all others."""

    FIXED = Algorithm.FIXED  # the configured initial rate
    TIMELY = Algorithm.TIMELY
    DCQCN = Algorithm.DCQCN


class Variant(IntEnum):
    """Forms of TIMELY."""

    SOURCE = 0  # 002
    NS3 = 1  # the HPCC authors' simulator
    PATCHED = 2  # CoNEXT 2016, a unique fixed point


_RATE = Fmt.RATE.width
_RTT = Fmt.RTT.width
_TIME = Fmt.TIME.width
_FACTOR = FRACTION.frac_bits  # a parameter below 1

EVENT_FIELDS = (
    ("kind", 3),
    ("qp", 16),
    ("t", _TIME),  # ticks
    ("value", 32),
    ("law", 3),  # this and the following: only with CONFIGURE
    ("min_rate", _RATE),
    ("max_rate", _RATE),
    ("init_rate", _RATE),
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

#: What the host of a device or its packets can say; samples have a way of their own.
LAW_EVENT_FIELDS = EVENT_FIELDS[:4]
LAW_EVENTS = (EventKind.CNP, EventKind.BYTES, EventKind.SWEEP, EventKind.LOSS)

#: Those that programs may hear of, in addition to samples and acknowledgements.
PROGRAM_EVENTS = (EventKind.CNP, EventKind.SWEEP, EventKind.LOSS, EventKind.SCORE)

#: Those that PSCHED takes, whatever the law: scores, and that time has passed.
PSCHED_EVENTS = (EventKind.SWEEP, EventKind.SCORE)

#: Configuration of a queue pair. What is not a `Law` is run as FIXED.
LAW_CONFIG = EVENT_FIELDS[4:]

RESULT_FIELDS = (
    ("qp", 16),
    ("rate", _RATE),
    ("changed", 1),  # it is not the last result's, or it is the first since power-up or RESET
)

TIMELY_STATE = (
    ("last_rtt", _RTT),  # 0: no sample so far
    ("last_t", _TIME),
    ("count", 8),  # negative differences in a row; ns-3: increases in a row
    ("mean", -MEAN.width),
)

TIMELY_PARAMETERS = (
    ("variant", 2),
    ("alpha", _FACTOR),  # weight of the newest difference
    ("beta", _FACTOR),  # of the decrease
    ("low", _RTT),  # T_low
    ("high", _RTT),  # T_high
    ("min_rtt", _RTT),
    ("reference", _RTT),  # RTT_ref; patched only
    ("slope", _FACTOR),  # of the decrease between the thresholds, 0.008; patched only
    ("ai", _RATE),  # additive increase
    ("hai", _RATE),  # hyperactive increase: the source's 5 * ai
    ("hai_count", 8),
)

DCQCN_STATE = (
    ("started", 1),  # a notification has come
    ("timing", 1),  # the rate timer runs
    ("alpha_cnp", 1),  # a notification has come since the last update of alpha
    ("cut_cnp", 1),  # a cut is due at `cut_t`
    ("target", _RATE),
    ("alpha", ALPHA.width),
    ("timer_stage", 8),
    ("byte_stage", 8),
    ("bytes", 32),
    ("alpha_t", _TIME),  # last update of alpha
    ("rate_t", _TIME),  # last step of the rate timer
    ("cut_t", _TIME),  # a tick of the rate-decrease check
)

DCQCN_PARAMETERS = (
    ("g", _FACTOR),
    ("alpha_ticks", 24),  # period K of alpha's update; 0: none
    ("cut_ticks", 24),  # period of the rate-decrease check; 0: every notification cuts at once
    ("rate_ticks", 24),  # period T of the rate timer; 0: none
    ("recovery", 8),  # rounds F of fast recovery
    ("byte_count", 32),  # bytes B of a step; 0: no byte counter
    ("ai", _RATE),
    ("hai", _RATE),  # 0: no hyper increase
    ("clamp_target", 1),  # every cut sets the target; 0: only the first after an increase
)

#: Parameters of all laws as they stand among others, with the law's name in front.
LAW_PARAMETERS = tuple(
    (f"{law}_{name}", bits)
    for law, parameters in (("timely", TIMELY_PARAMETERS), ("dcqcn", DCQCN_PARAMETERS))
    for name, bits in parameters
)

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
