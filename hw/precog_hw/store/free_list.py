"""Cells that are free: a ring that fills itself after reset."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue
from precog_hw.stream.skid import SkidBuffer

__all__ = ["FreeList"]

_AHEAD = 8  # cells that were read and not taken


class FreeList(wiring.Component):
    """First freed, first used again.

    ::

        put ─► register ─► [a row for each cell] ─► [row read] ─► queue ─► slice ─► o

    A count of rows under way decides whether a row is read, not `o.ready`.

    Latency: 6 cycles from `put_stb` to `o` when empty; full after as many cycles as there are
    cells. Throughput: one in and one out per cycle. Cost at 1024 cells: 1 DP16KD.

    Parameters
    ----------
    cells : int
        Power of two.
    block : bool
        As `plain_memory`, of its rows.

    Members
    -------
    put_stb, put : In
        This cell is free from now on; not before `ready`, and none that is.
    o : Out(stream.Signature(range(cells)))
    ready : Out(1)
        Every cell was put in after the reset.
    count : Out(range(cells + 1))
        Free cells.
    """

    o: stream.Interface

    def __init__(self, cells: int, *, block: bool = False) -> None:
        self._cells, self._block = cells, block
        super().__init__(
            {
                "put_stb": In(1),
                "put": In(range(cells)),
                "o": Out(stream.Signature(range(cells))),
                "ready": Out(1),
                "count": Out(range(cells + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Never read where it is written: that would be a cell that was taken before it was put.
        cell = range(self._cells)
        m.submodules.rows = rows = plain_memory(cell, self._cells, block=self._block)
        write, read = rows.write_port(), rows.read_port()
        m.submodules.ahead = ahead = Queue(cell, _AHEAD)
        m.submodules.next = following = SkidBuffer(cell)
        wiring.connect(m, ahead.o, following.i)
        wiring.connect(m, following.o, wiring.flipped(self.o))
        waiting, some = Signal(range(self._cells + 1)), Signal()
        take, fetched, came, given = Signal(), Signal(), Signal(), Signal()
        read_ahead = Signal(range(_AHEAD + 1))
        m.d.sync += [
            write.en.eq(came),
            write.data.eq(self.put),
            write.addr.eq(write.addr + write.en),
        ]
        m.d.comb += [
            came.eq(self.put_stb | ~self.ready),
            take.eq(some & (read_ahead != _AHEAD)),
            given.eq(self.o.valid & self.o.ready),
        ]
        filled = Signal(range(self._cells))
        with m.If(~self.ready):
            m.d.sync += [write.data.eq(filled), filled.eq(filled + 1)]
        with m.If(filled == self._cells - 1):
            m.d.sync += self.ready.eq(1)
        m.d.sync += [
            read.addr.eq(read.addr + take),
            read_ahead.eq(read_ahead + take - given),
            self.count.eq(self.count + came - given),
        ]
        with m.If(write.en & ~take):
            m.d.sync += [waiting.eq(waiting + 1), some.eq(1)]
        with m.Elif(take & ~write.en):
            m.d.sync += [waiting.eq(waiting - 1), some.eq(waiting != 1)]
        # A block RAM's output is late; it gets a register of its own.
        m.d.sync += [
            fetched.eq(take),
            ahead.i.valid.eq(fetched),
            ahead.i.payload.eq(read.data),
        ]
        return m
