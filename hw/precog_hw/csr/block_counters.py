"""64-bit counters in block RAM, where LUTs are scarce: each is changed in its turn."""

from amaranth.hdl import Array, Assert, Module, Mux, ShapeLike, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory

__all__ = ["ASKED_APART", "BlockClassCounters", "BlockCounters", "CounterRows"]

ASKED_APART = 5  # cycles, at least, from one question of the host to the next
_ROW = data.StructLayout({"low": unsigned(32), "high": unsigned(32)})


class CounterRows(wiring.Component):
    """Rows of 64 bits in one block RAM, changed one at a time and read by the host in between.

    ::

        row ───┐
        index ─┴► [rows of 64 bits] ─┬─► old ─► + ─► [rows]   asked: the port is the host's,
                               by ───│──────────┘             and the row waits
                                     └─► low, high

    Latency: a change takes 3 cycles, with a question of the host 4 at most; what is asked for is
    there in the next cycle. Cost (ECP5): 2 DP16KD, an adder of 64 bits, 64 flip-flops and one for
    each row.

    Parameters
    ----------
    count : int
        Rows, 2 or more.
    by : ShapeLike
        Of what is added.

    Members
    -------
    stb : In(1)
        Add `by` to row `row`; both hold until `done`, but `by` may grow.
    row : In(range(count))
    by : In(by)
    done : Out(1)
        In this cycle it is added.
    asked : In(1)
        The host wants row `index` in the next cycle. Not in two cycles less than `ASKED_APART`
        apart.
    index : In(range(count))
        From the cycle of `asked` to that of `read`.
    read : In(1)
        Keep the high half of what is shown.
    clear : In(1)
        All rows are 0, and what is under way is not added.
    low, high : Out(32)
        Row `index`, in the cycle after `asked`; and what was kept.
    """

    def __init__(self, count: int, by: ShapeLike) -> None:
        self._count = count
        super().__init__(
            {
                "stb": In(1),
                "row": In(range(count)),
                "by": In(by),
                "done": Out(1),
                "asked": In(1),
                "index": In(range(count)),
                "read": In(1),
                "clear": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Written in no cycle in which it is read: a change first reads and then writes.
        m.submodules.rows = rows = plain_memory(_ROW, self._count, block=True)
        write, read = rows.write_port(), rows.read_port()
        begun = Signal(self._count)  # rows written since reset or `clear`
        fetched, held = Signal(), Signal()  # the row of the change has been read; `old` is it
        begins = Signal()
        was, old, shown, total = Signal(64), Signal(64), Signal(_ROW), Signal(64)
        m.d.comb += [
            begins.eq(self.stb & ~fetched & ~held & ~self.asked),
            self.done.eq(self.stb & held & ~self.asked),
            read.addr.eq(Mux(self.asked, self.index, self.row)),
            read.en.eq(self.asked | begins),
            was.eq(Mux(begun.bit_select(self.row, 1), read.data.as_value(), 0)),
            total.eq(old + self.by),
            write.addr.eq(self.row),
            write.data.eq(total),
            write.en.eq(self.done),
            shown.eq(Mux(begun.bit_select(self.index, 1), read.data.as_value(), 0)),
            self.low.eq(shown.low),
        ]
        m.d.sync += [fetched.eq(begins), held.eq(self.stb & (fetched | (held & ~self.done)))]
        with m.If(fetched):
            m.d.sync += old.eq(was)
        with m.If(self.done):
            m.d.sync += begun.bit_select(self.row, 1).eq(1)
        with m.If(self.read):
            m.d.sync += self.high.eq(shown.high)
        with m.If(self.clear):
            m.d.sync += [begun.eq(0), old.eq(0)]
        return m


class BlockCounters(wiring.Component):
    """`precog_hw.csr.counters.Counters` in block RAM: an event shows when its turn has come.

    ::

        events ─► [what has come since] ─► one counter's in turn ─► + ◄─► [rows]

    What is read is exact for an instant in the past, the same for both halves.

    Latency: an event shows in `low` 4 (`count` + 1) cycles later at most. Throughput: every event
    in every cycle. Cost of 29 events (ECP5): 2 DP16KD, no LUT RAM, some 250 flip-flops.

    Parameters
    ----------
    count : int
        Number of events, 1 or more.

    Members
    -------
    events : In(count)
        Bit n counts up counter n.
    asked : In(1)
        The host may read in the next cycle; see `CounterRows`.
    index, read, clear, low, high
        As in `Counters`.

    Raises
    ------
    ValueError
        `count` is smaller than 1.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count!r}")
        self._count = count
        super().__init__(
            {
                "events": In(count),
                "asked": In(1),
                "index": In(range(max(count, 2))),
                "read": In(1),
                "clear": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    @staticmethod
    def latency_of(count: int) -> int:
        """Cycles from an event until it shows, at most: no turn takes more than 4."""
        return 4 * (count + 1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        counts = [
            Signal(range(4 * self._count + 1), name=f"waiting_{n}") for n in range(self._count)
        ]
        m.submodules.rows = rows = CounterRows(max(self._count, 2), counts[0].shape())
        turn = Signal(range(max(self._count, 2)))
        with m.If(rows.done):
            m.d.sync += turn.eq(Mux(turn == self._count - 1, 0, turn + 1))
        for n, count in enumerate(counts):
            taken = rows.done & (turn == n)
            m.d.sync += count.eq(Mux(taken, 0, count) + self.events[n])
        m.d.comb += [
            *(rows.stb.eq(1), rows.row.eq(turn), rows.by.eq(Array(counts)[turn])),
            *(getattr(rows, n).eq(getattr(self, n)) for n in ("asked", "index", "read", "clear")),
            *(self.low.eq(rows.low), self.high.eq(rows.high)),
        ]
        with m.If(self.clear):
            m.d.sync += [count.eq(0) for count in counts]
        return m


class BlockClassCounters(wiring.Component):
    """`precog_hw.csr.class_counters.ClassCounters` in one block RAM, for one count at a time.

    Latency: a count shows in `low` 5 cycles later at most. Throughput: one count in
    `COUNT_CYCLES` = 5 cycles. Cost (ECP5): 2 DP16KD, an adder of 64 bits, 60 flip-flops.

    Parameters
    ----------
    count : int
        Number of classes, 2 or more.

    Members
    -------
    stb : In(1)
        Count `of` up. Not twice in `COUNT_CYCLES` cycles.
    of : In(range(count))
    ready : Out(1)
        Always: nothing has to be cleared first.
    busy : Out(1)
        Never: they are cleared in one cycle.
    asked : In(1)
        The host may read in the next cycle; see `CounterRows`.
    index, read, clear, low, high
        As in `ClassCounters`.

    Raises
    ------
    ValueError
        `count` is smaller than 2.
    """

    COUNT_CYCLES = 5

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
                "asked": In(1),
                "index": In(range(count)),
                "read": In(1),
                "low": Out(32),
                "high": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = CounterRows(self._count, 1)
        waits, of = Signal(), Signal.like(self.of)
        m.d.comb += [
            *(rows.stb.eq(waits), rows.row.eq(of), rows.by.eq(1)),
            *(getattr(rows, n).eq(getattr(self, n)) for n in ("asked", "index", "read", "clear")),
            *(self.low.eq(rows.low), self.high.eq(rows.high)),
            self.ready.eq(1),
        ]
        m.d.sync += [
            waits.eq((self.stb | (waits & ~rows.done)) & ~self.clear),
            Assert(~self.stb | ~waits | rows.done, "one count at a time"),
        ]
        with m.If(self.stb):
            m.d.sync += of.eq(self.of)
        return m
