"""Where everything lies in the simulator's tables: columns, kinds.

The kernel's state is a few int64 tables, so that one compiled function serves every scenario. A
*record* is a packet or a timer: both live in one table and wait in the same event queue.
"""

from enum import IntEnum

__all__ = [
    "NEVER",
    "TIMERS",
    "AnswerCol",
    "FaultCol",
    "FlowCol",
    "HintCol",
    "InboundCol",
    "Kind",
    "KnownCol",
    "LawCol",
    "Lie",
    "MessageCol",
    "OutageCol",
    "PortCol",
    "PrioCol",
    "QueueCol",
    "Rec",
    "RepeatCol",
    "ScoreSource",
    "Spray",
    "SwitchCol",
    "Telemetry",
    "Window",
]

NEVER = 1 << 62  #: ps: an event that does not come, the start of a flow that has not begun

TIMERS = 3  #: of a flow's law


class Rec(IntEnum):
    """Columns of the record table (one cache line)."""

    NEXT = 0  # in an event bucket, a port queue or the free list
    TIME = 1  # ps
    KIND = 2
    OWNER = 3  # flow of a packet or flow timer; port of a port timer
    SEQ = 4  # first byte of data; next byte expected of an acknowledgement
    SIZE = 5  # bytes on the wire
    SENT = 6  # ps: when the data packet began to leave its host
    PORT = 7  # port of arrival


class Kind(IntEnum):
    """What a record is. `MARK` is added to a packet that carries a congestion mark."""

    DATA = 0
    ACK = 1
    NACK = 2
    CNP = 3
    PAUSE = 4
    RESUME = 5
    MARK = 8
    TX_DONE = 16
    WAKE = 17
    START = 18
    PROBE = 19
    TIMER = 20  # and two more: those of a flow's law
    TIMEOUT = 23
    SWEEP = 24
    MESSAGE = 25
    VISIT = 26
    BEGIN = 27
    DEPTH = 28
    ANSWER = 29
    DOWN = 30  # a link, at one end
    UP = 31
    ROUTES = 32  # the switches have learnt of changes


class Window(IntEnum):
    """What limits the bytes in flight."""

    NONE = 0
    BDP = 1  # line rate x base RTT; what a `Loop` decides
    RATE = 2  # the same, scaled with the rate
    OWN = 3  # what the law says


class Telemetry(IntEnum):
    """What switches write into data packets."""

    NONE = 0
    INT = 1  # time, bytes sent, queue and rate of each hop
    PINT = 2  # the utilisation of the most loaded hop


class LawCol(IntEnum):
    """Columns of the table of laws: addresses of a program's functions, 0: it has none."""

    START = 0
    ACK = 1
    SAMPLE = 2
    CNP = 3
    LOSS = 4
    TIMER = 5
    SEND = 6
    PARAMETERS = 7  # address of their record
    HEADER = 8  # bytes of a data packet's header
    ACK_BYTES = 9
    WINDOW = 10  # a `Window`
    RETIME = 11  # a change of rate moves the pending departure
    TELLS = 12  # on_ack and on_sample take telemetry
    CNP_PS = 13  # least time between notifications; 0: there are none
    SCORE = 14
    WIDTH = 15


class ScoreSource(IntEnum):
    """Sources of congestion scores."""

    NONE = 0
    ORACLE = 1  # the switches' queues themselves
    INVERTED = 2  # 100 minus the oracle's
    PERSISTENCE = 3  # the RTT just measured
    MODEL = 4  # the RTT that the device predicts
    GARBAGE = 5  # drawn at random
    FORGED = 6  # the oracle's when a sample comes, 100 from then on: an attack on what judges them
    CONSTANT = 7  # 100, whatever the network does
    QUEUE = 8  # what the device's queue model says of the send queue; from here on not by samples
    QUEUE_INVERTED = 9  # 100 minus that


class Spray(IntEnum):
    """How packets choose among equal next hops."""

    NONE = 0  # by their flow's hash
    RANDOM = 1  # each at random
    TURNS = 2  # each switch takes turns, for each destination


class PortCol(IntEnum):
    """Columns of the port table (two cache lines)."""

    NODE = 0
    PEER = 1
    DELAY = 2  # ps
    BUSY_UNTIL = 3
    PENDING = 4  # a TX_DONE is scheduled
    WAKE = 5  # time of the scheduled WAKE, -1: none
    HIGH_HEAD = 6  # a switch's control packets
    HIGH_TAIL = 7
    HIGH_BYTES = 8
    SENT = 9  # bytes, for telemetry
    MBPS = 10
    HEADROOM = 11  # of each priority
    SHIFT = 12  # of the dynamic PFC threshold
    TURN = 13  # the priority whose turn it is
    GIVEN = 14  # it has been given its bytes
    BEYOND = 15  # partition of the peer
    WIDTH = 16


class PrioCol(IntEnum):
    """Columns of the table of priorities, a row a priority of a port (two cache lines)."""

    HEAD = 0  # packets that wait; at a host, acknowledgements
    TAIL = 1
    BYTES = 2
    PAUSED = 3  # the peer told this priority to stop
    LARGEST = 4  # largest BYTES
    DEFICIT = 5  # bytes that it has saved
    PAUSING = 8  # its peer was told to stop
    INGRESS = 9  # bytes in the switch that came in here, headroom excepted
    HEADROOM_USED = 10
    RING = 11  # a host's first active flow
    LAST = 12  # the flow that sent last; in ns3 timing its place in the ring
    PAUSED_AT = 13  # ps
    PAUSED_PS = 14  # for how long it was paused, up to the last RESUME
    WIDTH = 16


class SwitchCol(IntEnum):
    """Columns of the switch table (row = node - hosts)."""

    SHARED = 0  # shared bytes in use
    FREE = 1  # shared bytes there are
    STATIC = 2  # t_PFC of the static form
    WIDTH = 8  # a cache line


class FlowCol(IntEnum):
    """Columns of the flow table (six cache lines).

    The first line never changes, the second is the receiver's, all others are the sender's: the
    two may be in different partitions.
    """

    SRC = 0
    DST = 1
    SRC_EDGE = 2  # the switches at its ends, by their column in the table of routes
    DST_EDGE = 3
    SIZE = 4
    LAW = 5  # a row of the table of laws
    PRIORITY = 6
    UDP_PORTS = 7  # source + destination x 65536, for ns-3's hash

    EXPECTED = 8  # receiver: next byte
    NACK_SEQ = 9
    NACK_TIME = 10
    CNP_TIME = 11
    FOLLOWER = 12  # its first one in the list of flows that wait for it
    FOLLOWERS = 13  # how many; 0 when they have been told
    BOOST = 14  # by which the receiver of its host has raised its priority
    BAND = 15  # that receiver's, of the last score

    NEXT = 16  # next byte to send
    ACKED = 17
    AVAILABLE = 18  # ps: pacing allows the next packet
    END = 19  # ps; -1 while it runs
    OFFERED = 20  # bytes that have been handed to the queue pair
    WINDOW = 21
    SAMPLE_SEQ = 22  # an acknowledgement beyond it completes a sample
    RATE = 23  # real: bit/s

    RING_NEXT = 24
    RING_PREVIOUS = 25
    LAST_WIRE = 26  # bytes of the last packet
    SENT_PACKETS = 27
    PROGRESS = 28  # ps: last new acknowledgement
    TOP = 29  # real: bit/s of its host's link
    JITTER = 30  # ps: acknowledgements are held back by up to this
    PORT = 31  # the source's port

    TIMER_AT = 32  # ps: when its timer fires, 0: not at all; and two more
    START = 35
    HELD = 36  # record of the acknowledgement that is held back; 0: none
    JITTER_ALL = 37  # every acknowledgement is held back, not a sample's alone
    RNG = 38
    WAITS = 39  # flows that must arrive before this one begins

    GAP = 40  # ps: from then to its beginning
    MESSAGE = 45  # its first message that is not through, a row of the messages; -1: none
    SWEEPING = 41
    SCORE = 42  # the sender's last score
    HEARD = 43  # the last score that came back
    REVERSE = 44  # the flow that the receiver's queue pair sends; -1: none
    WIDTH = 48


class HintCol(IntEnum):
    """Columns of the table of flows that are told levels (two cache lines).

    The first line is the receiver's, the second the sender's.
    """

    COUNTED = 0  # its receiver counts it

    GUESS = 8  # level that it believes at its start
    LEVEL = 9  # greatest level that it has heard of late
    LEVEL_AT = 10  # ps: when it heard it
    CAP = 11  # bytes in flight, until as many have been acknowledged; 0: no limit
    FIRST_LEVEL = 12  # greatest level that it has heard with its first bytes
    FIRST_LEVEL_AT = 13  # ps: when it heard it
    OWN = 14  # its sender counts it
    WIDTH = 16


class InboundCol(IntEnum):
    """Columns of the table of receivers that say levels, a row a host (a cache line)."""

    COUNT = 0  # flows that share its link
    LIE = 1  # a `Lie`
    SAID = 2  # an old level that it goes on to say
    UNTIL = 3  # ps
    RNG = 4
    OWN = 5  # flows that share the host's link as a sender
    WIDTH = 8


class KnownCol(IntEnum):
    """Columns of what a sender knows of a destination."""

    LEVEL = 0
    TIME = 1  # ps; 0: never heard
    WIDTH = 2


class Lie(IntEnum):
    """What a receiver says instead of its level."""

    NONE = 0
    MOST = 1
    NOTHING = 2
    RANDOM = 3
    INVERTED = 4
    STALE = 5


class RepeatCol(IntEnum):
    """Columns of the table of selective repeat, a row a flow: its sender."""

    LOST = 0  # packets below this byte that were not selected are lost
    AGAIN = 1  # the next byte that may be repeated
    WIDTH = 2


class AnswerCol(IntEnum):
    """Columns of the table of answers that wait, a row a flow: its receiver."""

    COUNT = 0  # packets without an answer
    WAITING = 1  # record of the answer to the newest of them; 0: none
    DUE = 2  # ps
    ARMED = 3  # its timer is scheduled
    WIDTH = 4


class FaultCol(IntEnum):
    """Columns of the table of links that go down, a row a port."""

    DOWN = 0
    UP_AT = 1  # ps: when it last came up; 0: it never has
    WIDTH = 2


class OutageCol(IntEnum):
    """Columns of the table of events of links."""

    TIME = 0  # ps
    KIND = 1  # DOWN, UP or ROUTES
    PORT = 2
    WIDTH = 3


class QueueCol(IntEnum):
    """Columns of the send queues' log."""

    TIME = 0  # ps
    FLOW = 1
    BYTES = 2  # handed over; negative: sent
    QUEUE = 3  # bytes in the send queue afterwards
    WIDTH = 4


class MessageCol(IntEnum):
    """Columns of the table of messages."""

    TIME = 0  # ps
    FLOW = 1
    SIZE = 2
    END = 3  # the flow's bytes up to its end
    AFTER = 4  # row of the flow's next message; -1: there is none
    DONE = 5  # ps: its last byte was acknowledged; -1: not so far
    WIDTH = 6
