"""A stream from one clock to another."""

from amaranth.hdl import Module, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Crossing"]


class Crossing(wiring.Component):
    """A short FIFO whose every decision is a register: for clocks that have no time.

    ::

        i ─► [LUT RAM] ─────────────────► [register] ─► o
               ▲ produce ─ Gray, 2 FF ─► more ▲
               └ ready ◄─ Gray, 2 FF ─ consume ┘

    What it holds when one of the clocks is reset comes out nevertheless, and one that stops holds
    it up: no reset of one clock reaches into the other.

    Latency: 2 cycles of `w_domain` and 4 of `r_domain`, at most. Throughput: one word per cycle of
    the slower clock, if `depth` is 16 or more. Cost: a word in LUT RAM for each of `depth`, a
    word's flip-flops, and some 40 beside them.

    Parameters
    ----------
    shape : ShapeLike
        Of the payload.
    w_domain, r_domain : str
        Of `i` and of `o`.
    depth : int
        Words, a power of two from 4 on.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))

    Raises
    ------
    ValueError
        `depth` is none of those.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, *, w_domain: str, r_domain: str, depth: int = 16) -> None:
        if depth < 4 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two from 4 on, not {depth!r}")
        self._shape, self._depth = shape, depth
        self._write, self._read = w_domain, r_domain
        words = stream.Signature(shape)
        super().__init__({"i": In(words), "o": Out(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self._depth.bit_length()  # of a pointer: one more than an address has
        m.submodules.words = words = Memory(shape=self._shape, depth=self._depth, init=[])
        write = words.write_port(domain=self._write)
        read = words.read_port(domain="comb")

        def pointer(name: str, other: str) -> tuple[Signal, Signal, Signal, Signal]:
            """A pointer, its next value, its Gray code, and that as the other clock sees it."""
            kept = Signal(bits, name=name, reset_less=True)
            after = Signal(bits, name=f"{name}_next")
            gray = Signal(bits, name=f"{name}_gray", reset_less=True)
            seen = Signal(bits, name=f"{name}_seen")
            synchronizer = FFSynchronizer(gray, seen, o_domain=other, reset_less=True)
            m.submodules[f"{name}_crossing"] = synchronizer
            return kept, after, gray, seen

        produce, produced, produce_gray, produce_seen = pointer("produce", self._read)
        consume, consumed, consume_gray, consume_seen = pointer("consume", self._write)

        # Room for another word behind what is written now.
        ready = Signal(reset_less=True)
        full = _gray(produced) ^ (0b11 << (bits - 2))
        m.d.comb += [
            self.i.ready.eq(ready),
            produced.eq(produce + (self.i.valid & ready)),
            *(write.en.eq(self.i.valid & ready), write.addr.eq(produce)),
            write.data.eq(self.i.payload),
        ]
        m.d[self._write] += [
            *(produce.eq(produced), produce_gray.eq(_gray(produced))),
            ready.eq(full != consume_seen),
        ]

        more, take = Signal(reset_less=True), Signal()  # another word behind the one taken now
        m.d.comb += [
            take.eq(more & (self.o.ready | ~self.o.valid)),
            consumed.eq(consume + take),
            read.addr.eq(consume),
        ]
        m.d[self._read] += [
            *(consume.eq(consumed), consume_gray.eq(_gray(consumed))),
            more.eq(_gray(consumed) != produce_seen),
        ]
        valid, word = Signal(reset_less=True), Signal(self._shape, reset_less=True)
        with m.If(self.o.ready | ~valid):
            m.d[self._read] += valid.eq(more)
        with m.If(take):
            m.d[self._read] += word.eq(read.data)
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(word)]
        return m


def _gray(number: Signal) -> Value:
    """Of which a step changes one bit."""
    return number ^ number[1:]
