"""What packets and the clock tell laws and PSCHED: notifications, losses, bytes, passing time."""

from amaranth.hdl import Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.csr.qp import config_layout
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rate.notices import Notices, hold_clear
from precog_hw.rows import BitMemory, plain_memory
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.contract import Algorithm, Fmt
from precog_spec.law_fields import DCQCN_PARAMETERS, EventKind

__all__ = ["LawEvents"]

_BYTES_BITS = 32
_TICKS_BITS = dict(DCQCN_PARAMETERS)["rate_ticks"]
_ROUNDS = 4  # sweeps of all queue pairs in a period of the rate timer
_ROWS = 16
_LISTENS = data.StructLayout({"dcqcn": 1, "cnps": 1, "losses": 1, "sweeps": 1})
_CHECKS = 64  # queue pairs that wait for a tick of their check


class LawEvents(wiring.Component):
    """Events of queue pairs that run dcqcn, and sweeps of those that run PSCHED, whose scores age.

    ::

        heard ─► [not told yet?] ─► [queue pairs] ─► first ────────────────┬─► o
                                                  [due: cut_ticks later] ◄─┤ CNP
                                                             └─► sweep ────┤
        sent ──┬─► [bytes of the queue pair] ─► enough, or swept ─► [16] ──┘
        sweep ─┘ one queue pair after the other, all in T/4 if there is time

    With a law engine dcqcn is a program. Programs hear notifications, losses and sweeps; bytes they
    know from acknowledgements::

        lost ──► [not told yet?] ─► [queue pairs] ─► first ──┐
        heard ─► [not told yet?] ─► [queue pairs] ─► first ──┼─► o
        sweep ─► [16] ───────────────────────────────────────┘

    Bytes are told when a step of the byte counter is full, and by the sweep; a sweep without any
    bytes says that time has passed. With a decrease check, a queue pair is swept when the check's
    tick that follows its notification has come. Sweeps of all come no closer than `MIN_GAP` cycles,
    which leaves the law half of its time (it takes 67 cycles for one with the preset ``vendor``, 27
    with ``paper``): with more than T / (4 * MIN_GAP) queue pairs a round takes longer than T/4.
    Where scores hold for a shorter time than T, or there is no rate timer, theirs counts; without
    either there are none. A notification or a loss that comes while one of the same queue pair
    has not been told yet is the same. While the law is busy with others, bytes go on being added:
    none is lost. An event bears the time at which it is offered, a loss the time of its sign.

    Latency: a notification or a loss is offered 5 cycles after it was heard, bytes 3 after they
    were sent, if nothing else is. Throughput: a packet per cycle in each direction; sweeps take the
    cycles that packets leave, and wait while events do. Cost at 1024 queue pairs, without a law
    engine: 11 DP16KD, 1069 LUTs, 557 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    heard, heard_slot : In
        A notification of a known queue pair has come.
    lost, lost_slot, lost_t : In
        With a law engine: a known queue pair has lost a packet, which was seen at this time.
    sent, sent_slot, sent_bytes : In
        Without a law engine: a packet of a known queue pair has left, of this many bytes.
    now : In(40)
        Ticks; one cycle each.
    rate_ticks : In(24)
        T: dcqcn's parameter, or that of the law engine.
    byte_count, cut_ticks : In
        Without a law engine: dcqcn's parameter B, and the period of its decrease check.
    score_ticks : In(32)
        How long PSCHED's scores hold.
    command_stb, command : In
        What is configured, as it is. With `clear` what was heard and sent before is forgotten.
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
                "heard": In(1),
                "heard_slot": In(config.qp_bits),
                **(_lost(config) if config.law_cores else _sent(config)),
                "now": In(Fmt.TIME.width),
                "rate_ticks": In(_TICKS_BITS),
                "score_ticks": In(32),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "o": Out(stream.Signature(LAW_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        listens = self._listeners(m)
        notices = self._notices(m, "notices", self.heard, self.heard_slot, listens, "cnps")
        first, is_new = notices.first, notices.untold
        kind, qp, t = Value.cast(EventKind.CNP), notices.first_qp, Value.cast(self.now)
        counted = self._time(m, listens) if self._programs else self._bytes(m, listens)
        event = self.o.payload
        free = ~self.o.valid | self.o.ready
        m.d.comb += notices.takes.eq(free & first)
        checks, check_qp = Const(0), Const(0, self._qp_bits)
        if self._programs:
            lost = self._notices(m, "losses", self.lost, self.lost_slot, listens, "losses")
            m.d.comb += lost.takes.eq(free & lost.first & ~first)
            kind, qp = Mux(first, kind, EventKind.LOSS), Mux(first, qp, lost.first_qp)
            t = Mux(lost.takes, self._lost_times(m, lost.next_qp), self.now)
            first, is_new = first | lost.first, Mux(first, is_new, lost.untold)
        else:
            notifies = notices.takes & is_new
            checks, check_qp = self._checks(m, notifies, notices.first_qp, free & ~first)
        m.d.comb += counted.o.ready.eq(free & ~first & ~checks)
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(Mux(first, is_new, checks | counted.o.valid)),
                event.t.eq(t),
            ]
            with m.If(first | checks):
                m.d.sync += [
                    event.kind.eq(Mux(first, kind, EventKind.SWEEP)),
                    event.qp.eq(Mux(first, qp, check_qp)),
                    event.value.eq(0),
                ]
            with m.Else():
                value = counted.o.payload.bytes
                m.d.sync += [
                    event.kind.eq(Mux(value == 0, EventKind.SWEEP, EventKind.BYTES)),
                    event.qp.eq(counted.o.payload.slot),
                    event.value.eq(value),
                ]
        return m

    def _listeners(self, m: Module) -> BitMemory:
        """Of each queue pair: it runs dcqcn, and what it hears besides."""
        command = self.command
        listens = BitMemory(m, "listens", _LISTENS, self._qps)
        write, enable = listens.write, command.config.enable
        runs = enable & command.config.algorithm[-1] & self._programs
        dcqcn = enable & (command.config.algorithm == Algorithm.DCQCN) & (not self._programs)
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.dcqcn.eq(dcqcn),
            write.data.cnps.eq(write.data.dcqcn | runs),
            write.data.losses.eq(runs),
            write.data.sweeps.eq((enable & command.config.psched) | runs),
        ]
        return listens

    def _checks(self, m: Module, notifies: Value, qp: Value, free: Value) -> tuple[Signal, Value]:
        """Whether the decrease check of the queue pair in the second value is due and may be swept.

        All wait equally long, so the first in is the first due. One that finds no room is left to
        the sweep of all.
        """
        row = data.StructLayout({"qp": self._qp_bits, "due": _TICKS_BITS + 1})
        m.submodules.checks = checks = SyncFIFOBuffered(
            width=row.size, depth=min(self._qps, _CHECKS)
        )
        new, first = Signal(row), data.View(row, checks.r_data)
        late, due = Signal(_TICKS_BITS + 1), Signal()
        m.d.comb += [
            new.qp.eq(qp),
            # The event's own time is this cycle's; its check's tick is no later than that.
            new.due.eq(self.now + self.cut_ticks),
            checks.w_data.eq(new),
            checks.w_en.eq(notifies & (self.cut_ticks != 0)),
            late.eq(self.now - first.due),
            due.eq(checks.r_rdy & ~late[-1] & free),
            checks.r_en.eq(due),
        ]
        return due, first.qp

    def _notices(
        self, m: Module, name: str, heard: Value, qp: Signal, listens: BitMemory, who: str
    ) -> Notices:
        m.submodules[name] = notices = Notices(self._qps)
        m.d.comb += [
            notices.heard.eq(heard),
            notices.qp.eq(qp),
            notices.counts.eq(listens.read(m, qp)[who]),
            notices.clear_stb.eq(self.command_stb & self.command.clear),
            notices.clear_qp.eq(self.command.qp),
        ]
        return notices

    def _lost_times(self, m: Module, qp: Value) -> Value:
        """When the last loss of a queue pair was seen, a cycle later."""
        m.submodules.lost_times = times = plain_memory(unsigned(Fmt.TIME.width), self._qps)
        write, read = times.write_port(), times.read_port()
        m.d.comb += [
            write.en.eq(self.lost),
            write.addr.eq(self.lost_slot),
            write.data.eq(self.lost_t),
            read.addr.eq(qp),
        ]
        return read.data

    def _bytes(self, m: Module, listens: BitMemory) -> Queue:
        """Bytes sent and not told, a row per queue pair: read, add, write in three cycles."""
        counted = self._counted(m)
        m.submodules.rows = rows = plain_memory(unsigned(_BYTES_BITS), self._qps)
        write, read = rows.write_port(), rows.read_port()

        clear = self.command_stb & self.command.clear
        wipes, wiped, _ = hold_clear(m, "sent", clear, self.command.qp, self.sent)
        swept, at = self._sweep(m, counted, self.sent | wipes)
        slot = Mux(self.sent, self.sent_slot, Mux(wipes, wiped, at))
        listening = listens.read(m, slot)

        # Cycle 1: the row, unless one of the two before changes it.
        slots = [Signal(self._qp_bits, name=f"slot{n}") for n in (1, 2, 3)]
        sums = [Signal(_BYTES_BITS, name=f"sum{n}") for n in (2, 3)]
        works, sweeps, wiping, keeps, asks = (Signal() for _ in range(5))
        more = Signal.like(self.sent_bytes)
        m.d.comb += read.addr.eq(slot)
        m.d.sync += [
            slots[0].eq(slot),
            works.eq(self.sent | wipes | swept),
            sweeps.eq(swept),
            wiping.eq(wipes),
            more.eq(Mux(self.sent, self.sent_bytes, 0)),
        ]
        wrote = [Signal(name=f"wrote{n}") for n in (2, 3)]
        old = Mux(
            wrote[0] & (slots[1] == slots[0]),
            sums[0],
            Mux(wrote[1] & (slots[2] == slots[0]), sums[1], read.data),
        )
        total, enough, tells = Signal(_BYTES_BITS + 1), Signal(), Signal()
        room = Signal()
        m.d.sync += room.eq(counted.level <= _ROWS - 4)  # those on their way besides
        m.d.comb += [
            keeps.eq(listening.dcqcn & ~wiping),
            asks.eq(sweeps & listening.sweeps),
            total.eq(old + more),
            enough.eq((self.byte_count != 0) & (total >= self.byte_count)),
            tells.eq(((works & keeps & (sweeps | enough)) | asks) & room),
            counted.i.valid.eq(tells),
            counted.i.payload.slot.eq(slots[0]),
            counted.i.payload.bytes.eq(
                Mux(~keeps, 0, Mux(total[-1], (1 << _BYTES_BITS) - 1, total))
            ),
        ]
        # Cycle 2: write.
        left = Mux(keeps & ~tells, counted.i.payload.bytes, 0)
        m.d.sync += [
            slots[1].eq(slots[0]),
            slots[2].eq(slots[1]),
            sums[0].eq(left),
            sums[1].eq(sums[0]),
            wrote[0].eq(works),
            wrote[1].eq(wrote[0]),
        ]
        m.d.comb += [
            write.en.eq(wrote[0]),
            write.addr.eq(slots[1]),
            write.data.eq(sums[0]),
        ]
        return counted

    def _time(self, m: Module, listens: BitMemory) -> Queue:
        """Sweeps alone, as events without bytes: who listens is known a cycle later."""
        counted = self._counted(m)
        swept, at = self._sweep(m, counted, Const(0))
        asks, slot = Signal(), Signal(self._qp_bits)
        m.d.sync += [asks.eq(swept), slot.eq(at)]
        m.d.comb += [
            counted.i.valid.eq(asks & listens.read(m, at).sweeps),
            counted.i.payload.slot.eq(slot),
        ]
        return counted

    def _counted(self, m: Module) -> Queue:
        """Queue pairs that are to be told of bytes, or that time has passed: of none."""
        layout = data.StructLayout({"slot": self._qp_bits, "bytes": _BYTES_BITS})
        m.submodules.counted = counted = Queue(layout, _ROWS)
        return counted

    def _sweep(self, m: Module, counted: Queue, others: Value) -> tuple[Signal, Signal]:
        """Whose turn it is, and whether now: not while the law is behind or others work."""
        turn, at = Signal(), Signal(self._qp_bits)
        passed = Signal(_TICKS_BITS)
        gap = Signal(_TICKS_BITS)
        longest = (1 << _TICKS_BITS) - 1
        period = Signal(_TICKS_BITS)  # the shorter one; 0 is none
        life = Mux(self.score_ticks > longest, longest, self.score_ticks)[:_TICKS_BITS]
        sooner = (life != 0) & ((self.rate_ticks == 0) | (life < self.rate_ticks))
        m.d.sync += period.eq(Mux(sooner, life, self.rate_ticks))
        wanted = period >> exact_log2(_ROUNDS * self._qps)
        idle, timed = Signal(), Signal()
        m.d.sync += [
            idle.eq(counted.level == 0),
            timed.eq(period != 0),
            gap.eq(Mux(wanted < self.MIN_GAP, self.MIN_GAP, wanted)),
        ]
        m.d.comb += turn.eq((passed >= gap) & idle & timed & ~others)
        with m.If(turn):
            m.d.sync += [passed.eq(0), at.eq(at + 1)]
        with m.Elif(passed != (1 << _TICKS_BITS) - 1):
            m.d.sync += passed.eq(passed + 1)
        return turn, at


def _lost(config: NicConfig) -> dict[str, wiring.Member]:
    return {"lost": In(1), "lost_slot": In(config.qp_bits), "lost_t": In(Fmt.TIME.width)}


def _sent(config: NicConfig) -> dict[str, wiring.Member]:
    return {
        "sent": In(1),
        "sent_slot": In(config.qp_bits),
        "sent_bytes": In(17),
        "byte_count": In(_BYTES_BITS),
        "cut_ticks": In(_TICKS_BITS),
    }
