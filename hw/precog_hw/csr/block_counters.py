"""64-bit counters of several tables in one block RAM, where LUTs are scarce."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import (
    Assert,
    Cat,
    Const,
    Elaboratable,
    Module,
    Mux,
    ResetInserter,
    Signal,
    Value,
    unsigned,
)
from amaranth.lib import data

from precog_hw.rows import plain_memory
from precog_hw.stream.queue import Queue

__all__ = ["ASKED_APART", "BlockCounters", "ClassTable", "EventTable"]

ASKED_APART = 5  # cycles, at least, from one question of the host to the next
_EPOCH_BITS = 8  # what a block RAM has left: all rows are swept sooner than as many clears come
_ROW = data.StructLayout({"low": unsigned(32), "high": unsigned(32), "epoch": _EPOCH_BITS})
_DIGIT = 8  # of a turn's number
_FLIGHT = 3  # cycles from a row's reading until it may be read again
_MOST_CLASS_TABLES = 2  # with more, a class could come again while its row is changed
_QUEUED = 9  # cycles until an event has left the queue, with room


class _Table:
    """What the host sees of a table: the names of `precog_hw.csr.counters.Counters`.

    Attributes
    ----------
    index : Signal(range(count))
        Counter to be read, in the cycle before `BlockCounters.asked`.
    inside : Signal(1)
        It is in this table, as above.
    low, high : Signal(32)
        Halves of counter `index` in the snapshot, in the cycle after `asked`.
    """

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count
        self.index = Signal(_index_bits(count), name=f"{name}_index")
        self.inside = Signal(name=f"{name}_inside")
        self.low, self.high = Signal(32, name=f"{name}_low"), Signal(32, name=f"{name}_high")


class EventTable(_Table):
    """One counter for each event; bit n of `events` counts up counter n, in any cycle.

    Those of `lasting` may last: they are counted in every cycle for as long as they like.
    """

    def __init__(self, name: str, count: int, lasting: Sequence[int] = ()) -> None:
        super().__init__(name, count)
        self.lasting = tuple(lasting)
        self.events = Signal(count, name=f"{name}_events")


class ClassTable(_Table):
    """One counter for each class: `stb` counts `of` up, once in `BlockCounters.COUNT_CYCLES`.

    Like `precog_hw.csr.class_counters.ClassCounters` it is `ready`, here always.
    """

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name, count)
        self.stb = Signal(name=f"{name}_stb")
        self.of = Signal(range(count), name=f"{name}_of")
        self.ready = Const(1)


class BlockCounters(Elaboratable):
    """All counters of a device and their snapshot, in two halves of one block RAM.

    ::

        events, ─► [queue in ─┬─► [since the turn] ─► by ─┐
        classes    block RAM] │                           ▼
                   turn ──┐   │                     0 ──► old + ─► [rows of 64 bits]
                   class ─┼◄──┘                            ▲     └► [kept rows]
                   copy ──┴► row ──────────────────────────┘             │
                   host ───────────────────────────────────► row ────────┴─► low, high

    In each cycle one row is read: the host's, else a class's, else that of the turn, which passes
    over all events. A snapshot stops the queue, behind what came before it, for one turn through
    all events. What waited is then in the rows, and these are copied. After that the queue goes
    on, with the rate at which it was filled or faster; until it has caught up, an event that lasts
    enters it in every other cycle, for two. Tables are made before this is elaborated.

    A row is of the current epoch or counts as 0: so a clear, or a reset, clears all in one cycle.
    Then a sweep gives every row the new epoch, before the copy. It goes on where the last one was
    cut short, so that no row is still of an epoch when that number comes again.

    Latency: a snapshot has the events of all cycles before its strobe; `busy` falls a turn and a
    copy later, some hundred cycles, and when the queue has caught up. Throughput: every event in
    every cycle; then the queue never catches up, unless those events are said to last. Cost of 36
    events and 44 classes (ECP5): 954 LUT4, 226 CCU2C, 4 DP16KD, 753 flip-flops.

    Attributes
    ----------
    asked : Signal(1)
        The host wants a row in the next cycle. Not in two cycles less than `ASKED_APART` apart.
    snapshot : Signal(1)
        Strobe, not while `busy`: keep all counters.
    clear : Signal(1)
        Strobe: all counters and the snapshot are 0, and what is under way is not counted.
    busy : Signal(1)
        The snapshot is not complete; also high after a reset or a clear until it is.
    counts : Signal(1)
        An event or a class has come.
    """

    COUNT_CYCLES = ASKED_APART  # a turn is as long as `_round` says for one distance of both

    def __init__(self) -> None:
        self.asked, self.snapshot = Signal(name="asked"), Signal(name="snapshot")
        self.clear, self.busy = Signal(name="clear"), Signal(name="busy")
        self.counts = Signal(name="counts")
        self._events: list[EventTable] = []
        self._classes: list[ClassTable] = []

    def events(self, name: str, count: int, lasting: Sequence[int] = ()) -> EventTable:
        """A table of events; `lasting` are the numbers of those that may last.

        Raises
        ------
        ValueError
            `count` is smaller than 1.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count!r}")
        self._events.append(EventTable(name, count, lasting))
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

    @property
    def latency(self) -> int:
        """Cycles until an event is in its row, at most, with the tables made until now."""
        return _QUEUED + _round(self._places()[1], len(self._classes)) + _FLIGHT

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, slots, depth = self._places()
        row_bits = (depth - 1).bit_length()
        m.submodules.rows = self.rows = rows = plain_memory(_ROW, 2 << row_bits, block=True)
        write, read = rows.write_port(), rows.read_port()
        epoch = Signal(_EPOCH_BITS, reset_less=True)  # a reset begins another one, too
        begins, clears = Signal(init=1), Signal()
        m.d.comb += clears.eq(self.clear | begins)
        m.d.sync += [begins.eq(0), epoch.eq(epoch + clears)]

        # A snapshot: the rows settle, then they are copied; the queue is behind until it is empty.
        # A clear: the rows are swept, then they are copied.
        turn_cycles = _QUEUED + _round(slots, 0) + _FLIGHT
        settling, copying = Signal(range(turn_cycles + 1)), Signal(init=1)
        place, copied, behind = Signal(range(depth)), Signal(_FLIGHT), Signal(init=1)
        left, last = Signal(range(depth + 1)), Signal()  # rows to be swept; the last one of a pass
        stops = Signal()
        stopped = stops | copied.any()  # its last events have not been seen in the queue
        m.d.comb += [stops.eq((settling != 0) | copying), self.busy.eq(stopped | behind)]
        pass_cycles = depth * ASKED_APART // (ASKED_APART - 1) + 2
        stop_cycles = max(turn_cycles, pass_cycles) + pass_cycles
        events, classes, caught_up = self._deferred(m, stop_cycles, stops, stopped, behind, clears)
        with m.If(settling != 0):
            m.d.sync += settling.eq(settling - 1)
            with m.If(settling == 1):
                m.d.sync += copying.eq(1)
        with m.If(caught_up):
            m.d.sync += behind.eq(0)
        with m.If(self.snapshot):
            m.d.sync += [settling.eq(turn_cycles), behind.eq(1)]

        # The row that is read.
        turn = Signal(range(slots))
        class_reads, class_row = self._class_rows(m, first, row_bits, classes, clears)
        turns, copies, host_row = Signal(), Signal(), Signal(row_bits)
        tables = [*self._events, *self._classes]
        m.d.sync += host_row.eq(
            _chosen((t.inside, Const(first[t.name], row_bits)) for t in tables)
            + _chosen((t.inside, t.index) for t in tables)
        )
        m.d.comb += [
            turns.eq(~self.asked & ~class_reads & ~copying),
            copies.eq(~self.asked & copying),
            read.en.eq(1),
            read.addr[:row_bits].eq(
                Mux(
                    self.asked,
                    host_row,
                    Mux(copying, place, Mux(class_reads, class_row, turn)),
                )
            ),
            read.addr[row_bits].eq(self.asked),
        ]
        with m.If(turns):
            m.d.sync += turn.eq(Mux(turn == slots - 1, 0, turn + 1))
        m.d.sync += copied.eq((copied << 1) | copies)
        m.d.comb += last.eq(Mux(left != 0, left == 1, place == depth - 1))
        with m.If(copies):
            m.d.sync += [
                place.eq(Mux(last | (place == depth - 1), 0, place + 1)),
                left.eq(Mux(left != 0, left - 1, 0)),
                copying.eq(~last | (left != 0)),
            ]

        # A change: what was read, and then the sum.
        fetched, row = Signal(), Signal(row_bits)
        of_turn, of_copy, of_sweep = Signal(), Signal(), Signal()
        held, keeps, old_row, old = Signal(), Signal(), Signal(row_bits), Signal(64)
        taken = Mux(turns & ~clears, turn, slots)
        waiting = self._waiting(m, events, first, slots, taken, row, clears)
        by, total = Signal(len(waiting)), Signal(64)
        m.d.sync += [
            fetched.eq(~self.asked & ~clears),
            of_turn.eq(turns),
            of_copy.eq(copies),
            of_sweep.eq(left != 0),
            row.eq(read.addr[:row_bits]),
            held.eq(fetched & ~clears),
            keeps.eq(of_copy & ~of_sweep),
            old_row.eq(row),
            old.eq(Mux(read.data.epoch == epoch, read.data.as_value()[:64], 0)),
            by.eq(Mux(of_turn, waiting, ~of_copy)),
        ]
        m.d.comb += [
            total.eq(old + by),
            write.en.eq(held),
            write.addr.eq(Cat(old_row, keeps)),
            write.data.eq(Cat(total, epoch)),
        ]
        with m.If(clears):
            m.d.sync += [settling.eq(0), copying.eq(1), left.eq(depth), behind.eq(1)]
        for table in tables:
            m.d.comb += [table.low.eq(read.data.low), table.high.eq(read.data.high)]
        return m

    def _deferred(
        self,
        m: Module,
        stop_cycles: int,
        stops: Signal,
        stopped: Value,
        behind: Signal,
        clears: Signal,
    ) -> tuple[dict[str, list[Value]], dict[str, data.View], Value]:
        """Events and classes by table as the queue gives them; whether it has caught up.

        It gives a class no sooner after the last one of its table than these may come. It has
        caught up when it holds nothing, or one entry that came after the stop.
        """
        class_layouts = {
            t.name: data.StructLayout({"stb": 1, "of": len(t.of)}) for t in self._classes
        }
        lasting = [(t, n) for t in self._events for n in t.lasting]
        layout = data.StructLayout(
            {
                "later": 1,
                **{t.name: t.count for t in self._events},
                **class_layouts,
                "twice": len(lasting),
            }
        )
        depth = 1 << (stop_cycles - 1).bit_length()
        queue = Queue(layout, depth, block=True)
        m.submodules.deferred = ResetInserter(clears)(queue)
        # A register: strobes have come a long way, and there are many of them.
        given, valid, payload = Signal(layout), Signal(), queue.o.payload
        comes = Signal()
        waits, odd = Signal(), Signal()  # an event that lasts waits for the next cycle
        m.d.comb += waits.eq(behind & ~odd & bool(lasting))
        m.d.sync += odd.eq(waits)
        enters = {t.name: Signal(t.count, name=f"{t.name}_enters") for t in self._events}
        for table in self._events:
            m.d.comb += enters[table.name].eq(table.events)
        for n, (table, place) in enumerate(lasting):
            now, before = table.events[place], Signal(name=f"{table.name}_{place}_before")
            m.d.sync += [before.eq(now & waits & ~clears), given.twice[n].eq(now & before)]
            m.d.comb += enters[table.name][place].eq((now | before) & ~waits)
        strobes = [t.stb for t in self._classes]
        m.d.comb += [
            self.counts.eq(Cat(*(t.events for t in self._events), *strobes).any()),
            queue.i.payload.eq(given),
            comes.eq(
                valid
                & Cat(
                    *(given[t.name] for t in self._events),
                    *(given[t.name].stb for t in self._classes),
                ).any()
            ),
            queue.i.valid.eq(comes),
        ]
        m.d.sync += [
            given.later.eq(self.snapshot | stops),
            *(given[t.name].eq(enters[t.name]) for t in self._events),
            *(given[t.name].stb.eq(t.stb) for t in self._classes),
            *(given[t.name].of.eq(t.of) for t in self._classes),
            valid.eq(~clears),
            Assert(queue.i.ready | ~queue.i.valid, "an event finds no room"),
        ]
        holds: list[Value] = [stops & payload.later]
        taken = queue.o.valid & queue.o.ready
        for class_table in self._classes:
            pause = Signal(range(self.COUNT_CYCLES), name=f"{class_table.name}_pause")
            with m.If(taken & payload[class_table.name].stb):
                m.d.sync += pause.eq(self.COUNT_CYCLES - 1)
            with m.Elif(pause != 0):
                m.d.sync += pause.eq(pause - 1)
            holds.append(payload[class_table.name].stb & (pause != 0))
        m.d.comb += queue.o.ready.eq(~Cat(holds).any())
        events: dict[str, list[Value]] = {}
        for table in self._events:
            events[table.name] = [taken & event for event in payload[table.name]]
        for n, (table, place) in enumerate(lasting):
            once, twice = taken & payload[table.name][place], payload.twice[n]
            events[table.name][place] = Cat(once & ~twice, once & twice)
        classes: dict[str, data.View] = {}
        for class_table in self._classes:
            classes[class_table.name] = counts = Signal(
                class_layouts[class_table.name], name=f"{class_table.name}_given"
            )
            m.d.comb += [
                counts.stb.eq(taken & payload[class_table.name].stb),
                counts.of.eq(payload[class_table.name].of),
            ]
        last = queue.level == 0
        if lasting:  # the queue is never empty then
            last = (queue.level <= 1) & ~(queue.o.valid & payload.later)
        return events, classes, ~stopped & ~waits & ~comes & last

    def _places(self) -> tuple[dict[str, int], int, int]:
        """First rows of the tables, how many of them are events', and how many there are."""
        first, end, slots = dict[str, int](), 0, _FLIGHT + 1
        for tables in (self._events, self._classes):
            for table in tables:
                first[table.name] = end
                end += table.count
            if tables is self._events:
                end = slots = max(slots, end)
        return first, slots, end

    def _class_rows(
        self,
        m: Module,
        first: dict[str, int],
        row_bits: int,
        counts: dict[str, data.View],
        clears: Signal,
    ) -> tuple[Signal, Signal]:
        """Whether a class waits to be counted, and the row of the first one."""
        waits = Signal(len(self._classes))
        rows = []
        free = ~self.asked
        for n, table in enumerate(self._classes):
            of = Signal.like(table.of, name=f"{table.name}_counts")
            begins, new = waits[n] & free, counts[table.name]
            m.d.sync += [
                waits[n].eq((new.stb | (waits[n] & ~begins)) & ~clears),
                Assert(~new.stb | ~waits[n] | begins, "one count at a time"),
            ]
            with m.If(new.stb):
                m.d.sync += of.eq(new.of)
            rows.append((begins, first[table.name] + of))
            free = free & ~waits[n]
        reads, row = Signal(name="class_reads"), Signal(row_bits, name="class_row")
        m.d.comb += [reads.eq(waits.any()), row.eq(_chosen(rows))]
        return reads, row

    def _waiting(
        self,
        m: Module,
        events: dict[str, list[Value]],
        first: dict[str, int],
        slots: int,
        turn: Value,
        row: Signal,
        clears: Signal,
    ) -> Signal:
        """Of the event whose row this is, what has come; it is taken and counted anew.

        `turn` is a cycle before `row`: of both its digits there is a flip-flop for each value, or
        one `row` would have to reach all counts.
        """
        once = _round(slots, len(self._classes)) + _FLIGHT
        most = 2 * once if any(table.lasting for table in self._events) else once
        of_row: list[Value] = [Const(0, range(most + 1))] * slots
        waiting = Signal(range(most + 1))
        low, high = Signal(_DIGIT), Signal(slots // _DIGIT + 1)
        digit = _DIGIT.bit_length() - 1
        m.d.sync += [low.eq(1 << turn[:digit]), high.eq(1 << turn[digit:])]
        for table in self._events:
            for n in range(table.count):
                place = first[table.name] + n
                bits = range((most if n in table.lasting else once) + 1)
                count = Signal(bits, name=f"{table.name}_{n}_waits")
                of_row[place] = Cat(count, Const(0, len(waiting) - len(count)))
                taken = low[place % _DIGIT] & high[place // _DIGIT]
                new = events[table.name][n]
                m.d.sync += count.eq(count + new)
                with m.If(taken):  # a reset of all bits but the lowest
                    m.d.sync += count.eq(new)
                with m.If(clears):
                    m.d.sync += count.eq(0)
        m.d.comb += waiting.eq(
            Cat(of_row).word_select(row[: (slots - 1).bit_length()], len(waiting))
        )
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
