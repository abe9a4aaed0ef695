"""64-bit counters of classes: everything that is counted belongs to exactly one."""

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import RowUpdate, plain_memory

__all__ = ["ClassCounters"]


class ClassCounters(wiring.Component):
    """One 64-bit counter per class, in memory: cheaper than `Counters`, where classes exclude
    each other.

    ::

        of ─┬─► [rows of 64 bits] ─► + ─► [rows]
        walk ┘               └─► [kept rows] ─► low, high

    A row is of the current epoch or counts as 0: so all are cleared in one cycle, and then swept in
    cycles in which nothing is counted. A snapshot walks over the rows in such cycles and copies
    them; a row that is counted before the walk has come to it is copied at that moment.

    Latency: a snapshot has the counts of all cycles before its strobe; `busy` falls once `count`
    cycles without a count have passed, and 3 more. Throughput: one count per cycle. After reset the
    counters are cleared for `count` cycles, in which nothing is counted.
    Cost of 20 classes (ECP5): 489 LUT4, 38 CCU2C, 66 TRELLIS_DPR16X4, 460 flip-flops.

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
    snapshot : In(1)
        Strobe, not while `busy`: keep all counters.
    clear : In(1)
        Strobe: all counters and the snapshot are 0, with what was counted until now, or as soon as
        the sweep of an earlier clear is over.
    busy : Out(1)
        A sweep or a snapshot is not complete.
    index : In(range(count))
        Counter to be read, held for a cycle before `low` and `high` are.
    low, high : Out(32)
        Halves of counter `index` in the snapshot, which is the host's unless `busy`.

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
                "snapshot": In(1),
                "clear": In(1),
                "busy": Out(1),
                "index": In(range(count)),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = data.StructLayout({"count": unsigned(64), "epoch": 1})
        m.submodules.counts = rows = RowUpdate(shape, self._count)
        m.submodules.kept = kept = plain_memory(unsigned(64), self._count)
        write, read = kept.write_port(), kept.read_port()

        # A swept row changes to what it counts as: `sweeping` follows the change.
        row, walking, wipes = Signal(range(self._count)), Signal(init=1), Signal()
        epoch, wanted, first = Signal(), Signal(), Signal(init=1)
        sweeping = Signal(RowUpdate.CYCLES)
        under_way = walking | sweeping.any()
        flips = wanted & ~under_way
        m.d.comb += [wipes.eq(walking & ~self.stb), self.ready.eq(~first)]
        m.d.sync += sweeping.eq((sweeping << 1) | wipes)
        with m.If(wipes):
            m.d.sync += row.eq(row + 1)
            with m.If(row == self._count - 1):
                m.d.sync += [walking.eq(0), row.eq(0)]
        with m.If(~under_way):
            m.d.sync += first.eq(0)
        with m.If(flips):
            m.d.sync += [epoch.eq(~epoch), walking.eq(1), wanted.eq(0)]
        with m.If(self.clear):
            m.d.sync += wanted.eq(1)

        # A row is copied when it changes first, or is passed: both come out of `rows` in order.
        # `later` follows the changes that the snapshot does not have.
        copying, place, copies = Signal(init=1), Signal(range(self._count)), Signal()
        copied, passing = Signal(self._count), Signal(RowUpdate.CYCLES)
        later = Signal(RowUpdate.CYCLES)
        m.d.comb += [
            copies.eq(copying & ~self.stb & ~wipes),
            self.busy.eq(wanted | under_way | copying | later.any()),
        ]
        m.d.sync += [
            passing.eq((passing << 1) | copies),
            later.eq((later << 1) | copying | self.snapshot),
        ]
        with m.If(copies):
            m.d.sync += place.eq(place + 1)
            with m.If(place == self._count - 1):
                m.d.sync += [copying.eq(0), place.eq(0)]
        with m.If(write.en):
            m.d.sync += copied.bit_select(rows.row, 1).eq(1)
        with m.If(self.snapshot | flips):
            m.d.sync += [copying.eq(1), place.eq(0), copied.eq(0)]
        with m.If(flips):  # the changes on their way count from 0
            m.d.sync += later.eq(~0)

        def counted(row: data.View) -> Value:
            return Mux(row.epoch == epoch, row.count, 0)

        # Counts from before the reset are void, even if their epoch happens to match.
        was, stays = Signal(64), sweeping[-1] | passing[-1]
        m.d.comb += [
            rows.i_stb.eq(self.stb | wipes | copies),
            rows.i_row.eq(Mux(self.stb, self.of, Mux(wipes, row, place))),
            was.eq(Mux(first, 0, counted(rows.old))),
            rows.new.count.eq(was + ~stays),
            rows.new.epoch.eq(epoch),
            write.en.eq(rows.stb & later[-1] & ~copied.bit_select(rows.row, 1)),
            write.addr.eq(rows.row),
            write.data.eq(was),
            read.addr.eq(self.index),
            self.low.eq(read.data[:32]),
            self.high.eq(read.data[32:]),
        ]
        return m
