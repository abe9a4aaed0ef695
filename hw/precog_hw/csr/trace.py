"""The trace FIFO: what was decided, for a host that reads it when it likes.

Golden model: `precog_models.trace`. Layouts: the contract.
"""

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory
from precog_spec.contract import TRACE_BODIES, TRACE_BODY_BITS, TRACE_HEAD, TRACE_WORDS, TraceKind
from precog_spec.registers.trace import TRACE_BATCH, TRACE_DEPTH, TRACE_EVENTS

__all__ = ["RECORD", "TraceFifo", "record"]

_HEAD = data.StructLayout({name: unsigned(bits) for name, bits in TRACE_HEAD})
_LEVEL_BITS = 16

#: A record; its words are 32 bits each, the lowest first.
RECORD = data.StructLayout({"head": _HEAD, "body": unsigned(TRACE_BODY_BITS)})


def record(kind: TraceKind, **fields: Value) -> Value:
    """A record of `RECORD`, of Amaranth values; the fields that are not named are 0.

    Raises
    ------
    ValueError
        The kind has no such field.
    """
    layout = dict((*TRACE_HEAD, *TRACE_BODIES[kind]))
    fields = {**fields, "kind": Value.cast(kind)}
    for name in fields:
        if name not in layout:
            raise ValueError(f"field must be one of {', '.join(layout)}, not {name!r}")
    return Cat(
        Cat(Value.cast(fields.get(name, 0)), Const(0, bits))[:bits] for name, bits in layout.items()
    )


class TraceFifo(wiring.Component):
    """Records of some sources in; the host's window on the oldest of them out.

    ::

        stb, records ─► [one of each source] ─► [filter, every Nth] ─► block RAM ─► words
                            └─ full ─► lost          └─ full ─► lost      ▲ index, pop

    No source waits: one that strobes again before its turn, or a FIFO that is full, loses the
    record, and it is counted. A source has its turn within 8 cycles, sooner than any strobes again:
    decisions come in every third cycle at most, acts and programs in every ninth. What the host
    sees changes by `pop` and `clear` alone, but for what joins behind it.

    Latency: 4 cycles from a strobe to `level`. Throughput: a record per cycle over all sources.
    Cost: 8 DP16KD, 256 flip-flops per source, 400 flip-flops.

    Parameters
    ----------
    sources : int
        1 or more; of those that strobe in one cycle the first goes first.
    depth : int
        Records that fit, a power of two.

    Members
    -------
    stb : In(sources)
    records : In(data.ArrayLayout(RECORD, sources))
        Each with its strobe; `serial` is set here.
    kinds : In(16)
        A bit for each kind that is wanted.
    one_qp, qp : In(1), In(16)
        Only those of `qp`.
    every : In(16)
        Of those every so manieth.
    threshold : In(16)
    pop, clear : In(16), In(1)
        Strobes: forget the `pop` oldest records; forget all.
    reset : In(1)
        Strobe: forget all; the next record is number 0.
    level : Out(16)
        Records that wait.
    reached : Out(1)
        They are `threshold` or more, and it is not 0.
    index : In(range(TRACE_BATCH))
    words : Out(data.ArrayLayout(32, TRACE_WORDS))
        Of the record `index` behind the oldest, a cycle later; 0 where there is none.
    events : Out(len(TRACE_EVENTS))
        For counters.
    lost : Out
        With the last event: how many.

    Raises
    ------
    ValueError
        `sources` is smaller than 1, or `depth` not a power of two in 32..32768.
    """

    def __init__(self, sources: int, depth: int = TRACE_DEPTH) -> None:
        if sources < 1:
            raise ValueError(f"sources must be at least 1, not {sources!r}")
        if not TRACE_BATCH <= depth < 1 << _LEVEL_BITS or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two in {TRACE_BATCH}..32768, not {depth!r}")
        self._sources, self._depth = sources, depth
        super().__init__(
            {
                "stb": In(sources),
                "records": In(data.ArrayLayout(RECORD, sources)),
                "kinds": In(16),
                "one_qp": In(1),
                "qp": In(16),
                "every": In(16),
                "threshold": In(_LEVEL_BITS),
                "pop": In(16),
                "clear": In(1),
                "reset": In(1),
                "level": Out(_LEVEL_BITS),
                "reached": Out(1),
                "index": In(range(TRACE_BATCH)),
                "words": Out(data.ArrayLayout(32, TRACE_WORDS)),
                "events": Out(len(TRACE_EVENTS)),
                "lost": Out(range(sources + 2)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chosen, there, dropped = self._merge(m)

        # The filter, on the record that a register holds.
        head, wanted, first = chosen.head, Signal(), Signal()
        passed, serial = Signal(16), Signal.like(head.serial)
        kept, full, level = Signal(), Signal(), Signal(_LEVEL_BITS)
        m.d.comb += [
            wanted.eq(
                there & self.kinds.bit_select(head.kind, 1) & (~self.one_qp | (head.qp == self.qp))
            ),
            first.eq(wanted & (passed == 0)),
            full.eq(level == self._depth),
            kept.eq(first & ~full),
        ]
        with m.If(wanted):
            m.d.sync += passed.eq(Mux(passed + 1 >= self.every, 0, passed + 1))
        with m.If(first):
            m.d.sync += serial.eq(serial + 1)

        # The FIFO. What is being written is not shown before `level` counts it.
        m.submodules.memory = memory = plain_memory(RECORD, self._depth)
        write, read = memory.write_port(), memory.read_port()
        newest, oldest = Signal.like(write.addr), Signal.like(write.addr)
        popped, shown = Signal(_LEVEL_BITS), Signal()
        m.d.comb += [
            write.en.eq(kept),
            write.addr.eq(newest),
            write.data.eq(chosen),
            write.data.head.serial.eq(serial),
            read.addr.eq(oldest + self.index),
            popped.eq(Mux(self.clear | (self.pop > level), level, self.pop)),
            self.words.as_value().eq(Mux(shown, read.data.as_value(), 0)),
            self.level.eq(level),
        ]
        m.d.sync += [
            newest.eq(newest + kept),
            oldest.eq(oldest + popped),
            level.eq(level - popped + kept),
            shown.eq(self.index < level),
            self.reached.eq((self.threshold != 0) & (level >= self.threshold)),
            self.events.eq(Cat(kept, there & ~first, (first & full) | dropped.any())),
            self.lost.eq(reduce(add, dropped, first & full)),
        ]
        with m.If(self.clear):
            m.d.sync += passed.eq(0)
        with m.If(self.reset):
            m.d.sync += [
                newest.eq(0),
                oldest.eq(0),
                level.eq(0),
                shown.eq(0),
                passed.eq(0),
                serial.eq(0),
                self.reached.eq(0),
            ]
        return m

    def _merge(self, m: Module) -> tuple[data.View, Signal, Signal]:
        """One record of all sources' per cycle, whether there is one, and which lose one."""
        chosen, there, dropped = Signal(RECORD), Signal(), Signal(self._sources)
        waits, kept = Signal(self._sources), []
        free: Value = Const(1)  # no source before this one has its turn
        for n in range(self._sources):
            own = Signal(RECORD, name=f"source_{n}", reset_less=True)
            full = waits[n] & ~free
            m.d.comb += dropped[n].eq(self.stb[n] & full)
            m.d.sync += waits[n].eq(self.stb[n] | full)
            with m.If(self.stb[n] & ~full):
                m.d.sync += own.eq(self.records[n])
            free = free & ~waits[n]
            kept.append(own)
        m.d.sync += [chosen.eq(kept[-1]), there.eq(waits.any())]
        for n in reversed(range(self._sources - 1)):
            with m.If(waits[n]):
                m.d.sync += chosen.eq(kept[n])
        return chosen, there, dropped
