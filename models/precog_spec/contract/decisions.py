"""Samples, decisions and events of a queue pair: codes, flags and layouts."""

from enum import IntEnum, IntFlag

from .formats import Fmt

__all__ = [
    "DECISION_FIELDS",
    "DESTINATION_FIELDS",
    "PROGRAM_ALGORITHM",
    "SAMPLE_FIELDS",
    "SKILL_PART_SHIFT",
    "SKILL_SHIFT",
    "TOLD_BY_EVENTS",
    "Algorithm",
    "Flag",
    "Outcome",
]


class Outcome(IntFlag):
    """What one event did to its queue pair's RTT sample; in hardware, a strobe for each bit."""

    STARTED = 1
    SAMPLE = 2
    COALESCED = 4  # the answer acknowledged a later PSN
    CORRECTED = 8  # T2 - T1 was known
    DROPPED_RETRANSMISSION = 16
    DROPPED_NAK = 32
    DROPPED_TIMEOUT = 64
    SWEPT = 128  # the time-out was found without a packet of the queue pair
    FORGOTTEN = 256  # a reset of the queue pair found a timed packet
    REFUSED_PSN = 512  # the answer is to no PSN that is in flight
    REFUSED_TURNAROUND = 1024  # T2 - T1 leaves less of the measured time than any path takes


class Algorithm(IntEnum):
    """A QP's rate law; each other code below `PROGRAM_ALGORITHM` is run as FIXED."""

    FIXED = 0  # the configured initial rate, no control
    PID = 1  # (14)-(20) on the measured RTT
    PREDPID = 2  # (14)-(20) on the predicted RTT


#: Codes of algorithms from here on: the program of slot 0, of slot 1, and so on to slot 7.
PROGRAM_ALGORITHM = 8


class Flag(IntEnum):
    """Bit positions in a decision's `flags`."""

    PREDICTED = 0  # the prediction was valid and was used by the law
    NO_MODEL = 1  # predpid ran as pid: no live model for the QP
    ADVICE_CLAMPED = 2  # the prediction was clamped to RTT * (1 +- limit)
    DELTA_CLAMPED = 3  # the clamp (20) was active
    RATE_CLAMPED = 4  # min or max rate was active
    TARGET_MOVED = 5  # the target adjuster fired
    EVENT = 6  # not of a sample: an event's; only qp, rate and window count
    UNSKILLED = 7  # predpid ran as pid: the predictor has shown too little skill on this QP
    LATE = 8  # the prediction, or that there is none, missed its deadline: predpid ran as pid
    HELD = 9  # advice of every kind was held: the base law alone decided
    SCORED = 10  # a congestion score moved the law's rate
    CONGESTED = 11  # it is above the threshold, or has not fallen far enough below it


# (name, bits): a sample enters the NIC core, a decision leaves it. The C ABI of the RTL library and
# of the golden model passes both as arrays of int64 in this order. `qp` is a slot number.
SAMPLE_FIELDS = (
    ("qp", 16),
    ("rtt", Fmt.RTT.width),
    ("t", Fmt.TIME.width),
)
DECISION_FIELDS = (
    ("qp", 16),
    ("rate", Fmt.RATE.width),
    ("window", Fmt.WINDOW.width),  # 0: no window limit
    ("rtt_pred", Fmt.SRTT.width),  # 0 when there was no prediction
    ("target", Fmt.SRTT.width),
    ("base", Fmt.RTT.width),
    ("srtt", Fmt.SRTT.width),
    ("flags", 16),
)

#: What counts in an event's decision; the rest is told by those of samples alone.
TOLD_BY_EVENTS = ("qp", "rate", "window", "flags")

#: Statistics of one destination.
DESTINATION_FIELDS = (
    ("samples", 32),
    ("rtt_sum", 48),
    ("rtt_max", Fmt.RTT.width),
    ("rtt_min", Fmt.RTT.width),
    ("rtt_last", Fmt.RTT.width),
    ("losses", 32),
    ("marks", 32),
    ("score", 7),
    ("score_valid", 1),
)

#: The skill monitor's errors are sums over 2**SKILL_SHIFT samples that decay.
SKILL_SHIFT = 6
#: Predictions must miss by less than persistence's error less its 2**-SKILL_PART_SHIFT.
SKILL_PART_SHIFT = 2
