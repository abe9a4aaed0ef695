"""A stream from one clock to another."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
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
    word's flip-flops, and some 40 more.

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

        def pointer(
            name: str, mine: str, other: str, moves: Signal
        ) -> tuple[Signal, Signal, Value, Signal]:
            """A pointer, its Gray code, that of the next one, and what the other clock sees."""
            kept = Signal(bits, name=name, reset_less=True)
            after = Signal(bits, name=f"{name}_next", init=1, reset_less=True)
            gray = Signal(bits, name=f"{name}_gray", reset_less=True)
            seen = Signal(bits, name=f"{name}_seen")
            m.submodules[f"{name}_crossing"] = FFSynchronizer(
                gray, seen, o_domain=other, reset_less=True
            )
            with m.If(moves):
                m.d[mine] += [kept.eq(after), after.eq(after + 1), gray.eq(_gray(after))]
            return kept, gray, _gray(after), seen

        # Whether it moves is known last, so that both ways are compared next to each other.
        put, take = Signal(), Signal()
        produce, kept, grown, produce_seen = pointer("produce", self._write, self._read, put)
        consume, left, taken, consume_seen = pointer("consume", self._read, self._write, take)
        ready = Signal(reset_less=True)  # room for another word
        full = consume_seen ^ (0b11 << (bits - 2))
        m.d.comb += [
            self.i.ready.eq(ready),
            put.eq(self.i.valid & ready),
            # Whatever is there is no word until the pointer passes it: the enable is a register.
            write.en.eq(ready),
            write.addr.eq(produce),
            write.data.eq(self.i.payload),
        ]
        m.d[self._write] += ready.eq(Mux(put, grown != full, kept != full))

        more = Signal(reset_less=True)  # another word
        m.d.comb += [take.eq(more & (self.o.ready | ~self.o.valid)), read.addr.eq(consume)]
        m.d[self._read] += more.eq(Mux(take, taken != produce_seen, left != produce_seen))
        valid, word = Signal(reset_less=True), Signal(self._shape, reset_less=True)
        with m.If(self.o.ready | ~valid):  # a word that is none may be caught while it is written
            m.d[self._read] += [valid.eq(more), word.eq(read.data)]
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(word)]
        return m


def _gray(number: Signal) -> Value:
    """Of which a step changes one bit."""
    return number ^ number[1:]
