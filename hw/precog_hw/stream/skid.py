"""A register slice: cuts every path of a stream, forward and backward."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Two registers, so that neither `ready` nor `valid` passes through combinationally.

    Latency: 1 cycle. Throughput: one payload per cycle. Cost: two payloads of flip-flops.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike) -> None:
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spare = Signal(self._shape)  # holds what arrived while `o` was stalled
        ready = Signal(init=1)  # the spare register is empty
        m.d.comb += self.i.ready.eq(ready)
        with m.If(self.i.ready):  # it follows until it is needed: its enable is a register
            m.d.sync += spare.eq(self.i.payload)
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [self.o.valid.eq(self.i.valid | ~ready), ready.eq(1)]
            with m.If(ready):
                m.d.sync += self.o.payload.eq(self.i.payload)
            with m.Else():
                m.d.sync += self.o.payload.eq(spare)
        with m.Elif(self.i.valid):
            m.d.sync += ready.eq(0)
        return m
