"""Whose packet is it, and does it wait for a grant? Said before the packet's first beat goes on."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.packet.headers import WINDOW_BYTES
from precog_hw.packet.parser import Parser
from precog_hw.packet.qp_lookup import QpLookup, table_access_layout
from precog_hw.packet.qp_turns import QpTurns, qp_lookup
from precog_hw.rows import RowMemory
from precog_hw.stream.delay import DelayLine
from precog_hw.stream.packet import packet_signature
from precog_hw.stream.packet_fifo import PacketFifo
from precog_hw.stream.queue import Queue
from precog_spec.frames.descriptor import Direction, Reason
from precog_spec.frames.headers import PSN_BITS
from precog_spec.frames.opcodes import ACKNOWLEDGES, CNP, RELIABLE_REQUESTS

from .wire_path import route_layout

__all__ = ["PacketRouter"]

_ASKED = data.StructLayout({"paced": 1, "request": 1, "answer": 1, "psn": PSN_BITS})


class PacketRouter(wiring.Component):
    """Packets of known queue pairs are paced, but for CNPs and, if wanted, acknowledgements.

    ::

        i ─┬─► [packet FIFO] ───────────────────────────────► o
           └─► [parser] ─► key ─► [lookup] ─► [queue] ─► o_route

    A CNP slows somebody else down and must not wait. An acknowledgement may not overtake a READ
    response of its queue pair, so it waits in the same queue, unless the host says that there are
    none (`acks_pass`): the requests' one, or, of a queue pair with windows, that of answers. A
    window counts what will be acknowledged: requests of reliable services.

    Latency: of the first beat, the parser's, the lookup's and 4 cycles after the beat that
    completes its headers. Throughput: a beat per cycle; `relaxed`, a frame of 60 bytes in 20 cycles
    at 64 bits, where a Gigabit line brings one in 42 at 62.5 MHz. Cost: a parser, a second copy of
    the QP table, the FIFO.

    Parameters
    ----------
    width : int
        Bits in a beat.
    slots : int
        QP slots, a power of two, 2 or more.
    relaxed : bool
        A packet's first beat waits until the one before has its route, so that nothing needs a
        copy.
    ipv6 : bool
        As `Parser`.

    Members
    -------
    i, o : packet streams
    o_route : Out(stream.Signature(route_layout(slots)))
        One for each packet, in order.
    shim_port : In(16)
        As `Parser`.
    acks_pass : In(1)
    slot : Out(range(slots))
        Whose packet it is.
    windows : In(1)
        `WINDOWS` cycles later: it has windows.
    i_table : In(stream.Signature(table_access_layout(slots)))
        Cells of the QP table; reads give nothing.
    """

    PACKETS, FEW = 32, 4  # begun and without a route that was taken; with `relaxed`
    WINDOWS = RowMemory.CYCLES

    i: stream.Interface
    o: stream.Interface
    o_route: stream.Interface
    i_table: stream.Interface

    def __init__(self, width: int, slots: int, *, relaxed: bool = False, ipv6: bool = True) -> None:
        self._width, self._slots = width, slots
        self._relaxed, self._ipv6 = relaxed, ipv6
        self._packets = self.FEW if relaxed else self.PACKETS
        super().__init__(
            {
                "i": In(packet_signature(width)),
                "o": Out(packet_signature(width)),
                "o_route": Out(stream.Signature(route_layout(slots))),
                "shim_port": In(16),
                "acks_pass": In(1),
                "slot": Out(range(slots)),
                "windows": In(1),
                "i_table": In(stream.Signature(table_access_layout(slots))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = -(-WINDOW_BYTES * 8 // self._width)
        # A route is there two cycles later; two beats stand in the FIFO's registers.
        held = beats + Parser.LATENCY + QpLookup.LATENCY + self.WINDOWS
        m.submodules.parser = parser = Parser(
            self._width, Direction.TX, relaxed=self._relaxed, ipv6=self._ipv6
        )
        m.submodules.lookup = lookup = qp_lookup(
            self._slots, relaxed=self._relaxed, ipv6=self._ipv6
        )
        depth = 1 << (held - 1).bit_length()
        m.submodules.fifo = fifo = PacketFifo(self._width, depth, block=self._relaxed)
        m.submodules.routes = routes = Queue(route_layout(self._slots), self._packets)
        wiring.connect(m, fifo.o, wiring.flipped(self.o))
        wiring.connect(m, routes.o, wiring.flipped(self.o_route))
        wiring.connect(m, wiring.flipped(self.i_table), lookup.i_access)

        first, taken, room = Signal(init=1), Signal(), Signal(init=1)
        open_packets = Signal(range(self._packets + 1))
        following = Signal.like(open_packets)
        m.d.comb += [
            fifo.i.payload.eq(self.i.payload),
            fifo.i.valid.eq(self.i.valid & (room | ~first)),
            self.i.ready.eq(fifo.i.ready & (room | ~first)),
            taken.eq(self.i.valid & self.i.ready),
            parser.beat.eq(self.i.payload),
            parser.taken.eq(taken),
            parser.shim_port.eq(self.shim_port),
            following.eq(open_packets + (taken & first) - (routes.o.valid & routes.o.ready)),
        ]
        m.d.sync += open_packets.eq(following)
        if self._relaxed:
            reads = Signal()  # a packet is in the parser, or its route is not known
            m.d.sync += reads.eq((taken & first) | (reads & ~routes.i.valid))
            m.d.comb += room.eq(~reads & (open_packets != self._packets))
        else:
            m.d.sync += room.eq(following != self._packets)
        with m.If(taken):
            m.d.sync += first.eq(self.i.payload.last)

        # In the same cycle as the look at `windows`.
        found, slot = lookup.tx_found, lookup.tx_slot
        for n in range(self.WINDOWS):
            late_found, late_slot = Signal(name=f"found{n}"), Signal.like(slot, name=f"slot{n}")
            m.d.sync += [late_found.eq(found), late_slot.eq(slot)]
            found, slot = late_found, late_slot
        descriptor = parser.o.descriptor
        asks = Signal(_ASKED)
        told, asked = self._asked(m, lookup, parser.o_valid, asks)
        answers = descriptor.opcode.matches(*ACKNOWLEDGES)
        passes = (descriptor.opcode == CNP) | (self.acks_pass & answers)
        m.d.comb += [
            lookup.tx_stb.eq(parser.o_valid),
            lookup.tx_key.direction.eq(Direction.TX),
            lookup.tx_key.remote.eq(descriptor.remote),
            lookup.tx_key.qpn.eq(descriptor.dest_qp),
            asks.paced.eq((descriptor.reason == Reason.NONE) & ~descriptor.shim & ~passes),
            asks.request.eq(descriptor.opcode.matches(*RELIABLE_REQUESTS)),
            asks.answer.eq(answers),
            asks.psn.eq(descriptor.psn),
            self.slot.eq(lookup.tx_slot),
            routes.i.valid.eq(told),
            routes.i.payload.paced.eq(asked.paced & found),
            routes.i.payload.qp.eq(slot),
            routes.i.payload.psn.eq(asked.psn),
            routes.i.payload.counts.eq(asked.request & self.windows),
            routes.i.payload.answers.eq(asked.answer & self.windows),
        ]
        return m

    def _asked(
        self, m: Module, lookup: QpLookup | QpTurns, parsed: Value, asks: data.View
    ) -> tuple[Value, data.View]:
        """The cycle in which the look at `windows` answers, and what the parser says then."""
        if not isinstance(lookup, QpTurns):
            cycles = lookup.LATENCY + self.WINDOWS
            m.submodules.asked = line = DelayLine(_ASKED, cycles)
            m.submodules.answered = answered_stb = DelayLine(1, cycles, registers=True)
            m.d.comb += [line.i.eq(asks), answered_stb.i.eq(parsed)]
            return answered_stb.o, line.o
        # The parser's word stays until the next packet.
        answered = Signal(self.WINDOWS)
        m.d.sync += answered.eq(Cat(lookup.tx_done, answered))
        return answered[-1], asks
