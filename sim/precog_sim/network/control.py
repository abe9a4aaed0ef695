"""Constants, counters and cursors of a run: where they lie, and error codes."""

from enum import IntEnum

__all__ = [
    "Cfg",
    "Ctl",
    "Err",
    "FCfg",
    "Halt",
    "Own",
]


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
    ACK_FUNCTION = 16  # 0: bytes are not told as acknowledgements
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
    SWEEP_PS = 32
    KEEP_QUEUES = 33
    SCORE_SOURCE = 34  # a `ScoreSource`
    SCORE_ECHO = 35  # scores act at home when they have come back
    SCORE_BUDGET = 36  # ticks
    TELL_MARKS = 37
    QUEUE_FUNCTION = 38  # 0: events of send queues are not passed on
    VISIT_FUNCTION = 39  # 0: no forecasts
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
    SLOT_MASK = 59  # buckets of the wheel, a power of two, less one
    HINT_ECHO = 60  # acknowledgements bring the receiver's level
    HINT_LEAST = 61  # bytes of a flow above which it counts
    HINT_FIRST = 62  # bytes in flight, until as many have been acknowledged; 0: no limit
    HINT_TABLE_PS = 63  # for how long levels are believed; 0: there is no table
    HINT_STALE_PS = 64
    HINT_START = 65  # starts may believe a level
    HINT_HOLD_PS = 66
    WAYS = 67  # switches in the rows of `Net.ways`; 0: there is no such table
    ARRIVAL_BITS = 68  # binary logarithm of the ps in a bucket of arrivals
    ANSWERS_FIRST = 69
    WIDTH = 70


class FCfg(IntEnum):
    """Real constants of a run."""

    BASE_NS = 0  # largest base RTT
    LOSS_DATA = 1
    LOSS_ACK = 2
    MIN_BPS = 3
    DROP_ALPHA = 4  # of DROP_DYNAMIC
    WIDTH = 5


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
    FREE_ROWS = 25  # length of the list of free records
    DATA_DROPPED = 26
    STREAM = 27  # six words: the state of ns-3's next random stream
    LOGGED = 33
    MESSAGES = 34  # that have come
    NOTED = 35  # rows of the queues' log
    SCORE_RNG = 36
    FORECAST = 37  # rows of the forecasts' log
    RECEIVED = 38  # rows of the receivers' log
    DUPLICATES = 39  # data packets that had come before
    OWN = 40  # first record of the partition's own timers
    LIMIT = 41  # end of the records that are fresh
    CUT = 42  # packets lost on links that were down
    UNREACHABLE = 43  # packets for which a switch knew no way
    EPOCH = 44  # changes of routes so far
    HALT = 45  # a `Halt`
    AHEAD = 46  # the bucket of the record that was asked for last
    AHEAD_ROW = 47
    SOONEST = 48  # ps: no event is due before
    BEGUN = 49
    DONE_AT = 50  # ps: the last of DONE
    PART = 51  # the partition
    SOON = 52  # ps: no event in the wheel is due before
    ARRIVAL = 53  # the next one of the sorted arrivals
    ARRIVALS = 54  # their number
    UNTIL = 55  # ps: what arrives before is scheduled
    WIDTH = 56


class Halt(IntEnum):
    """Why a partition stands still before its window's end."""

    NONE = 0
    ROUTES = 1  # they change
    DONE = 2  # in ns3 timing: every flow is complete


class Own(IntEnum):
    """Records of a partition's own timers."""

    START = 0
    PROBE = 1
    MESSAGE = 2
    VISIT = 3
    DEPTH = 4
    WIDTH = 5


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
    MAIL = 16
    LAW_TIMER = 17
