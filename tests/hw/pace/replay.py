"""The log of a pacer's events, replayed through the golden model, row by row."""

from collections import Counter, deque
from typing import Any

from precog_hw.pace.layouts import (
    CONFIG,
    DUE_BITS,
    RECIPROCAL,
    ROW,
    WAITS,
    WHOLE_REQUEST,
    EventKind,
)
from precog_models.pace.pacer import Grant, Pacer, Row, State
from precog_models.pace.reciprocal import GAP_MAX, gap
from precog_spec.contract import TICK_FRAC_BITS, Fmt

from .credit import Credit

__all__ = ["HOST", "Replay", "config_bits", "packed"]

#: Events that the host makes, and the rate that it sets.
HOST = (EventKind.REQUEST, EventKind.ACK, EventKind.WINDOW, EventKind.CONFIG)
_OFFSETS = {name: field.offset for name, field in ROW}
_FINE = 1 << DUE_BITS


def packed(row: Row, *, whole: bool = False) -> int:
    """A golden row as the bits of `ROW`."""
    reciprocal = row.mantissa | row.exponent << RECIPROCAL["exponent"].offset
    values = {**vars(row), "reciprocal": reciprocal}
    if whole:
        waits = {**vars(row), "request": row.backlog}
        values["backlog"] = sum(int(waits[name]) << field.offset for name, field in WAITS)
    return sum(int(values[name]) << offset for name, offset in _OFFSETS.items())


class Replay:
    """Golden model behind the log.

    Attributes
    ----------
    asked : dict of EventKind to deque of (qp, argument)
        What went in and has not taken effect.
    rates : deque of (qp, rate)
        Likewise.
    grants : deque of Grant
        What must come out.
    """

    def __init__(self, qps: int, *, overhead: int = 0, whole: bool = False) -> None:
        self.golden = Pacer(qps, overhead=overhead, whole=whole)
        self._whole = whole
        self.asked: dict[EventKind, deque[tuple[int, int]]] = {kind: deque() for kind in HOST}
        self.rates: deque[tuple[int, int]] = deque()
        self.grants: deque[Grant] = deque()
        self.seen: Counter[str] = Counter()
        self.credits = [Credit() for _ in range(qps)]
        self.now = 0  # ticks, without the wrap
        self.lateness: list[int] = []

    def commit(self, kind: int, qp: int, argument: int, t: int, row: int) -> None:
        """An event took effect and left `row`."""
        golden, event = self.golden, EventKind(kind)
        mine, credit = golden.rows[qp], self.credits[qp]
        before = mine.state
        self.now += (t - self.now) % (1 << Fmt.TIME.width)
        now = self.now << TICK_FRAC_BITS
        if event in self.asked:
            assert self.asked[event].popleft() == (qp, argument), event.name
        if event is EventKind.REQUEST and self._whole:
            asked = WHOLE_REQUEST.from_bits(argument)
            golden.packet(
                qp, asked.size, t, psn=asked.psn, counts=bool(asked.counts),
                answers=bool(asked.answers),
            )  # fmt: skip
        elif event is EventKind.REQUEST:
            golden.request(qp, argument, t)
        elif event is EventKind.ACK:
            golden.acknowledge(qp, argument, t)
        elif event is EventKind.WINDOW:
            golden.limit(qp, argument, t)
        elif event is EventKind.CONFIG:
            config = CONFIG.from_bits(argument)
            if config.raises:
                golden.boost(qp, config.boost)
            else:
                golden.configure(qp, config.priority, config.mtu, config.psn)
        elif event is EventKind.RATE:
            self._rate(qp, argument, t)
        elif event is EventKind.RETIME:
            self.seen["retime" if mine.changed else "retime late"] += 1
            applies = mine.changed
            due, sooner = golden.retime(qp)
            if applies and credit.new_rate is not None:
                credit.saturated |= (due - credit.new_rate[0]) % _FINE == GAP_MAX
                credit.settle(None)
            assert argument == due | sooner << DUE_BITS
            self.seen["sooner" if sooner else "later"] += 1
        elif event is EventKind.FIRE:
            assert before is State.WAITING, f"QP {qp} is {before.name}"
            late = ((t << TICK_FRAC_BITS) - mine.due) % _FINE
            if late < _FINE // 2:
                self.lateness.append(late >> TICK_FRAC_BITS)
                credit.settle(now - late)
            golden.fire(qp, t)
            self.seen["again" if mine.state is State.WAITING else "due"] += 1
        elif event is EventKind.EXPIRE:
            self.seen["expired"] += mine.stale
            golden.expire(qp, t)
        elif event is EventKind.GRANT:
            grant = golden.grant(qp, argument, t)
            if grant is None:
                self.seen["refused"] += 1
            else:
                self.grants.append(grant)
                size = grant.size + golden.overhead
                credit.grant(size, now)
                credit.saturated |= gap(size, mine.mantissa, mine.exponent) == GAP_MAX
        else:
            assert golden.charge(qp, t) == argument
        self.seen["shut"] += mine.shut
        if before is State.PARKED and mine.state is State.READY:
            credit.wake(now)
        self.seen[event.name] += 1
        self.seen[f"{before.name}-{mine.state.name}"] += 1
        assert packed(mine, whole=self._whole) == row, (event.name, qp, mine, ROW.from_bits(row))

    def _rate(self, qp: int, argument: int, t: int) -> None:
        asked, rate = self.rates[0]
        assert asked == qp
        if not self.golden.set_rate(qp, rate, t):
            self.seen["rate refused"] += 1
            return
        self.rates.popleft()
        mine = self.golden.rows[qp]
        self.credits[qp].change(rate, self.now << TICK_FRAC_BITS, mine.changed)
        assert argument == mine.mantissa | mine.exponent << RECIPROCAL["exponent"].offset

    def grant(self, qp: int, size: int, t: int) -> None:
        """A grant came out."""
        assert self.grants.popleft() == Grant(qp, size, t)


def config_bits(**fields: Any) -> int:
    """`CONFIG` as an argument."""
    return int(CONFIG.const(fields).as_bits())
