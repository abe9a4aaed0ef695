"""What the rooms of the house must agree on, declared once (standard library only).

Number formats, the activation table, the layout of a model image, sample and decision layouts, and
the hash of all of them. Gateware, golden models, quantizer, driver and simulator import from here;
none of them states one of these facts again.

A format is written ``Q(int_bits, frac_bits, signed)``; the sign bit is not counted in `int_bits`.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from enum import Enum, IntEnum, IntFlag

__all__ = [
    "ACC_BITS",
    "BASE_NONE",
    "CALIBRATION_KNOTS",
    "CHORDS",
    "CHORD_GUARD_BITS",
    "CONTRACT_HASH",
    "DECISION_FIELDS",
    "DESTINATION_FIELDS",
    "EXP_CHORDS",
    "EXP_FRAC_BITS",
    "FORECAST_FIELDS",
    "GAP_TICK_BITS",
    "HEADER_OFFSET",
    "HEAD_ROWS",
    "HIDDEN",
    "IMAGE_BYTES",
    "IMAGE_ROWS",
    "INVERSE_FRAC_BITS",
    "LOG2E",
    "LOG2E_FRAC_BITS",
    "MAX_INPUTS",
    "MAX_OUTPUTS",
    "MAX_SHIFT",
    "MAX_STEPS",
    "MEAN_GUARD_BITS",
    "MEAN_SAMPLES",
    "MTU_LOG2_MIN",
    "NO_SCORE",
    "PACE_EXPONENT_BITS",
    "PACE_MANTISSA_BITS",
    "PRIORITIES",
    "PROBABILITY",
    "PROFILE_CENTER",
    "PROFILE_FIELDS",
    "PROFILE_GAIN",
    "PROFILE_INPUTS",
    "PROFILE_RESETS",
    "PROGRAM_ALGORITHM",
    "QUEUE_EVENT_FIELDS",
    "QUEUE_VALUE_FIELDS",
    "RECIPROCAL_BITS",
    "ROW_BYTES",
    "SAMPLE_FIELDS",
    "TANH_SEGMENTS",
    "TICK_FRAC_BITS",
    "TOLD_BY_EVENTS",
    "TRACE_BODIES",
    "TRACE_BODY_BITS",
    "TRACE_HEAD",
    "TRACE_SERIALS",
    "TRACE_WORDS",
    "TREE_BINS_STORED",
    "TREE_DEPTH",
    "TREE_LEAF_WORDS",
    "TREE_SMALL_BITS",
    "TREE_SOURCE_ROW",
    "TREE_THRESHOLD_ROW",
    "Algorithm",
    "CarriedScore",
    "Cell",
    "Flag",
    "Fmt",
    "HeadKind",
    "Outcome",
    "Overflow",
    "Q",
    "QueueEvent",
    "Rounding",
    "ScoreSource",
    "TraceKind",
    "chord_table",
    "contract_dict",
    "exp_table",
    "inverse_table",
    "tanh_table",
]


@dataclass(frozen=True)
class Q:
    """A fixed-point format: value = integer * 2**-frac_bits."""

    int_bits: int
    frac_bits: int
    signed: bool = True

    def __post_init__(self) -> None:
        if self.int_bits < 0 or self.frac_bits < 0 or self.width < 1:
            raise ValueError(
                f"format bits must be non-negative, not Q({self.int_bits}, {self.frac_bits})"
            )

    @property
    def width(self) -> int:
        """Width in bits, the sign included."""
        return self.int_bits + self.frac_bits + int(self.signed)

    @property
    def min(self) -> int:
        """Smallest integer of the format."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        """Largest integer of the format."""
        return (1 << (self.width - int(self.signed))) - 1

    @property
    def one(self) -> int:
        """The integer that stands for 1.0 (it may lie outside the format)."""
        return 1 << self.frac_bits

    def from_float(self, value: float) -> int:
        """Nearest integer, ties up, saturated.

        Raises
        ------
        ValueError
            `value` is NaN.
        """
        if math.isnan(value):
            raise ValueError(f"value must be a number, not {value!r}")
        if math.isinf(value):
            return self.max if value > 0 else self.min
        return max(self.min, min(self.max, math.floor(value * self.one + 0.5)))


class Rounding(Enum):
    """What happens to fraction bits that the target format does not have."""

    FLOOR = "floor"  # towards minus infinity: drop the bits
    HALF_UP = "half_up"  # nearest, ties towards plus infinity
    HALF_EVEN = "half_even"  # nearest, ties to the even integer


class Overflow(Enum):
    """What happens to a value outside the target format."""

    WRAP = "wrap"  # drop the upper bits
    SATURATE = "saturate"  # the nearest end of the format


class Fmt:
    """Every number format that crosses a room's wall. Units are in the comments."""

    RTT = Q(24, 0, signed=False)  # ticks; saturates at 16.7 ms for a 1-ns tick
    TIME = Q(40, 0, signed=False)  # ticks, wraps
    SRTT = Q(24, 8, signed=False)  # ticks; S_t, the prediction and the target share it
    SIGMA = Q(0, 16, signed=False)  # EWMA weight of the new sample, (2)
    X = Q(3, 12)  # engine inputs: K_t of (3) lies in [-1, 1/sigma - 1]
    H = Q(0, 15)  # hidden state
    C = Q(3, 12)  # cell state: |c_t| <= |c_{t-1}| + 1, so 8 steps need 3 integer bits
    PRE = Q(4, 11)  # gate pre-activations and stored partial sums
    OUT = Q(3, 12)  # head outputs: out_t of (12)
    GAIN = Q(2, 13)  # Kp, Ki, Kd of (15)
    ERR = Q(5, 12)  # e(t) of (14): 18 bits, one multiplier wide
    DELTA = Q(0, 16)  # the rate step of (15) after the clamp (20)
    RATE = Q(8, 24, signed=False)  # bytes per tick; 1 Mb/s at 1 ns is 2097 LSB
    WINDOW = Q(32, 0, signed=False)  # bytes


HIDDEN = 16
MAX_INPUTS = 8
MAX_STEPS = 8
MAX_OUTPUTS = 16
MAX_SHIFT = 7  # a weight row's real value is w * 2**-shift, shift 0..7
ACC_BITS = 28  # 16 products of int8 and H: 8 + 16 + 4 bits

BASE_NONE = Fmt.RTT.max  # the base-RTT tracker's value before the first sample


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


class HeadKind(IntEnum):
    """What a model's outputs mean."""

    RTT = 0  # O = 1: out_t of (12)
    QUEUE = 1  # O queue-length bins, through a softmax


class Cell(IntEnum):
    """What computes a model's outputs, in its image's header."""

    LSTM = 0
    TREE = 1  # with a QUEUE head only, on devices that were built with trees


class Algorithm(IntEnum):
    """A QP's rate law."""

    FIXED = 0  # the configured initial rate, no control
    PID = 1  # (14)-(20) on the measured RTT
    PREDPID = 2  # (14)-(20) on the predicted RTT
    TIMELY = 3  # on the measured RTT and its gradient
    DCQCN = 4  # on congestion notifications, bytes and time


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
    UNSKILLED = 7  # predpid ran as pid: the predictor is worse than persistence on this QP
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


class TraceKind(IntEnum):
    """What a record of the trace FIFO tells of."""

    DECISION = 0  # the core decided on a sample or an event
    RECEIVER = 1  # a congestion score, or its age, moved the receiver
    FORECAST = 2  # a queue model forecast a queue pair's queue


#: A trace record: the head, then the body of its kind, the lowest bit of the first word first; what
#: a body does not fill is 0.
TRACE_WORDS = 8
TRACE_HEAD = (
    ("kind", 4),
    ("serial", 12),  # counts records, those that found no room too: a gap tells of a loss
    ("qp", 16),
    ("t", Fmt.TIME.width),  # ticks: the sample's or event's stamp
    ("score", 8),  # 0..100; 255: none
    ("flags", 16),
)
TRACE_SERIALS = 1 << dict(TRACE_HEAD)["serial"]
TRACE_BODY_BITS = 32 * TRACE_WORDS - sum(bits for _, bits in TRACE_HEAD)
TRACE_BODIES: dict[TraceKind, tuple[tuple[str, int], ...]] = {
    TraceKind.DECISION: (  # flags: `Flag`
        ("rtt", Fmt.RTT.width),  # 0: of an event
        ("set", 8),  # of the model that predicted; counts with Flag.PREDICTED, as does its version
        ("srtt", Fmt.SRTT.width),
        ("rtt_pred", Fmt.SRTT.width),  # 0: there was no prediction
        ("rate", Fmt.RATE.width),
        ("version", 32),
    ),
    TraceKind.RECEIVER: (  # flags: `rate.receiver_fields.Act`
        ("band", 2),
        ("was", 2),
        ("command", 2),
        ("boost", 3),  # that the pacer's priority has
        ("quota", 16),  # cells
    ),
    TraceKind.FORECAST: (
        ("probability", 16),  # of a queue at or above the threshold, UQ1.15
        ("x0", Fmt.X.width),
        ("x1", Fmt.X.width),
        ("x2", Fmt.X.width),
        ("x3", Fmt.X.width),
        ("set", 8),
        ("version", 32),
    ),
}

# --- the model image: 32 rows of 64 bytes in canonical, lane-independent order -------------------
# Gate row r = gate * 16 + unit, gates in the order i, f, g, o (as torch.nn.LSTM).
#   rows  0..15  recurrent weights: byte r of row j = Wh[r, j], int8
#   rows 16..23  input weights:     byte r of row 16 + i = Wx[r, i], int8
#   rows 24..25  biases: int16 little-endian in PRE format, gate rows 0..31 then 32..63
#   row  26      shifts: byte r = sh_h[r] | sh_x[r] << 4
#   rows 27..30  head weights: byte (o % 4) * 16 + j of row 27 + o // 4 = Wl[o, j], int8
#   row  31      head biases: 16 x int16 little-endian in OUT format (32 bytes), then head shifts:
#                16 x 4 bits (8 bytes, output 0 in the low nibble), then the header (24 bytes)
# Header (little-endian): inputs u8, steps u8, outputs u8, head kind u8, version u32,
#                contract hash u32, cell u8, a tree's depth u8, 10 bytes zero.
# Unused bytes are zero. The CRC-32 (Ethernet) runs over all 2048 bytes in ascending order.
ROW_BYTES = 4 * HIDDEN
IMAGE_ROWS = 32
IMAGE_BYTES = IMAGE_ROWS * ROW_BYTES
HEAD_ROWS = (27, 31)
HEADER_OFFSET = 31 * ROW_BYTES + 40

# --- a decision tree in the same 32 rows, header and CRC ------------------------------------------
# A complete tree in breadth-first order, node n's children being 2 n + 1 and 2 n + 2; leaves count
# from 0. What a smaller tree leaves over is zero.
#   rows  0..27  leaves of 7 words: bits 0..13 of word k are the probability of bin top ^ (2 k + 1),
#                bits 14..27 that of bin top ^ (2 k + 2); bits 28..31 of word 0 are `top`, those of
#                words 1..4, the lowest first, the probability of bin top ^ 15; `top`, the most
#                likely bin, has the rest of 32768
#   rows 28..29  thresholds: int16 in X format, node n at byte 2 n
#   row  30      what a node looks at: byte n = age * 8 + input; age 0 is the newest step
#   row  31      40 bytes zero, then the header
TREE_DEPTH = 6  # questions at most
TREE_LEAF_WORDS = 7
TREE_SMALL_BITS = 14  # of a probability that is not a leaf's largest, so at most a half
TREE_BINS_STORED = 2 * TREE_LEAF_WORDS  # in those fields; the fifteenth is in nibbles
TREE_THRESHOLD_ROW = 28
TREE_SOURCE_ROW = 30

# --- activations: one table of tanh on [0, 4), shared by sigmoid(x) = (1 + tanh(x / 2)) / 2 -------
TANH_SEGMENTS = 64


def tanh_table() -> tuple[tuple[int, int], ...]:
    """Base and slope of each segment.

    Returns
    -------
    tuple of (base, slope)
        tanh(x) = base + slope * frac / 2**8 for x in segment s, in H's LSB; `frac` is 8 bits, the
        position of |x| in Q(3, 12) inside of the segment.
        The chord through the segment's ends, raised by half of its largest sag, so that the error
        is balanced; the result stays in [0, 32767]. An argument >= 4 gives 32767.
    """
    one = 1 << Fmt.H.frac_bits
    step = 4.0 / TANH_SEGMENTS
    rows = []
    for s in range(TANH_SEGMENTS):
        a, b = s * step, (s + 1) * step
        ya, yb = math.tanh(a), math.tanh(b)
        # tanh is concave for x >= 0: its largest distance above the chord is where slopes agree.
        chord = (yb - ya) / step
        at = math.atanh(math.sqrt(1.0 - chord)) if chord < 1.0 else a
        sag = math.tanh(at) - (ya + chord * (at - a))
        lift = 0.0 if s == 0 else sag / 2  # tanh(0) stays exactly 0
        base = round((ya + lift) * one)
        slope = round((yb - ya) * one)
        rows.append((min(base, one - 1 - slope), slope))
    return tuple(rows)


# --- division: a tabled reciprocal of a mantissa in [1, 2), for K_t of (3) and e(t) of (14) ------
CHORDS = 128
CHORD_GUARD_BITS = 4  # fraction bits of the table below the reciprocal's LSB
RECIPROCAL_BITS = (
    17  # 1/x in (1/2, 1] has 17 fraction bits: an operand of a signed 18-bit multiplier
)


def chord_table() -> tuple[tuple[int, int], ...]:
    """Base (21 bit) and fall (14 bit) of 1/x on each of 128 chords over [1, 2).

    In sixteenths of the reciprocal's LSB. 1/x is convex, so a chord lies above it; each is lowered
    by half of its largest distance. The base has half an LSB in it, so that dropping the fraction
    rounds; the result stays below 2**17.
    """
    one = 1 << (RECIPROCAL_BITS + CHORD_GUARD_BITS)
    half = 1 << (CHORD_GUARD_BITS - 1)
    rows = []
    for s in range(CHORDS):
        a, b = 1 + s / CHORDS, 1 + (s + 1) / CHORDS
        # The distance is largest where 1/x has the chord's slope -1/(a b), at x = sqrt(a b).
        sag = 1 / a + 1 / b - 2 / math.sqrt(a * b)
        rows.append((round(one * (1 / a - sag / 2)) + half, round(one * (1 / a - 1 / b))))
    return tuple(rows)


# --- softmax and score ---------------------------------------------------------------------------
PROBABILITY = Q(1, 15, signed=False)  # those of a distribution sum to exactly 1
LOG2E_FRAC_BITS = 16
LOG2E = round(math.log2(math.e) * (1 << LOG2E_FRAC_BITS))
EXP_CHORDS = 64
EXP_FRAC_BITS = 16  # of 2**-x, and of x
CALIBRATION_KNOTS = 65  # at equal distances over [0, 1], values in PROBABILITY's format
NO_SCORE = 0xFF  # in place of a congestion score, 0..100, without a valid model


def exp_table() -> tuple[tuple[int, int], ...]:
    """Base (21 bit) and fall (14 bit) of 2**-x on each of 64 chords over [0, 1).

    In sixteenths of an LSB of 16 fraction bits, each chord lowered as those of `chord_table`.
    """
    one = 1 << (EXP_FRAC_BITS + CHORD_GUARD_BITS)
    rows = []
    for s in range(EXP_CHORDS):
        a, b = s / EXP_CHORDS, (s + 1) / EXP_CHORDS
        ya, yb = 2.0**-a, 2.0**-b
        # The distance is largest where 2**-x has the chord's slope -(ya - yb) / (b - a).
        slope = (ya - yb) / (b - a)
        at = -math.log2(slope / math.log(2))
        sag = ya - slope * (at - a) - 2.0**-at
        rows.append((round(one * (ya - sag / 2)), round(one * (ya - yb))))
    return tuple(rows)


# --- the running mean of e(t): n grows to 256 and stays there ------------------------------------
MEAN_SAMPLES = 256
MEAN_GUARD_BITS = 8  # fraction bits of the mean below ERR's
INVERSE_FRAC_BITS = 16


def inverse_table() -> tuple[int, ...]:
    """1/n for n = 1..256 with 16 fraction bits (17 bits wide), rounded to nearest."""
    return tuple(round((1 << INVERSE_FRAC_BITS) / n) for n in range(1, MEAN_SAMPLES + 1))


#: The skill monitor's errors are sums over 2**SKILL_SHIFT samples that decay.
SKILL_SHIFT = 6

# --- pacing: reciprocal of a rate, gaps, priorities ---------------------------------------------
TICK_FRAC_BITS = 16  # of a departure time
GAP_TICK_BITS = 32  # a gap saturates below 2**32 ticks
PACE_MANTISSA_BITS = 17  # that are stored: the 18th, the highest, is 1
PACE_EXPONENT_BITS = 6
PRIORITIES = 8  # the highest goes first
MTU_LOG2_MIN = 8  # 256 bytes; windows count in such units

# --- the queue profiler: events of a send queue, its numbers, the inputs of a `queue` head --------


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
    """Which score a queue pair's packets carry; but for `HOST` numbered as `ScoreSource`."""

    HOST = 0  # the one that the host has written
    QUEUE = 1
    RTT = 2
    MAX = 3


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


def contract_dict() -> dict[str, object]:
    """Everything that the hash covers, as plain data."""
    formats = {
        name: (q.int_bits, q.frac_bits, q.signed)
        for name, q in sorted(vars(Fmt).items())
        if isinstance(q, Q)
    }
    return {
        "formats": formats,
        "hidden": HIDDEN,
        "limits": (MAX_INPUTS, MAX_STEPS, MAX_OUTPUTS, MAX_SHIFT),
        "image": (IMAGE_ROWS, ROW_BYTES, HEAD_ROWS, HEADER_OFFSET),
        "tanh": tanh_table(),
    }


#: First 32 bits of SHA-256 over the contract: in the image, in a register, in telemetry.
CONTRACT_HASH = int.from_bytes(
    hashlib.sha256(json.dumps(contract_dict(), sort_keys=True).encode()).digest()[:4], "big"
)
