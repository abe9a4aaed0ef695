"""When windows have been shut for too long: all queue pairs hear of it, in turn, in time.

`WindowExpiry` as it is, with a short clock and four queue pairs, for ever: packets begin and cease
to wait at any time, one per queue pair at most; the clock goes on or stands still; who listens
takes as he likes, but within `_PATIENCE` cycles.
"""

from unittest.mock import patch

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_small import short_fields
from .past import Past
from .peek import Opened

__all__ = ["MUTANTS", "PROOFS"]

QPS = 4
LATE = 2  # ticks behind the period
_PATIENCE = 3
_PERIOD_BITS = 5
_WALK = QPS * (_PATIENCE + 1) + 1  # ticks, at most
_DEPTH, _COVERED = 16, 24


class ExpiryHarness(wiring.Component):
    """The walk, and what it should be."""

    def __init__(self) -> None:
        with (
            short_fields("expiry") as (_, module),
            patch.object(module, "PERIOD_BITS", _PERIOD_BITS),
        ):
            self._dut = module.WindowExpiry(QPS)
            self._inner = Opened(self._dut)
        super().__init__(
            {name: In(1) for name in ("ticks", "shuts", "opens", "takes")}
            | {"period": In(_PERIOD_BITS)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, past = self._dut, Past(m)
        m.submodules.dut = self._inner.fragment
        now, waiting, patience = (
            Signal.like(dut.now),
            Signal(range(QPS + 1)),
            Signal(range(_PATIENCE + 1)),
        )
        m.d.sync += [
            now.eq(now + self.ticks),
            waiting.eq(waiting + self.shuts - self.opens),
            patience.eq(patience + 1),
        ]
        offered, taken = dut.o.valid, dut.o.valid & self.takes
        with m.If(taken | ~offered):
            m.d.sync += patience.eq(0)
        m.d.comb += [
            dut.now.eq(now),
            dut.period.eq(self.period),
            dut.o.ready.eq(self.takes),
            dut.shuts.eq(self.shuts),
            dut.opens.eq(self.opens),
            Assume(~past.known | (self.period == past(self.period, "period"))),
            Assume(~self.shuts | (waiting != QPS)),
            Assume(~self.opens | (waiting != 0)),
            Assume(self.takes | (patience != _PATIENCE)),
            Assert(patience <= _PATIENCE),
        ]
        due = Signal(range(QPS))  # whose turn it is
        with m.If(taken):
            m.d.sync += due.eq(due + 1)
        # Since a walk began, or since somebody has waited: the one that was later.
        since, last, knows, again = Signal.like(now), Signal.like(now), Signal(), Signal()
        begins = offered & ~past(offered, "was_offered")
        m.d.sync += knows.eq(waiting != 0)
        with m.If(begins | ~knows):
            m.d.sync += since.eq(now)
        with m.If(begins):
            m.d.sync += [last.eq(now), again.eq(1)]
        with m.Elif(~knows & ~offered):
            m.d.sync += again.eq(0)
        apart, ahead = Signal.like(now), Signal.like(now)
        m.d.comb += [
            apart.eq(now - last),
            ahead.eq(last - self._inner["began"]),
            Assert(~(begins & again) | (apart + 1 >= self.period), "a period apart"),
            Assert(~again | begins | (ahead <= 1)),
            Assert(dut.o.payload == due, "in turn"),
            Assert(waiting <= QPS),
            Assert(offered | (due == 0), "all of them"),
            Assert(~past.known | ~past(offered & ~taken, "stood") | offered, "until it is taken"),
        ]
        walked = Signal.like(now)
        m.d.comb += walked.eq(due * (_PATIENCE + 1) + patience)
        self._in_time(m, past, now, since, offered, knows, waiting, walked)
        m.d.comb += [Cover(taken & (due == QPS - 1)), Cover(begins & past.known & (since != 0))]
        return m

    def _in_time(
        self,
        m: Module,
        past: Past,
        now: Signal,
        since: Signal,
        offered: Value,
        knows: Signal,
        waiting: Signal,
        walked: Signal,
    ) -> None:
        """A walk begins at most `LATE` ticks after its period, or at once after a longer walk."""
        inner = self._inner
        began, passed, count = (inner[name] for name in ("began", "passed", "count"))
        state = inner["fsm_state"]
        idle, wait, walk = range(3)  # in the order in which they are written
        age, gone, known = Signal.like(now), Signal.like(now), Signal.like(now)
        most = Mux(self.period > _WALK, self.period, _WALK)
        first = ~past(offered, "offered")
        m.d.comb += [
            age.eq(now - since),
            gone.eq(now - began),
            known.eq(past(now, "now") - began),
            Assert(offered | ~knows | (age <= most + LATE), "in time"),
            Assert(count == waiting),
            Assert(inner["waits"] == knows),
            Assert(state <= walk),
            Assert(offered == (state == walk)),
            # What the registers hold of the time.
            Assert((state != idle) | ~knows | (age <= 1)),
            Assert((state != wait) | ~past.known | (passed == known)),
            Assert((state != wait) | (passed <= most)),
            Assert((state == idle) | (gone <= Mux(offered, walked + 1, passed + 1))),
            Assert((state == idle) | (offered & first) | (age <= gone + 1)),
        ]


PROOFS = (
    Proof(
        "pace.expiry",
        ExpiryHarness,
        Mode.INDUCTION,
        _DEPTH,
        "4 queue pairs, for ever: all hear, in turn, 2 ticks after the period at the latest",
    ),
    Proof("pace.expiry-cover", ExpiryHarness, Mode.COVER, _COVERED, "a second walk"),
)

_EXPIRY = "precog_hw.pace.expiry"
MUTANTS = (
    Mutant(
        "pace.expiry",
        _EXPIRY,
        "m.d.sync += self.o.payload.eq(self.o.payload + 1)",
        "m.d.sync += self.o.payload.eq(self.o.payload + 2)",
        "half of the queue pairs never hear",
        quick=True,
    ),
    Mutant(
        "pace.expiry",
        _EXPIRY,
        "count.eq(count + self.shuts - self.opens)",
        "count.eq(count + (self.shuts & ~self.opens) - self.opens)",
        "who begins to wait while another one ceases to is not counted",
    ),
    Mutant(
        "pace.expiry",
        _EXPIRY,
        """                    m.d.sync += walks
                    m.next = "WALK"
""",
        """                    m.next = "WALK"
""",
        "one walk follows the other without a period between them",
    ),
)
