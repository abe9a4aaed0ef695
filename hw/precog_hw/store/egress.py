"""Packets out of cells."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from precog_hw.pace.layouts import SIZE_BITS
from precog_hw.stream.packet import USER, packet_signature

from .ingress import place_layout
from .layouts import StoreConfig, job_layout

__all__ = ["Egress"]


class Egress(wiring.Component):
    """Reads one packet after the other, whole; its cells are free as they have been read.

    ::

        i ─► place ─► (data memory, links) ─► [row read] ─► [output] ─► o
               └─► free cells

    Latency: 4 cycles from `i` to the first beat. Throughput: a beat per cycle, also from one packet
    to the next.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    i : In(stream.Signature(job_layout(config)))
    o : Out(packet_signature(width))
    place : Out(place_layout(config))
    read_en : Out(1)
        Read the beat at `place`.
    read : In(width)
        It, from the next cycle until another one is read.
    link_cell : Out(cell_bits)
        Whose link is to be read.
    link_next : In(cell_bits)
        In the next cycle: what stands there.
    free_stb, free : Out
        This cell is free from now on; not in every cycle.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(job_layout(config))),
                "o": Out(packet_signature(config.width)),
                "place": Out(place_layout(config)),
                "read_en": Out(1),
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
        job = self.i.payload
        cell, index = Signal(config.cell_bits), Signal(range(config.beats))
        left = Signal(SIZE_BITS)  # beats of the packet behind this one
        rest = Signal(beat_bits)  # bytes of its last beat less 1
        user, active, ends = Signal(USER), Signal(), Signal()
        fetched, moves, closes = Signal(), Signal(), Signal()
        free = self.o.ready | ~self.o.valid
        m.d.comb += [
            moves.eq(active & (free | ~fetched)),
            closes.eq(ends | (index == config.beats - 1)),
            *(self.place.cell.eq(cell), self.place.beat.eq(index)),
            *(self.read_en.eq(moves), self.link_cell.eq(cell)),
            *(self.free_stb.eq(moves & closes), self.free.eq(cell)),
            self.i.ready.eq(~active | (moves & ends)),
        ]
        with m.If(moves):
            m.d.sync += [index.eq(index + 1), left.eq(left - 1), ends.eq(left == 1)]
            with m.If(closes):
                m.d.sync += cell.eq(self.link_next)
        with m.If(self.i.ready):
            before = job.bytes - 1
            m.d.sync += [
                *(active.eq(self.i.valid), cell.eq(job.cell), index.eq(0), user.eq(job.user)),
                *(left.eq(before[beat_bits:SIZE_BITS]), rest.eq(before[:beat_bits])),
                ends.eq(~before[beat_bits:SIZE_BITS].any()),
            ]

        last, late_rest, late_user = Signal(), Signal(beat_bits), Signal(USER)
        with m.If(moves):
            m.d.sync += [
                *(fetched.eq(1), last.eq(ends), late_rest.eq(rest), late_user.eq(user)),
            ]
        with m.Elif(free):
            m.d.sync += fetched.eq(0)
        beat = self.o.payload
        with m.If(free):
            # As many ones as the last beat has bytes.
            keep = ((2 << late_rest) - 1)[:step] if beat_bits else 1
            m.d.sync += [
                *(self.o.valid.eq(fetched), beat.data.eq(self.read), beat.last.eq(last)),
                *(beat.user.eq(late_user), beat.user.error.eq(late_user.error & last)),
                beat.keep.eq(Mux(last, keep, (1 << step) - 1)),
            ]
        return m
