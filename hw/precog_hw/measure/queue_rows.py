"""The rows of all queues, and what every event does to one of them."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate, plain_memory
from precog_spec.contract import PROFILE_INPUTS, Fmt, QueueEvent

from .queue_layouts import (
    EVERY_BITS,
    PERIOD_BITS,
    QUEUE_VALUES,
    queue_event_layout,
    raw_sample_layout,
)

__all__ = ["QueueRows"]

_WORD_BITS = 32
_TIME_BITS = Fmt.TIME.width

#: What adds up.
_SUMS = data.StructLayout(
    {
        **{name: QUEUE_VALUES[name].shape for name in ("occupancy", "arrivals", "departures")},
        **{name: QUEUE_VALUES[name].shape for name in ("bytes_in", "bytes_out")},
        **dict.fromkeys(("last_arrival", "start"), _TIME_BITS),
        "seen": 1,
    }
)
#: What is derived from that.
_MEASURES = data.StructLayout(
    {
        **{name: QUEUE_VALUES[name].shape for name in ("inter_arrival", "service", "size")},
        "peak": QUEUE_VALUES["peak"].shape,
        "since": EVERY_BITS,
    }
)


def _shared(layout: data.StructLayout) -> list[str]:
    """What the host reads of a part of the row."""
    return [name for name, _ in QUEUE_VALUES if name in layout.members]


def _short(ticks: Value) -> Value:
    """Saturated to a word."""
    return ticks[:_WORD_BITS] | ticks[_WORD_BITS:].any().replicate(_WORD_BITS)


class _Events:
    """The events of cycles 0 to 5, which kinds they are of, and what one cycle leaves for later.

    A number in a name is of the cycle in which it stands.
    """

    def __init__(self, m: Module, i: data.View, stb: Signal, wipes: Signal, cycles: int) -> None:
        self._m = m
        self._known: dict[str, Signal] = {}
        self.e = [i, *(Signal.like(i, name=f"e{n}") for n in range(1, cycles))]
        self.valid = [stb, *(Signal(name=f"valid{n}") for n in range(1, cycles))]
        self.wipes = [wipes, *(Signal(name=f"wipes{n}") for n in range(1, cycles))]
        for line in (self.e, self.valid, self.wipes):
            m.d.sync += [late.eq(early) for early, late in pairwise(line)]
        # Cycle 4.
        self.inter = Signal(_TIME_BITS)  # ticks since the arrival before
        self.service = Signal(_TIME_BITS)  # ticks of the service that ends
        self.inters = Signal()  # `inter` counts
        self.serves = Signal()  # `service` counts
        self.watched4 = Signal()
        self.occupancy4 = Signal(_WORD_BITS)
        # Strobes of 200 registers each, so they are registers themselves.
        self.shows4 = Signal()
        self.done4 = Signal()
        # Cycle 5.
        self.occupancy = Signal(_WORD_BITS)
        self.shows5 = Signal()
        self.done5 = Signal()
        self.fills = Signal()  # the event is the last one of a sample of arrivals and departures

    def known(self, n: int, *kinds: QueueEvent) -> Signal:
        """The event in cycle `n` is of one of these kinds."""
        name = f"{'_'.join(kind.name.lower() for kind in kinds)}{n}"
        if name not in self._known:
            found = self._known[name] = Signal(name=name)
            self._m.d.sync += found.eq(Cat(self.e[n - 1].kind == kind for kind in kinds).any())
        return self._known[name]


class QueueRows(wiring.Component):
    """Events in, rows changed, samples and numbers out.

    ::

        cycle    0       3                  4                 5                6
        i ─┬─► sums ─► add, subtract ─► saturate ───────► measures ─┬──► o_stb, o
           │                                                 ▲      └──► read_done, values
           └─► time of the last sample ─► elapsed ─► compare ┘
                                3            4          5

    The rows are cut where a number is needed that another one is made of: each part is changed in
    one cycle, so that an event may follow the other in every cycle, of any queue pair. The golden
    model is `precog_models.measure.profiler`.

    Latency: 6 cycles from `i_stb` to `o_stb` and `read_done`. Throughput: one event per cycle; of a
    queue pair one VISIT in 6. Cost at 1024 queue pairs (ECP5): 27 DP16KD; see `Profiler`.

    Parameters
    ----------
    qps : int
        Power of two, 2 or more.

    Members
    -------
    i_stb : In(1)
    i : In(queue_event_layout(qps))
        Of any kind; READ shows the row that it finds, and CLEAR without a size.
    wipes : In(1)
        With `i_stb`: all of the row becomes zero instead.
    period : In(32)
        Ticks between samples of visits; 0: none.
    every : In(16)
        Arrivals and departures between samples of these; 0: none.
    o_stb : Out(1)
    o : Out(raw_sample_layout(qps))
        A sample.
    read_done : Out(1)
        `values` is new.
    values : Out(QUEUE_VALUES)
        Numbers of one instant; valid from `read_done` to the next event that shows a row.
    """

    LATENCY = 6

    i: data.View
    o: data.View
    values: data.View

    def __init__(self, qps: int) -> None:
        self._qps = qps
        super().__init__(
            {
                "i_stb": In(1),
                "i": In(queue_event_layout(qps)),
                "wipes": In(1),
                "period": In(PERIOD_BITS),
                "every": In(EVERY_BITS),
                "o_stb": Out(1),
                "o": Out(raw_sample_layout(qps)),
                "read_done": Out(1),
                "values": Out(QUEUE_VALUES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Events(m, self.i, self.i_stb, self.wipes, self.LATENCY)
        m.submodules.sums = sums = RowUpdate(_SUMS, self._qps)
        m.submodules.measures = measures = RowUpdate(_MEASURES, self._qps)
        m.d.comb += [
            sums.i_stb.eq(at.valid[0]),
            sums.i_row.eq(at.e[0].qp),
            measures.i_stb.eq(at.valid[2]),
            measures.i_row.eq(at.e[2].qp),
        ]
        self._add(m, at, sums.old, sums.new)
        self._keep(m, at, sums.old, sums.new)
        self._derive(m, at, measures.old, measures.new)
        self._tell(m, at, measures.old, measures.new)
        return m

    def _add(self, m: Module, at: _Events, old: data.View, new: data.View) -> None:
        """Cycle 3: occupancy, counts, bytes and times of the row, after the event."""
        arrival, departure = at.known(3, QueueEvent.ARRIVAL), at.known(3, QueueEvent.DEPARTURE)
        resets, clears = at.known(3, QueueEvent.RESET), at.known(3, QueueEvent.CLEAR)
        coming, leaving, operand = (Signal(_WORD_BITS, name=n) for n in ("in3", "out3", "operand3"))
        for number, kind in ((coming, QueueEvent.ARRIVAL), (leaving, QueueEvent.DEPARTURE)):
            m.d.sync += number.eq(Mux(at.e[2].kind == kind, at.e[2].size, 0))
        m.d.sync += operand.eq(at.e[2].size ^ (at.e[2].kind == QueueEvent.DEPARTURE).replicate(32))
        some = old.occupancy.any()
        total = Signal(_WORD_BITS + 1)
        m.d.comb += total.eq((Cat(1, old.occupancy) + Cat(departure, operand)) >> 1)
        carry = total[-1].replicate(_WORD_BITS)  # too much, or enough for what departs
        with m.If(~at.wipes[3]):
            m.d.comb += new.eq(old)
            with m.If(arrival):
                m.d.comb += new.occupancy.eq(total[:_WORD_BITS] | carry)
            with m.If(departure):
                m.d.comb += new.occupancy.eq(total[:_WORD_BITS] & carry)
            with m.If(resets):
                m.d.comb += new.occupancy.eq(0)
            m.d.comb += new.seen.eq((old.seen | arrival) & ~resets)
            with m.If(arrival):
                m.d.comb += new.last_arrival.eq(at.e[3].t)
            with m.If(Mux(some, departure, arrival)):
                m.d.comb += new.start.eq(at.e[3].t)
            m.d.comb += [
                new.arrivals.eq(Mux(clears, 0, old.arrivals + arrival)),
                new.departures.eq(Mux(clears, 0, old.departures + departure)),
                new.bytes_in.eq(Mux(clears, 0, old.bytes_in + coming)),
                new.bytes_out.eq(Mux(clears, 0, old.bytes_out + leaving)),
            ]

    def _keep(self, m: Module, at: _Events, old: data.View, new: data.View) -> None:
        """Cycle 4: what the measures need of the sums; a read shows the sums that it found."""
        arrival, departure = at.known(3, QueueEvent.ARRIVAL), at.known(3, QueueEvent.DEPARTURE)
        periodic = Signal()
        reads3 = at.known(3, QueueEvent.READ, QueueEvent.CLEAR)
        m.d.sync += [
            at.inter.eq(at.e[3].t - old.last_arrival),
            at.service.eq(at.e[3].t - old.start),
            at.inters.eq(arrival & old.seen),
            at.serves.eq(departure & old.occupancy.any()),
            at.watched4.eq(old.seen & periodic),
            periodic.eq(self.period != 0),
            at.occupancy4.eq(new.occupancy),
            at.occupancy.eq(at.occupancy4),
            at.shows4.eq(at.valid[3] & reads3 & ~at.e[3].size[0]),
            at.shows5.eq(at.shows4),
            at.done4.eq(at.valid[3] & reads3),
            at.done5.eq(at.done4),
        ]
        read = Signal(_SUMS)
        m.d.sync += read.eq(old)
        with m.If(at.shows4):
            m.d.sync += [self.values[name].eq(read[name]) for name in _shared(_SUMS)]

    def _derive(self, m: Module, at: _Events, old: data.View, new: data.View) -> None:
        """Cycle 5: times between arrivals, of service, the peak; whether a sample is full."""
        arrival, departure = at.known(5, QueueEvent.ARRIVAL), at.known(5, QueueEvent.DEPARTURE)
        resets, clears = at.known(5, QueueEvent.RESET), at.known(5, QueueEvent.CLEAR)
        short_inter, short_service = Signal(_WORD_BITS), Signal(_WORD_BITS)
        inters5, serves5 = Signal(), Signal()
        m.d.sync += [
            short_inter.eq(_short(at.inter)),
            short_service.eq(_short(at.service)),
            inters5.eq(at.inters),
            serves5.eq(at.serves),
        ]
        counts, last, on = Signal(), Signal(EVERY_BITS), Signal()
        m.d.sync += [last.eq(self.every - 1), on.eq(self.every != 0)]
        m.d.comb += [
            counts.eq(arrival | departure),
            at.fills.eq(counts & on & (old.since >= last)),
        ]
        with m.If(~at.wipes[5] & ~resets):
            m.d.comb += [
                new.inter_arrival.eq(Mux(inters5, short_inter, old.inter_arrival)),
                new.service.eq(Mux(serves5, short_service, old.service)),
                new.size.eq(Mux(arrival, at.e[5].size, old.size)),
                new.since.eq(old.since),
            ]
            with m.If(counts):
                m.d.comb += new.since.eq(Mux(at.fills | ~on, 0, old.since + 1))
        with m.If(~at.wipes[5]):
            m.d.comb += new.peak.eq(Mux(clears | (at.occupancy > old.peak), at.occupancy, old.peak))

    def _tell(self, m: Module, at: _Events, old: data.View, new: data.View) -> None:
        """Cycle 6: a sample that is full or due; a read shows the measures that it found."""
        visits, watched = at.known(5, QueueEvent.VISIT), Signal()
        m.d.sync += watched.eq(at.watched4)
        due = self._visit(m, at.e, at.valid[5] & (visits | at.wipes[5]), at.wipes[5], watched)
        m.d.sync += [
            self.o_stb.eq(at.valid[5] & ~at.wipes[5] & (at.fills | (visits & due))),
            self.o.qp.eq(at.e[5].qp),
            self.o.t.eq(at.e[5].t),
            self.o.numbers.occupancy.eq(at.occupancy),
            *(self.o.numbers[name].eq(new[name]) for name in PROFILE_INPUTS[1:]),
            self.read_done.eq(at.done5),
        ]
        with m.If(at.shows5):
            m.d.sync += [self.values[name].eq(old[name]) for name in _shared(_MEASURES)]

    def _visit(
        self, m: Module, e: list[data.View], writes: Value, wipes: Value, watched: Signal
    ) -> Value:
        """In cycle 5: a VISIT finds that a sample is due."""
        m.submodules.times = times = plain_memory(unsigned(_TIME_BITS), self._qps)
        write, read = times.write_port(), times.read_port()
        sampled, before, elapsed = (
            Signal(_TIME_BITS, name=n) for n in ("sampled", "before", "elapsed")
        )
        following, over, twice = Signal(_TIME_BITS), Signal(), Signal()
        m.d.sync += [
            sampled.eq(read.data),  # cycle 2
            elapsed.eq(e[2].t - sampled),
            before.eq(sampled),
            over.eq(elapsed >= self.period),
            twice.eq(elapsed >= self.period << 1),
            following.eq(before + self.period),
        ]
        # `elapsed` and its comparisons stand in cycles 3 and 4; they are needed in cycle 5.
        over5, twice5, following5 = Signal(), Signal(), Signal(_TIME_BITS)
        m.d.sync += [over5.eq(over), twice5.eq(twice), following5.eq(following)]
        m.d.comb += [
            read.addr.eq(e[0].qp),
            write.addr.eq(e[5].qp),
            write.en.eq(writes & (wipes | ~watched | over5)),
            write.data.eq(Mux(watched & ~twice5, following5, e[5].t)),
        ]
        with m.If(wipes):
            m.d.comb += write.data.eq(0)
        return watched & over5
