"""Brings events into a core: a thread for each, its words, the program's entry."""

from amaranth.hdl import Array, Cat, Module, Signal, Value, signed, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.predict.layouts import program_answer_layout, program_scrub_layout
from precog_spec.engine.events import EVENT_FIELDS
from precog_spec.engine.isa import CODE_WORDS, SLOTS, THREADS, WORD
from precog_spec.secded import PAIR_BITS, PROGRAM_ENTRIES, check_bits

from .layouts import ENTRY_WRITE, event_layout
from .memory import DAMAGED_LATENCY, Ecc, ProgramMemory, Write
from .threads import THREAD_BITS
from .units import delayed

__all__ = ["BUFFER_BITS", "EVENT_PLACES", "Dispatcher"]

#: Words of an event's buffer.
EVENT_PLACES = 32
#: Buffers for the events of all threads, and for the next one.
BUFFER_BITS = THREADS.bit_length()
_WORDS = len(EVENT_FIELDS)


class Dispatcher(wiring.Component):
    """Writes an event's words to a buffer, then gives it to a thread.

    It waits for a free thread, and until no other thread has its queue pair. Its buffer is the
    thread's from then on; the thread's last one is for the next event.

    Latency: a cycle for each word, and three to start. Throughput: an event in that time.

    Parameters
    ----------
    qp_bits : int
    ecc : bool
        Entries have check bits.

    Members
    -------
    i : In(stream.Signature(event_layout))
    entry : In(ENTRY_WRITE), entry_stb : In(1)
    check, scrub, scrubbed : In(8), In(program_scrub_layout), Out(program_answer_layout)
        With `ecc`: as `Core`; entries alone are answered, a cycle later.
    damaged : Out(1)
        The event's entry is damaged: `pc` and `heard` mean nothing.
    free, any_free, clash : In
        Of `Threads`, for the event at the input, a cycle ago.
    place : Out(9), word : Out(48), write_stb : Out(1)
        A word for a buffer.
    start_stb : Out(1), thread : Out(3), pc : Out, heard : Out(1)
        The event goes to a thread.
    asked : In(3), buffer : Out(4)
        A thread, and the buffer of its event.
    """

    def __init__(self, qp_bits: int, *, ecc: bool = False) -> None:
        self._ecc = ecc
        super().__init__(
            {
                "i": In(stream.Signature(event_layout(qp_bits))),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "check": In(check_bits(PAIR_BITS)),
                "scrub": In(program_scrub_layout(1)),
                "scrubbed": Out(program_answer_layout()),
                "damaged": Out(1),
                "free": In(THREAD_BITS),
                "any_free": In(1),
                "clash": In(1),
                "thread": Out(THREAD_BITS),
                "place": Out((EVENT_PLACES - 1).bit_length() + BUFFER_BITS),
                "word": Out(signed(WORD)),
                "write_stb": Out(1),
                "start_stb": Out(1),
                "pc": Out((CODE_WORDS - 1).bit_length()),
                "heard": Out(1),
                "asked": In(THREAD_BITS),
                "buffer": Out(BUFFER_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        event = self.i.payload
        entry = self._entry(m)
        place, writes = Signal(range(EVENT_PLACES), name="word_place"), Signal()
        spare = Signal(BUFFER_BITS, init=THREADS)
        buffers = [Signal(BUFFER_BITS, init=n, name=f"buffer{n}") for n in range(THREADS)]
        m.d.comb += self.buffer.eq(Array(buffers)[self.asked])
        words = [event.words[name] for name, _, _ in EVENT_FIELDS]
        groups = [
            delayed(m, Array(words[n : n + 8])[place[:3]], 1, f"words{n}")
            for n in range(0, _WORDS, 8)
        ]
        m.d.sync += [
            Cat(self.pc, self.heard).eq(entry),
            self.place.eq(Cat(delayed(m, place, 1, "place"), spare)),
            self.write_stb.eq(delayed(m, writes, 1, "writes")),
            self.word.eq(Array(groups)[delayed(m, place[3:], 1, "group")]),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += place.eq(0)
                with m.If(self.i.valid):
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += writes.eq(1)
                m.d.sync += place.eq(place + 1)
                with m.If(place == _WORDS - 1):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += self.thread.eq(self.free)
                with m.If(self.any_free & ~self.clash):
                    m.next = "START"
            with m.State("START"):
                m.d.comb += [self.start_stb.eq(1), self.i.ready.eq(1)]
                m.d.sync += spare.eq(Array(buffers)[self.thread])
                for n, buffer in enumerate(buffers):
                    with m.If(self.thread == n):
                        m.d.sync += buffer.eq(spare)
                m.next = "IDLE"
        return m

    def _entry(self, m: Module) -> Value:
        """The event's entry, in the cycle before it is said; whether it is damaged, with it."""
        event, asked = self.i.payload, self.scrub.place
        address = Cat(event.words.kind, event.slot)
        write = Write(
            Cat(self.entry.kind, self.entry.slot),
            Cat(self.entry.place, self.entry.heard),
            self.entry_stb,
        )
        ecc = None
        if self._ecc:
            asks = self.scrub.valid & (asked.at >= PROGRAM_ENTRIES)
            ecc = Ecc(self.check, asks, Cat(asked.at[:3], asked.bank))
        shape = unsigned(1 + len(self.pc))
        entries = ProgramMemory(m, "entries", shape, SLOTS << 3, addr=address, write=write, ecc=ecc)
        if entries.answer is None:
            return entries.data
        m.d.comb += [self.scrubbed.eq(entries.answer), self.damaged.eq(entries.damaged)]
        return delayed(m, entries.data, DAMAGED_LATENCY - 2, "entry")
