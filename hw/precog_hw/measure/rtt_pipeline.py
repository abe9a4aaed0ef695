"""The RTT collector's rows of state and what each event does to them, one event per cycle.

Rules and state are those of `precog_models.measure.rtt_collector`.
"""

from amaranth.hdl import Assert, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowMemory, plain_memory
from precog_spec.contract import Fmt, Outcome
from precog_spec.frames.headers import PATH_MTUS, PSN_BITS

from .layouts import FLOOR_BITS
from .rtt_events import NUMBER_BITS, EventKind, commit_layout, event_layout

__all__ = ["MTU_BITS", "RttPipeline"]

_DEFAULT_MTU_LOG2 = 10
_MTU_LOG2 = [mtu.bit_length() - 1 for mtu in PATH_MTUS]
MTU_BITS = max(_MTU_LOG2).bit_length()

_STATE = data.StructLayout(
    {
        "seen": unsigned(1),  # a PSN was sent
        "timed": unsigned(1),  # a packet is timed
        "next": unsigned(PSN_BITS),  # next new PSN
        "psn": unsigned(PSN_BITS),  # of the timed packet
        "t0": unsigned(Fmt.TIME.width),  # when the timed packet left
        "acked": unsigned(PSN_BITS),  # the last one that is acknowledged
    }
)

#: What an event's numbers say about a row, from the signs of differences.
_SIGNS = data.StructLayout(
    {
        "early": 1,  # stamped before T0
        "expired": 1,  # T0 is a time-out ago, or more
        "repeats": 1,  # its PSN is before the next new one
        "before": 1,  # its PSN is before the timed one
        "stale": 1,  # what it acknowledges is before what is acknowledged
        "lies": 1,  # its T2 - T1 leaves no more than the floor
    }
)


#: What an event's own numbers come to, in cycle 4.
_PSNS = data.StructLayout(
    {
        "behind": unsigned(PSN_BITS),  # the PSN behind those that a request occupies
        "psn": unsigned(PSN_BITS),  # of a request; what an answer acknowledges
        "acks": unsigned(PSN_BITS),  # what counts as acknowledged
        "due": unsigned(Fmt.TIME.width),  # what is timed since then, or longer, has expired
        "left": unsigned(Fmt.TIME.width),  # an answer's time without T2 - T1 and the floor
    }
)

#: Which parts of its row an event replaces.
_DOES = data.StructLayout({"starts": 1, "advances": 1, "acks": 1})


class RttPipeline(wiring.Component):
    """Events in, samples and outcomes out; each event meets what all events before it left.

    ::

        slot ─► MTU ─► span ─► PSN behind ─┐
          0             2         3        ├─► signs ─► decide ─► write ─► - T2 + T1 ─► saturate
        slot ─► RAM ─► register ───────────┘     4         5        6          6           7
                 1        3

    A row is decided upon in one cycle from the signs of differences (cycle 5). These are made one
    cycle earlier, against the row as it was before the event ahead of this one and also against
    that event's own numbers, since those replace the row's if that event is a packet to be timed.

    Latency: 6 cycles to `commit`, 8 to `sample`. Throughput: one event per cycle, of any slots.
    Cost at 1024 slots (ECP5): 8 DP16KD.

    Parameters
    ----------
    slots : int
        Queue pairs.
    spaced : bool
        An event stays for `SAMPLE_LATENCY` more cycles, and in these there is no other: it and its
        row are looked at where they are, and what serves events that follow each other is left out.

    senders, acks : bool
        As `commit_layout`.

    Members
    -------
    mtu_stb : In(1)
        Host: write the path MTU of slot `mtu_slot`; 1024 bytes at power-up.
    mtu_slot : In(range(slots))
    mtu_log2 : In(4)
        8..12 for 256..4096 bytes; any other number stands for 4096.
    timeout : In(32)
        Ticks after which a timed packet is given up; 0: never.
    floor : In(16)
        Ticks that a sample is longer than, or T2 - T1 is refused.
    i_stb : In(1)
        Take `i`.
    i : In(event_layout(slots))
    commit_stb : Out(1)
        `i_stb`, 6 cycles later.
    commit : Out(commit_layout(slots))
    sample_stb : Out(1)
        8 cycles after `i_stb`, if the event completes a sample.
    sample_slot : Out(range(slots))
    sample_rtt : Out(24)
        Ticks, saturated.
    sample_t : Out(40)
        The event's time.
    """

    LATENCY = 6
    SAMPLE_LATENCY = 8

    def __init__(
        self, slots: int, *, spaced: bool = False, senders: bool = False, acks: bool = False
    ) -> None:
        self._slots, self._spaced, self._senders, self._acks = slots, spaced, senders, acks
        super().__init__(
            {
                "mtu_stb": In(1),
                "mtu_slot": In(range(slots)),
                "mtu_log2": In(MTU_BITS),
                "timeout": In(32),
                "floor": In(FLOOR_BITS),
                "i_stb": In(1),
                "i": In(event_layout(slots, senders=senders, acks=acks)),
                "commit_stb": Out(1),
                "commit": Out(commit_layout(slots, senders=senders, acks=acks)),
                "sample_stb": Out(1),
                "sample_slot": Out(range(slots)),
                "sample_rtt": Out(Fmt.RTT.width),
                "sample_t": Out(Fmt.TIME.width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Event and its validity in every cycle; what is not used of them costs nothing.
        e, valid = [self.i], [self.i_stb]
        for n in range(1, self.SAMPLE_LATENCY + 1):
            valid.append(Signal(name=f"valid{n}"))
            if self._spaced:
                e.append(self.i)
                m.d.sync += valid[n].eq(valid[n - 1])
                continue
            e.append(Signal(self.i.shape(), name=f"e{n}"))
            m.d.sync += [e[n].eq(e[n - 1]), valid[n].eq(valid[n - 1])]

        # Numbers of the event alone. `psn` in cycle 4 is what an answer acknowledges; `acks` is so,
        # too, and of a queue pair's first request the PSN before it, which counts as acknowledged.
        psns = Signal(_PSNS)
        taken_off = Signal(NUMBER_BITS + 1)
        span, more = self._span(m, e)
        m.d.sync += [
            psns.behind.eq(e[3].psn + span + more),
            psns.psn.eq(e[3].psn - ((e[3].kind == EventKind.RX) & e[3].flag)),
            psns.acks.eq(e[3].psn - ((e[3].kind == EventKind.TX) | e[3].flag)),
            psns.due.eq(e[3].t - self.timeout),
            taken_off.eq(e[2].number + self.floor),
            psns.left.eq(e[3].t - taken_off),
        ]

        if self._spaced:
            outcome, row, new, does, stale = self._alone(m, e, valid, psns)
            self._finish(m, e, valid, outcome, row)
            if self._acks:
                self._tell(m, e, valid, psns.psn, outcome, row, new, does, stale)
            return m

        # Rows: read in cycle 1, written in cycle 6.
        m.submodules.rows = rows = plain_memory(_STATE, self._slots)
        write, read = rows.write_port(), rows.read_port()
        word, row4, row5 = (Signal(_STATE, name=n) for n in ("word", "row4", "row5"))
        done = [Signal(_STATE, name=f"done{n}") for n in (6, 7, 8)]
        same = [Signal(5, name=f"same{n}") for n in (2, 3, 4)]  # bit n: as n + 1 cycles ahead
        m.d.comb += [
            read.addr.eq(e[1].slot),
            write.en.eq(valid[6]),
            write.addr.eq(e[6].slot),
            write.data.eq(done[0]),
        ]
        ahead = Cat(valid[2 + n] & (e[2 + n].slot == e[1].slot) for n in range(5))
        m.d.sync += [
            same[0].eq(ahead),
            same[1].eq(same[0]),
            same[2].eq(same[1]),
            done[1].eq(done[0]),
            done[2].eq(done[1]),
            word.eq(read.data),  # a block RAM's output is late; it gets a register of its own
            row4.eq(_first([(same[1][2 + n], done[n]) for n in range(3)], word)),
        ]

        # Cycle 4: on a circle, the half behind is negative. Against the row and the event ahead.
        base = Signal(_STATE)
        signs, signs_ahead, signs5 = (
            Signal(_SIGNS, name=n) for n in ("signs", "signs_ahead", "signs5")
        )
        psns5 = Signal(_PSNS)
        together = same[2][0]
        m.d.comb += base.eq(_first([(together, row5), (same[2][1], done[0])], row4))
        limited = self.timeout != 0
        ahead = Signal(_STATE)  # what the event ahead makes of the row, if it does
        m.d.comb += self._replaced(ahead, e[5], psns5)
        for out, row in ((signs, base), (signs_ahead, ahead)):
            _compare(m, out, e[4].t, psns, row, limited)

        # Cycle 5: the decision, and its effect on the row of the next event.
        new, outcome, does = Signal(_STATE), Signal(len(Outcome)), Signal(_DOES)
        self._decide(m, e[5], row5, signs5, psns5.psn, outcome, new, does)
        m.d.comb += self._changed(new, row5, ahead, does)
        starting, advancing, acking = (
            together & did for did in (does.starts, does.advances, does.acks)
        )
        m.d.sync += [
            psns5.eq(psns),
            done[0].eq(new),
            row5.seen.eq(Mux(together, new.seen, base.seen)),
            row5.timed.eq(Mux(together, new.timed, base.timed)),
            row5.next.eq(Mux(advancing, ahead.next, base.next)),
            row5.psn.eq(Mux(starting, ahead.psn, base.psn)),
            row5.t0.eq(Mux(starting, ahead.t0, base.t0)),
            row5.acked.eq(Mux(acking, ahead.acked, base.acked)),
            signs5.early.eq(Mux(starting, signs_ahead.early, signs.early)),
            signs5.expired.eq(Mux(starting, signs_ahead.expired, signs.expired)),
            signs5.repeats.eq(Mux(advancing, signs_ahead.repeats, signs.repeats)),
            signs5.before.eq(Mux(starting, signs_ahead.before, signs.before)),
            signs5.lies.eq(Mux(starting, signs_ahead.lies, signs.lies)),
            signs5.stale.eq(Mux(acking, signs_ahead.stale, signs.stale)),
        ]

        self._finish(m, e, valid, outcome, row5)
        if self._acks:
            self._tell(m, e, valid, psns5.psn, outcome, row5, new, does, signs5.stale)
        return m

    def _alone(
        self,
        m: Module,
        e: list[data.View],
        valid: list[Signal],
        psns: data.View,
    ) -> tuple[Signal, data.View, data.View, data.View, Value]:
        """What an event finds in its row that meets no other: both stay, and so do the numbers."""
        m.d.sync += Assert(
            ~valid[0] | ~Cat(valid[1 : self.SAMPLE_LATENCY + 1]).any(), "events are apart"
        )
        m.submodules.rows = rows = plain_memory(_STATE, self._slots)
        write, read = rows.write_port(), rows.read_port()
        row, new, outcome = read.data, Signal(_STATE), Signal(len(Outcome))
        signs, signs5 = Signal(_SIGNS), Signal(_SIGNS)
        does, replaced = Signal(_DOES), Signal(_STATE)
        _compare(m, signs, self.i.t, psns, row, self.timeout != 0)
        m.d.sync += signs5.eq(signs)
        self._decide(m, self.i, row, signs5, psns.psn, outcome, new, does)
        m.d.comb += [
            *self._replaced(replaced, self.i, psns),
            *self._changed(new, row, replaced, does),
            read.addr.eq(self.i.slot),
            write.addr.eq(self.i.slot),
            write.en.eq(valid[5]),
            write.data.eq(new),
        ]
        return outcome, row, new, does, signs5.stale

    @staticmethod
    def _replaced(row: data.View, event: data.View, psns: data.View) -> list[object]:
        """What an event puts into a row, where it does."""
        return [
            row.next.eq(psns.behind),
            row.psn.eq(event.psn),
            row.t0.eq(event.t),
            row.acked.eq(psns.acks),
        ]

    @staticmethod
    def _changed(
        new: data.View, row: data.View, replaced: data.View, does: data.View
    ) -> list[object]:
        """A row after an event, but for the bits that `_decide` sets."""
        return [
            new.next.eq(Mux(does.advances, replaced.next, row.next)),
            new.psn.eq(Mux(does.starts, replaced.psn, row.psn)),
            new.t0.eq(Mux(does.starts, replaced.t0, row.t0)),
            new.acked.eq(Mux(does.acks, replaced.acked, row.acked)),
        ]

    def _span(self, m: Module, e: list[data.View]) -> tuple[Signal, Signal]:
        """PSNs that an event occupies, in two parts, in cycle 3."""
        m.submodules.mtu = mtu = RowMemory(MTU_BITS, self._slots, [_DEFAULT_MTU_LOG2] * self._slots)
        m.d.comb += [
            mtu.write_stb.eq(self.mtu_stb),
            mtu.write_row.eq(self.mtu_slot),
            mtu.write_data.eq(self.mtu_log2),
            mtu.read_row.eq(self.i.slot),
        ]
        span, more = Signal(PSN_BITS), Signal()  # whole packets; one more
        number = e[2].number
        m.d.sync += [span.eq(0), more.eq(1)]
        with m.If(e[2].counts), m.Switch(mtu.read_data):
            for log2 in _MTU_LOG2:
                with m.Default() if log2 == _MTU_LOG2[-1] else m.Case(log2):
                    whole = number[log2:]
                    m.d.sync += [span.eq(whole), more.eq(number[:log2].any() | (number == 0))]
        return span, more

    def _decide(
        self,
        m: Module,
        event: data.View,
        row: data.View,
        signs: data.View,
        psn: Signal,
        outcome: Signal,
        new: data.View,
        does: data.View,
    ) -> None:
        """`sent`, `answered`, `swept` and the reset, in cycle 5."""
        did = {bit: outcome[n] for n, bit in enumerate(Outcome)}
        gives_up = row.timed & signs.expired
        m.d.comb += [new.seen.eq(row.seen), new.timed.eq(row.timed & ~signs.expired)]
        with m.Switch(event.kind):
            with m.Case(EventKind.TX):
                repeats, still = row.seen & signs.repeats, row.timed & ~signs.expired
                m.d.comb += [
                    does.advances.eq(~repeats),
                    does.starts.eq(~repeats & ~still & event.flag),
                    does.acks.eq(~row.seen),
                    new.seen.eq(1),
                    new.timed.eq(~repeats & (still | event.flag)),
                    did[Outcome.STARTED].eq(does.starts),
                    did[Outcome.DROPPED_RETRANSMISSION].eq(repeats & still),
                    did[Outcome.DROPPED_TIMEOUT].eq(gives_up),
                ]
            with m.Case(EventKind.RX):
                flies = row.seen & signs.repeats & ~signs.stale
                alive = row.timed & ~signs.expired & ~signs.early & flies
                taken = alive & ~signs.before
                refused = alive & signs.before & event.flag
                m.d.comb += [
                    does.acks.eq(flies),
                    new.timed.eq(row.timed & ~signs.expired & ~taken & ~refused),
                    did[Outcome.SAMPLE].eq(taken),
                    did[Outcome.COALESCED].eq(taken & (psn != row.psn)),
                    did[Outcome.CORRECTED].eq(taken & event.counts & ~signs.lies),
                    did[Outcome.REFUSED_TURNAROUND].eq(taken & event.counts & signs.lies),
                    did[Outcome.REFUSED_PSN].eq(~flies),
                    did[Outcome.DROPPED_NAK].eq(refused),
                    did[Outcome.DROPPED_TIMEOUT].eq(gives_up),
                ]
            with m.Case(EventKind.SWEEP):
                m.d.comb += [
                    did[Outcome.DROPPED_TIMEOUT].eq(gives_up),
                    did[Outcome.SWEPT].eq(gives_up),
                ]
            with m.Case(EventKind.RESET):
                m.d.comb += [
                    new.seen.eq(0),
                    new.timed.eq(0),
                    did[Outcome.FORGOTTEN].eq(row.timed & ~event.flag),
                ]
            with m.Case(EventKind.SCORE):
                m.d.comb += new.timed.eq(row.timed)

    def _tell(
        self,
        m: Module,
        e: list[data.View],
        valid: list[Signal],
        psn: Value,
        outcome: Signal,
        row: data.View,
        new: data.View,
        does: data.View,
        stale: Value,
    ) -> None:
        """Cycles 5 and 6: the facts of acknowledgements."""
        ack, event = self.commit.ack, e[5]
        did = dict(zip(Outcome, outcome, strict=True))
        answers = valid[5] & (event.kind == EventKind.RX) & ~did[Outcome.REFUSED_PSN]
        # An answer's PSN is the one before what a NAK names; a request's is its own.
        repeats = valid[5] & (event.kind == EventKind.TX) & ~does.advances
        named = answers & (event.psn != row.next)
        m.d.sync += [
            ack.lost.eq((repeats & ~stale & (psn != row.acked)) | (named & event.lacks)),
            ack.busy.eq(named & event.busy),
            ack.answers.eq(answers),
            ack.new.eq(valid[5] & does.advances),
            ack.fresh.eq(answers & event.plain & (psn != row.acked)),
            ack.acked.eq(new.acked),
            ack.next.eq(new.next),
        ]
        m.d.comb += [ack[name].eq(e[6][name]) for name in ("psn", "number", "counts", "mark")]

    def _finish(
        self, m: Module, e: list[data.View], valid: list[Signal], outcome: Signal, row: data.View
    ) -> None:
        """Cycles 5 to 8: the sample in ticks."""
        elapsed, net = Signal(Fmt.TIME.width), Signal(Fmt.TIME.width)
        is_sample = Signal(2)
        did = dict(zip(Outcome, self.commit.outcome, strict=True))
        brings = (e[6].kind == EventKind.SCORE) | (e[6].kind == EventKind.RX)
        heard = valid[6] & brings & ~did[Outcome.REFUSED_PSN]
        m.d.sync += [
            self.commit.outcome.eq(outcome & valid[5].replicate(len(outcome))),
            elapsed.eq(e[5].t - row.t0),
            net.eq(elapsed - Mux(did[Outcome.CORRECTED], e[6].number, 0)),
            is_sample.eq(Cat(did[Outcome.SAMPLE], is_sample)),
        ]
        with m.If(net[Fmt.RTT.width :].any()):
            m.d.sync += self.sample_rtt.eq(Fmt.RTT.max)
        with m.Else():
            m.d.sync += self.sample_rtt.eq(net)
        m.d.comb += [
            self.commit_stb.eq(valid[6]),
            self.commit.kind.eq(e[6].kind),
            self.commit.slot.eq(e[6].slot),
            self.commit.t.eq(e[6].t),
            self.commit.score.value.eq(e[6].score.value),
            *(
                self.commit[name].valid.eq(heard & e[6][name].valid)
                for name in ("score", "senders")[: 1 + self._senders]
            ),
            *([self.commit.senders.value.eq(e[6].senders.value)] if self._senders else []),
            self.sample_stb.eq(is_sample[-1]),
            self.sample_slot.eq(e[8].slot),
            self.sample_t.eq(e[8].t),
        ]


def _compare(
    m: Module, out: data.View, t: Value, psns: data.View, row: data.View, limited: Value
) -> None:
    """`_SIGNS` of an event's numbers against those of a row or of an event ahead."""
    top = Fmt.TIME.width - 1
    early = (t - row.t0)[top]
    m.d.comb += [
        out.early.eq(early),
        out.expired.eq(~early & ~(psns.due - row.t0)[top] & limited),
        out.repeats.eq((psns.psn - row.next)[PSN_BITS - 1]),
        out.before.eq((psns.psn - row.psn)[PSN_BITS - 1]),
        out.stale.eq((psns.psn - row.acked)[PSN_BITS - 1]),
        out.lies.eq((psns.left + ~row.t0)[top]),  # left - T0 - 1
    ]


def _first(choices: list[tuple[Value, data.View]], otherwise: data.View) -> Value:
    """The value of the first choice whose condition holds."""
    chosen = Value.cast(otherwise)
    for condition, value in reversed(choices):
        chosen = Mux(condition, Value.cast(value), chosen)
    return chosen
