"""A FIFO that costs no cycle when it is empty."""

from amaranth.hdl import Module, Mux, ShapeLike
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .queue import Queue

__all__ = ["ThroughQueue"]


class ThroughQueue(wiring.Component):
    """First in, first out; a payload that finds it empty is offered in its own cycle.

    ::

        i ─┬──────────────► [or] ─► o
           └─► [`Queue`] ────┘

    Latency: none when empty, then from `i` to `o` there is logic alone. Throughput: one payload per
    cycle. Cost: a `Queue` and a choice of two.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Of the `Queue`.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))

    Usage
    -----
    ::

        m.submodules.words = words = ThroughQueue(unsigned(32), depth=4)
        m.d.comb += [
            words.i.payload.eq(word),
            words.i.valid.eq(word_stb),  # lost unless words.i.ready
        ]
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._queue = Queue(shape, depth)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = self._queue
        # A queue without an offer is empty: it gives a payload in the cycle after it took one.
        empty = ~queue.o.valid
        m.d.comb += [
            self.o.valid.eq(queue.o.valid | self.i.valid),
            self.o.payload.eq(Mux(empty, self.i.payload, queue.o.payload)),
            queue.o.ready.eq(self.o.ready),
            queue.i.payload.eq(self.i.payload),
            queue.i.valid.eq(self.i.valid & ~(empty & self.o.ready)),
            self.i.ready.eq(queue.i.ready),
        ]
        return m
