"""The rows of all queues, and what every event does to one of them."""

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
        # The event in cycles 0 to 5.
        e = [self.i, *(Signal.like(self.i, name=f"e{n}") for n in range(1, self.LATENCY))]
        valid = [self.i_stb, *(Signal(name=f"valid{n}") for n in range(1, self.LATENCY))]
        wipes = [self.wipes, *(Signal(name=f"wipes{n}") for n in range(1, self.LATENCY))]
        for n in range(1, self.LATENCY):
            m.d.sync += [e[n].eq(e[n - 1]), valid[n].eq(valid[n - 1]), wipes[n].eq(wipes[n - 1])]

        def known(n: int, *kinds: QueueEvent) -> Signal:
            """The event in cycle `n` is of one of these kinds."""
            name = f"{'_'.join(kind.name.lower() for kind in kinds)}{n}"
            found = Signal(name=name)
            m.d.sync += found.eq(Cat(e[n - 1].kind == kind for kind in kinds).any())
            return found

        m.submodules.sums = sums = RowUpdate(_SUMS, self._qps)
        m.submodules.measures = measures = RowUpdate(_MEASURES, self._qps)
        m.d.comb += [
            sums.i_stb.eq(valid[0]),
            sums.i_row.eq(e[0].qp),
            measures.i_stb.eq(valid[2]),
            measures.i_row.eq(e[2].qp),
        ]

        # Cycle 3.
        arrival, departure = known(3, QueueEvent.ARRIVAL), known(3, QueueEvent.DEPARTURE)
        resets, clears = known(3, QueueEvent.RESET), known(3, QueueEvent.CLEAR)
        coming, leaving, operand = (Signal(_WORD_BITS, name=n) for n in ("in3", "out3", "operand3"))
        for number, kind in ((coming, QueueEvent.ARRIVAL), (leaving, QueueEvent.DEPARTURE)):
            m.d.sync += number.eq(Mux(e[2].kind == kind, e[2].size, 0))
        m.d.sync += operand.eq(e[2].size ^ (e[2].kind == QueueEvent.DEPARTURE).replicate(32))
        old, new = sums.old, sums.new
        some = old.occupancy.any()
        total = Signal(_WORD_BITS + 1)
        m.d.comb += total.eq((Cat(1, old.occupancy) + Cat(departure, operand)) >> 1)
        carry = total[-1].replicate(_WORD_BITS)  # too much, or enough for what departs
        with m.If(~wipes[3]):
            m.d.comb += new.eq(old)
            with m.If(arrival):
                m.d.comb += new.occupancy.eq(total[:_WORD_BITS] | carry)
            with m.If(departure):
                m.d.comb += new.occupancy.eq(total[:_WORD_BITS] & carry)
            with m.If(resets):
                m.d.comb += new.occupancy.eq(0)
            m.d.comb += new.seen.eq((old.seen | arrival) & ~resets)
            with m.If(arrival):
                m.d.comb += new.last_arrival.eq(e[3].t)
            with m.If(Mux(some, departure, arrival)):
                m.d.comb += new.start.eq(e[3].t)
            m.d.comb += [
                new.arrivals.eq(Mux(clears, 0, old.arrivals + arrival)),
                new.departures.eq(Mux(clears, 0, old.departures + departure)),
                new.bytes_in.eq(Mux(clears, 0, old.bytes_in + coming)),
                new.bytes_out.eq(Mux(clears, 0, old.bytes_out + leaving)),
            ]

        # Cycle 4.
        inter, service = Signal(_TIME_BITS), Signal(_TIME_BITS)
        inters, serves, watched4, periodic = Signal(), Signal(), Signal(), Signal()
        occupancy4, occupancy = Signal(_WORD_BITS), Signal(_WORD_BITS)
        # Strobes of 200 registers each, so they are registers themselves.
        shows4, shows5, done4, done5 = Signal(), Signal(), Signal(), Signal()
        reads3 = known(3, QueueEvent.READ, QueueEvent.CLEAR)
        m.d.sync += [
            inter.eq(e[3].t - old.last_arrival),
            service.eq(e[3].t - old.start),
            inters.eq(arrival & old.seen),
            serves.eq(departure & some),
            watched4.eq(old.seen & periodic),
            periodic.eq(self.period != 0),
            occupancy4.eq(new.occupancy),
            occupancy.eq(occupancy4),
            shows4.eq(valid[3] & reads3 & ~e[3].size[0]),
            shows5.eq(shows4),
            done4.eq(valid[3] & reads3),
            done5.eq(done4),
        ]
        read = Signal(_SUMS)
        m.d.sync += read.eq(old)
        with m.If(shows4):
            m.d.sync += [self.values[name].eq(read[name]) for name in _shared(_SUMS)]

        # Cycle 5.
        visits, watched = known(5, QueueEvent.VISIT), Signal()
        m.d.sync += watched.eq(watched4)
        due = self._visit(m, e, valid[5] & (visits | wipes[5]), wipes[5], watched)
        arrival, departure = known(5, QueueEvent.ARRIVAL), known(5, QueueEvent.DEPARTURE)
        resets, clears = known(5, QueueEvent.RESET), known(5, QueueEvent.CLEAR)
        short_inter, short_service = Signal(_WORD_BITS), Signal(_WORD_BITS)
        inters5, serves5 = Signal(), Signal()
        m.d.sync += [
            short_inter.eq(_short(inter)),
            short_service.eq(_short(service)),
            inters5.eq(inters),
            serves5.eq(serves),
        ]
        old, new = measures.old, measures.new
        counts, fills, last, on = Signal(), Signal(), Signal(EVERY_BITS), Signal()
        m.d.sync += [last.eq(self.every - 1), on.eq(self.every != 0)]
        m.d.comb += [
            counts.eq(arrival | departure),
            fills.eq(counts & on & (old.since >= last)),
        ]
        with m.If(~wipes[5] & ~resets):
            m.d.comb += [
                new.inter_arrival.eq(Mux(inters5, short_inter, old.inter_arrival)),
                new.service.eq(Mux(serves5, short_service, old.service)),
                new.size.eq(Mux(arrival, e[5].size, old.size)),
                new.since.eq(old.since),
            ]
            with m.If(counts):
                m.d.comb += new.since.eq(Mux(fills | ~on, 0, old.since + 1))
        with m.If(~wipes[5]):
            m.d.comb += new.peak.eq(Mux(clears | (occupancy > old.peak), occupancy, old.peak))

        # Cycle 6.
        m.d.sync += [
            self.o_stb.eq(valid[5] & ~wipes[5] & (fills | (visits & due))),
            self.o.qp.eq(e[5].qp),
            self.o.t.eq(e[5].t),
            self.o.numbers.occupancy.eq(occupancy),
            *(self.o.numbers[name].eq(new[name]) for name in PROFILE_INPUTS[1:]),
            self.read_done.eq(done5),
        ]
        with m.If(shows5):
            m.d.sync += [self.values[name].eq(old[name]) for name in _shared(_MEASURES)]
        return m

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
