"""A register slice: cuts every path of a stream, forward and backward."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .columns import columns

__all__ = ["SkidBuffer"]


class SkidBuffer(wiring.Component):
    """Two registers, so that neither `ready` nor `valid` passes through combinationally.

    Latency: 1 cycle. Throughput: one payload per cycle. Cost: two payloads of flip-flops, and two
    for each of the `columns`.

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

        m.submodules.cut = cut = SkidBuffer(unsigned(32))
        m.submodules.words = words = Queue(unsigned(32), depth=4)
        wiring.connect(m, cut.o, words.i)
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike) -> None:
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = Shape.cast(self._shape).width
        # What is not valid need not be known: reset leaves payloads alone.
        payload = Signal(self._shape, reset_less=True)
        spare = Signal(self._shape, reset_less=True)  # what arrived while `o` was stalled
        new, old, out = (Value.cast(v) for v in (self.i.payload, spare, payload))
        m.d.comb += self.o.payload.eq(payload)
        for n, bits in enumerate(columns(width)):
            # The spare register is empty.
            ready = Signal(init=1, name=f"ready_{n}" if n else "ready")
            valid = Signal(name=f"valid_{n}") if n else self.o.valid
            if not n:
                m.d.comb += self.i.ready.eq(ready)
            with m.If(ready):  # it follows until it is needed: its enable is a register
                m.d.sync += old[bits].eq(new[bits])
            with m.If(self.o.ready | ~valid):
                m.d.sync += [valid.eq(self.i.valid | ~ready), ready.eq(1)]
                with m.If(ready):
                    m.d.sync += out[bits].eq(new[bits])
                with m.Else():
                    m.d.sync += out[bits].eq(old[bits])
            with m.Elif(self.i.valid):
                m.d.sync += ready.eq(0)
        return m
