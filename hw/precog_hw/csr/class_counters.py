"""64-bit counters of classes: everything that is counted belongs to exactly one."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate

__all__ = ["ClassCounters"]


class ClassCounters(wiring.Component):
    """One 64-bit counter per class, in memory: cheaper than `Counters`, where classes exclude
    each other.

    Latency: what is counted shows in `low` 5 cycles later. Throughput: one count per cycle. After
    reset the counters are cleared for `count` cycles, in which nothing is counted.
    Cost: two memories of `count` x 64 bits, 500 flip-flops.

    Parameters
    ----------
    count : int
        Number of classes, 2 or more.

    Members
    -------
    stb : In(1)
        Count `of` up.
    of : In(range(count))
    ready : Out(1)
        The counters have been cleared.
    index : In(range(count))
        Counter to be read, held for 2 cycles before `read`.
    read : In(1)
        `low` is being read: keep the high half of the same instant.
    low, high : Out(32)
        Halves of counter `index`; `high` is the one that was kept.

    Raises
    ------
    ValueError
        `count` is smaller than 2.
    """

    def __init__(self, count: int) -> None:
        if count < 2:
            raise ValueError(f"count must be at least 2, not {count!r}")
        self._count = count
        super().__init__(
            {
                "stb": In(1),
                "of": In(range(count)),
                "ready": Out(1),
                "index": In(range(count)),
                "read": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = data.StructLayout({"count": unsigned(64)})
        m.submodules.counts = rows = RowUpdate(shape, self._count)
        m.submodules.shown = shown = Memory(shape=unsigned(64), depth=self._count, init=[])
        write, read = shown.write_port(), shown.read_port()

        # A cleared row is one that is changed to 0: `clearing` follows the change.
        row, walking = Signal(range(self._count)), Signal(init=1)
        clearing = Signal(RowUpdate.CYCLES)
        m.d.sync += clearing.eq((clearing << 1) | walking)
        with m.If(walking):
            m.d.sync += row.eq(row + 1)
            with m.If(row == self._count - 1):
                m.d.sync += walking.eq(0)
        m.d.comb += [
            self.ready.eq(~walking & ~clearing.any()),
            rows.i_stb.eq(self.stb | walking),
            rows.i_row.eq(Mux(walking, row, self.of)),
            rows.new.count.eq(Mux(clearing[-1], 0, rows.old.count + 1)),
            write.en.eq(rows.stb),
            write.addr.eq(rows.row),
            write.data.eq(rows.new),
            read.addr.eq(self.index),
            self.low.eq(read.data[:32]),
        ]
        with m.If(self.read):
            m.d.sync += self.high.eq(read.data[32:])
        return m
