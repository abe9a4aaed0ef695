"""64-bit counters of classes: everything that is counted belongs to exactly one."""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate

__all__ = ["ClassCounters"]


class ClassCounters(wiring.Component):
    """One 64-bit counter per class, in memory: cheaper than `Counters`, where classes exclude
    each other.

    A row is of the current epoch or counts as 0: so all are cleared in one cycle, and then swept in
    cycles in which nothing is counted.

    Latency: what is counted shows in `low` 5 cycles later. Throughput: one count per cycle. After
    reset the counters are cleared for `count` cycles, in which nothing is counted.
    Cost: two memories of `count` x 65 bits, 500 flip-flops.

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
    clear : In(1)
        Strobe: all counters are 0, with what was counted until now, or as soon as `busy` lets them.
    busy : Out(1)
        The sweep that follows a clear.
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
                "clear": In(1),
                "busy": Out(1),
                "index": In(range(count)),
                "read": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = data.StructLayout({"count": unsigned(64), "epoch": 1})
        m.submodules.counts = rows = RowUpdate(shape, self._count)
        m.submodules.shown = shown = Memory(shape=shape, depth=self._count, init=[])
        write, read = shown.write_port(), shown.read_port()

        # A swept row changes to what it counts as: `sweeping` follows the change.
        row, walking, wipes = Signal(range(self._count)), Signal(init=1), Signal()
        epoch, wanted, first = Signal(), Signal(), Signal(init=1)
        sweeping = Signal(RowUpdate.CYCLES)
        under_way = walking | sweeping.any()
        m.d.comb += [
            wipes.eq(walking & ~self.stb),
            self.ready.eq(~first),
            self.busy.eq(wanted | under_way),
        ]
        m.d.sync += sweeping.eq((sweeping << 1) | wipes)
        with m.If(wipes):
            m.d.sync += row.eq(row + 1)
            with m.If(row == self._count - 1):
                m.d.sync += [walking.eq(0), row.eq(0)]
        with m.If(~under_way):
            m.d.sync += first.eq(0)
            with m.If(wanted):
                m.d.sync += [epoch.eq(~epoch), walking.eq(1), wanted.eq(0)]
        with m.If(self.clear):
            m.d.sync += wanted.eq(1)

        def counted(kept: data.View) -> Value:
            return Mux(kept.epoch == epoch, kept.count, 0)

        # Of before the reset nothing counts, whatever its epoch says.
        was, now = Signal(64), Signal(64)
        m.d.comb += [
            rows.i_stb.eq(self.stb | wipes),
            rows.i_row.eq(Mux(wipes, row, self.of)),
            was.eq(Mux(first, 0, counted(rows.old))),
            rows.new.count.eq(was + ~sweeping[-1]),
            rows.new.epoch.eq(epoch),
            write.en.eq(rows.stb),
            write.addr.eq(rows.row),
            write.data.eq(rows.new),
            read.addr.eq(self.index),
            now.eq(counted(read.data)),
            self.low.eq(now[:32]),
        ]
        with m.If(self.read):
            m.d.sync += self.high.eq(now[32:])
        return m
