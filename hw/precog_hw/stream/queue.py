"""A small FIFO of any shape with a registered output."""

from amaranth.hdl import Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import FEW

from .columns import columns
from .occupancy import occupancy

__all__ = ["Queue"]


class Queue(wiring.Component):
    """First in, first out. An empty queue passes a payload straight into its output register.

    ::

        i ─┬─────────────────► [register] ─► o
           └─► [depth rows] ─►

    Latency: 1 cycle when empty. Throughput: one payload per cycle. Cost: `depth` rows of LUT RAM,
    one payload of flip-flops, and addresses and counts for each of the `columns`.

    With `block`, for clocks up to some 70 MHz on ECP5, every payload goes through a row of block
    RAM, whose own register is `o`::

        i ─► [depth rows] ─► o

    Latency: 2 cycles when empty. Cost: a DP16KD for 36 bits, and no logic that grows with them; up
    to 16 rows are LUT RAM, near what they serve, with one payload of flip-flops.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Rows behind the output register (power of two): `depth` + 1 payloads fit.
    block : bool
        The form in block RAM, or small.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    level : Out(range(depth + 2))
        Payloads inside.

    Raises
    ------
    ValueError
        `depth` is not a power of two.

    Usage
    -----
    ::

        m.submodules.words = words = Queue(unsigned(32), depth=4)
        m.d.comb += [
            words.i.payload.eq(word),
            words.i.valid.eq(word_stb),  # lost unless words.i.ready
            words.o.ready.eq(words.level > 2),
        ]
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, depth: int, *, block: bool = False) -> None:
        if depth < 1 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two, not {depth!r}")
        self._shape = shape
        self._depth = depth
        self._block = block
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 2)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._block:
            self._through_memory(m)
            return m
        for n, bits in enumerate(columns(Shape.cast(self._shape).width)):
            self._column(m, n, bits)
        return m

    def _through_memory(self, m: Module) -> None:
        """All bits of the payloads, whose control reaches the memory alone."""
        style = "block" if self._depth > FEW else "distributed"
        # A row is read a cycle or more after it was written: the ports never meet at one.
        m.submodules.rows = rows = Memory(
            shape=Shape.cast(self._shape).width,
            depth=self._depth,
            init=[],
            attrs={"ram_style": style, "no_rw_check": 1},
        )
        write, read = rows.write_port(), rows.read_port()
        free, put, take = Signal(), Signal(), Signal()
        waiting, some, full = occupancy(m, self._depth, put, take)
        m.d.comb += [
            free.eq(self.o.ready | ~self.o.valid),
            put.eq(self.i.valid & ~full),
            take.eq(some & free),
            write.data.eq(Value.cast(self.i.payload)),
            write.en.eq(put),
            read.en.eq(take),
            Value.cast(self.o.payload).eq(read.data),
            self.i.ready.eq(~full),
            self.level.eq(waiting + self.o.valid),
        ]
        with m.If(put):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(take):
            m.d.sync += read.addr.eq(read.addr + 1)
        with m.If(free):
            m.d.sync += self.o.valid.eq(some)

    def _column(self, m: Module, n: int, bits: slice) -> None:
        """Some bits of the payloads; the first column speaks for all."""
        suffix = f"_{n}" if n else ""
        new = Value.cast(self.i.payload)[bits]
        out = Signal(len(new), name=f"payload{suffix}", reset_less=True)
        m.d.comb += Value.cast(self.o.payload)[bits].eq(out)
        m.submodules[f"rows{suffix}"] = rows = Memory(
            shape=len(new), depth=self._depth, init=[], attrs={"ram_style": "distributed"}
        )
        write = rows.write_port()
        read = rows.read_port(domain="comb")
        waiting = Signal(range(self._depth + 1), name=f"waiting{suffix}")  # rows in use
        full = Signal(name=f"full{suffix}")
        valid = Signal(name=f"valid{suffix}") if n else self.o.valid
        put, take, load = (Signal(name=f"{name}{suffix}") for name in ("put", "take", "load"))
        m.d.comb += [
            load.eq(self.o.ready | ~valid),
            take.eq(load & (waiting != 0)),
            put.eq(self.i.valid & ~full & ~(load & (waiting == 0))),
            write.data.eq(new),
            write.en.eq(self.i.valid & ~full),  # a row that is not put is written over
        ]
        if not n:
            m.d.comb += [self.i.ready.eq(~full), self.level.eq(waiting + valid)]
        with m.If(put):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(take):
            m.d.sync += read.addr.eq(read.addr + 1)
        with m.If(put & ~take):
            m.d.sync += [waiting.eq(waiting + 1), full.eq(waiting == self._depth - 1)]
        with m.Elif(take & ~put):
            m.d.sync += [waiting.eq(waiting - 1), full.eq(0)]
        with m.If(load):
            with m.If(waiting != 0):
                m.d.sync += [out.eq(read.data), valid.eq(1)]
            with m.Else():
                m.d.sync += [out.eq(new), valid.eq(self.i.valid & ~full)]
