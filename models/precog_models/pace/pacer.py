"""Golden pacer: rows of state, changed by operations in the order of a log.

Untimed: the log says when an operation took effect (`t`, in ticks, 40 bits, wraps) and in which
order; the effect of each one is exact. The states of a queue pair::

              request, acknowledgement, window
    PARKED ──────────────────────────────────► READY ──grant──► SENDING
       ▲  ▲                                     ▲  │               │ charge: due = due + gap
       │  └─────── nothing to send, or ─────────┼──┘               ▼
       │           the window is full           │    already due   │
       └──────────────── fire ◄── WAITING ◄─────┴──────────────────┘
                                    └── fire: READY if there is something to send

PARKED has no gap behind it; WAITING lies in the timing wheel; READY stands in its priority's list,
first in, first out; SENDING lasts until the gap of the packet just granted is known.

The gap of a packet starts when the packet was due, not when it was granted, so that waiting for
others costs no rate; but a queue pair that is late by more than a gap is due at once and no
earlier, so it catches up by one packet at most.

A new rate takes effect on the gap that is pending: the bytes that it stands for stay, and are
worked off at the new rate (`reciprocal.rescaled`). A queue pair that is late when its rate grows is
due at that moment: what it was late at the old rate is not worth as much at the new one.

In wire mode (`whole`) a queue pair has two queues of packets, of each of which the first may be
asked for: requests, and answers (ACKs, READ responses), in turn if both may go. Answers wait for
the rate only: a window of one end never waits for an answer behind a window of the other. A request
that counts waits until the PSNs from the oldest that is not acknowledged to its own are fewer MTUs
than the window, or none. PSNs begin with the connection's first request that counts, and are
compared by halves of their circle; an acknowledgement moves the oldest on and never back. `expire`,
called from time to time, opens a window that has been shut since the last time without a move.
"""

from collections import deque
from dataclasses import dataclass
from enum import IntEnum

from precog_spec.contract import MTU_LOG2_MIN, PRIORITIES, TICK_FRAC_BITS, Fmt
from precog_spec.frames.headers import PATH_MTUS, PSN_BITS

from .reciprocal import gap, reciprocal, rescaled

__all__ = ["GRANT_MAX", "WINDOW_UNIT", "Grant", "Pacer", "Row", "State"]

GRANT_MAX = (1 << max(PATH_MTUS).bit_length()) - 1  # bytes
WINDOW_UNIT = 1 << MTU_LOG2_MIN  # bytes: the smallest MTU, all others are multiples
RATE_AT_POWER_UP = Fmt.RATE.max  # that of a row of zeros, 256 bytes per tick, but for 2**-32

_FINE = 1 << (Fmt.TIME.width + TICK_FRAC_BITS)
_MTU_MOST = max(PATH_MTUS).bit_length() - 1 - MTU_LOG2_MIN
_PSNS = 1 << PSN_BITS
_BACKLOG_MAX = (1 << 32) - 1  # bytes


class State(IntEnum):
    """Where a queue pair is."""

    PARKED = 0
    WAITING = 1
    READY = 2
    SENDING = 3


@dataclass
class Row:
    """What the pacer knows about one queue pair; zeros at power-up."""

    state: State = State.PARKED
    due: int = 0  # ticks with 16 fraction bits
    backlog: int = 0  # bytes that were asked for and not granted yet; saturates; of requests
    mantissa: int = 0
    exponent: int = 0
    priority: int = 0
    boost: int = 0  # by which the priority is raised for now
    mtu: int = 0  # log2(bytes) - 8; above 4 it counts as 4
    next: int = 0  # PSN of the next packet; in wire mode of the last request that counts
    una: int = 0  # oldest PSN that is not acknowledged
    window: int = 0  # in units of 256 bytes, rounded up; 0: no limit
    changed: bool = False  # a new rate's gap is being made
    answer: int = 0  # bytes of the answer that is asked for
    counts: bool = False  # the request that is asked for keeps to the window
    known: bool = False  # the connection's first PSN
    turn: bool = False  # of the answer, if both may go
    shut: bool = False  # the request waits for its window
    stale: bool = False  # and did at the last `expire`

    @property
    def level(self) -> int:
        """The priority at which it stands in line."""
        return min(self.priority + self.boost, PRIORITIES - 1)

    @property
    def units(self) -> int:
        """log2 of the MTU in units of the smallest."""
        return min(self.mtu, _MTU_MOST)


@dataclass(frozen=True)
class Grant:
    """A queue pair may send a packet; `answers`: of its second queue."""

    qp: int
    size: int
    t: int
    answers: bool = False


def _ahead(due: int, t: int) -> int:
    """From `t` to `due`, signed."""
    difference = (due - (t << TICK_FRAC_BITS)) % _FINE
    return difference - _FINE if difference >= _FINE // 2 else difference


class Pacer:
    """All queue pairs.

    Parameters
    ----------
    qps : int
    overhead : int
        Bytes that every packet has on the wire beyond those that are granted.
    whole : bool
        Wire mode: a grant is of the packet that was asked for, up to `GRANT_MAX` bytes.

    Attributes
    ----------
    rows : list of Row
    ready : list of deque of int
        Queue pairs that may send, by priority.
    """

    def __init__(self, qps: int, *, overhead: int = 0, whole: bool = False) -> None:
        self.rows = [Row() for _ in range(qps)]
        self.ready: list[deque[int]] = [deque() for _ in range(PRIORITIES)]
        self.overhead = overhead
        self._whole = whole
        self._rates = [RATE_AT_POWER_UP] * qps
        self._new_due: dict[int, tuple[int, bool]] = {}
        self._charge: dict[int, int] = {}

    def open(self, qp: int) -> bool:
        """(next - unacknowledged PSN) * MTU is below the window, or there is none."""
        row = self.rows[qp]
        flight = (row.next - row.una) % _PSNS
        if self._whole and (not row.counts or flight >= _PSNS // 2):
            return True
        return row.window == 0 or flight << row.units < row.window

    def sends(self, qp: int) -> bool:
        """It has something that may go."""
        row = self.rows[qp]
        return bool(row.answer) or (row.backlog > 0 and self.open(qp))

    def configure(self, qp: int, priority: int, mtu: int, psn: int) -> None:
        """A connection begins at `psn`: nothing is asked for, nothing is in flight."""
        row = self.rows[qp]
        row.priority, row.mtu, row.backlog = priority, mtu, 0
        row.next = row.una = psn
        row.answer = 0
        row.counts = row.known = row.turn = row.shut = row.stale = False

    def boost(self, qp: int, boost: int) -> None:
        """Raise the priority by so much from the next time on that it stands in line; 0: not."""
        self.rows[qp].boost = boost

    def request(self, qp: int, size: int, t: int) -> None:
        """The queue pair has `size` more bytes to send."""
        row = self.rows[qp]
        row.backlog = min(row.backlog + size, _BACKLOG_MAX)
        self._wake(qp, t)

    def packet(
        self, qp: int, size: int, t: int, *, psn: int, counts: bool = False, answers: bool = False
    ) -> None:
        """Wire mode: the first packet of one of the queue pair's queues, the last has left."""
        row = self.rows[qp]
        if answers:
            row.answer = size
        else:
            row.backlog, row.counts = size, counts
            if counts:
                row.next = psn
                row.una = row.una if row.known else psn
                row.known = True
        self._wake(qp, t)
        self._look(qp)

    def acknowledge(self, qp: int, psn: int, t: int) -> None:
        """All before `psn` has arrived; a PSN that is not in flight says nothing."""
        row = self.rows[qp]
        ahead = (psn - row.una) % _PSNS
        if self._whole:
            if row.known and ahead < _PSNS // 2:
                row.una = psn
                row.stale &= not ahead
        elif ahead <= (row.next - row.una) % _PSNS:
            row.una = psn
        self._wake(qp, t)
        self._look(qp)

    def limit(self, qp: int, window: int, t: int) -> None:
        """A new window in bytes; 0: none."""
        self.rows[qp].window = -(-window // WINDOW_UNIT)
        self._wake(qp, t)
        self._look(qp)

    def expire(self, qp: int, t: int) -> None:
        """Wire mode: what is in flight counts as gone if nothing was acknowledged since last time.

        Of a queue pair whose request waits for the window.
        """
        row = self.rows[qp]
        if row.stale:
            row.una = row.next
        self._wake(qp, t)
        self._look(qp)
        row.stale = row.shut

    def _look(self, qp: int) -> None:
        """Whether a request waits for the window."""
        row = self.rows[qp]
        row.shut = self._whole and row.backlog > 0 and not self.open(qp)
        row.stale &= row.shut

    def _wake(self, qp: int, t: int) -> None:
        row = self.rows[qp]
        if row.state is State.PARKED and self.sends(qp):
            row.due = t << TICK_FRAC_BITS  # time that was not used is lost
            self._make_ready(qp)

    def _make_ready(self, qp: int) -> None:
        row = self.rows[qp]
        row.state = State.READY
        row.changed = False
        self.ready[row.level].append(qp)

    def grant(self, qp: int, priority: int, t: int) -> Grant | None:
        """The scheduler chose `qp`, the first of `priority`.

        Raises
        ------
        ValueError
            It is not the first there.
        """
        if not self.ready[priority] or self.ready[priority].popleft() != qp:
            raise ValueError(f"QP {qp} must be the first of priority {priority}")
        row = self.rows[qp]
        if not self.sends(qp):
            row.state = State.PARKED
            return None
        answers = False
        if self._whole:
            answers = bool(row.answer) and (row.turn or not (row.backlog and self.open(qp)))
            size = row.answer if answers else row.backlog
            if answers:
                row.answer = 0
            else:
                row.backlog = 0
            row.turn = not answers
        else:
            size = min(row.backlog, 1 << (MTU_LOG2_MIN + row.units))
            row.backlog -= size
            row.next = (row.next + 1) % _PSNS
        row.state = State.SENDING
        late = (-_ahead(row.due, t)) % _FINE  # it is due, however long ago
        behind = gap(size + self.overhead, row.mantissa, row.exponent) - late
        self._charge[qp] = ((t << TICK_FRAC_BITS) + max(behind, 0)) % _FINE
        return Grant(qp, size, t, answers)

    def charge(self, qp: int, t: int) -> int:
        """The gap of the last grant is known; returns when the queue pair is due again."""
        row = self.rows[qp]
        row.due = self._charge.pop(qp)
        if _ahead(row.due, t) <= 0 and self.sends(qp):
            self._make_ready(qp)
        else:
            row.state = State.WAITING
        return row.due

    def fire(self, qp: int, t: int) -> None:
        """The wheel came to the queue pair; if it is not due yet, it goes back.

        Raises
        ------
        ValueError
            It is not in the wheel.
        """
        row = self.rows[qp]
        if row.state is not State.WAITING:
            raise ValueError(f"QP {qp} must be in the wheel, it is {row.state.name}")
        if _ahead(row.due, t) > 0:
            return
        row.changed = False
        row.state = State.PARKED
        if self.sends(qp):
            self._make_ready(qp)

    def set_rate(self, qp: int, rate: int, t: int) -> bool:
        """A new rate, for every gap from now on; False: not while the last one is being made."""
        row = self.rows[qp]
        if row.state is State.SENDING:
            return False
        old, self._rates[qp] = self._rates[qp], rate
        slower = row.exponent, row.mantissa
        row.mantissa, row.exponent = reciprocal(rate)
        pending = _ahead(row.due, t)
        if pending <= 0 and (row.exponent, row.mantissa) < slower:
            row.due = t << TICK_FRAC_BITS
        row.changed = row.state is State.WAITING and pending > 0
        if row.changed:
            left = rescaled(pending, old, row.mantissa, row.exponent)
            self._new_due[qp] = ((t << TICK_FRAC_BITS) + left) % _FINE, left < pending
        return True

    def retime(self, qp: int) -> tuple[int, bool]:
        """The pending gap at the new rate is known: when it ends, and whether that is sooner.

        It takes effect if that gap is still pending.
        """
        row = self.rows[qp]
        due, sooner = self._new_due.pop(qp)
        if row.changed:
            row.due, row.changed = due, False
        return due, sooner
