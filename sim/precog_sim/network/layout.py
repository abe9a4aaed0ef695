"""Where everything lies in the simulator's arrays: columns, kinds, error codes.

The kernel's state is a few int64 tables, so that one compiled function serves every scenario. A
*record* is a packet or a timer: both live in one table and wait in the same event queue.
"""

from enum import IntEnum

__all__ = [
    "TIMERS",
    "AnswerCol",
    "Cfg",
    "Ctl",
    "Err",
    "FCfg",
    "FaultCol",
    "FlowCol",
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
    """Who makes congestion scores."""

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
    LAST = 12  # the flow that sent last
    PAUSED_AT = 13  # ps
    PAUSED_PS = 14  # for how long it was paused, up to the last RESUME
    WIDTH = 16


class SwitchCol(IntEnum):
    """Columns of the switch table (row = node - hosts)."""

    SHARED = 0  # shared bytes in use
    FREE = 1  # shared bytes there are
    STATIC = 2  # t_PFC of the static form
    WIDTH = 3


class FlowCol(IntEnum):
    """Columns of the flow table."""

    SRC = 0
    DST = 1
    PORT = 2  # the source's port
    SIZE = 3
    NEXT = 4  # next byte to send
    ACKED = 5
    EXPECTED = 6  # receiver: next byte
    AVAILABLE = 7  # ps: pacing allows the next packet
    START = 8
    END = 9  # ps; -1 while it runs
    SAMPLE_SEQ = 10  # an acknowledgement beyond it completes a sample
    LAST_WIRE = 11  # bytes of the last packet
    WINDOW = 12
    RING_NEXT = 13
    RING_PREVIOUS = 14
    NACK_SEQ = 15
    NACK_TIME = 16
    CNP_TIME = 17
    PROGRESS = 18  # ps: last new acknowledgement
    TIMER_AT = 19  # ps: when its timer fires, 0: not at all; and two more
    LAW = 22  # a row of the table of laws
    SENT_PACKETS = 23
    PRIORITY = 24
    SWEEPING = 25
    JITTER = 26  # ps: acknowledgements are held back by up to this
    HELD = 27  # record of the acknowledgement that is held back; 0: none
    OFFERED = 28  # bytes that have been handed to the queue pair
    SCORE = 29  # the sender's last score
    HEARD = 30  # the last score that came back
    REVERSE = 31  # the flow that the receiver's queue pair sends; -1: none
    BOOST = 32  # by which the receiver of its host has raised its priority
    BAND = 33  # that receiver's, of the last score
    MESSAGE = 34  # its first message that is not through, a row of the messages; -1: none
    UDP_PORTS = 35  # source + destination x 65536, for ns-3's hash
    WAITS = 36  # flows that must arrive before this one begins
    GAP = 37  # ps: from then to its beginning
    FOLLOWER = 38  # its first one in the list of flows that wait for it
    FOLLOWERS = 39  # how many; 0 when they have been told
    JITTER_ALL = 40  # every acknowledgement is held back, not a sample's alone
    COUNTED = 41  # its receiver counts it
    GUESS = 42  # level that it believes at its start
    LEVEL = 43  # greatest level that it has heard of late
    CAP = 44  # bytes in flight, until as many have been acknowledged; 0: no limit
    LEVEL_AT = 45  # ps: when it heard it
    WIDTH = 46


class InboundCol(IntEnum):
    """Columns of the table of receivers that say levels, a row a host."""

    COUNT = 0  # flows that share its link
    LIE = 1  # a `Lie`
    SAID = 2  # an old level that it goes on to say
    UNTIL = 3  # ps
    WIDTH = 4


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


class Cfg(IntEnum):
    """Integer constants of a run."""

    NS3 = 0
    LAWS = 1
    RETIME = 5  # a law's rates move pending departures
    TELEMETRY = 6  # a `Telemetry`
    ECN = 7
    NS3_ECMP = 8  # ns-3's hash chooses among equal ways
    KEEP_SCORES = 9
    PFC = 10  # 0 off, 1 dynamic, 2 static
    RECEIVER_FUNCTION = 11  # 0: scores that arrive only come back
    RESERVE = 12
    RESUME = 13
    NACK_PS = 14
    TIMEOUT_PS = 15
    ACK_HIGH = 17  # a paused host still sends acknowledgements
    HOSTS = 18
    FLOWS = 19
    PORTS = 20
    ROWS = 21
    HORIZON = 22
    PAYLOAD = 23
    FUNCTION = 24
    HANDLE = 25
    KEEP_PACKETS = 26
    KEEP_LOG = 27
    WATCHED = 28
    FIRST_FLOW_TIMER = 29
    EVENT_FUNCTION = 30  # 0: samples only
    TELL_BYTES = 31
    SWEEP_PS = 32
    KEEP_QUEUES = 33
    SCORE_SOURCE = 34  # a `ScoreSource`
    SCORE_ECHO = 35  # scores act at home when they have come back
    SCORE_BUDGET = 36  # ticks
    TELL_MARKS = 37
    QUEUE_FUNCTION = 38  # 0: nobody is told what send queues do
    VISIT_FUNCTION = 39  # 0: nobody forecasts them
    VISIT_PS = 40
    RECEIVER_HANDLE = 41
    DEPTH_PS = 42  # spacing of the samples of queues; 0: none
    SELECTIVE = 43  # lost packets alone are repeated
    REORDER = 44  # packets behind a gap that make it a loss
    REPEAT_WINDOW = 45  # packets that the receiver's bitmap holds
    LOW_TIMEOUT_PS = 46  # while at most FEW_BYTES are outstanding; 0: it is TIMEOUT_PS
    FEW_BYTES = 47
    ACK_EVERY = 48  # packets in order for an acknowledgement
    ACK_DELAY_PS = 49  # the longest that one waits
    SPRAY = 50  # a `Spray`
    FAULTS = 51  # links may lose packets
    DROP_DYNAMIC = 52  # a queue may hold only so much of the memory that is free
    BUCKET_BITS = 53  # binary logarithm of the ps in a bucket of the wheel
    PRIORITIES = 54
    DRR = 55  # they take turns, by bytes
    NOISE_PS = 56  # of the RTTs that laws hear
    BASE_LEARNT = 57
    AHEAD = 58  # buckets from the present that the memory is asked for
    HINT_ECHO = 59  # acknowledgements bring the receiver's level
    HINT_LEAST = 60  # bytes left above which a flow counts
    HINT_FIRST = 61  # bytes in flight, until as many have been acknowledged; 0: no limit
    HINT_TABLE_PS = 62  # for how long levels are believed; 0: there is no table
    HINT_STALE_PS = 63
    HINT_START = 64  # starts may believe a level
    HINT_CAP = 65  # it limits the bytes in flight alone
    HINT_CAPS = 66  # something limits them
    HINT_HOLD_PS = 67
    WIDTH = 68


class FCfg(IntEnum):
    """Real constants of a run."""

    BASE_NS = 0  # largest base RTT
    LOSS_DATA = 1
    LOSS_ACK = 2
    MIN_BPS = 3
    DROP_ALPHA = 4  # of DROP_DYNAMIC
    WIDTH = 5


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


class Ctl(IntEnum):
    """Counters and cursors of a run."""

    BUCKET = 0
    FREE = 1
    FRESH = 2
    HEAP = 3
    HEAP_SEQ = 4
    EVENTS = 5
    SAMPLES = 6
    PACKETS = 7
    DONE = 8
    MARKS = 9
    DROPS = 10
    PAUSES = 11
    RESUMES = 12
    ERROR = 13
    ERROR_VALUE = 14
    STARTED = 15
    PROBES = 16
    PROBE_PS = 17
    NACKS = 18
    TIMEOUTS = 19
    CNPS = 20
    DATA_SENT = 21
    DATA_GOT = 22  # data packets that reached their host
    LOST = 23  # injected losses
    NOW = 24
    RNG = 25
    DATA_DROPPED = 26
    STREAM = 27  # six words: the state of ns-3's next random stream
    LOGGED = 33
    MESSAGES = 34  # that have come
    NOTED = 35  # rows of the queues' log
    SCORE_RNG = 36
    FORECAST = 37  # rows of the forecasts' log
    RECEIVED = 38  # rows of the receivers' log
    DUPLICATES = 39  # data packets that had come before
    SPRAY_RNG = 40
    LOSS_RNG = 41
    CUT = 42  # packets lost on links that were down
    UNREACHABLE = 43  # packets for which a switch knew no way
    EPOCH = 44  # changes of routes so far
    NOISE_RNG = 45
    AHEAD = 46  # the bucket of the record that was asked for last
    AHEAD_ROW = 47
    WIDTH = 48


class Err(IntEnum):
    """Why a run was given up."""

    NONE = 0
    POOL = 1
    LOOP = 2
    LOOP_RATE = 3
    LOOP_QP = 4
    NO_ROUTE = 5
    RECORD = 6
    LOOP_EVENT = 7
    LOG = 8
    QUEUES = 9
    QUEUE_EVENT = 10
    VISIT = 11
    RECEIVER = 12
    SCORES = 13
    LAW_RATE = 14
    LAW_WINDOW = 15
