"""The pacer's rows: who is granted what, who may be granted, and what an event leaves alone.

`StatePipeline` is the gateware as it is, with two queue pairs. Events, their times, the overhead
and the clock are free. What the pipeline is promised: a GRANT is of a queue pair that is READY, a
FIRE of one that is WAITING, a CHARGE of one that is SENDING (tests/hw/pace checks it of the whole
pacer; it is not proved). One queue pair, free but constant, is watched through `commit` and
through the rows' memory; nothing is said about the stages between. The fields are short
(`pace_small`).

By induction from rows of zeros, hence for ever; and once more from any rows that are allowed, from
where few cycles are enough to find a mistake.

From these steps follows that no queue pair is granted more than its credit and one packet.
`due` is the time up to which a queue pair's packets are paid for:

* a grant does not change it, and comes to a READY one, that was due when it became so;
* a charge puts it to the due time that the gap unit has found: a packet's gap later than it was,
  or now (that unit is tested, not proved);
* a change of the rate, or a request of one that is PARKED, puts it to now if it was due, hence
  later; a retiming replaces a pending gap (its arithmetic is tested, not proved).

So the gaps of all packets but the last one fit into the time between two grants, at any rate that
does not change between them.
"""

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .engine import Mode, Proof
from .mutate import Mutant
from .pace_small import MTUS, AnyRows, short_fields
from .past import Past
from .peek import Opened

__all__ = [
    "FLUSHED",
    "MUTANTS",
    "PROOFS",
    "QPS",
    "REACHED",
    "RowsHarness",
    "ahead_of",
    "units",
]

_PIPELINE = "precog_hw.pace.pipeline"
QPS = 2
FLUSHED = 18  # cycles after which nothing is in the pipeline that was there before
REACHED = 12
_LARGEST = len(MTUS) - 1


class RowsHarness(wiring.Component):
    """`StatePipeline` with free inputs.

    Parameters
    ----------
    any_rows : bool
        The rows hold anything at first that `allowed` allows, not zeros.
    whole : bool, optional
        Of `StatePipeline`.
    """

    def __init__(self, *, any_rows: bool, whole: bool = False) -> None:
        self._any = any_rows
        made: list[AnyRows] = []

        def seen(shape: Any, depth: int) -> AnyRows:
            made.append(AnyRows(shape, depth, free=any_rows))
            return made[-1]

        with (
            short_fields("gap", "ready", "whole", "pipeline") as (layouts, _, _, waits, module),
            patch.object(module, "plain_memory", seen),
        ):
            self._dut = module.StatePipeline(QPS, whole=whole)
            self._fragment = Opened(self._dut).fragment
        self.layouts, self.waits_of = layouts, waits.waits_of
        (self._rows,) = made
        super().__init__(
            {
                "event": In(layouts.event_layout(QPS)),
                "offers": In(1),
                "now": In(len(self._dut.now)),
                "overhead": In(len(self._dut.overhead)),
                "qp": In(range(QPS)),
                **{f"first{n}": In(layouts.ROW) for n in range(QPS)},
                "garbage": In(layouts.ROW),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dut, rows = self._dut, self._rows
        m.submodules.dut = self._fragment
        past = Past(m)
        refused = past.known & past(self.offers & ~dut.i.ready, "refused")
        event = Value.cast(self.event)
        m.d.comb += [
            dut.i.valid.eq(self.offers),
            dut.i.payload.eq(self.event),
            dut.now.eq(self.now),
            dut.overhead.eq(self.overhead),
            Assume(~refused | (self.offers & (event == past(event, "event")))),
            Assume(~past.known | (self.overhead == past(self.overhead, "overhead"))),
            Assume(self.overhead < MTUS[-1]),  # as with fields of full length
            Assume(~past.known | (self.qp == past(self.qp, "qp"))),
        ]

        m.d.comb += rows.garbage.eq(self.garbage)
        before, did = Signal(self.layouts.ROW), Signal()
        self._last(m, rows, past, before, did)
        commit = dut.commit.payload
        m.d.comb += did.eq(dut.commit.valid & (commit.qp == self.qp))
        self.watch(m, dut, did, commit, before)
        return m

    def watch(self, m: Module, dut: Any, did: Signal, commit: Any, before: Any) -> None:
        """What is promised of the watched queue pair's events, and what is asserted.

        Parameters
        ----------
        m : Module
        dut : StatePipeline
        did : Signal
            One of its events takes effect.
        commit : data.View
            Which, and the row that it leaves.
        before : data.View
            The row that it found.
        """
        rows = self._rows
        m.d.comb += [
            Assert(
                Value.cast(rows[self.qp]) == Value.cast(before),
                "only its own events change a row, and `commit` says how",
            ),
        ]
        self.promised(m, did, commit, before)
        self.granted(m, dut, did, before)
        self._states(m, dut, did, before)
        self._due(m, did, commit, before)

    def _last(self, m: Module, rows: AnyRows, past: Past, before: Any, did: Signal) -> None:
        """`before` is what `commit` said last of the queue pair, or what its row held at first."""
        row = self._dut.commit.payload.row
        if not self._any:
            with m.If(did):
                m.d.sync += before.eq(row)
            return
        last, some = Signal(self.layouts.ROW), Signal()
        with m.If(did):
            m.d.sync += [last.eq(row), some.eq(1)]
        firsts = Array(getattr(self, f"first{n}") for n in range(QPS))
        m.d.comb += before.eq(Mux(some, last, firsts[self.qp]))
        for first, free in zip(firsts, rows.first, strict=True):
            same = Value.cast(first) == past(Value.cast(first), "first")
            m.d.comb += [free.eq(first), Assume(~past.known | same)]
            m.d.comb += [Assume(allowed) for allowed in self.allowed(first)]

    def sends(self, row: Any) -> Value:
        """It has something that may go."""
        return (row.backlog != 0) & _open(row)

    def allowed(self, row: Any) -> list[Value]:
        """What is true of every row at all times."""
        State = self.layouts.State
        return [
            # None is parked that could send.
            (row.state != State.PARKED) | ~self.sends(row),
            ~row.changed | (row.state == State.WAITING),
        ]

    def promised(self, m: Module, did: Signal, commit: Any, before: Any) -> None:
        """The scheduler knows the states; kinds beyond the last do not come."""
        EventKind, State = self.layouts.EventKind, self.layouts.State
        for kind, state in (
            (EventKind.GRANT, State.READY),
            (EventKind.FIRE, State.WAITING),
            (EventKind.CHARGE, State.SENDING),
        ):
            m.d.comb += Assume(~did | (commit.kind != kind) | (before.state == state))
        m.d.comb += Assume(~self.offers | (self.event.kind <= max(EventKind)))

    def granted(self, m: Module, dut: Any, did: Signal, before: Any) -> None:
        """A grant is of somebody with a backlog and an open window, and is booked."""
        commit, row, grant = dut.commit.payload, dut.commit.payload.row, dut.o_grant.payload
        most = Signal(range(MTUS[-1] + 1))
        m.d.comb += most.eq(MTUS[0] << units(before))
        size = Mux(before.backlog < most, before.backlog, most)
        granted = self.charged(m, dut, did, before, size)
        m.d.comb += [
            Assert(~granted | (before.backlog != 0), "never of an empty backlog"),
            Assert(~granted | _open(before), "never of a closed window"),
            Assert(~granted | (grant.size == size), "the MTU, or what is left"),
            Assert(~granted | (row.backlog == (before.backlog - size)[: len(row.backlog)])),
            Assert(~granted | (row.next == (before.next + 1)[: len(row.next)])),
            Assert(~granted | (grant.t == commit.t)),
            Cover(granted & (before.window != 0) & (before.next != before.una)),
        ]

    def charged(self, m: Module, dut: Any, did: Signal, before: Any, size: Value) -> Signal:
        """Whether there is a grant: of `size` bytes, it is charged for, before the next one."""
        EventKind, State = self.layouts.EventKind, self.layouts.State
        commit, row = dut.commit.payload, dut.commit.payload.row
        grant, granted = dut.o_grant.payload, Signal(name="is_granted")
        mine = dut.o_grant.valid & (grant.qp == self.qp)
        m.d.comb += granted.eq(did & (commit.kind == EventKind.GRANT) & ~dut.refused)
        gap = dut.o_gap.payload
        asked = Signal()  # for the gap of the packet, a cycle ahead of the grant
        m.d.sync += asked.eq(dut.o_gap.valid & (gap.qp == self.qp))
        wire, ahead, t = (Signal.like(gap[name]) for name in ("size", "ahead", "t"))
        m.d.sync += [wire.eq(gap.size), ahead.eq(gap.ahead), t.eq(gap.t)]
        m.d.comb += [
            Assert(mine == granted, "a grant for each GRANT that is not refused, and no other"),
            Assert(~granted | (row.state == State.SENDING), "no second one without a charge"),
            Assert(asked == granted, "each is charged for"),
            Assert(~granted | ((wire == size + self.overhead) & (t == commit.t))),
            Assert(~granted | (ahead == ahead_of(before.due, commit.t)), "from when it was due"),
        ]
        return granted

    def _states(self, m: Module, dut: Any, did: Signal, before: Any) -> None:
        """One that waits is in the wheel, a ready one in a list; none is parked that could send."""
        EventKind, State = self.layouts.EventKind, self.layouts.State
        commit, row = dut.commit.payload, dut.commit.payload.row
        push, file = dut.o_push.payload, dut.o_file.payload
        pushed = dut.o_push.valid & (push.qp == self.qp)
        filed = dut.o_file.valid & (file.qp == self.qp)
        readied = did & (row.state == State.READY) & (before.state != State.READY)
        raised, top = row.priority + row.boost, (1 << len(row.priority)) - 1
        level = Mux(raised > top, top, raised)
        into = did & (row.state == State.WAITING)
        into &= (before.state != State.WAITING) | (commit.kind == EventKind.FIRE)
        m.d.comb += [
            Assert(pushed == readied, "into a list once, when it becomes ready"),
            Assert(~pushed | (push.priority == level), "into that of its priority, raised or not"),
            Assert((filed & ~file.cut) == into, "into the wheel once, when it begins to wait"),
            Assert(
                ~(filed & file.cut) | (did & before.changed & (row.state == State.WAITING)),
                "taken out of the wheel only where it is",
            ),
            Assert(~filed | (file.due == row.due), "at its due time"),
            *(Assert(allowed) for allowed in self.allowed(before)),
            Cover(pushed & (commit.kind == EventKind.ACK)),
        ]

    def _due(self, m: Module, did: Signal, commit: Any, before: Any) -> None:
        """What the conservation of credit rests on."""
        EventKind, State = self.layouts.EventKind, self.layouts.State
        row, kind, t = commit.row, commit.kind, commit.t
        now = Signal(len(row.due))
        m.d.comb += now.eq(t << (len(now) - len(t)))
        argument = commit.argument[: len(row.due)]
        same, was_due = row.due == before.due, _is_due(before.due, t)
        leaves = did & (before.state != row.state)
        wakes = leaves & (before.state == State.PARKED)
        retimes = (kind == EventKind.RETIME) & before.changed
        m.d.comb += [
            Assert(~(leaves & (row.state == State.READY)) | _is_due(row.due, t), "who is, is due"),
            Assert(~(leaves & (row.state == State.READY)) | self.sends(row)),
            Assert(
                ~(leaves & (row.state == State.PARKED) & (before.state == State.WAITING))
                | _is_due(row.due, t),
                "whose gap has passed",
            ),
            Assert(~wakes | (row.due == now), "time that was not used is lost"),
            Assert(
                ~did | wakes | same | (kind == EventKind.CHARGE) | (kind == EventKind.RATE)
                | retimes,
                "no other event moves it",
            ),
            Assert(~did | (kind != EventKind.CHARGE) | (row.due == argument)),
            Assert(~did | (kind != EventKind.RATE) | same | (was_due & (row.due == now))),
            Assert(~did | ~retimes | (row.due == argument)),
            Cover(wakes & ~same),
        ]  # fmt: skip


def units(row: Any) -> Value:
    return Mux(row.mtu > _LARGEST, _LARGEST, row.mtu)


def _open(row: Any) -> Value:
    """(next - una) MTUs are below the window, or there is none."""
    flight = (row.next - row.una)[: len(row.next)]
    return (row.window == 0) | ((flight << units(row)) < row.window)


def ahead_of(due: Value, t: Value) -> Value:
    """From `t` to `due`."""
    return (due - (t << (len(due) - len(t))))[: len(due)]


def _is_due(due: Value, t: Value) -> Value:
    ahead = ahead_of(due, t)
    return ahead[-1] | (ahead == 0)


def _rows() -> RowsHarness:
    return RowsHarness(any_rows=False)


def _any_rows() -> RowsHarness:
    return RowsHarness(any_rows=True)


_CLAIM = (
    "only its own events change a row; grants need a backlog and an open window, are booked and "
    "charged for; a ready one was due; none is lost"
)
PROOFS = (
    Proof("pace.rows", _rows, Mode.INDUCTION, FLUSHED, f"for ever: {_CLAIM}", quick=False),
    Proof("pace.any", _any_rows, Mode.BOUNDED, REACHED, f"from any rows: {_CLAIM}", quick=False),
    Proof("pace.cover", _any_rows, Mode.COVER, REACHED, "a window's grant; an ACK that wakes"),
)
MUTANTS = (
    Mutant(
        "pace.any",
        _PIPELINE,
        "m.d.comb += [v.grants.eq(v.sends), v.refuses.eq(~v.sends)]",
        "m.d.comb += [v.grants.eq(c.some), v.refuses.eq(~c.some)]",
        "a grant with a closed window",
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "m.d.comb += [v.files.eq(~c.due), v.pushes.eq(c.due & v.sends)]",
        "m.d.comb += [v.files.eq(0), v.pushes.eq(v.sends)]",
        "a queue pair that fires is ready, due or not",
        quick=True,
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "goes.eq(valid[0] & ~meets",
        "goes.eq(valid[0] | valid[0] & ~meets",
        "an event does not wait for the one before of the same queue pair",
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "write.addr.eq(e[5].qp)",
        "write.addr.eq(e[4].qp)",
        "a row is written to the queue pair of the next event",
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "Mux(takes, below(d.rest), below(d.flight))",
        "below(d.flight)",
        "an acknowledgement does not open the window at once",
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "v.files.eq(~(c.due & v.sends))",
        "v.files.eq(~c.due)",
        "who has nothing to send after a packet is in no list and not in the wheel",
    ),
    Mutant(
        "pace.any",
        _PIPELINE,
        "v.wake | (c.rates & c.due & c.faster)",
        "v.wake | (c.rates & c.faster)",
        "a faster rate forgives a pending gap",
    ),
    Mutant(
        "pace.rows",
        _PIPELINE,
        "write.addr.eq(e[5].qp)",
        "write.addr.eq(e[4].qp)",
        "a row is written to the queue pair of the next event",
        quick=True,
    ),
)
