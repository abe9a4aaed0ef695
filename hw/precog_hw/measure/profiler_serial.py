"""The queue profiler for small FPGAs: one event at a time, one word of its row after the other."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from precog_hw.dsp import Multiplier
from precog_hw.fixed import quantize
from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue
from precog_spec.contract import (
    PROFILE_CENTER,
    PROFILE_GAIN,
    PROFILE_INPUTS,
    QUEUE_VALUE_FIELDS,
    Fmt,
    QueueEvent,
)

from .profiler import Profiler
from .profiler_program import (
    CONTROL,
    SAMPLE,
    SEND,
    STEP_BITS,
    Adds,
    Carry,
    Ends,
    Finds,
    Word,
    Writes,
    table,
)
from .queue_layouts import queue_event_layout

__all__ = ["SerialProfiler", "profiler"]

_EVENTS = 256  # that wait: a DP16KD has as many rows anyway
_VISIT_CYCLES = 32
_WORD_BITS, _SHORT_BITS = Fmt.TIME.width, 32
_ROW_BITS = 5  # of a word's number in its row
_INPUTS = len(PROFILE_INPUTS)
_LOG_FRAC = PROFILE_CENTER.frac_bits


class _Sequencer:
    """Which step is read from the table, and which ones work in the two cycles after.

    A name that ends in 1 is of the cycle in which the step's word is asked for; the others are of
    the cycle in which the word is there.
    """

    def __init__(self, m: Module, qps: int) -> None:
        self.step = Signal(STEP_BITS)
        self.reads = Signal()  # the table, for a step that counts
        self.valid1, self.valid = Signal(), Signal()
        self.control1, self.control = Signal(CONTROL), Signal(CONTROL)
        self.done = Signal()  # the last step of all works
        self.sends = Signal()  # the normaliser's turn, not an event's
        self.wiping = Signal(init=1)
        self.row = Signal(range(qps))
        self.visited = Signal(range(qps))
        # What steps leave for those after them.
        self.some, self.due, self.reached = Signal(), Signal(), Signal()
        m.d.sync += [self.valid.eq(self.valid1), self.control.eq(self.control1)]


class SerialProfiler(Profiler):
    """`Profiler` for a Gigabit port, its state and all that waits in block RAM.

    ::

        i ──────┐                   ┌──── table of steps
        i_read ─┼─► [256 events] ─► adder ◄─► [32 words of every queue pair] ─► values
        visits ─┘                   ▲    └──► one number after the other
                                    │                    ▼
              [queue pairs that have a sample] ◄─── normaliser ─► o

    Same members, same results in the order of `commit`, which says each event as it comes in.
    Parameters hold for events that leave their queue later. Samples go to the normaliser while no
    event, read or visit waits.

    Latency: a transfer's event is in `commit` a cycle later. Its work takes up to 15 cycles, a
    departure's 10, a sample 7 more; a read's 14. Throughput: an arrival and a departure that both
    make samples in 39 cycles, which is less than a frame of 60 bytes takes at a gigabit and
    62.5 MHz, 42 cycles; then `i` is ready, always. A visit in 32 cycles. A sample in 50 to 180
    cycles, by the sizes of its numbers, when no event comes. After a reset events wait for 32 `qps`
    cycles. Cost at 16 queue pairs (ECP5): 6 DP16KD, 943 LUTs with carries, 635 flip-flops, 1
    multiplier; `Profiler` there: 4765 LUTs with carries and LUT RAM, 4699 flip-flops.

    Parameters, Members, Raises
        As `Profiler`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at = _Sequencer(m, self._qps)
        m.submodules.events = events = Queue(queue_event_layout(self._qps), _EVENTS, block=True)
        # One that is worked on stays; its queue pair may have the next sample meanwhile.
        m.submodules.waiting = waiting = Queue(self.commit.qp.shape(), self._qps)
        self._enter(m, at, events)
        if self._shared:
            m.d.comb += self.idle.eq(~events.o.valid & ~at.wiping)
        says, fetched = Signal(), Signal(_WORD_BITS)
        wants, turn = self._normalise(m, at, waiting, fetched)
        self._sequence(m, at, events, wants, turn)
        event = events.o.payload
        late = Signal.like(event)  # its first step works later than a cycle after it has come
        m.d.sync += late.eq(event)
        m.d.comb += [
            at.row.eq(Mux(at.wiping, at.visited, Mux(at.sends, waiting.o.payload, event.qp))),
            events.o.ready.eq(at.done & ~at.sends),
        ]
        self._work(m, at, late, fetched)
        m.d.comb += [
            says.eq(at.valid & at.control.says),
            self.sampled.eq(says),
            self.merged.eq(says & at.some),
            waiting.i.valid.eq(says & ~at.some),
            waiting.i.payload.eq(event.qp),
        ]
        return m

    def _enter(self, m: Module, at: _Sequencer, events: Queue) -> None:
        """What happens: an event, else a read, else a visit, the latter when nothing waits."""
        came, made = self.i.payload, events.i.payload
        reading, periodic, pause = Signal(), Signal(), Signal(range(_VISIT_CYCLES))
        reads, visits = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(events.i.ready),
            reads.eq(self.i_read.valid & ~reading),
            visits.eq(periodic & (pause == 0) & ~events.o.valid & ~at.wiping),
            self.i_read.ready.eq(events.i.ready & ~at.wiping & ~self.i.valid & ~reading),
            made.eq(came),
            events.i.valid.eq(self.i.valid & (came.kind < QueueEvent.VISIT)),
        ]
        with m.If(~self.i.valid):
            asked = self.i_read.payload
            m.d.comb += [
                events.i.valid.eq(~at.wiping & (reads | visits)),
                made.qp.eq(Mux(reads, asked.qp, at.visited)),
                made.kind.eq(
                    Mux(
                        reads,
                        Mux(asked.clear, QueueEvent.CLEAR, QueueEvent.READ),
                        QueueEvent.VISIT,
                    )
                ),
                made.size.eq(reads & asked.silent),
                made.t.eq(self.now),
            ]
        m.d.sync += [
            periodic.eq(self.period != 0),
            self.commit_stb.eq(events.i.valid & events.i.ready),
            self.commit.eq(made),
        ]
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        with m.Elif(events.i.valid & ~self.i.valid & ~reads):
            m.d.sync += [pause.eq(_VISIT_CYCLES - 1), at.visited.eq(at.visited + 1)]
        with m.If(self.i_read.valid & self.i_read.ready):
            m.d.sync += reading.eq(1)
        done = events.o.valid & events.o.ready & (events.o.payload.kind >= QueueEvent.CLEAR)
        m.d.sync += self.read_done.eq(done)
        with m.If(done):
            m.d.sync += reading.eq(0)
        with m.If(at.wiping):
            m.d.sync += at.step.eq(at.step + 1)
            with m.If(at.step[:_ROW_BITS].all()):
                m.d.sync += [at.visited.eq(at.visited + 1), at.wiping.eq(~at.visited.all())]

    def _sequence(
        self, m: Module, at: _Sequencer, events: Queue, wants: Signal, turn: Signal
    ) -> None:
        """Which step is next. Of two programs the second begins a cycle later."""
        busy, stops = Signal(), Signal()
        kind = events.o.payload.kind
        continues = Signal()
        rows = table()
        m.submodules.table = steps = plain_memory(CONTROL.size, len(rows), rows, block=True)
        read = steps.read_port()
        m.d.comb += [
            read.addr.eq(at.step),
            at.control1.as_value().eq(read.data),
            stops.eq(at.valid1 & (at.control1.ends != Ends.NOT)),
            continues.eq(
                ((at.control1.ends == Ends.SAMPLES) & at.due)
                | ((at.control1.ends == Ends.CLEARS) & (kind == QueueEvent.CLEAR))
            ),
        ]
        m.d.sync += [at.valid1.eq(at.reads & ~stops), at.done.eq(stops & ~continues)]
        with m.If(at.reads):
            m.d.sync += at.step.eq(at.step + 1)
        with m.If(stops):
            m.d.sync += [
                at.reads.eq(continues),
                at.step.eq(Mux(kind == QueueEvent.CLEAR, QueueEvent.CLEAR, SAMPLE) << 4),
            ]
        with m.If(at.done):
            m.d.sync += busy.eq(0)
        with m.If(~busy & ~at.wiping):
            m.d.sync += at.sends.eq(~events.o.valid)
            with m.If(events.o.valid):
                first = Mux(kind == QueueEvent.CLEAR, QueueEvent.READ, kind)
                m.d.sync += at.step.eq(Cat(Const(0, 4), first))
            with m.Else():
                m.d.sync += at.step.eq(Cat(turn, turn != 0, Const(SEND, 3)))
            with m.If(events.o.valid | wants):
                m.d.sync += [busy.eq(1), at.reads.eq(1)]

    def _work(self, m: Module, at: _Sequencer, event: data.View, fetched: Signal) -> None:
        """The word, plus an operand, into a word; and what else a step may do with the sum."""
        m.submodules.rows = rows = plain_memory(_WORD_BITS, self._qps << _ROW_BITS, block=True)
        write, read = rows.write_port(), rows.read_port()
        does, word = at.control, read.data
        operand, result = Signal(_WORD_BITS), Signal(_WORD_BITS)
        kept, carried = Signal(_SHORT_BITS), Signal()
        with m.Switch(does.adds):
            for adds, value in (
                (Adds.KEPT, kept), (Adds.SIZE, event.size), (Adds.TIME, event.t),
                (Adds.PERIOD, self.period),
            ):  # fmt: skip
                with m.Case(adds):
                    m.d.comb += operand.eq(value ^ does.inverts.replicate(_WORD_BITS))
        carry = Signal()
        m.d.comb += carry.eq((does.carry == Carry.ONE) | ((does.carry == Carry.LAST) & carried))
        total = Signal(_WORD_BITS + 1)
        m.d.comb += total.eq((Cat(1, word) + Cat(carry, operand)) >> 1)
        watched, on, full = Signal(), Signal(), Signal()
        periodic, zero, most = Signal(), Signal(), Signal()
        wanted = total[:_WORD_BITS] ^ does.negates.replicate(_WORD_BITS)
        m.d.sync += [periodic.eq(self.period != 0), on.eq(self.every != 0)]
        m.d.comb += [
            watched.eq(at.some & periodic),
            full.eq(on & (total[: len(self.every) + 1] >= self.every)),
            most.eq(does.saturates & wanted[_SHORT_BITS:].any()),
            zero.eq(
                (does.floors & ~total[-1]) | ((does.finds == Finds.FULL) & (full | ~on)) | at.wiping
            ),
            result.eq(
                Cat(
                    (wanted[:_SHORT_BITS] | most.replicate(_SHORT_BITS))
                    & (~zero).replicate(_SHORT_BITS),
                    wanted[_SHORT_BITS:] & (does.wide & ~zero).replicate(_WORD_BITS - _SHORT_BITS),
                )
            ),
            fetched.eq(total),
        ]
        writes = Signal()
        with m.Switch(does.writes):
            for when, value in (
                (Writes.NEVER, 0), (Writes.ALWAYS, 1), (Writes.SOME, at.some),
                (Writes.NONE, ~at.some), (Writes.RISES, ~at.reached),
                (Writes.ADVANCES, at.due & ~at.reached),
                (Writes.RESTARTS, ~watched | (at.due & at.reached)),
            ):  # fmt: skip
                with m.Case(when):
                    m.d.comb += writes.eq(value)
        m.d.comb += [
            read.addr.eq(Cat(at.control1.read, at.row)),
            write.addr.eq(Cat(Mux(at.wiping, at.step[:_ROW_BITS], does.write), at.row)),
            write.data.eq(result),
            write.en.eq(at.wiping | (at.valid & writes)),
        ]
        m.d.sync += [carried.eq(total[_SHORT_BITS]), kept.eq(0)]
        with m.If(at.valid & does.keeps):
            m.d.sync += kept.eq(result)
        with m.If(at.valid & does.tests):
            m.d.sync += at.some.eq(word[:_SHORT_BITS].any())
        with m.If(at.valid), m.Switch(does.finds):
            with m.Case(Finds.FULL):
                m.d.sync += at.due.eq(full)
            with m.Case(Finds.OVER):
                m.d.sync += at.due.eq(watched & total[-1])
            with m.Case(Finds.CARRY):
                m.d.sync += at.reached.eq(total[-1])
        self._show(m, at, word, event.size[0])

    def _show(self, m: Module, at: _Sequencer, word: Value, silent: Value) -> None:
        """The words of a read come in the order of the numbers, each of 32 bits or of two words."""
        shown = [Signal(_SHORT_BITS, name=f"shown{n}") for n in range(Word.OUT_HIGH + 1)]
        with m.If(at.valid & at.control.shows & ~silent):
            m.d.sync += Cat(shown).eq(Cat(*shown[1:], word[:_SHORT_BITS]))
        left = list(shown)
        for name, bits in QUEUE_VALUE_FIELDS:
            words = [left.pop(0) for _ in range(0, bits, _SHORT_BITS)]
            m.d.comb += self.values[name].eq(Cat(words))

    def _normalise(
        self, m: Module, at: _Sequencer, waiting: Queue, word: Signal
    ) -> tuple[Signal, Signal]:
        """One number after the other; the logarithm by a shift a cycle.

        The result: the next word is wanted; 0: the sample is to be copied first, else its number
        plus 1, of five.
        """
        wants, turn = Signal(), Signal(3)
        out, rest = self.o.payload, Signal(_SHORT_BITS + 1)
        power = Signal(range(_SHORT_BITS + 1))
        place = Signal(range(_INPUTS))
        m.submodules.product = product = Multiplier(
            PROFILE_CENTER.width + 1, PROFILE_GAIN.width + 1, dsp=self._dsp, input_register=True
        )
        log = Signal(PROFILE_CENTER.width)
        away = Signal(signed(PROFILE_CENTER.width + 1))
        m.d.comb += [
            place.eq(turn - 1),
            log.eq(Cat(rest[_SHORT_BITS - _LOG_FRAC : _SHORT_BITS], power)),
            away.eq(log - Array(self.centers)[place]),
            product.a.eq(away),
            product.b.eq(Array(self.gains)[place]),
            out.qp.eq(waiting.o.payload),
        ]
        made = quantize(product.p, PROFILE_CENTER.frac_bits + PROFILE_GAIN.frac_bits, Fmt.X)
        fetched = at.valid & at.control.takes
        with m.If(fetched):
            m.d.sync += out.t.eq(word)
        done = at.done & at.sends
        with m.FSM(name="normaliser"):
            with m.State("ASK"):
                m.d.comb += wants.eq(waiting.o.valid)
                m.d.sync += [rest.eq(word), power.eq(_SHORT_BITS)]
                with m.If(done), m.Switch(turn):
                    with m.Case(0):
                        m.d.sync += turn.eq(1)
                    with m.Case(_INPUTS + 1):
                        m.next = "OFFER"
                    with m.Default():
                        m.next = "SHIFT"
            with m.State("SHIFT"):
                m.d.sync += [rest.eq(rest << 1), power.eq(power - 1)]
                with m.If(rest[-1]):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.sync += [Cat(out.x).eq(Cat(*(out.x[k] for k in range(1, _INPUTS)), made))]
                m.d.sync += turn.eq(turn + 1)
                m.next = "ASK"
            with m.State("OFFER"):
                m.d.comb += [self.o.valid.eq(1), waiting.o.ready.eq(self.o.ready)]
                m.d.sync += turn.eq(0)
                with m.If(self.o.ready):
                    m.next = "ASK"
        return wants, turn


def profiler(
    qps: int, *, dsp: str = "generic", relaxed: bool = False, shared: bool = False
) -> Profiler:
    """The profiler; `relaxed`: for a Gigabit port."""
    return (SerialProfiler if relaxed else Profiler)(qps, dsp=dsp, shared=shared)
