"""Brings events into a core: a thread for each, its words, the program's entry."""

from amaranth.hdl import Array, Cat, Module, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import CODE_WORDS, SLOTS, WORD

from .execute import BLOCK_RAM
from .layouts import ENTRY_WRITE, event_layout
from .threads import THREAD_BITS
from .units import delayed

__all__ = ["EVENT_PLACES", "Dispatcher"]

#: Words that a thread has for its event.
EVENT_PLACES = 32
_WORDS = len(EVENT_FIELDS)


class Dispatcher(wiring.Component):
    """Gives an event to a free thread, once no other thread has its queue pair.

    Latency: two cycles, one for each word, and one to start. Throughput: an event in that time.

    Parameters
    ----------
    qp_bits : int

    Members
    -------
    i : In(stream.Signature(event_layout))
    entry : In(ENTRY_WRITE), entry_stb : In(1)
    free, any_free, clash : In
        Of `Threads`, for the event at the input, a cycle ago.
    thread : Out(3), place : Out(5), word : Out(48), write_stb : Out(1)
        A word for the thread.
    start_stb : Out(1), pc : Out, heard : Out(1)
        All words are there.
    """

    def __init__(self, qp_bits: int) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(event_layout(qp_bits))),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "free": In(THREAD_BITS),
                "any_free": In(1),
                "clash": In(1),
                "thread": Out(THREAD_BITS),
                "place": Out((EVENT_PLACES - 1).bit_length()),
                "word": Out(signed(WORD)),
                "write_stb": Out(1),
                "start_stb": Out(1),
                "pc": Out((CODE_WORDS - 1).bit_length()),
                "heard": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        event = self.i.payload
        m.submodules.entries = entries = Memory(
            shape=1 + len(self.pc), depth=SLOTS << 3, init=[], attrs=BLOCK_RAM
        )
        read, load = entries.read_port(), entries.write_port()
        m.d.comb += [
            read.addr.eq(Cat(event.words.kind, event.slot)),
            load.addr.eq(Cat(self.entry.kind, self.entry.slot)),
            load.data.eq(Cat(self.entry.place, self.entry.heard)),
            load.en.eq(self.entry_stb),
        ]
        place, seen, writes = Signal.like(self.place), Signal(), Signal()
        words = [event.words[name] for name, _, _ in EVENT_FIELDS]
        groups = [
            delayed(m, Array(words[n : n + 8])[place[:3]], 1, f"words{n}")
            for n in range(0, _WORDS, 8)
        ]
        m.d.sync += [
            seen.eq(0),
            Cat(self.pc, self.heard).eq(read.data),
            self.place.eq(delayed(m, place, 1, "place")),
            self.write_stb.eq(delayed(m, writes, 1, "writes")),
            self.word.eq(Array(groups)[delayed(m, place[3:], 1, "group")]),
        ]
        with m.FSM():
            with m.State("WAIT"):
                m.d.sync += [seen.eq(self.i.valid), self.thread.eq(self.free), place.eq(0)]
                with m.If(seen & self.any_free & ~self.clash):
                    m.d.sync += seen.eq(0)
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += writes.eq(1)
                m.d.sync += place.eq(place + 1)
                with m.If(place == _WORDS - 1):
                    m.next = "START"
            with m.State("START"):
                m.d.comb += [self.start_stb.eq(1), self.i.ready.eq(1)]
                m.next = "WAIT"
        return m
