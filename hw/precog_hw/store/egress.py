"""Packets out of cells."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.pace.layouts import SIZE_BITS
from precog_hw.stream.packet import USER, beat_layout, packet_signature
from precog_hw.stream.queue import Queue

from .ingress import place_layout
from .layouts import StoreConfig, leaving_layout

__all__ = ["Egress"]

_AHEAD = 8  # beats that were asked of the memory and have not left


class Egress(wiring.Component):
    """Reads one packet after the other, whole; its cells are free as they have been read.

    ::

        i ─► place ─► [address] ─► (data memory) ─► [row read] ─► queue ─► o
               ▲ │ └─► [free cells]
         (links) ┘

    A count of beats under way decides whether the memory is read, not `ready`: the blocks of a
    large memory are far from the output, and from each other.

    Latency: 5 cycles from `i` to the first beat. Throughput: a beat per cycle, also from one packet
    to the next.

    Parameters
    ----------
    config : StoreConfig
    block : bool
        As `Queue`, of its beats: one more cycle.

    Members
    -------
    i : In(stream.Signature(leaving_layout(config)))
    o : Out(packet_signature(width))
    place : Out(place_layout(config))
    read : In(width)
        In the next cycle: what stands there.
    link_cell : Out(cell_bits)
        Whose link is to be read.
    link_next : In(cell_bits)
        In the next cycle: what stands there.
    free_stb, free : Out
        This cell is free from now on; not in every cycle. Its last beat is read meanwhile.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: StoreConfig, *, block: bool = False) -> None:
        self._config, self._block = config, block
        super().__init__(
            {
                "i": In(stream.Signature(leaving_layout(config))),
                "o": Out(packet_signature(config.width)),
                "place": Out(place_layout(config)),
                "read": In(config.width),
                "link_cell": Out(config.cell_bits),
                "link_next": In(config.cell_bits),
                "free_stb": Out(1),
                "free": Out(config.cell_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, step = self._config, self._config.width // 8
        beat_bits = exact_log2(step)
        m.submodules.beats = beats = Queue(beat_layout(config.width), _AHEAD, block=self._block)
        wiring.connect(m, beats.o, wiring.flipped(self.o))
        job = self.i.payload
        cell, index = Signal(config.cell_bits), Signal(range(config.beats))
        left = Signal(SIZE_BITS)  # beats of the packet behind this one
        rest = Signal(beat_bits)  # bytes of its last beat less 1
        user, active, ends = Signal(USER), Signal(), Signal()
        moves, closes = Signal(), Signal()
        ahead, given = Signal(range(_AHEAD + 1)), Signal()
        m.d.comb += [
            moves.eq(active & (ahead != _AHEAD)),
            closes.eq(ends | (index == config.beats - 1)),
            self.link_cell.eq(cell),
            self.i.ready.eq(~active | (moves & ends)),
            given.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            self.place.cell.eq(cell),
            self.place.beat.eq(index),
            self.free_stb.eq(moves & closes),
            self.free.eq(cell),
            ahead.eq(ahead + moves - given),
        ]
        with m.If(moves):
            m.d.sync += [index.eq(index + 1), left.eq(left - 1), ends.eq(left == 1)]
            with m.If(closes):
                m.d.sync += cell.eq(self.link_next)
        with m.If(self.i.ready):
            before = job.bytes - 1
            m.d.sync += [
                active.eq(self.i.valid),
                cell.eq(job.cell),
                index.eq(0),
                user.eq(job.user),
                left.eq(before[beat_bits:SIZE_BITS]),
                rest.eq(before[:beat_bits]),
                ends.eq(~before[beat_bits:SIZE_BITS].any()),
            ]

        # Parallel to the memory's three cycles: the address, the row read, its register.
        told = [(moves, ends, rest, user)]
        for n in range(1, 4):
            told.append(tuple(Signal.like(value, name=f"told{n}") for value in told[-1]))
            m.d.sync += [late.eq(value) for late, value in zip(told[n], told[n - 1], strict=True)]
        valid, last, late_rest, late_user = told[3]
        beat = beats.i.payload
        # As many ones as the last beat has bytes.
        keep = ((2 << late_rest) - 1)[:step] if beat_bits else 1
        m.d.sync += beat.data.eq(self.read)
        m.d.comb += [
            beats.i.valid.eq(valid),
            beat.last.eq(last),
            beat.user.eq(late_user),
            beat.user.error.eq(late_user.error & last),
            beat.keep.eq(Mux(last, keep, (1 << step) - 1)),
        ]
        return m
