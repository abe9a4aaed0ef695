"""What a law hears of: events, and the words that come with one. Standard library only.

Every event brings the same words. Those that have no meaning for its kind are 0.
"""

from enum import IntEnum

from precog_spec.contract import NO_SCORE, Fmt, Q

__all__ = ["EVENTS", "EVENT_FIELDS", "FACTOR", "ROW_OUTPUTS", "Kind"]

#: Factors in [0, 1], weights and quotients.
FACTOR = Q(1, 24, signed=False)
_FLAG = Q(1, 0, signed=False)
_PSN = Q(24, 0, signed=False)


class Kind(IntEnum):
    """What happened to a queue pair."""

    ACK = 0  # an acknowledgement: rtt, bytes, marked, seq, next
    SAMPLE = 1  # the timed packet of a round trip was acknowledged: rtt, and a prediction
    CNP = 2  # a congestion notification
    LOSS = 3  # a NAK or a time-out
    TIMER = 4  # time has passed
    SCORE = 5  # a congestion score: score, senders


#: Function of a law for each kind of event, in the order of `Kind`.
EVENTS = tuple(f"on_{kind.name.lower()}" for kind in Kind)

#: (name, format, meaning), in the order of the engine's event words.
EVENT_FIELDS: tuple[tuple[str, Q, str], ...] = (
    ("kind", Q(3, 0, signed=False), "kind of event"),
    ("now", Fmt.TIME, "time stamp of the event, ticks, wraps"),
    ("rtt", Fmt.RTT, "round-trip time, ticks; at least 1"),
    ("bytes", Q(32, 0, signed=False), "payload bytes that were newly acknowledged"),
    ("marked", _FLAG, "1: the acknowledgement echoes a congestion mark"),
    ("seq", _PSN, "first packet sequence number that is not acknowledged, wraps"),
    ("next", _PSN, "next packet sequence number to be sent, wraps"),
    ("score", Q(8, 0, signed=False), f"congestion score 0..100; {NO_SCORE}: none"),
    ("senders", Q(4, 0, signed=False), "log2 of the receiver's active senders, rounded up; 0: ?"),
    (
        "rate",
        Fmt.RATE,
        "rate in force: the last result within its bounds, at first the initial one",
    ),
    ("window", Fmt.WINDOW, "window in force, bytes; 0: none"),
    ("min_rate", Fmt.RATE, "lower bound of the rate"),
    ("max_rate", Fmt.RATE, "upper bound of the rate: link or SLA"),
    ("init_rate", Fmt.RATE, "initial rate"),
    ("base", Fmt.RTT, "base RTT, ticks"),
    ("mtu", Q(16, 0, signed=False), "largest packet, bytes"),
    ("predicted", _FLAG, "1: there is a prediction"),
    ("held", _FLAG, "1: advice of every kind is held, and must not be followed"),
    ("prediction", Fmt.SRTT, "predicted RTT, ticks with 8 fraction bits"),
)

#: First words of a queue pair's row: what a law returns.
ROW_OUTPUTS: tuple[tuple[str, Q], ...] = (("rate", Fmt.RATE), ("window", Fmt.WINDOW))
