"""Packets into cells."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.stream.packet import USER, last_byte, packet_signature
from precog_hw.stream.queue import Queue

from .layouts import EventKind, Outcome, StoreConfig, event_layout

__all__ = ["Ingress", "link_layout", "place_layout"]

_RECORDS = 4  # packets that have come to their end and are not appended


def place_layout(config: StoreConfig) -> data.StructLayout:
    """Where a beat stands."""
    return data.StructLayout({"beat": exact_log2(config.beats), "cell": config.cell_bits})


def link_layout(config: StoreConfig) -> data.StructLayout:
    """A cell and the one behind it in its packet."""
    return data.StructLayout({"cell": config.cell_bits, "next": config.cell_bits})


class Ingress(wiring.Component):
    """Writes each beat into the packet's last cell, or into a new one; tells of its end.

    ::

        i ─► place, write ─► (data memory)
        free cells ─┘ └─► link ─► (links)
        end of a packet ─► record ─► queue ─► o

    No beat is written that would not fit: with `may_wait` the packet waits for a cell; without it,
    the rest of it is swallowed, as of one that is longer than `StoreConfig.longest`, and its record
    says so. The cells that it has are in the record then, too.

    Latency: 2 cycles from a packet's last beat to its record. Throughput: a beat per cycle.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    i : In(packet_signature(width))
    qp : In(range(qps))
        The queue; with each beat.
    label : In(config.label)
        As above.
    i_free : In(stream.Signature(range(cells)))
        Free cells.
    may_wait : In(1)
        A packet without a cell waits for one.
    write_stb, place, write : Out
        A beat's data and where they go.
    link_stb, link : Out
        A packet goes on in another cell.
    user_stb, user_cell, user : Out
        A packet's end: its first cell, and what travels with its last beat.
    o : Out(stream.Signature(event_layout(config)))
        APPEND, one for each packet, in order.
    """

    i: stream.Interface
    i_free: stream.Interface
    o: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(packet_signature(config.width)),
                "qp": In(range(config.qps)),
                "label": In(config.label),
                "i_free": In(stream.Signature(range(config.cells))),
                "may_wait": In(1),
                "write_stb": Out(1),
                "place": Out(place_layout(config)),
                "write": Out(config.width),
                "link_stb": Out(1),
                "link": Out(link_layout(config)),
                "user_stb": Out(1),
                "user_cell": Out(config.cell_bits),
                "user": Out(USER),
                "o": Out(stream.Signature(event_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.records = records = Queue(event_layout(config), _RECORDS)
        wiring.connect(m, records.o, wiring.flipped(self.o))
        beat = self.i.payload

        cell, first = Signal(config.cell_bits), Signal(config.cell_bits)
        index = Signal(range(config.beats))
        cells = Signal(config.count_bits)  # of this packet
        size = Signal(range(config.longest + 1))  # bytes of its beats so far
        outcome = Signal(Outcome)  # STORED as long as it can be
        inside = Signal()
        # Known before the beat comes: it needs another cell; the packet has all that it may.
        opens, most = Signal(init=1), Signal()
        full, lost, taken, writes = (Signal(name=n) for n in ("full", "lost", "taken", "writes"))
        fate = Signal(Outcome)
        m.d.comb += [
            full.eq(opens & most),
            lost.eq(opens & ~most & ~self.i_free.valid),
            fate.eq(Mux(full, Outcome.LONG, Mux(lost, Outcome.MEMORY, outcome))),
            # A record of the packet before may be on its way: room for one is kept.
            self.i.ready.eq(records.i.ready & ~(lost & self.may_wait)),
            taken.eq(self.i.valid & self.i.ready),
            writes.eq(taken & (fate == Outcome.STORED)),
            self.i_free.ready.eq(writes & opens),
            self.write_stb.eq(writes),
            self.place.cell.eq(Mux(opens, self.i_free.payload, cell)),
            self.place.beat.eq(index),
            self.write.eq(beat.data),
            self.link_stb.eq(writes & opens & inside),
            self.link.cell.eq(cell),
            self.link.next.eq(self.i_free.payload),
            self.user_stb.eq(writes & beat.last),
            self.user_cell.eq(Mux(inside, first, self.i_free.payload)),
            self.user.eq(beat.user),
        ]
        with m.If(writes):
            m.d.sync += [
                cell.eq(self.place.cell),
                index.eq(index + 1),
                size.eq(size + config.width // 8),
                cells.eq(cells + opens),
            ]
        m.d.sync += most.eq(cells == config.most)  # a cell has two beats, or more
        with m.If(taken):
            m.d.sync += [inside.eq(~beat.last), outcome.eq(fate)]
            m.d.sync += opens.eq((fate == Outcome.STORED) & (index == config.beats - 1))
            with m.If(~inside):
                m.d.sync += first.eq(self.i_free.payload)
            with m.If(beat.last):
                m.d.sync += [index.eq(0), size.eq(0), cells.eq(0), outcome.eq(Outcome.STORED)]
                m.d.sync += [opens.eq(1), most.eq(0)]

        record = records.i.payload
        rest = (last_byte(beat.keep) if config.width > 8 else 0) + 1
        ended = Signal()
        m.d.comb += records.i.valid.eq(ended)
        with m.If(records.i.ready):
            m.d.sync += ended.eq(taken & beat.last)
            m.d.sync += [
                record.kind.eq(EventKind.APPEND),
                record.qp.eq(self.qp),
                record.label.eq(self.label),
                record.cell.eq(self.user_cell),
                record.cells.eq(cells + self.i_free.ready),
                record.bytes.eq(size + rest),
                record.outcome.eq(fate),
                record.may_wait.eq(self.may_wait),
            ]
        return m
