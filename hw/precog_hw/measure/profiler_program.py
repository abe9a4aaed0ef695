"""What the relaxed profiler does with an event: steps, each on one word of the queue pair's row.

A step reads a word, adds one operand, and may write the sum to a word. It takes a cycle; its fields
are a word of the table that `table` makes.
"""

from enum import IntEnum, auto
from typing import Any

from amaranth.hdl import unsigned
from amaranth.lib import data

from precog_spec.contract import QueueEvent

__all__ = [
    "CONTROL",
    "FETCH",
    "SAMPLE",
    "SEND",
    "STEP_BITS",
    "Adds",
    "Carry",
    "Ends",
    "Finds",
    "Word",
    "Writes",
    "table",
]


class Word(IntEnum):
    """Words of a row. Those up to `OUT_HIGH` are shown to the host, in their order."""

    OCCUPANCY = 0
    INTER = auto()
    SERVICE = auto()
    SIZE = auto()
    PEAK = auto()
    ARRIVALS = auto()
    DEPARTURES = auto()
    IN_LOW = auto()
    IN_HIGH = auto()
    OUT_LOW = auto()
    OUT_HIGH = auto()
    LAST = auto()  # when the last arrival was
    START = auto()  # since when the service lasts
    SAMPLED = auto()  # when a visit last took a sample
    SEEN = auto()  # arrivals since the connection began, saturated
    SINCE = auto()  # arrivals and departures since the last sample of them
    SCRATCH = auto()
    WAITS = auto()  # a sample waits: not 0
    SAMPLE = 18  # five words: the last sample's numbers, and its time
    NORMAL = 23  # five words: those of the sample that the normaliser works on
    ZERO = 28  # never written but when all are wiped


class Adds(IntEnum):
    """The operand."""

    KEPT = 0  # the step before's result, if that step says so; else 0
    SIZE = 1
    TIME = 2
    PERIOD = 3


class Carry(IntEnum):
    """The carry into the lowest bit."""

    NONE = 0
    ONE = 1
    LAST = 2  # the last step's carry out of 32 bits


class Writes(IntEnum):
    """When the step writes."""

    NEVER = 0
    ALWAYS = 1
    SOME = 2  # the word that was tested was not 0
    NONE = 3
    RISES = 4  # what was kept is larger than the peak
    ADVANCES = 5  # a sample is due, and no period was missed
    RESTARTS = 6  # one was missed, or the queue is not watched


class Finds(IntEnum):
    """What the step finds out."""

    NOTHING = 0
    FULL = 1  # the event fills a sample; then the result is 0
    OVER = 2  # the visit's sample is due
    CARRY = 3  # the word is not smaller than the operand


class Ends(IntEnum):
    """What follows."""

    NOT = 0  # the next step
    ALL = 1  # the next event
    SAMPLES = 2  # a sample, if one is due
    CLEARS = 3  # the program of CLEAR, if this is one


CONTROL = data.StructLayout(
    {
        "read": unsigned(5),
        "write": unsigned(5),
        "writes": Writes,
        "adds": Adds,
        "inverts": 1,  # of the operand, all bits
        "carry": Carry,
        "negates": 1,  # of the sum, all bits
        "saturates": 1,  # at 32 bits
        "floors": 1,  # 0 instead of a negative result
        "wide": 1,  # the result has 40 bits, not 32
        "tests": 1,
        "keeps": 1,
        "finds": Finds,
        "shows": 1,  # to the host
        "says": 1,  # a sample was taken
        "takes": 1,  # to the normaliser
        "ends": Ends,
    }
)

_PROGRAM_BITS = 3
_BITS = 4  # of a step's number in its program
STEP_BITS = _PROGRAM_BITS + _BITS

#: Programs besides those of the events, whose numbers are `QueueEvent`'s.
SAMPLE, SEND = 6, 7
#: In `SEND`: of the first step, in front of those that take one word each.
FETCH = 9

_ZERO = Word.ZERO


def _step(read: int, write: int = _ZERO, **fields: Any) -> dict[str, Any]:
    if write != _ZERO:
        fields.setdefault("writes", Writes.ALWAYS)
    return {"read": read, "write": write, **fields}


def _copy(read: int, write: int, **fields: Any) -> dict[str, Any]:
    return _step(read, write, **fields)


def _time(write: int, **fields: Any) -> dict[str, Any]:
    """The event's time into a word."""
    return _step(_ZERO, write, adds=Adds.TIME, wide=1, **fields)


def _one_more(word: int, **fields: Any) -> dict[str, Any]:
    return _step(word, word, carry=Carry.ONE, **fields)


def _elapsed(since: int, write: int, **fields: Any) -> dict[str, Any]:
    """Ticks since then: t - word is the inverse of word + inverse of t."""
    return _step(since, write, adds=Adds.TIME, inverts=1, negates=1, **fields)


_MINUS = {"inverts": 1, "carry": Carry.ONE}
_PAUSE = _step(_ZERO)  # the step before's word is read by the next one


def _counts(low: int, number: int) -> list[dict[str, Any]]:
    """Bytes of 64 bits, and the number of events."""
    return [
        _step(low, low, adds=Adds.SIZE),
        _step(low + 1, low + 1, carry=Carry.LAST),
        _one_more(number),
    ]


_SINCE = _one_more(Word.SINCE, finds=Finds.FULL)
_ARRIVAL = [
    _SINCE,
    _one_more(Word.SEEN, saturates=1, tests=1),
    _elapsed(Word.LAST, Word.INTER, saturates=1, writes=Writes.SOME),
    _time(Word.LAST),
    _step(Word.OCCUPANCY, Word.OCCUPANCY, adds=Adds.SIZE, saturates=1, tests=1, keeps=1),
    _step(Word.PEAK, **_MINUS, finds=Finds.CARRY),
    _copy(Word.OCCUPANCY, Word.PEAK, writes=Writes.RISES),
    _time(Word.START, writes=Writes.NONE),
    *_counts(Word.IN_LOW, Word.ARRIVALS),
    _step(_ZERO, Word.SIZE, adds=Adds.SIZE, ends=Ends.SAMPLES),
]
_DEPARTURE = [
    _SINCE,
    _step(Word.OCCUPANCY, Word.OCCUPANCY, adds=Adds.SIZE, **_MINUS, floors=1, tests=1),
    _elapsed(Word.START, Word.SERVICE, saturates=1, writes=Writes.SOME),
    _time(Word.START, writes=Writes.SOME),
    *_counts(Word.OUT_LOW, Word.DEPARTURES),
]
_DEPARTURE[-1] = {**_DEPARTURE[-1], "ends": Ends.SAMPLES}
_FORGOTTEN = (Word.OCCUPANCY, Word.INTER, Word.SERVICE, Word.SIZE, Word.SEEN, Word.SINCE)
_VISIT = [
    _step(Word.SEEN, tests=1),
    _elapsed(Word.SAMPLED, Word.SCRATCH, wide=1),
    _PAUSE,
    _step(Word.SCRATCH, Word.SCRATCH, adds=Adds.PERIOD, **_MINUS, wide=1, finds=Finds.OVER),
    _PAUSE,
    _step(Word.SCRATCH, adds=Adds.PERIOD, **_MINUS, finds=Finds.CARRY),
    _step(Word.SAMPLED, Word.SAMPLED, adds=Adds.PERIOD, wide=1, writes=Writes.ADVANCES),
    _time(Word.SAMPLED, writes=Writes.RESTARTS, ends=Ends.SAMPLES),
]
_COUNTS = range(Word.ARRIVALS, Word.OUT_HIGH + 1)

_PROGRAMS: dict[int, list[dict[str, Any]]] = {
    QueueEvent.ARRIVAL: _ARRIVAL,
    QueueEvent.DEPARTURE: _DEPARTURE,
    QueueEvent.RESET: [_step(_ZERO, word) for word in _FORGOTTEN],
    QueueEvent.VISIT: _VISIT,
    QueueEvent.CLEAR: [
        _copy(Word.OCCUPANCY, Word.PEAK),
        *(_step(_ZERO, word) for word in _COUNTS),
    ],
    QueueEvent.READ: [_step(word, shows=1) for word in range(Word.OUT_HIGH + 1)],
    SAMPLE: [
        _one_more(Word.WAITS, saturates=1, tests=1),
        _copy(Word.OCCUPANCY, Word.SAMPLE, says=1),
        *(_copy(Word.OCCUPANCY + n, Word.SAMPLE + n) for n in range(1, 4)),
        _time(Word.SAMPLE + 4),
    ],
    SEND: [
        _step(_ZERO, Word.WAITS),
        *(_copy(Word.SAMPLE + n, Word.NORMAL + n, wide=1) for n in range(5)),
    ],
}


def table() -> list[int]:
    """All steps, those of program p from `p << 4` on, as words of `CONTROL`."""
    words = [0] * (1 << STEP_BITS)
    for program, steps in _PROGRAMS.items():
        last = Ends.CLEARS if program == QueueEvent.READ else Ends.ALL
        assert len(steps) <= 1 << _BITS
        for n, step in enumerate(steps):
            own = {"ends": last, **step} if n == len(steps) - 1 else step
            words[(program << _BITS) + n] = CONTROL.const(own).as_bits()
    for n in range(5):
        fields = {"read": Word.NORMAL + n, "carry": Carry(n < 4), "takes": 1, "ends": Ends.ALL}
        words[(SEND << _BITS) + FETCH + n] = CONTROL.const(fields).as_bits()
    return words
