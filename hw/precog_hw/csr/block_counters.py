"""64-bit counters of several tables in one block RAM, where LUTs are scarce."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Array, Assert, Const, Elaboratable, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from precog_hw.rows import plain_memory

__all__ = ["ASKED_APART", "BlockCounters", "ClassTable", "EventTable"]

ASKED_APART = 5  # cycles, at least, from one question of the host to the next
_ROW = data.StructLayout({"low": unsigned(32), "high": unsigned(32)})
_DIGIT = 8  # of a turn's number
_FLIGHT = 3  # cycles from a row's reading until it may be read again
_MOST_CLASS_TABLES = 2  # with more, a class could come again while its row is changed


class _Table:
    """What the host sees of a table: the names of `precog_hw.csr.counters.Counters`.

    Attributes
    ----------
    index : Signal(range(count))
        Counter to be read; from the cycle of `BlockCounters.asked` to that of `read`.
    inside : Signal(1)
        It is in this table, in the cycle of `asked`.
    read : Signal(1)
        `low` is being read, in the cycle after `asked`: keep the high half of the same instant.
    low, high : Signal(32)
        Halves of counter `index`; `low` in the cycle after `asked`, `high` is what was kept.
    """

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count
        self.index = Signal(_index_bits(count), name=f"{name}_index")
        self.inside = Signal(name=f"{name}_inside")
        self.read = Signal(name=f"{name}_read")
        self.low, self.high = Signal(32, name=f"{name}_low"), Signal(32, name=f"{name}_high")

    @property
    def size(self) -> int:
        """Rows: an index is or-ed to the first one."""
        return 1 << len(self.index)


class EventTable(_Table):
    """One counter for each event; bit n of `events` counts up counter n, in any cycle."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, count)
        self.events = Signal(count, name=f"{name}_events")


class ClassTable(_Table):
    """One counter for each class: `stb` counts `of` up, once in `BlockCounters.COUNT_CYCLES`.

    As `precog_hw.csr.class_counters.ClassCounters` it is `ready`, here always, and `busy`, never.
    """

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, count)
        self.stb = Signal(name=f"{name}_stb")
        self.of = Signal(range(count), name=f"{name}_of")
        self.ready, self.busy = Const(1), Const(0)


class BlockCounters(Elaboratable):
    """All counters of a device: an event shows when its row's turn has come.

    ::

        events ─► [what has come since] ─► by ─┐
        turn ──┐                               ▼
        class ─┼► row ─► [rows of 64 bits] ─► old + ─► [rows]
        host ──┘                   └─► low, high

    In each cycle one row is read: the host's, else a class's, else that of the turn, which passes
    over all events. What is read is exact for an instant in the past, the same for both halves.
    Tables are made before this is elaborated.

    Latency: `latency_of` from an event until it shows, at most; from a class's count 4 cycles and
    one for each table of classes. Throughput: every event in every cycle. Cost (ECP5): 2 DP16KD,
    an adder of 64 bits, some 200 flip-flops; a few bits for each event, a flip-flop for each row,
    32 for each table.

    Attributes
    ----------
    asked : Signal(1)
        The host wants a row in the next cycle. Not in two cycles less than `ASKED_APART` apart.
    clear : Signal(1)
        Strobe: all counters are 0, and what is under way is not counted.
    """

    COUNT_CYCLES = ASKED_APART  # a turn is as long as `_round` says for one distance of both

    def __init__(self) -> None:
        self.asked, self.clear = Signal(name="asked"), Signal(name="clear")
        self._events: list[EventTable] = []
        self._classes: list[ClassTable] = []

    def events(self, name: str, count: int) -> EventTable:
        """A table of events.

        Raises
        ------
        ValueError
            `count` is smaller than 1.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count!r}")
        self._events.append(EventTable(name, count))
        return self._events[-1]

    def classes(self, name: str, count: int) -> ClassTable:
        """A table of classes.

        Raises
        ------
        ValueError
            `count` is smaller than 2, or there are more than two such tables.
        """
        if count < 2:
            raise ValueError(f"count must be at least 2, not {count!r}")
        if len(self._classes) == _MOST_CLASS_TABLES:
            raise ValueError(f"tables of classes must be at most {_MOST_CLASS_TABLES}")
        self._classes.append(ClassTable(name, count))
        return self._classes[-1]

    @staticmethod
    def latency_of(*counts: int) -> int:
        """Cycles until an event shows, at most, with tables of so many events each."""
        slots = sum(1 << _index_bits(count) for count in counts)
        return _round(slots, _MOST_CLASS_TABLES) + _FLIGHT

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, slots, depth = self._places()
        m.submodules.rows = self.rows = rows = plain_memory(_ROW, depth, block=True)
        write, read = rows.write_port(), rows.read_port()
        row_bits = (depth - 1).bit_length()
        begun = Signal(depth)  # rows written since reset or `clear`

        # Whose row is read.
        turn = Signal(range(slots))
        class_reads, class_row = self._class_rows(m, first, row_bits)
        turns, host_row = Signal(), Signal(row_bits)
        tables = [*self._events, *self._classes]
        m.d.comb += [
            host_row.eq(_chosen((t.inside, first[t.name] | t.index) for t in tables)),
            turns.eq(~self.asked & ~class_reads),
            read.en.eq(1),
            read.addr.eq(Mux(self.asked, host_row, Mux(class_reads, class_row, turn))),
        ]
        with m.If(turns):
            m.d.sync += turn.eq(Mux(turn == slots - 1, 0, turn + 1))

        # A change: what was read, and then the sum.
        fetched, of_turn, row = Signal(), Signal(), Signal(row_bits)
        held, old_row, old = Signal(), Signal(row_bits), Signal(64)
        waiting = self._waiting(m, first, slots, Mux(turns & ~self.clear, turn, slots), row)
        by, total = Signal(len(waiting)), Signal(64)
        m.d.sync += [
            *(fetched.eq(~self.asked & ~self.clear), of_turn.eq(turns), row.eq(read.addr)),
            *(held.eq(fetched & ~self.clear), old_row.eq(row)),
            old.eq(Mux(begun.bit_select(row, 1), read.data.as_value(), 0)),
            by.eq(Mux(of_turn, waiting, 1)),
        ]
        m.d.comb += [
            total.eq(old + by),
            *(write.en.eq(held), write.addr.eq(old_row), write.data.eq(total)),
        ]
        with m.If(held):
            m.d.sync += begun.bit_select(old_row, 1).eq(1)
        with m.If(self.clear):
            m.d.sync += begun.eq(0)

        # What is written in the cycle of the question is what is shown.
        shown, meets = Signal(_ROW), Signal()
        met, there, kept = Signal(), Signal(), Signal(64)
        m.d.comb += [
            meets.eq(held & (old_row == host_row)),
            shown.eq(Mux(there, Mux(met, kept, read.data.as_value()), 0)),
        ]
        m.d.sync += [
            *(met.eq(meets), there.eq(meets | begun.bit_select(host_row, 1)), kept.eq(total)),
        ]
        for table in tables:
            m.d.comb += table.low.eq(shown.low)
            with m.If(table.read):
                m.d.sync += table.high.eq(shown.high)
        return m

    def _places(self) -> tuple[dict[str, int], int, int]:
        """First rows of the tables, how many of them are events', and how many there are."""
        first, end, slots = dict[str, int](), 0, _FLIGHT + 1
        for tables in (self._events, self._classes):
            for table in sorted(tables, key=lambda table: -table.size):
                first[table.name] = end = -(-end // table.size) * table.size
                end += table.size
            if tables is self._events:
                end = slots = max(slots, end)
        return first, slots, end

    def _class_rows(self, m: Module, first: dict[str, int], row_bits: int) -> tuple[Signal, Signal]:
        """Whether a class waits to be counted, and the row of the first one."""
        waits = Signal(len(self._classes))
        rows = []
        free = ~self.asked
        for n, table in enumerate(self._classes):
            of = Signal.like(table.of, name=f"{table.name}_counts")
            begins = waits[n] & free
            m.d.sync += [
                waits[n].eq((table.stb | (waits[n] & ~begins)) & ~self.clear),
                Assert(~table.stb | ~waits[n] | begins, "one count at a time"),
            ]
            with m.If(table.stb):
                m.d.sync += of.eq(table.of)
            rows.append((begins, first[table.name] | of))
            free = free & ~waits[n]
        reads, row = Signal(name="class_reads"), Signal(row_bits, name="class_row")
        m.d.comb += [reads.eq(waits.any()), row.eq(_chosen(rows))]
        return reads, row

    def _waiting(
        self, m: Module, first: dict[str, int], slots: int, turn: Value, row: Signal
    ) -> Signal:
        """Of the event whose row this is, what has come; it is taken and counted anew.

        `turn` is a cycle before `row`: of both its digits there is a flip-flop for each value, or
        one `row` would have to reach all counts.
        """
        most = _round(slots, len(self._classes)) + _FLIGHT
        of_row: list[Value] = [Const(0)] * slots
        low, high = Signal(_DIGIT), Signal(slots // _DIGIT + 1)
        digit = _DIGIT.bit_length() - 1
        m.d.sync += [low.eq(1 << turn[:digit]), high.eq(1 << turn[digit:])]
        for table in self._events:
            for n in range(table.count):
                place = first[table.name] + n
                of_row[place] = count = Signal(range(most + 1), name=f"{table.name}_{n}_waits")
                taken = low[place % _DIGIT] & high[place // _DIGIT]
                m.d.sync += count.eq(Mux(taken, 0, count) + table.events[n])
                with m.If(self.clear):
                    m.d.sync += count.eq(0)
        waiting = Signal(range(most + 1))
        m.d.comb += waiting.eq(Array(of_row)[row[: (slots - 1).bit_length()]])
        return waiting


def _index_bits(count: int) -> int:
    """Of a table's index, which has a bit even where there is but one counter."""
    return max(1, (count - 1).bit_length())


def _round(slots: int, classes: int) -> int:
    """Cycles of a turn through all slots: of `ASKED_APART`, the host and each class take one."""
    return -(-slots * ASKED_APART // (ASKED_APART - 1 - classes))


def _chosen(values: Iterable[tuple[Value, Value]]) -> Value:
    """The one whose flag is set; 0 if none is."""
    return reduce(or_, (Mux(flag, value, 0) for flag, value in values), Const(0))
