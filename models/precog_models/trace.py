"""The trace FIFO: records of what was decided, for the host to read.

    record ─► [kind wanted?] ─► [queue pair?] ─► [every Nth] ─► [FIFO] ─► host
                                                                  └─► full: counted, lost

Nothing waits for it. Layouts are the contract's (`TRACE_HEAD`, `TRACE_BODIES`).
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from precog_spec.contract import (
    MAX_OUTPUTS,
    PROFILE_INPUTS,
    TRACE_BODIES,
    TRACE_HEAD,
    TRACE_SERIALS,
    TRACE_WORDS,
    Fmt,
    TraceKind,
)

__all__ = ["TraceFifo", "TraceFilter", "forecast_record", "pack", "unpack"]

_WORD = 0xFFFF_FFFF


def _fields(kind: int) -> tuple[tuple[str, int], ...]:
    body = TRACE_BODIES[TraceKind(kind)] if kind in tuple(TraceKind) else ()
    return (*TRACE_HEAD, *body)


def pack(record: Mapping[str, int]) -> tuple[int, ...]:
    """The words of a record; fields that are not named are 0.

    Raises
    ------
    ValueError
        The record's kind has no such field, or a value does not fit.
    """
    fields = dict(_fields(record["kind"]))
    for name, value in record.items():
        if name not in fields:
            raise ValueError(f"field must be one of {', '.join(fields)}, not {name!r}")
        if not 0 <= value < 1 << fields[name]:
            raise ValueError(f"{name} must fit {fields[name]} unsigned bits, not {value!r}")
    bits = at = 0
    for name, width in fields.items():
        bits |= record.get(name, 0) << at
        at += width
    return tuple(bits >> 32 * n & _WORD for n in range(TRACE_WORDS))


def unpack(words: tuple[int, ...]) -> dict[str, int]:
    """The fields of a record; of a kind without a name only the head's."""
    bits = sum(word << 32 * n for n, word in enumerate(words))
    record = {}
    for name, width in _fields(words[0] & 0xF):
        record[name] = bits & ((1 << width) - 1)
        bits >>= width
    return record


def forecast_record(
    forecast: Mapping[str, int], x: Sequence[int], *, number: int, threshold: int
) -> dict[str, int]:
    """The record of a forecast.

    Parameters
    ----------
    forecast : mapping of str to int
        `contract.FORECAST_FIELDS`.
    x : sequence of 4 int
        The profile that it was made of, in X's format.
    number : int
        The model's set; 0 without a model.
    threshold : int
        First bin of congestion.
    """
    return {
        "kind": int(TraceKind.FORECAST),
        "score": forecast["cps"],
        "probability": sum(forecast[f"p{n}"] for n in range(threshold, MAX_OUTPUTS)),
        "set": number,
        **{f"x{n}": x[n] & ((1 << Fmt.X.width) - 1) for n in range(len(PROFILE_INPUTS))},
        **{name: forecast[name] for name in ("qp", "t", "version")},
    }


@dataclass
class TraceFilter:
    """What is recorded.

    Parameters
    ----------
    kinds : int
        A bit for each `TraceKind`.
    qp : int, optional
        Only of this queue pair.
    every : int
        Of those every so manieth, from the first on; 0 and 1: all.
    """

    kinds: int = 0
    qp: int | None = None
    every: int = 1


class TraceFifo:
    """Golden model of `precog_hw.csr.trace.TraceFifo`.

    Parameters
    ----------
    depth : int
        Records that fit.

    Attributes
    ----------
    filter : TraceFilter
    records : deque of tuple of int
        Words of those that wait, the oldest first.
    recorded, overflowed, filtered : int
        Records that were kept, found no room, were not wanted.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.filter = TraceFilter()
        self.records: deque[tuple[int, ...]] = deque()
        self.recorded = self.overflowed = self.filtered = 0
        self._passed = self._serial = 0

    def offer(self, record: Mapping[str, int]) -> bool:
        """A record; True if it is kept. Its serial is given here."""
        wanted = self.filter
        if not wanted.kinds >> record["kind"] & 1 or wanted.qp not in (None, record["qp"]):
            self.filtered += 1
            return False
        first = self._passed == 0
        self._passed = 0 if self._passed + 1 >= wanted.every else self._passed + 1
        if not first:
            self.filtered += 1
            return False
        words = pack({**record, "serial": self._serial})
        self._serial = (self._serial + 1) % TRACE_SERIALS
        if len(self.records) == self.depth:
            self.overflowed += 1
            return False
        self.records.append(words)
        self.recorded += 1
        return True

    def pop(self, count: int) -> None:
        """Forget the oldest `count`, or all if there are fewer."""
        for _ in range(min(count, len(self.records))):
            self.records.popleft()

    def clear(self) -> None:
        """Forget all; the next record that passes the filter is kept."""
        self.records.clear()
        self._passed = 0

    def reset(self) -> None:
        """As `clear`; the next record's serial is 0."""
        self.clear()
        self._serial = 0
