"""A FIFO of packet beats: they wait there until the decision about their packet is made."""

from amaranth.hdl import Module, Shape, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .columns import columns
from .occupancy import occupancy
from .packet import beat_layout, packet_signature

__all__ = ["PacketFifo"]

_LUT_RAM_ROWS = 32  # two LUT RAM cells deep; a block RAM of an ECP5 begins at 512 rows of 36 bits


class PacketFifo(wiring.Component):
    """First in, first out, of beats.

    ::

        i ─► [depth rows] ─► [row read] ─► [output] ─► o

    Latency: 3 cycles when empty. Throughput: one beat per cycle. Cost: `depth` rows of LUT RAM up
    to `_LUT_RAM_ROWS` (512 bits, 32 rows: 324 cells, 834 LUT4, 1432 flip-flops), of block RAM above
    (64 bits: 4 of them, 59 LUT4, 168 flip-flops). The second register is there because a block
    RAM's data comes late in the cycle.

    Parameters
    ----------
    width : int
        Bits in a beat.
    depth : int
        Rows (power of two, two or more). `depth` + 2 beats fit.
    block : bool
        In block RAM, with 64 rows or more, for devices with few LUTs.

    Members
    -------
    i : In(packet_signature(width))
    o : Out(packet_signature(width))

    Raises
    ------
    ValueError
        `width` is not one of `WIDTHS`, or `depth` not a power of two from 2 on.

    Usage
    -----
    ::

        m.submodules.beats = beats = PacketFifo(64, depth=32)
        m.submodules.link = link = PacketArbiter(64, inputs=2)
        wiring.connect(m, beats.o, link.i[0])
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, width: int, depth: int, *, block: bool = False) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two from 2 on, not {depth!r}")
        self._width = width
        self._depth = max(depth, 2 * _LUT_RAM_ROWS) if block else depth
        super().__init__({"i": In(packet_signature(width)), "o": Out(packet_signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n, bits in enumerate(columns(Shape.cast(beat_layout(self._width)).width)):
            self._column(m, n, bits)
        return m

    def _column(self, m: Module, n: int, bits: slice) -> None:
        """Some bits of the beats; the first column speaks for all."""
        suffix = f"_{n}" if n else ""
        new = Value.cast(self.i.payload)[bits]
        out = Signal(len(new), name=f"payload{suffix}", reset_less=True)
        m.d.comb += Value.cast(self.o.payload)[bits].eq(out)
        style = "distributed" if self._depth <= _LUT_RAM_ROWS else "block"
        # A row is read a cycle or more after it was written: the ports never meet at one.
        m.submodules[f"rows{suffix}"] = rows = Memory(
            shape=len(new),
            depth=self._depth,
            init=[],
            attrs={"ram_style": style, "no_rw_check": 1},
        )
        write, read = rows.write_port(), rows.read_port()
        fetched = Signal(name=f"fetched{suffix}")  # a row is read
        valid = Signal(name=f"valid{suffix}") if n else self.o.valid
        put, take = (Signal(name=f"{name}{suffix}") for name in ("put", "take"))
        _, some, full = occupancy(m, self._depth, put, take, suffix)
        free = self.o.ready | ~valid
        m.d.comb += [
            put.eq(self.i.valid & ~full),
            take.eq(some & (free | ~fetched)),
            write.data.eq(new),
            write.en.eq(put),
            read.en.eq(take),
        ]
        if not n:
            m.d.comb += self.i.ready.eq(~full)
        with m.If(put):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(take):
            m.d.sync += read.addr.eq(read.addr + 1)
        with m.If(take):
            m.d.sync += fetched.eq(1)
        with m.Elif(free):
            m.d.sync += fetched.eq(0)
        with m.If(free):
            m.d.sync += [valid.eq(fetched), out.eq(read.data)]
