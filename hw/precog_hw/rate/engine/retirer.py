"""Makes the stores of events that have ended, and tells their results."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import ROW_WORDS, THREADS, WORD

from .layouts import result_layout
from .threads import THREAD_BITS, Status, about_layout

__all__ = ["Retirer"]

_PLACE_BITS = (ROW_WORDS - 1).bit_length()


class Retirer(wiring.Component):
    """Keeps what threads store until their event has ended; then it is made, unless it trapped.

    Latency: four cycles and one for each word. Throughput: one thread in that time.

    Parameters
    ----------
    qp_bits : int
    ecc : bool
        Programs have check bits.

    Members
    -------
    store_stb, store_thread, store_place, store_word : In
        A store.
    cleared_stb, cleared : In
        A thread begins an event.
    ended : In(6), abouts : In
        Of `Threads`.
    write_stb, place, word : Out
        A word for the row of `qp`.
    thread : Out(3), free_stb : Out(1)
        The thread is free: what it stored is made before its next event can store anything.
    busy : Out(1), qp : Out
        Stores of this queue pair are made.
    o : Out(result_layout), o_stb : Out(1)
        The event has ended.
    """

    def __init__(self, qp_bits: int, *, ecc: bool = False) -> None:
        self._ecc = ecc
        super().__init__(
            {
                "store_stb": In(1),
                "store_thread": In(THREAD_BITS),
                "store_place": In(_PLACE_BITS),
                "store_word": In(signed(WORD)),
                "cleared_stb": In(1),
                "cleared": In(THREAD_BITS),
                "ended": In(THREADS),
                "abouts": In(data.ArrayLayout(about_layout(qp_bits), THREADS)),
                "write_stb": Out(1),
                "qp": Out(qp_bits),
                "place": Out(_PLACE_BITS),
                "word": Out(signed(WORD)),
                "o": Out(result_layout(qp_bits, ecc=ecc)),
                "o_stb": Out(1),
                "thread": Out(THREAD_BITS),
                "free_stb": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stores = stores = Memory(
            shape=signed(WORD),
            depth=ROW_WORDS << THREAD_BITS,
            init=[],
            attrs={"ram_style": "block", "no_rw_check": 1},
        )
        read, keep = stores.read_port(), stores.write_port()
        masks = [Signal(ROW_WORDS, name=f"mask{n}") for n in range(THREADS)]
        left, next_place = Signal(ROW_WORDS), Signal(_PLACE_BITS)
        # The memory is far: its address comes from registers.
        wanted, reads = Signal(_PLACE_BITS), Signal()
        about = Signal(self.abouts[0].shape())
        m.d.comb += [
            keep.en.eq(self.store_stb),
            keep.addr.eq(Cat(self.store_place, self.store_thread)),
            keep.data.eq(self.store_word),
            read.addr.eq(Cat(wanted, self.thread)),
            self.word.eq(read.data),
            self.qp.eq(about.qp),
        ]
        for n, mask in enumerate(masks):
            with m.If(self.store_stb & (self.store_thread == n)):
                m.d.sync += mask.eq(mask | (1 << self.store_place))
            with m.If(self.cleared_stb & (self.cleared == n)):
                m.d.sync += mask.eq(0)
        for place in reversed(range(ROW_WORDS)):
            with m.If(left[place]):
                m.d.comb += next_place.eq(place)

        first = Signal(THREAD_BITS)
        for n in reversed(range(THREADS)):
            with m.If(self.ended[n]):
                m.d.comb += first.eq(n)
        m.d.sync += [
            reads.eq(0),
            wanted.eq(next_place),
            self.write_stb.eq(reads),
            self.place.eq(wanted),
        ]
        with m.FSM():
            with m.State("WAIT"):
                m.d.sync += self.thread.eq(first)
                with m.If(self.ended.any()):
                    m.next = "PICK"
            with m.State("PICK"):
                chosen = Array(self.abouts[n] for n in range(THREADS))[self.thread]
                done = chosen.status == Status.DONE
                m.d.sync += [
                    about.eq(chosen),
                    left.eq(Mux(done, Array(masks)[self.thread], 0)),
                    self.o.rated.eq(0),
                    self.o.windowed.eq(0),
                ]
                m.d.comb += self.free_stb.eq(1)
                m.d.sync += self.busy.eq(1)
                m.next = "WORDS"
            with m.State("WORDS"):
                # A word that is found now is read in the next cycle, then written.
                m.d.sync += [reads.eq(left.any()), left.eq(left & (left - 1))]
                with m.If(~left.any() & ~reads & ~self.write_stb):
                    m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += self.o_stb.eq(1)
                m.d.sync += self.busy.eq(0)
                m.next = "WAIT"
        with m.If(self.write_stb & (self.place == 0)):
            m.d.sync += [self.o.rate.eq(self.word), self.o.rated.eq(1)]
        with m.If(self.write_stb & (self.place == 1)):
            m.d.sync += [self.o.window.eq(self.word), self.o.windowed.eq(1)]
        m.d.comb += [
            self.o.qp.eq(about.qp),
            self.o.slot.eq(about.slot),
            self.o.id.eq(about.id),
            self.o.status.eq(about.status),
            self.o.turns.eq(about.turns),
        ]
        if self._ecc:
            m.d.comb += self.o.damaged.eq(about.damaged)
        return m
