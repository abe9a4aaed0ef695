"""The rows of all queue pairs, and what every event does to one of them."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_spec.contract import MTU_LOG2_MIN, TICK_FRAC_BITS, Fmt

from .gap import gap_layout
from .layouts import (
    BACKLOG_BITS,
    COMPARED,
    DIFFERENCES,
    DUE_BITS,
    RECIPROCAL,
    ROW,
    EventKind,
    State,
    commit_layout,
    config_of,
    event_layout,
    file_layout,
    grant_layout,
)
from .ready import ready_layout
from .row_lanes import NewRow, RowLanes
from .whole import compare, decide, differences, waits_of

__all__ = ["OVERHEAD_BITS", "StatePipeline"]

OVERHEAD_BITS = 8
_MTUS = 5  # 256..4096; a number above counts as the last


class _Decision:
    """An event in cycle 4: its row as it was and will be, what was compared, and what follows."""

    def __init__(
        self, e: data.View, row: data.View, c: data.View, new: NewRow, sends: Value
    ) -> None:
        self.e, self.row, self.c, self.new = e, row, c, new
        self.sends = sends  # the queue pair has something that it may send
        self.grants = Signal()
        self.pushes = Signal()  # into the list of queue pairs that may send
        self.files = Signal()  # into the wheel
        self.changes = Signal()  # the pending gap is to be made anew
        self.refuses = Signal()
        self.wake = Signal()  # the event is what a parked queue pair waited for


class StatePipeline(wiring.Component):
    """Events in, rows changed, consequences out.

    ::

        cycle           0            1        2              3           4             5
        i ─► [next] ─► event ─► RAM ─► row ─► differences ─► compare ─► decide ─► row to RAM
               │         ▲                    │ now                      ├──► o_gap     ├► o_push,
               └ of the same queue pair as one ahead? Then it waits for that            │  o_file,
                                                                                    o_grant, commit

    Instead of forwarding rows of 196 bits between the stages, an event waits until the one ahead of
    it that concerns the same queue pair has been written: events of different queue pairs never
    wait. Which ones those are is found a cycle before, so that it is known at once
    whether an event is taken. The golden model is `precog_models.pace.pacer`.

    Latency: 7 cycles from the transfer to `commit` and the consequences; `o_gap` one less.
    Throughput: one event per cycle, one in 6 cycles of the same queue pair. Cost: a row of block
    RAM per queue pair (1024: 11 DP16KD); no multiplier.

    With `relaxed` one event at a time is inside, so that its registers hold and no stage has copies
    of its own::

        cycle   0            1                  2              3
        i ─► event ─► RAM ─► row, differences ─► flags ─► decide ─► row to RAM, consequences

    Latency: 4 cycles to `commit` and all consequences, in one cycle. Throughput: one event in 4
    cycles, a GRANT in 5 and as long as `held` is up.

    Parameters
    ----------
    qps : int
        Power of two.
    whole : bool, optional
        A grant is of a packet that was asked for, not of at most an MTU; `precog_hw.pace.whole`.
    relaxed : bool, optional
        The form for one event at a time; rows are in block RAM.

    Members
    -------
    i : In(stream.Signature(event_layout(qps)))
    wipes : In(1)
        Row `wiped` becomes zero in the next cycle; nothing is taken.
    wiped : In(range(qps))
    held : In(1)
        If `relaxed`: `o_gap` is still read; it stays, and nothing is taken.
    now : In(40)
        Ticks.
    overhead : In(8)
        Bytes that every packet has on the wire beyond those that are granted.
    o_gap : Out(stream.Signature(gap_layout(qps), always_ready=True))
        The gap of this packet shall be found.
    o_push : Out(stream.Signature(ready_layout(qps), always_ready=True))
        Stand in the list of queue pairs that may send.
    o_file : Out(stream.Signature(file_layout(qps), always_ready=True))
        Go into the wheel.
    o_grant : Out(stream.Signature(grant_layout(qps), always_ready=True))
    commit : Out(stream.Signature(commit_layout(qps), always_ready=True))
        An event took effect.
    refused : Out(1)
        With `commit`: a rate that comes too early, or a grant that cannot be.
    changed : Out(1)
        With `commit` of a rate: the pending gap has to be made anew.
    ahead : Out(56)
        With `changed`: what is pending.
    shuts, opens, expires : Out(1)
        With `commit`, if `whole`: a packet has begun to wait for its window, or waits no more; the
        latter because nothing was acknowledged for too long.
    """

    LATENCY = 7

    i: stream.Interface
    o_gap: stream.Interface
    o_push: stream.Interface
    o_file: stream.Interface
    o_grant: stream.Interface
    commit: stream.Interface

    def __init__(self, qps: int, *, whole: bool = False, relaxed: bool = False) -> None:
        self._qps, self._whole, self._relaxed = qps, whole, relaxed
        # The domain of what is only passed on from one cycle to the next.
        self._on = "comb" if relaxed else "sync"

        def always(layout: data.StructLayout) -> stream.Signature:
            return stream.Signature(layout, always_ready=True)

        self._event = event_layout(qps)
        super().__init__(
            {
                "i": In(stream.Signature(self._event)),
                "wipes": In(1),
                "wiped": In(range(qps)),
                "now": In(Fmt.TIME.width),
                "overhead": In(OVERHEAD_BITS),
                "o_gap": Out(always(gap_layout(qps))),
                "o_push": Out(always(ready_layout(qps))),
                "o_file": Out(always(file_layout(qps))),
                "o_grant": Out(always(grant_layout(qps, whole=whole))),
                "commit": Out(always(commit_layout(qps))),
                "refused": Out(1),
                "changed": Out(1),
                "ahead": Out(DUE_BITS),
                **({n: Out(1) for n in ("shuts", "opens", "expires")} if whole else {}),
                **({"held": In(1)} if relaxed else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._relaxed:
            self._one_at_a_time(m)
        else:
            self._many(m)
        return m

    def _one_at_a_time(self, m: Module) -> None:
        """The event and its row stay until the next event."""
        e, at, d = Signal(self._event, name="e"), Signal(4), Signal(DIFFERENCES, name="differences")
        new, valid = RowLanes(m, self._qps), at[-1]
        row = new.old
        # A GRANT raises `held` a cycle later.
        m.d.comb += self.i.ready.eq(
            ~(at[:-1].any() | self.held | self.wipes | (valid & (e.kind == EventKind.GRANT)))
        )
        m.d.sync += at.eq(Cat(self.i.valid & self.i.ready, at))
        with m.If(self.i.ready):
            m.d.sync += e.eq(self.i.payload)
        with m.If(at[0]):
            m.d.sync += d.t.eq(self.now)
        due = self._differences(m, e, row, d, d.t)
        c = self._compare(m, e, row, d)
        self._decide(m, valid, e, row, c, new, due)
        qp = Mux(self.wipes, self.wiped, e.qp)
        new.access(m, qp, reads=at[0], writes=valid, wipes=self.wipes)
        # The event is zeros: so is what it would write.
        with m.If(self.wipes):
            m.d.sync += [d.window.eq(0), c.rouses.eq(0)]
        self._commit(m, valid, e, new.row)

    def _many(self, m: Module) -> None:
        """An event in each cycle."""
        last = self.LATENCY - 2
        e = [Signal(self._event, name=f"e{n}") for n in range(last + 1)]
        valid = [Signal(name=f"valid{n}") for n in range(last + 1)]
        following, follows = Signal(self._event), Signal()
        meets = Signal(last)  # bit n: the event in cycle n + 1 is of the same queue pair
        goes, free = Signal(), Signal()
        m.d.comb += [
            goes.eq(valid[0] & ~meets.any()),
            free.eq(~valid[0] | goes),
            self.i.ready.eq((~follows | free) & ~self.wipes),
        ]
        with m.If(~follows | free):
            m.d.sync += [follows.eq(self.i.valid & ~self.wipes), following.eq(self.i.payload)]
        m.d.sync += meets.eq(meets << 1)
        with m.If(free):
            same = Cat(valid[n] & (e[n].qp == following.qp) for n in range(last))
            m.d.sync += [valid[0].eq(follows), e[0].eq(following), meets.eq(same)]
        m.d.sync += valid[1].eq(goes)
        for n in range(1, last + 1):
            m.d.sync += e[n].eq(e[n - 1])
            if n > 1:
                m.d.sync += valid[n].eq(valid[n - 1])

        m.submodules.rows = rows = plain_memory(ROW, self._qps)
        write, read = rows.write_port(), rows.read_port()
        row = [Signal(ROW, name=f"row{n}") for n in range(last + 1)]
        wiping = Signal()
        m.d.sync += wiping.eq(self.wipes)
        m.d.comb += [
            read.addr.eq(e[0].qp),
            write.addr.eq(e[5].qp),
            write.data.eq(row[5]),
            write.en.eq(valid[5] | wiping),
        ]
        m.d.sync += [row[2].eq(read.data), row[3].eq(row[2]), row[4].eq(row[3])]

        differences = Signal(DIFFERENCES)
        m.d.sync += differences.t.eq(self.now)
        self._differences(m, e[2], row[2], differences, self.now)
        compared = self._compare(m, e[3], row[3], differences)
        self._decide(m, valid[4], e[4], row[4], compared, NewRow(row[5]), None)
        with m.If(self.wipes):
            m.d.sync += [row[5].eq(0), e[5].qp.eq(self.wiped)]
        self._commit(m, valid[5], e[5], row[5])

    def _commit(self, m: Module, valid: Value, e: data.View, new: data.View) -> None:
        m.d.comb += [
            self.commit.valid.eq(valid),
            self.commit.payload.qp.eq(e.qp),
            self.commit.payload.kind.eq(e.kind),
            self.commit.payload.argument.eq(e.argument),
            self.commit.payload.row.eq(new),
        ]

    def _differences(
        self, m: Module, e: data.View, row: data.View, d: data.View, now: Value
    ) -> Value:
        """Cycle 2, or 1 of the relaxed form; the due time."""
        argument = e.argument
        asked = Mux(e.kind == EventKind.REQUEST, argument[:BACKLOG_BITS], 0)
        new_window = argument[: Fmt.WINDOW.width]
        rounded = (new_window >> MTU_LOG2_MIN) + new_window[:MTU_LOG2_MIN].any()
        dated: Value = e.kind == EventKind.CHARGE
        if self._relaxed:  # one choice for `o_file`, too
            dated |= e.kind == EventKind.RETIME
        due = Mux(dated, argument[:DUE_BITS], row.due)
        ticks = due[TICK_FRAC_BITS:] - now
        psn = argument[: len(row.next)]
        m.d.sync += [
            d.ahead.eq(Cat(due[:TICK_FRAC_BITS], ticks[: Fmt.TIME.width])),
            d.flight.eq(row.next - row.una),
            d.acked.eq(psn - row.una),
            d.rest.eq(row.next - psn),
            d.some.eq((row.backlog != 0) | (asked != 0)),
            d.backlog.eq(row.backlog + asked),
            d.window.eq(Mux(e.kind == EventKind.WINDOW, rounded, row.window)),
        ]
        if self._whole:
            differences(m, e, row, d)
            return due
        with m.Switch(row.mtu):
            for n in range(_MTUS):
                most = 1 << (MTU_LOG2_MIN + n)
                with m.Case(n) if n < _MTUS - 1 else m.Default():
                    fits = ~row.backlog[MTU_LOG2_MIN + n :].any()
                    m.d.sync += d.size.eq(Mux(fits, row.backlog, most))
        return due

    def _compare(self, m: Module, e: data.View, row: data.View, d: data.View) -> data.View:
        """Cycle 3, or 2 of the relaxed form."""
        c = Signal(COMPARED, name="compared")

        def below(flight: Value) -> Value:
            """The window is above what is in flight."""
            wide = Signal(len(flight) + _MTUS - 1)
            with m.Switch(row.mtu):
                for n in range(_MTUS):
                    with m.Case(n) if n < _MTUS - 1 else m.Default():
                        m.d.comb += wide.eq(flight << n)
            return wide < d.window

        takes: Value = (e.kind == EventKind.ACK) & (d.acked <= d.flight)
        passes: Value = Const(0)
        m.d[self._on] += c.wire.eq(d.size + self.overhead)
        if self._whole:
            takes, passes = compare(m, e, row, d, c, self.overhead, self._on)
        rouses = [EventKind.REQUEST, EventKind.ACK, EventKind.WINDOW]
        if self._whole:
            rouses.append(EventKind.EXPIRE)
        if self._relaxed:  # one comparison
            fits = below(Mux(takes, d.rest, d.flight))
        else:
            fits = Mux(takes, below(d.rest), below(d.flight))
        retimes = (e.kind == EventKind.RETIME) & row.changed
        m.d.sync += [
            c.rates.eq((e.kind == EventKind.RATE) & (row.state != State.SENDING)),
            c.rouses.eq(e.kind.matches(*rouses) & (row.state == State.PARKED)),
            c.redates.eq((e.kind == EventKind.CHARGE) | retimes),
        ]
        m.d[self._on] += [c[name].eq(d[name]) for name in ("t", "ahead", "window", "some", "size")]
        m.d.sync += [
            c.due.eq(d.ahead[-1] | (d.ahead == 0)),
            c.faster.eq(e.argument[: RECIPROCAL.size] < row.reciprocal.as_value()),
            c.acknowledges.eq(takes),
            c.open.eq((d.window == 0) | passes | fits),
        ]
        m.d[self._on] += [
            c.backlog.eq(Mux(d.backlog[-1], (1 << BACKLOG_BITS) - 1, d.backlog)),
            c.left.eq(row.backlog - d.size),
        ]
        return c

    def _decide(
        self,
        m: Module,
        valid: Signal,
        e: data.View,
        row: data.View,
        c: data.View,
        new: NewRow,
        due: Value | None,
    ) -> None:
        """Cycle 4, or 3 of the relaxed form."""
        sends: Value = c.some & c.open
        if self._whole:
            sends |= c.answer
        v = _Decision(e, row, c, new, sends)
        self._change(m, v)
        answers = decide(m, e, row, c, new) if self._whole else Const(0)
        m.d.comb += v.wake.eq(c.rouses & v.sends)
        # Which kind of event it is was found a cycle before: the due time decides the clock.
        with m.If(c.redates):
            new.put(m, due=e.argument[:DUE_BITS])
        with m.Elif(v.wake | (c.rates & c.due & c.faster)):  # late at the old rate is worth less
            new.put(m, due=c.t << TICK_FRAC_BITS)
        with m.If(v.pushes | v.wake):
            new.put(m, state=State.READY, changed=0)
        self._tell(m, valid, v, answers, due)
        if self._whole:
            self._tell_of_windows(m, waits_of(row), waits_of(new.row))

    def _change(self, m: Module, v: _Decision) -> None:
        """What each kind of event changes in the row, and what it leads to."""
        e, row, c, new = v.e, v.row, v.c, v.new
        config = config_of(e)
        new.begin(m, row, e, c)
        with m.Switch(e.kind):
            with m.Case(EventKind.REQUEST):
                new.put(m, backlog=c.backlog)
            with m.Case(EventKind.ACK), m.If(c.acknowledges):
                new.put(m, una=e.argument[: len(row.una)])
            with m.Case(EventKind.WINDOW):
                new.put(m, window=c.window)
            with m.Case(EventKind.CONFIG):
                with m.If(config.raises):
                    new.put(m, boost=config.boost)
                with m.Else():
                    new.put(
                        m,
                        priority=config.priority,
                        mtu=config.mtu,
                        next=config.psn,
                        una=config.psn,
                        backlog=0,
                    )
            with m.Case(EventKind.RATE):
                m.d.comb += [
                    v.refuses.eq(row.state == State.SENDING),
                    v.changes.eq((row.state == State.WAITING) & ~c.due),
                ]
                with m.If(~v.refuses):
                    new.put(m, changed=v.changes)
                    new.put(m, reciprocal=data.View(RECIPROCAL, e.argument[: RECIPROCAL.size]))
            with m.Case(EventKind.RETIME), m.If(row.changed):
                m.d.comb += v.files.eq(e.argument[DUE_BITS])
                new.put(m, changed=0)
            with m.Case(EventKind.FIRE):
                m.d.comb += [v.files.eq(~c.due), v.pushes.eq(c.due & v.sends)]
                with m.If(c.due):
                    new.put(m, changed=0, state=State.PARKED)
            with m.Case(EventKind.GRANT):
                m.d.comb += [v.grants.eq(v.sends), v.refuses.eq(~v.sends)]
                new.put(m, state=Mux(v.sends, State.SENDING, State.PARKED))
                if not self._whole:
                    with m.If(v.sends):
                        new.put(m, backlog=c.left, next=row.next + 1)
            with m.Case(EventKind.CHARGE):
                m.d.comb += [v.pushes.eq(c.due & v.sends), v.files.eq(~(c.due & v.sends))]
                new.put(m, state=State.WAITING)

    def _tell(
        self, m: Module, valid: Signal, v: _Decision, answers: Value, due: Value | None
    ) -> None:
        """Consequences go to the lists, the wheel, the gap's arithmetic and the grant."""
        e, row, c = v.e, v.row, v.c
        size: Value = c.size
        if self._whole:
            size = Mux(answers, waits_of(row).answer, waits_of(row).request)
            m.d[self._on] += self.o_grant.payload.answers.eq(answers)
        level = row.priority + row.boost
        if due is None:
            replaces = (e.kind == EventKind.CHARGE) | (e.kind == EventKind.RETIME)
            due = Mux(replaces, e.argument[:DUE_BITS], row.due)
        m.d[self._on] += [
            self.o_push.valid.eq(valid & (v.pushes | v.wake)),
            self.o_push.payload.qp.eq(e.qp),
            self.o_push.payload.priority.eq(Mux(level[-1], (1 << len(row.priority)) - 1, level)),
            self.o_file.valid.eq(valid & v.files),
            self.o_file.payload.qp.eq(e.qp),
            self.o_file.payload.cut.eq(e.kind == EventKind.RETIME),
            self.o_file.payload.due.eq(due),
            self.o_grant.valid.eq(valid & v.grants),
            self.o_grant.payload.qp.eq(e.qp),
            self.o_grant.payload.size.eq(size),
            self.o_grant.payload.t.eq(c.t),
            self.commit.payload.t.eq(c.t),
            self.refused.eq(v.refuses),
            self.changed.eq(v.changes),
            self.ahead.eq(c.ahead),
        ]
        gap = self.o_gap.payload
        m.d.comb += [
            self.o_gap.valid.eq(valid & v.grants),
            gap.qp.eq(e.qp),
            gap.size.eq(Mux(answers, c.answer_wire, c.wire)),
            gap.reciprocal.eq(row.reciprocal),
            gap.ahead.eq(c.ahead),
            gap.t.eq(c.t),
        ]

    def _tell_of_windows(self, m: Module, before: data.View, after: data.View) -> None:
        """From the decision to `commit`."""
        was = Signal.like(before, name="was")
        m.d[self._on] += was.eq(before)
        did = self.commit
        m.d.comb += [
            self.shuts.eq(did.valid & after.shut & ~was.shut),
            self.opens.eq(did.valid & ~after.shut & was.shut),
            self.expires.eq(did.valid & was.stale & (did.payload.kind == EventKind.EXPIRE)),
        ]
