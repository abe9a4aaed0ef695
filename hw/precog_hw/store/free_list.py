"""Cells that are free: a ring that fills itself after reset."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory

__all__ = ["FreeList"]


class FreeList(wiring.Component):
    """First freed, first used again.

    ::

        put ─► [a row for each cell] ─► [row read] ─► [output] ─► o

    Latency: 3 cycles from `put_stb` to `o` when empty; full after as many cycles as there are
    cells. Throughput: one in and one out per cycle. Cost at 1024 cells: 1 DP16KD.

    Parameters
    ----------
    cells : int
        Power of two.

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

    def __init__(self, cells: int) -> None:
        self._cells = cells
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
        m.submodules.rows = rows = plain_memory(range(self._cells), self._cells)
        write, read = rows.write_port(), rows.read_port()
        waiting, some = Signal(range(self._cells + 1)), Signal()
        take, fetched, put = Signal(), Signal(), Signal()
        free = self.o.ready | ~self.o.valid
        m.d.comb += [
            put.eq(self.put_stb | ~self.ready),
            write.en.eq(put),
            write.data.eq(self.put),
            take.eq(some & (free | ~fetched)),
            read.en.eq(take),
            self.count.eq(waiting + fetched + self.o.valid),
        ]
        with m.If(~self.ready):
            m.d.comb += write.data.eq(write.addr)
        m.d.sync += [write.addr.eq(write.addr + put), read.addr.eq(read.addr + take)]
        with m.If(write.addr == self._cells - 1):
            m.d.sync += self.ready.eq(1)
        with m.If(put & ~take):
            m.d.sync += [waiting.eq(waiting + 1), some.eq(1)]
        with m.Elif(take & ~put):
            m.d.sync += [waiting.eq(waiting - 1), some.eq(waiting != 1)]
        with m.If(take):
            m.d.sync += fetched.eq(1)
        with m.Elif(free):
            m.d.sync += fetched.eq(0)
        with m.If(free):
            m.d.sync += [self.o.valid.eq(fetched), self.o.payload.eq(read.data)]
        return m
