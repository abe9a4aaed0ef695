"""What packets and the clock tell programs and PSCHED: notifications, losses, passing time."""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.csr.qp import config_layout
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rate.notices import Notices
from precog_hw.rows import BitMemory
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt
from precog_spec.law_fields import EventKind

__all__ = ["LawEvents"]

_TICKS_BITS = 24
_ROUNDS = 4  # sweeps of all queue pairs in a period
_ROWS = 16
_LISTENS = data.StructLayout({"runs": 1, "sweeps": 1})


class LawEvents(wiring.Component):
    """Events of queue pairs that run programs, and sweeps of those that run PSCHED.

    ::

        lost ──► [not told yet?] ─► [queue pairs] ─► first ──┐
        heard ─► [not told yet?] ─► [queue pairs] ─► first ──┼─► o
        sweep ─► [16] ───────────────────────────────────────┘
          one queue pair after the other, all in T/4 if there is time

    Without a law engine there are only sweeps: scores age. A sweep says that time has passed.
    Sweeps of all come no closer than `MIN_GAP` cycles, which leaves the law time: with more than
    T / (4 * MIN_GAP) queue pairs a round takes longer than T/4. Where scores hold for a shorter
    time than T, or there is no T, theirs counts; without either there are none. A notification or a
    loss that comes while one of the same queue pair has not been told yet is the same. An event
    bears the time at which it is offered, a loss the time of its sign.

    Latency: a notification or a loss is offered 5 cycles after it was heard, if nothing else is.
    Throughput: a packet per cycle in each direction.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    heard, heard_slot : In
        With a law engine: a notification of a known queue pair has come.
    lost, lost_slot, lost_t : In
        With a law engine: a known queue pair has lost a packet, which was seen at this time.
    now : In(40)
        Ticks; one cycle each.
    rate_ticks : In(24)
        With a law engine: its T.
    score_ticks : In(32)
        How long PSCHED's scores hold.
    command_stb, command : In
        What is configured, as it is. With `clear` what was heard before is forgotten.
    o : Out(stream.Signature(LAW_EVENT))
    """

    MIN_GAP = 128
    """Cycles between two sweeps."""

    o: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._qps = config.qps
        self._programs = bool(config.law_cores)
        self._qp_bits = config.qp_bits
        super().__init__(
            {
                **(_of_programs(config) if config.law_cores else {}),
                "now": In(Fmt.TIME.width),
                "score_ticks": In(32),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "o": Out(stream.Signature(LAW_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        listens = self._listeners(m)
        told = self._time(m, listens)
        event, free = self.o.payload, Signal()
        m.d.comb += free.eq(~self.o.valid | self.o.ready)
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(told.o.valid),
                event.kind.eq(EventKind.SWEEP),
                event.qp.eq(told.o.payload),
                event.t.eq(self.now),
                event.value.eq(0),
            ]
        first = self._first(m, listens, free, told.o.valid) if self._programs else Const(0, 1)
        m.d.comb += told.o.ready.eq(free & ~first)
        return m

    def _first(self, m: Module, listens: BitMemory, free: Value, sweeps: Value) -> Value:
        """Notifications come before losses, and both before sweeps; after each one another may."""
        heard = self._notices(m, "notices", self.heard, self.heard_slot, listens)
        lost = self._notices(m, "losses", self.lost, self.lost_slot, listens)
        was_heard, was_first = Signal(), Signal()  # the last one of both; of all
        hears, first = Signal(), Signal()
        m.d.comb += [
            hears.eq(heard.first & ~(was_heard & lost.first)),
            first.eq((heard.first | lost.first) & ~(was_first & sweeps)),
            heard.takes.eq(free & first & hears),
            lost.takes.eq(free & first & ~hears),
        ]
        event = self.o.payload
        late = self._lost_times(m, lost.next_qp)
        with m.If(free):
            m.d.sync += was_first.eq(first)
        with m.If(free & first):
            m.d.sync += [
                was_heard.eq(hears),
                self.o.valid.eq(Mux(hears, heard.untold, lost.untold)),
                event.kind.eq(Mux(hears, EventKind.CNP, EventKind.LOSS)),
                event.qp.eq(Mux(hears, heard.first_qp, lost.first_qp)),
                event.t.eq(Mux(hears, self.now, late)),
            ]
        return first

    def _listeners(self, m: Module) -> BitMemory:
        """Of each queue pair: whether it runs a program, and is told that time has passed."""
        command = self.command
        listens = BitMemory(m, "listens", _LISTENS, self._qps)
        write, enable = listens.write, command.config.enable
        runs = enable & command.config.algorithm[-1] & self._programs
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.runs.eq(runs),
            write.data.sweeps.eq((enable & command.config.psched) | runs),
        ]
        return listens

    def _notices(
        self, m: Module, name: str, heard: Value, qp: Signal, listens: BitMemory
    ) -> Notices:
        m.submodules[name] = notices = Notices(self._qps)
        m.d.comb += [
            notices.heard.eq(heard),
            notices.qp.eq(qp),
            notices.counts.eq(listens.read(m, qp).runs),
            notices.clear_stb.eq(self.command_stb & self.command.clear),
            notices.clear_qp.eq(self.command.qp),
        ]
        return notices

    def _lost_times(self, m: Module, qp: Value) -> Value:
        """When the last loss of a queue pair was seen, a cycle later."""
        # Another loss may be written in the cycle in which the one that waits is read.
        m.submodules.lost_times = times = Memory(
            shape=unsigned(Fmt.TIME.width), depth=self._qps, init=[]
        )
        write, read = times.write_port(), times.read_port()
        m.d.comb += [
            write.en.eq(self.lost),
            write.addr.eq(self.lost_slot),
            write.data.eq(self.lost_t),
            read.addr.eq(qp),
        ]
        return read.data

    def _time(self, m: Module, listens: BitMemory) -> Queue:
        """Queue pairs that get an event of time; their program may turn out to have none."""
        m.submodules.told = told = Queue(unsigned(self._qp_bits), _ROWS)
        swept, at = self._sweep(m, told)
        asks, slot = Signal(), Signal(self._qp_bits)
        m.d.sync += [asks.eq(swept), slot.eq(at)]
        m.d.comb += [
            told.i.valid.eq(asks & listens.read(m, at).sweeps),
            told.i.payload.eq(slot),
        ]
        return told

    def _sweep(self, m: Module, told: Queue) -> tuple[Signal, Signal]:
        """Whose turn it is, and whether now: not while the law is behind."""
        turn, at = Signal(), Signal(self._qp_bits)
        passed = Signal(_TICKS_BITS)
        gap = Signal(_TICKS_BITS)
        longest = (1 << _TICKS_BITS) - 1
        period = Signal(_TICKS_BITS)  # the shorter one; 0 is none
        life = Mux(self.score_ticks > longest, longest, self.score_ticks)[:_TICKS_BITS]
        if self._programs:
            sooner = (life != 0) & ((self.rate_ticks == 0) | (life < self.rate_ticks))
            m.d.sync += period.eq(Mux(sooner, life, self.rate_ticks))
        else:
            m.d.sync += period.eq(life)
        wanted = period >> exact_log2(_ROUNDS * self._qps)
        idle, timed = Signal(), Signal()
        m.d.sync += [
            idle.eq(told.level == 0),
            timed.eq(period != 0),
            gap.eq(Mux(wanted < self.MIN_GAP, self.MIN_GAP, wanted)),
        ]
        m.d.comb += turn.eq((passed >= gap) & idle & timed)
        with m.If(turn):
            m.d.sync += [passed.eq(0), at.eq(at + 1)]
        with m.Elif(passed != (1 << _TICKS_BITS) - 1):
            m.d.sync += passed.eq(passed + 1)
        return turn, at


def _of_programs(config: NicConfig) -> dict[str, wiring.Member]:
    return {
        "heard": In(1),
        "heard_slot": In(config.qp_bits),
        "lost": In(1),
        "lost_slot": In(config.qp_bits),
        "lost_t": In(Fmt.TIME.width),
        "rate_ticks": In(_TICKS_BITS),
    }
