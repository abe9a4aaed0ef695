"""One register for a stream that has time."""

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Held"]


class Held(wiring.Component):
    """A payload stays in its register until it is taken; only then there is room for the next.

    Latency: 1 cycle. Throughput: one payload in 2 cycles. Cost: a payload of flip-flops, no logic.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))

    Usage
    -----
    ::

        m.submodules.held = held = Held(unsigned(32))
        m.d.comb += [
            held.i.payload.eq(word),
            held.i.valid.eq(word_stb),  # lost unless held.i.ready
        ]
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid)
        with m.If(~self.o.valid):
            m.d.sync += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m
