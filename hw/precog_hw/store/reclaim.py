"""Cells of packets that were dropped become free, one after the other."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import StoreConfig, cells_layout

__all__ = ["Reclaim"]


class Reclaim(wiring.Component):
    """Follows the links of a packet.

    Throughput: a cell in 3 cycles.

    Parameters
    ----------
    config : StoreConfig

    Members
    -------
    i : In(stream.Signature(cells_layout(config)))
        First cell and number of cells, 0 for none.
    cell : Out(cell_bits)
        Whose link is to be read.
    next : In(cell_bits)
        Two cycles later: what stands there.
    o : Out(stream.Signature(range(cells)))
        A cell is free from now on.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(cells_layout(config))),
                "cell": Out(config.cell_bits),
                "next": In(config.cell_bits),
                "o": Out(stream.Signature(range(config.cells))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cell, left = Signal(self._config.cell_bits), Signal(self._config.count_bits)
        m.d.comb += [self.cell.eq(cell), self.o.payload.eq(cell)]
        with m.FSM(name="reclaim"):
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [cell.eq(self.i.payload.cell), left.eq(self.i.payload.cells)]
                with m.If(self.i.valid & (self.i.payload.cells != 0)):
                    m.next = "FREE"
            with m.State("FREE"):
                # The link is read while its cell is still taken.
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += left.eq(left - 1)
                    m.next = "READ"
                    with m.If(left == 1):
                        m.next = "IDLE"
            with m.State("READ"):
                m.next = "FOLLOW"
            with m.State("FOLLOW"):
                m.d.sync += cell.eq(self.next)
                m.next = "FREE"
        return m
