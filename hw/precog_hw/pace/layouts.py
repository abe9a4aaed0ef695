"""What flows through the pacer."""

from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from precog_spec.contract import (
    GAP_TICK_BITS,
    MTU_LOG2_MIN,
    PACE_EXPONENT_BITS,
    PACE_MANTISSA_BITS,
    PRIORITIES,
    TICK_FRAC_BITS,
    Fmt,
)
from precog_spec.frames.headers import PATH_MTUS, PSN_BITS

__all__ = [
    "ARGUMENT_BITS",
    "COMPARED",
    "CONFIG",
    "DIFFERENCES",
    "DUE_BITS",
    "GAP_BITS",
    "GRANT_MAX",
    "PRIORITY_BITS",
    "RECIPROCAL",
    "ROW",
    "SIZE_BITS",
    "WAITS",
    "WHOLE_REQUEST",
    "WINDOW_BITS",
    "EventKind",
    "State",
    "ack_layout",
    "boost_layout",
    "commit_layout",
    "config_layout",
    "config_of",
    "event_layout",
    "file_layout",
    "grant_layout",
    "log_layout",
    "order_layout",
    "rate_layout",
    "request_layout",
    "window_layout",
]

DUE_BITS = Fmt.TIME.width + TICK_FRAC_BITS
GAP_BITS = GAP_TICK_BITS + TICK_FRAC_BITS
PRIORITY_BITS = exact_log2(PRIORITIES)
SIZE_BITS = max(PATH_MTUS).bit_length()  # of a grant
GRANT_MAX = (1 << SIZE_BITS) - 1
BACKLOG_BITS = 32
WINDOW_BITS = Fmt.WINDOW.width - MTU_LOG2_MIN + 1  # rounded up
_MTU_BITS = 3


class State(enum.IntEnum, shape=2):  # type: ignore[call-arg]
    """Where a queue pair is; see the golden model."""

    PARKED = 0
    WAITING = 1
    READY = 2
    SENDING = 3


class EventKind(enum.IntEnum, shape=4):  # type: ignore[call-arg]
    """What may happen to a queue pair."""

    REQUEST = 0
    ACK = 1
    WINDOW = 2
    CONFIG = 3
    RATE = 4
    RETIME = 5
    FIRE = 6
    GRANT = 7
    CHARGE = 8
    EXPIRE = 9


RECIPROCAL = data.StructLayout({"mantissa": PACE_MANTISSA_BITS, "exponent": PACE_EXPONENT_BITS})

#: What the host says about a queue pair, or, with `raises`, the receiver about its priority alone.
CONFIG = data.StructLayout(
    {
        "priority": PRIORITY_BITS,
        "mtu": _MTU_BITS,  # log2(bytes) - 8
        "psn": PSN_BITS,  # of the connection's first packet
        "raises": 1,  # no connection begins: only `boost` counts
        "boost": PRIORITY_BITS,  # by which the priority is raised for now
        "windows": 1,  # of wire mode: its requests keep to its window
    }
)

#: A request, where a grant is of all of it: a packet that waits.
WHOLE_REQUEST = data.StructLayout(
    {
        "psn": PSN_BITS,
        "size": SIZE_BITS,
        "counts": 1,  # it waits for the window, and its PSN will be acknowledged
        "answers": 1,  # it is of the queue pair's second queue, which waits for no window
    }
)

#: What `ROW.backlog` is where a grant is of all that is asked for.
WAITS = data.StructLayout(
    {
        "request": SIZE_BITS,  # bytes of the first packet that waits; 0: none
        "answer": SIZE_BITS,  # as above in the second queue
        "counts": 1,  # of the former
        "known": 1,  # the connection's first PSN
        "turn": 1,  # of the answer, if both may go
        "shut": 1,  # the former would go but for the window
        "stale": 1,  # and has since the last EXPIRE
    }
)

#: The state of a queue pair.
ROW = data.StructLayout(
    {
        "state": State,
        "changed": 1,
        "priority": PRIORITY_BITS,
        "boost": PRIORITY_BITS,  # by which it is raised for now
        "mtu": _MTU_BITS,
        "reciprocal": RECIPROCAL,
        "next": PSN_BITS,
        "una": PSN_BITS,
        "window": WINDOW_BITS,
        "backlog": BACKLOG_BITS,
        "due": DUE_BITS,
    }
)

#: An event and numbers from its row, in the pipeline's cycle 3.
DIFFERENCES = data.StructLayout(
    {
        "t": Fmt.TIME.width,
        "ahead": DUE_BITS,  # from t to the due time
        "flight": PSN_BITS,  # packets
        "free": 1,  # the window is of no concern
        "answer": 1,  # there is something in the second queue
        "acked": PSN_BITS,  # as many of them by this acknowledgement
        "rest": PSN_BITS,  # the others
        "some": 1,  # there is something to send
        "backlog": BACKLOG_BITS + 1,  # after a request
        "size": SIZE_BITS,  # of a grant
        "window": WINDOW_BITS,
    }
)

#: As above, in cycle 4.
COMPARED = data.StructLayout(
    {
        "t": Fmt.TIME.width,
        "ahead": DUE_BITS,
        "due": 1,  # now
        "faster": 1,  # the new rate
        "rates": 1,  # the event sets a rate, and is not refused
        "rouses": 1,  # it may let a queue pair go that was parked
        "redates": 1,  # it says when the queue pair is due
        "acknowledges": 1,  # the PSN is in flight
        "open": 1,  # the window is
        "some": 1,
        "moves": 1,  # the oldest PSN that is not acknowledged
        "answer": 1,
        "answer_wire": SIZE_BITS + 1,  # size on the wire
        "backlog": BACKLOG_BITS,
        "left": BACKLOG_BITS,  # of it after a grant
        "size": SIZE_BITS,
        "wire": SIZE_BITS + 1,  # size on the wire
        "window": WINDOW_BITS,
    }
)

ARGUMENT_BITS = max(DUE_BITS + 1, CONFIG.size, WHOLE_REQUEST.size)


def _of_qp(qps: int, **fields: object) -> data.StructLayout:
    return data.StructLayout({"qp": exact_log2(qps), **fields})


def request_layout(qps: int, *, whole: bool = False) -> data.StructLayout:
    """A queue pair has more bytes to send, or, `whole`, a packet."""
    return _of_qp(qps, **(WHOLE_REQUEST.members if whole else {"size": BACKLOG_BITS}))


def ack_layout(qps: int) -> data.StructLayout:
    """All packets before `psn` have arrived."""
    return _of_qp(qps, psn=PSN_BITS)


def window_layout(qps: int) -> data.StructLayout:
    """A new window in bytes; 0: no limit."""
    return _of_qp(qps, window=Fmt.WINDOW.width)


def rate_layout(qps: int) -> data.StructLayout:
    """A new rate; 0 counts as 1."""
    return _of_qp(qps, rate=Fmt.RATE.width)


def order_layout(qps: int) -> data.StructLayout:
    """A decision: a new rate and a new window."""
    return _of_qp(qps, rate=Fmt.RATE.width, window=Fmt.WINDOW.width)


def config_layout(qps: int) -> data.StructLayout:
    """A connection begins."""
    return _of_qp(qps, config=CONFIG)


def boost_layout(qps: int) -> data.StructLayout:
    """The priority is raised by so much."""
    return _of_qp(qps, boost=PRIORITY_BITS)


def grant_layout(qps: int, *, whole: bool = False) -> data.StructLayout:
    """A queue pair may send a packet of `size` bytes; `t` is when that was decided.

    `whole`: and of which queue it is, as `WHOLE_REQUEST`.
    """
    return _of_qp(qps, size=SIZE_BITS, t=Fmt.TIME.width, **({"answers": 1} if whole else {}))


def file_layout(qps: int) -> data.StructLayout:
    """To be put into the wheel, and taken out of it before if `cut`."""
    return _of_qp(qps, cut=1, due=DUE_BITS)


def config_of(event: data.View) -> data.View:
    """`CONFIG` in the argument of an event of that kind."""
    return data.View(CONFIG, event.argument[: CONFIG.size])


def event_layout(qps: int) -> data.StructLayout:
    """Something that happens to a queue pair.

    `argument` is, from bit 0: the bytes of a request, or `WHOLE_REQUEST`, the PSN of an
    acknowledgement, the window, `CONFIG`, `RECIPROCAL`, the priority of a grant, the new due time
    of a charge, and of a retiming with "it is sooner" above.
    """
    return _of_qp(qps, kind=EventKind, argument=ARGUMENT_BITS)


def commit_layout(qps: int) -> data.StructLayout:
    """An event that took effect at `t`, and the row that it left."""
    return _of_qp(qps, kind=EventKind, argument=ARGUMENT_BITS, t=Fmt.TIME.width, row=ROW)


def log_layout(qps: int) -> data.StructLayout:
    """All that is needed to follow: a commit, of a grant its bytes, of a RATE the rate itself."""
    return data.StructLayout(
        {"commit": commit_layout(qps), "size": SIZE_BITS, "rate": Fmt.RATE.width}
    )
