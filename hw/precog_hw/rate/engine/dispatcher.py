"""Brings events into a core: a thread for each, its words, the program's entry."""

from amaranth.hdl import Array, Cat, Module, signed
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import CODE_WORDS, SLOTS, WORD

from .layouts import ENTRY_WRITE, event_layout
from .threads import THREAD_BITS

__all__ = ["EVENT_PLACES", "Dispatcher"]

#: Words that a thread has for its event.
EVENT_PLACES = 32
_WORDS = len(EVENT_FIELDS)


class Dispatcher(wiring.Component):
    """Gives an event to a free thread, once no other thread has its queue pair.

    Latency: one cycle, one for each word, and one to start. Throughput: an event in that time.

    Parameters
    ----------
    qp_bits : int

    Members
    -------
    i : In(stream.Signature(event_layout))
    entry : In(ENTRY_WRITE), entry_stb : In(1)
    free, any_free, clash : In
        Of `Threads`, for the event at the input.
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
            shape=1 + len(self.pc), depth=SLOTS << 3, init=[], attrs={"ram_style": "block"}
        )
        read, load = entries.read_port(), entries.write_port()
        m.d.comb += [
            read.addr.eq(Cat(event.words.kind, event.slot)),
            load.addr.eq(Cat(self.entry.kind, self.entry.slot)),
            load.data.eq(Cat(self.entry.place, self.entry.heard)),
            load.en.eq(self.entry_stb),
            self.pc.eq(read.data[:-1]),
            self.heard.eq(read.data[-1]),
            self.word.eq(Array(event.words[name] for name, _, _ in EVENT_FIELDS)[self.place]),
        ]
        with m.FSM():
            with m.State("WAIT"), m.If(self.i.valid & self.any_free & ~self.clash):
                m.d.sync += [self.thread.eq(self.free), self.place.eq(0)]
                m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += self.write_stb.eq(1)
                m.d.sync += self.place.eq(self.place + 1)
                with m.If(self.place == _WORDS - 1):
                    m.next = "START"
            with m.State("START"):
                m.d.comb += [self.start_stb.eq(1), self.i.ready.eq(1)]
                m.next = "WAIT"
        return m
