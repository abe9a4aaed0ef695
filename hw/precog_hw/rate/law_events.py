"""What packets and the clock tell the law dcqcn: notifications, bytes, passing time."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.config import NicConfig
from precog_hw.csr.qp_window import config_layout
from precog_hw.rate.law_layouts import LAW_EVENT
from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue
from precog_models.contract import Algorithm, Fmt
from precog_models.rate.law_fields import DCQCN_PARAMETERS, EventKind

__all__ = ["LawEvents"]

_BYTES_BITS = 32
_TICKS_BITS = dict(DCQCN_PARAMETERS)["rate_ticks"]
_ROUNDS = 4  # sweeps of all queue pairs in a period of the rate timer
_ROWS = 16


class LawEvents(wiring.Component):
    """Events of queue pairs that run dcqcn; of others nothing is kept and nothing said.

    ::

        heard ─► [not told yet?] ─► [queue pairs] ───────────────────────┐
        sent ──┬─► [bytes of the queue pair] ─► enough, or swept ─► [16] ┴─► o
        sweep ─┘ one queue pair after the other, all in T/4

    Bytes are told when a step of the byte counter is full, and by the sweep; a sweep without any
    bytes says that time has passed. A notification that comes while one of the same queue pair has
    not been told yet is the same. While the law is busy with others, bytes go on being added: none
    is lost. An event bears the time at which it is offered.

    Latency: a notification is offered 3 cycles after it was heard, bytes 3 after they were sent, if
    nothing else is. Throughput: a packet per cycle in each direction; sweeps take the cycles that
    packets leave, and wait while events do. Cost at 1024 queue pairs: 2 DP16KD of bytes, 1 of queue
    pairs, LUT RAM of 3 bits per queue pair.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    heard, heard_slot : In
        A notification of a known queue pair has come.
    sent, sent_slot, sent_bytes : In
        A packet of a known queue pair has left, of so many bytes.
    now : In(40)
        Ticks; one cycle each.
    byte_count, rate_ticks : In
        dcqcn's parameters B and T.
    command_stb, command : In
        What is configured, as it is.
    wipe : In(1)
        With `command_stb`: no packet comes now, forget what was before.
    o : Out(stream.Signature(LAW_EVENT))
    """

    o: stream.Interface

    def __init__(self, config: NicConfig) -> None:
        self._qps = config.qps
        self._qp_bits = config.qp_bits
        super().__init__(
            {
                "heard": In(1),
                "heard_slot": In(config.qp_bits),
                "sent": In(1),
                "sent_slot": In(config.qp_bits),
                "sent_bytes": In(17),
                "now": In(Fmt.TIME.width),
                "byte_count": In(_BYTES_BITS),
                "rate_ticks": In(_TICKS_BITS),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "wipe": In(1),
                "o": Out(stream.Signature(LAW_EVENT)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        told = self._notifications(m)
        counted = self._bytes(m)
        event = self.o.payload
        free = ~self.o.valid | self.o.ready
        m.d.comb += [told.r_en.eq(free), counted.o.ready.eq(free & ~told.r_rdy)]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(told.r_rdy | counted.o.valid),
                event.t.eq(self.now),
            ]
            with m.If(told.r_rdy):
                m.d.sync += [
                    event.kind.eq(EventKind.CNP),
                    event.qp.eq(told.r_data),
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

    def _bits(self, m: Module, name: str) -> Memory:
        memory = Memory(
            shape=unsigned(1), depth=self._qps, init=[], attrs={"ram_style": "distributed"}
        )
        m.submodules[name] = memory
        return memory

    def _listeners(self, m: Module, name: str, slot: Signal) -> Signal:
        """Whether `slot` runs dcqcn, in the same cycle."""
        command = self.command
        listens = self._bits(m, name)
        write, read = listens.write_port(), listens.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(self.command_stb & command.apply),
            write.addr.eq(command.qp),
            write.data.eq(
                command.config.enable & (command.config.algorithm == Algorithm.DCQCN),
            ),
            read.addr.eq(slot),
        ]
        listening = Signal(name=f"{name}_o")
        m.d.comb += listening.eq(read.data)
        return listening

    def _notifications(self, m: Module) -> SyncFIFOBuffered:
        """Queue pairs that have not been told yet, each once: the queue cannot be full.

        A queue pair is in it while its bits `heard` and `told` differ; each has one writer.
        """
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=self._qp_bits, depth=self._qps)
        heard, told = self._bits(m, "heard_bits"), self._bits(m, "told_bits")
        heard_write, told_write = heard.write_port(), told.write_port()
        was_heard, was_told = heard.read_port(domain="comb"), told.read_port(domain="comb")
        leaves = heard.read_port(domain="comb")
        wipes = self.command_stb & self.wipe
        listens = self._listeners(m, "listens_heard", self.heard_slot)
        new = self.heard & listens & (was_heard.data == was_told.data)
        popped = waiting.r_rdy & waiting.r_en
        m.d.comb += [
            was_heard.addr.eq(self.heard_slot),
            was_told.addr.eq(self.heard_slot),
            heard_write.en.eq(new | wipes),
            heard_write.addr.eq(Mux(wipes, self.command.qp, self.heard_slot)),
            heard_write.data.eq(~wipes & ~was_told.data),
            waiting.w_en.eq(new),
            waiting.w_data.eq(self.heard_slot),
            leaves.addr.eq(waiting.r_data),
            told_write.en.eq(popped | wipes),
            told_write.addr.eq(Mux(wipes, self.command.qp, waiting.r_data)),
            told_write.data.eq(~wipes & leaves.data),
        ]
        return waiting

    def _bytes(self, m: Module) -> Queue:
        """Bytes sent and not told, a row per queue pair: read, add, write in three cycles."""
        layout = data.StructLayout({"slot": self._qp_bits, "bytes": _BYTES_BITS})
        m.submodules.counted = counted = Queue(layout, _ROWS)
        m.submodules.rows = rows = plain_memory(unsigned(_BYTES_BITS), self._qps)
        write, read = rows.write_port(), rows.read_port()

        turn, at = self._sweep(m, counted)
        wipes = self.command_stb & self.wipe
        swept = turn & ~self.sent & ~wipes
        slot = Mux(self.sent, self.sent_slot, Mux(wipes, self.command.qp, at))
        listens = self._listeners(m, "listens_sent", slot)

        # Cycle 1: the row, unless one of the two before changes it.
        slots = [Signal(self._qp_bits, name=f"slot{n}") for n in (1, 2, 3)]
        sums = [Signal(_BYTES_BITS, name=f"sum{n}") for n in (2, 3)]
        works, sweeps, keeps = Signal(), Signal(), Signal()
        more = Signal.like(self.sent_bytes)
        m.d.comb += read.addr.eq(slot)
        m.d.sync += [
            slots[0].eq(slot),
            works.eq(self.sent | wipes | swept),
            sweeps.eq(swept),
            keeps.eq(listens & ~wipes),
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
            total.eq(old + more),
            enough.eq((self.byte_count != 0) & (total >= self.byte_count)),
            tells.eq(works & keeps & (sweeps | enough) & room),
            counted.i.valid.eq(tells),
            counted.i.payload.slot.eq(slots[0]),
            counted.i.payload.bytes.eq(Mux(total[-1], (1 << _BYTES_BITS) - 1, total)),
        ]
        # Cycle 2: write.
        left = Mux(keeps & ~tells, counted.i.payload.bytes, 0)
        m.d.sync += [
            *(slots[1].eq(slots[0]), slots[2].eq(slots[1])),
            *(sums[0].eq(left), sums[1].eq(sums[0])),
            *(wrote[0].eq(works), wrote[1].eq(wrote[0])),
        ]
        m.d.comb += [
            write.en.eq(wrote[0]),
            write.addr.eq(slots[1]),
            write.data.eq(sums[0]),
        ]
        return counted

    def _sweep(self, m: Module, counted: Queue) -> tuple[Signal, Signal]:
        """Whose turn it is, and whether now; not while the law is behind."""
        turn, at = Signal(), Signal(self._qp_bits)
        passed = Signal(_TICKS_BITS)
        gap = self.rate_ticks >> exact_log2(_ROUNDS * self._qps)
        idle = Signal()
        m.d.sync += idle.eq(counted.level == 0)
        m.d.comb += turn.eq((passed >= gap) & idle & ~self.sent & ~self.command_stb)
        with m.If(turn):
            m.d.sync += [passed.eq(0), at.eq(at + 1)]
        with m.Elif(passed != (1 << _TICKS_BITS) - 1):
            m.d.sync += passed.eq(passed + 1)
        return turn, at
