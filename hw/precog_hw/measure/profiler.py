"""Queue Behavior Profiler (`000` section 1): what each queue pair's send queue is doing.

Rules and numbers are those of `precog_models.measure.profiler`.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.latest import Latest
from precog_spec.contract import Fmt, QueueEvent

from .normaliser import Normaliser
from .queue_layouts import (
    CENTERS,
    EVERY_BITS,
    GAINS,
    PERIOD_BITS,
    QUEUE_VALUES,
    profile_layout,
    queue_event_layout,
    queue_read_layout,
    raw_sample_layout,
)
from .queue_rows import QueueRows

__all__ = ["Profiler"]

_VISIT_CYCLES = 4  # from one visit to the next: with two queue pairs QueueRows needs 3


class Profiler(wiring.Component):
    """Events of send queues in, samples of the queues out.

    ::

        i ──────┐
        i_read ─┼─► rows ─► last sample of every queue pair ─► normaliser ─► o
        visits ─┘    └────► values

    An event never waits. A read takes a cycle without an event, a visit one with neither: in turn
    each queue pair is visited, while there is a period. A sample that the taker of `o` is too slow
    for is replaced by the next one of its queue pair, and counted.

    Parameters hold for what happens 6 cycles later; a visit of before may miss its sample.

    Latency: 7 cycles from an event's transfer to a read's numbers of it, 25 to its sample when no
    other waits. Throughput: an event per cycle, of any queue pairs; a visit in 4 cycles, 4 `qps`
    cycles for all; a sample in 12. After a reset it takes events after `qps` cycles. Cost at 1024
    queue pairs (ECP5): 38 DP16KD, 5300 LUT4, carry and LUT RAM, 3750 flip-flops, 1 multiplier.
    `profiler_serial` has a smaller form.

    Parameters
    ----------
    qps : int
        Power of two, 2 or more.
    dsp : str
        `NicConfig.dsp`.
    shared : bool
        With `idle`.

    Members
    -------
    i : In(stream.Signature(queue_event_layout(qps)))
        Arrivals, departures and resets; what is of another kind is ignored. Ready but for the
        `qps` cycles after reset.
    now : In(40)
        Ticks.
    period, every, centers, gains : In
        As `QueueRows` and `Normaliser` have them.
    i_read : In(stream.Signature(queue_read_layout(qps)))
        Host: show the numbers; with `clear`, counts and peak start again, and no event is lost. One
        at a time: not ready before `read_done`.
    read_done : Out(1)
        7 cycles after the transfer.
    values : Out(QUEUE_VALUES)
        Numbers of one instant, from `read_done` to the next read that is not silent.
    o : Out(stream.Signature(profile_layout(qps)))
        Samples; of each queue pair in order.
    commit_stb : Out(1)
    commit : Out(queue_event_layout(qps))
        Everything that happens, in the order in which it takes effect.
    sampled, merged : Out(1)
        Strobes: a sample was taken; it replaced one.
    idle : Out(1)
        With `shared`: no event waits. One that comes now keeps no later one from its place.

    Raises
    ------
    ValueError
        `qps` is not a power of two, or smaller than 2.
    """

    i: stream.Interface
    i_read: stream.Interface
    o: stream.Interface
    centers: data.View
    gains: data.View
    values: data.View
    commit: data.View

    def __init__(self, qps: int, *, dsp: str = "generic", shared: bool = False) -> None:
        if qps < 2 or qps & (qps - 1):
            raise ValueError(f"qps must be a power of two, 2 or more, not {qps!r}")
        self._qps, self._dsp, self._shared = qps, dsp, shared
        super().__init__(
            {
                "i": In(stream.Signature(queue_event_layout(qps))),
                "now": In(Fmt.TIME.width),
                "period": In(PERIOD_BITS),
                "every": In(EVERY_BITS),
                "centers": In(CENTERS),
                "gains": In(GAINS),
                "i_read": In(stream.Signature(queue_read_layout(qps))),
                "read_done": Out(1),
                "values": Out(QUEUE_VALUES),
                "o": Out(stream.Signature(profile_layout(qps))),
                "commit_stb": Out(1),
                "commit": Out(queue_event_layout(qps)),
                "sampled": Out(1),
                "merged": Out(1),
                **({"idle": Out(1)} if shared else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = QueueRows(self._qps)
        m.submodules.latest = latest = Latest(raw_sample_layout(self._qps))
        m.submodules.normaliser = normaliser = Normaliser(self._qps, dsp=self._dsp)
        wiring.connect(m, latest.o, normaliser.i)
        wiring.connect(m, normaliser.o, wiring.flipped(self.o))
        m.d.comb += [
            rows.period.eq(self.period),
            rows.every.eq(self.every),
            normaliser.centers.eq(self.centers),
            normaliser.gains.eq(self.gains),
            latest.i_stb.eq(rows.o_stb),
            latest.i.eq(rows.o),
            latest.tells.eq(1),
            self.sampled.eq(rows.o_stb),
            self.merged.eq(latest.merged),
            self.read_done.eq(rows.read_done),
            self.values.eq(rows.values),
        ]

        wiping, wiped = Signal(init=1), Signal(range(self._qps))
        m.d.sync += wiped.eq(wiped + wiping)
        with m.If(wiped == self._qps - 1):
            m.d.sync += wiping.eq(0)

        if self._shared:
            m.d.comb += self.idle.eq(~wiping)
        event, stb, wipes = Signal.like(self.commit), Signal(), Signal()
        visited, visits, pause = Signal(range(self._qps)), Signal(), Signal(range(_VISIT_CYCLES))
        periodic = Signal()
        known, reads, reading = self.i.payload.kind < QueueEvent.VISIT, Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~wiping),
            self.i_read.ready.eq(~wiping & ~self.i.valid & ~reading),
            reads.eq(self.i_read.valid & ~reading),
            visits.eq(periodic & (pause == 0)),
        ]
        m.d.sync += periodic.eq(self.period != 0)
        with m.If(self.i_read.valid & self.i_read.ready):
            m.d.sync += reading.eq(1)
        with m.If(rows.read_done):
            m.d.sync += reading.eq(0)
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        m.d.sync += [stb.eq(0), wipes.eq(wiping), event.eq(self.i.payload)]
        with m.If(wiping):
            m.d.sync += [stb.eq(1), event.qp.eq(wiped), event.kind.eq(QueueEvent.VISIT)]
        with m.Elif(self.i.valid):
            m.d.sync += stb.eq(known)
        with m.Elif(reads):
            asked = self.i_read.payload
            kind = Mux(asked.clear, QueueEvent.CLEAR, QueueEvent.READ)
            m.d.sync += [
                stb.eq(1),
                event.qp.eq(asked.qp),
                event.kind.eq(kind),
                event.size.eq(asked.silent),
                event.t.eq(self.now),
            ]
        with m.Elif(visits):
            m.d.sync += [
                stb.eq(1),
                event.qp.eq(visited),
                event.kind.eq(QueueEvent.VISIT),
                event.size.eq(0),
                event.t.eq(self.now),
                visited.eq(visited + 1),
                pause.eq(_VISIT_CYCLES - 1),
            ]
        m.d.comb += [
            rows.i_stb.eq(stb),
            rows.i.eq(event),
            rows.wipes.eq(wipes),
            self.commit_stb.eq(stb & ~wipes),
            self.commit.eq(event),
        ]
        return m
