"""What the golden receiver of congestion scores shares with its gateware: names and widths."""

from enum import IntEnum, IntFlag

from precog_spec.contract import PRIORITIES, Fmt
from precog_spec.law_fields import SCORE_BITS

__all__ = [
    "BASE_QUOTA",
    "QUOTA_BITS",
    "RECEIVER_CONFIG",
    "RECEIVER_EVENT",
    "RECEIVER_PARAMETERS",
    "RECEIVER_RESULT",
    "RECEIVER_STATE",
    "Act",
    "Band",
    "ReceiverKind",
]

_PRIORITY_BITS = (PRIORITIES - 1).bit_length()
QUOTA_BITS = 16  # of a number of cells
BASE_QUOTA = 64  # cells that a queue pair has after reset


class Band(IntEnum):
    """Where a queue pair's last score lies."""

    NONE = 0  # there is none, or it is too old
    LOW = 1
    MEDIUM = 2
    HIGH = 3


class ReceiverKind(IntEnum):
    """What happened to a queue pair."""

    SCORE = 0  # a score has come
    VISIT = 1  # it is looked at: age, and what registers have changed
    CONFIGURE = 2  # take a new configuration, forget the score


class Act(IntFlag):
    """What an event did; in hardware, strobes."""

    BAND = 1  # another band
    COMMAND = 2  # a score goes to the local law, or is taken back
    BOOST = 4  # another priority
    QUOTA = 8  # another quota
    AGED = 16  # the score was too old
    STARVED = 32  # low, but no rise: no bandwidth is available
    SHORT = 64  # less quota than the band asks for: the shared limit


#: Parameters shared by all queue pairs, and their widths.
RECEIVER_PARAMETERS = (
    ("high", 7),  # scores from here on are high
    ("low", 7),  # below this one low
    ("hysteresis", 7),  # to leave a band downwards a score must lie so far below its threshold
    ("ticks", 32),  # a score older than this is none; 0: it holds for ever
    ("rate", 1),  # the local law gets commands
    ("priority", 1),  # the high band has a higher priority
    ("quota", 1),  # and a larger quota
    ("boost", _PRIORITY_BITS),  # priorities that it rises by
    ("shift", 4),  # its quota is the base quota << shift
    ("limit", QUOTA_BITS),  # cells beyond their base quotas that all queue pairs may have together
)

#: A queue pair's configuration: which actions are for it, and its base quota.
RECEIVER_CONFIG = (("commands", 1), ("boosts", 1), ("grows", 1), ("base_quota", QUOTA_BITS))

RECEIVER_STATE = (
    ("band", 2),
    ("score_t", Fmt.TIME.width),  # when the score came
    ("boost", _PRIORITY_BITS),  # that the priority has
    ("extra", QUOTA_BITS),  # cells beyond the base quota
)

RECEIVER_EVENT = (
    ("kind", 2),
    ("qp", 16),
    ("t", Fmt.TIME.width),  # ticks
    ("score", SCORE_BITS),
    ("available", 1),  # bandwidth is
)

RECEIVER_RESULT = (
    ("was", 2),  # band before the event
    ("band", 2),  # and after it
    ("command", 2),  # `ScoreCommand` for the local law, with Act.COMMAND
    ("score", SCORE_BITS),  # that goes with it; NO_SCORE takes the last one back
    ("boost", _PRIORITY_BITS),
    ("quota", QUOTA_BITS),
    ("acts", 7),
)
