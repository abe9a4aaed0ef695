"""The queue profiler and the forecasts that are made of its profiles."""

from enum import IntEnum

from .formats import PROBABILITY, Fmt, Q
from .image import MAX_OUTPUTS

__all__ = [
    "CALIBRATION_KNOTS",
    "FORECAST_FIELDS",
    "NO_SCORE",
    "PROFILE_CENTER",
    "PROFILE_FIELDS",
    "PROFILE_GAIN",
    "PROFILE_INPUTS",
    "PROFILE_RESETS",
    "QUEUE_EVENT_FIELDS",
    "QUEUE_VALUE_FIELDS",
    "CarriedScore",
    "QueueEvent",
    "ScoreSource",
]

CALIBRATION_KNOTS = 65  # at equal distances over [0, 1], values in PROBABILITY's format
NO_SCORE = 0xFF  # in place of a congestion score, 0..100, without a valid model


class QueueEvent(IntEnum):
    """What happened to a queue pair's send queue; outside of the profiler only the first three."""

    ARRIVAL = 0  # bytes that were asked for
    DEPARTURE = 1  # bytes that left
    RESET = 2  # a connection begins: the queue is empty, and what was measured is forgotten
    VISIT = 3  # is a sample due?
    CLEAR = 4  # counts start again from 0, the peak from what is queued
    READ = 5


QUEUE_EVENT_FIELDS = (
    ("qp", 16),
    ("kind", 3),
    ("size", 32),  # bytes
    ("t", Fmt.TIME.width),
)
#: A queue's numbers as the host reads them. Counts wrap; all else saturates.
QUEUE_VALUE_FIELDS = (
    ("occupancy", 32),  # bytes that arrived and did not depart
    ("inter_arrival", 32),  # ticks between the last two arrivals
    ("service", 32),  # ticks that the last departure took since it was first in the queue
    ("size", 32),  # bytes of the last arrival
    ("peak", 32),  # of the occupancy
    ("arrivals", 32),
    ("departures", 32),
    ("bytes_in", 48),
    ("bytes_out", 48),
)
#: Of them the inputs x0..x3 of a `queue` head, each normalised to X.
PROFILE_INPUTS = tuple(name for name, _ in QUEUE_VALUE_FIELDS[:4])
PROFILE_FIELDS = (
    ("qp", 16),
    ("t", Fmt.TIME.width),
    *((f"x{n}", Fmt.X.width) for n in range(len(PROFILE_INPUTS))),
)


class ScoreSource(IntEnum):
    """Whose score of a queue pair its own predictive scheduler is told."""

    NONE = 0
    QUEUE = 1  # the `queue` model's, with every profile
    RTT = 2  # the `rtt` model's, with every decision on a sample
    MAX = 3  # with either, the larger of the last ones


class CarriedScore(IntEnum):
    """Which score a queue pair's packets carry; the first four numbered as `ScoreSource`."""

    HOST = 0  # the one that the host has written
    QUEUE = 1
    RTT = 2
    MAX = 3
    PORT = 4  # of the queue before the card's own port, with `NicConfig.port`


#: What a profile leads to. Without a valid model the probabilities and the version are 0.
FORECAST_FIELDS = (
    ("qp", 16),
    ("t", Fmt.TIME.width),
    *((f"p{n}", PROBABILITY.width) for n in range(MAX_OUTPUTS)),
    ("cps", 8),  # 0..100, or NO_SCORE
    ("version", 32),  # of the model
)

PROFILE_CENTER = Q(6, 11, signed=False)  # of a base-2 logarithm: what becomes 0
PROFILE_GAIN = Q(2, 14, signed=False)
#: Center and gain at reset: logarithms 0..32 become -4..4.
PROFILE_RESETS = (16 << PROFILE_CENTER.frac_bits, 1 << (PROFILE_GAIN.frac_bits - 2))
