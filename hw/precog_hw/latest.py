"""What waits for its turn: of each queue pair the last word, in the order of the first."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.rows import plain_memory

__all__ = ["Latest"]


class Latest(wiring.Component):
    """A set of queue pairs, and the last word of each: none waits, none is lost.

    ::

        i ─► waits already? ─┬─► [last word of every queue pair] ──────┐
                             └─► [queue of queue pairs] ─► first ──────┴─► o

    Who takes them is slower than who says them: the pacer takes a rate in tens of cycles, a law a
    score. A queue pair stands in the queue once, and its word is read when its turn comes, so that
    the last one always wins.

    Latency: 7 cycles from `i_stb` to `o` when nothing else waits. Throughput: a word in every
    cycle in, one in 4 cycles out. After a reset it forgets who waited, for `qps` cycles in which
    none may come. Cost at 1024 queue pairs: 1 DP16KD for 18 bits of a word, 1 of the queue, LUT RAM
    of 2 bits per queue pair, two registers of a word.

    Parameters
    ----------
    layout : data.StructLayout
        A word; its first member is `qp`, of 1 bit or more.

    Members
    -------
    i_stb : In(1)
    i : In(layout)
    tells : In(1)
        With `i_stb`: the queue pair shall have its turn. Otherwise the word counts if it waits.
    merged : Out(1)
        2 cycles later: that word replaces one that waits.
    o : Out(stream.Signature(layout))
        While it is not taken, a word that comes replaces it 3 cycles later, with a gap of one.
    """

    o: stream.Interface

    def __init__(self, layout: data.StructLayout) -> None:
        self._bits = layout["qp"].width
        self._rest = layout.size - self._bits
        self._qps = 1 << self._bits
        super().__init__(
            {
                "i_stb": In(1),
                "i": In(layout),
                "tells": In(1),
                "merged": Out(1),
                "o": Out(stream.Signature(layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self._bits
        # Of two places one is the output, and the other is full until its word has moved there.
        depth = max(self._qps, 3)
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=bits, depth=depth)
        m.submodules.orders = orders = plain_memory(unsigned(self._rest), self._qps)
        # A queue pair waits while its bits differ; each has one writer.
        told, taken = self._memory(m, "told"), self._memory(m, "taken")
        put, take = told.write_port(), taken.write_port()
        was_told, was_taken = (memory.read_port(domain="comb") for memory in (told, taken))
        leaves = told.read_port(domain="comb")

        walking, row = Signal(init=1), Signal(bits)
        m.d.sync += row.eq(row + walking)
        with m.If(row == self._qps - 1):
            m.d.sync += walking.eq(0)

        # Whether it waits is looked up in one cycle and acted upon in the next.
        asked, word = Signal.like(self.i), Signal.like(self.i)
        asked_stb, asked_tells, stb, tells = Signal(), Signal(), Signal(), Signal()
        is_told, is_taken, joins = Signal(), Signal(), Signal()
        replaces = Signal()  # what has its turn, but has not been taken
        m.d.sync += [
            *(asked_stb.eq(self.i_stb), asked.eq(self.i), asked_tells.eq(self.tells)),
            *(stb.eq(asked_stb), word.eq(asked), tells.eq(asked_tells)),
        ]
        for port, write, bit in ((was_told, put, is_told), (was_taken, take, is_taken)):
            m.d.comb += port.addr.eq(asked.qp)
            changed = write.en & (write.addr == asked.qp)
            m.d.sync += bit.eq(Mux(changed, write.data, port.data))
        waits = is_told != is_taken
        m.d.comb += [
            joins.eq(stb & tells & ~waits & ~replaces),
            self.merged.eq(stb & tells & (waits | replaces)),
            *(waiting.w_en.eq(joins), waiting.w_data.eq(word.qp)),
            *(put.en.eq(joins), put.addr.eq(word.qp), put.data.eq(~is_taken)),
        ]
        first, leaving = Signal(bits), Signal()
        m.d.comb += [leaves.addr.eq(first), take.addr.eq(first), take.data.eq(leaving)]
        with m.If(walking):
            for port in (put, take):
                m.d.comb += [port.en.eq(1), port.addr.eq(row), port.data.eq(0)]

        write, read = orders.write_port(), orders.read_port()
        m.d.comb += [
            *(write.en.eq(stb), write.addr.eq(word.qp), read.addr.eq(first)),
            write.data.eq(word.as_value()[bits:]),
            self.o.payload.as_value().eq(Cat(first, read.data)),
        ]
        changes = Signal()
        m.d.comb += changes.eq(stb & (word.qp == first))
        with m.FSM(name="turn") as turn:
            with m.State("NEXT"):
                m.d.comb += waiting.r_en.eq(1)
                m.d.sync += first.eq(waiting.r_data)
                with m.If(waiting.r_rdy):
                    m.next = "LEAVE"
            with m.State("LEAVE"):
                m.d.sync += leaving.eq(leaves.data)
                m.next = "READ"
            # Block RAM does not give what is being written: then it is read again.
            with m.State("READ"), m.If(~changes):
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "NEXT"
                with m.Elif(changes):
                    m.next = "READ"
        # It waits no more; until it is taken, its next word replaces this one all the same.
        with m.If(turn.ongoing("READ")):
            m.d.comb += take.en.eq(1)
        taken_now = self.o.valid & self.o.ready
        m.d.comb += [
            read.en.eq(turn.ongoing("READ")),
            replaces.eq(
                (word.qp == first) & (turn.ongoing("READ") | turn.ongoing("OFFER")) & ~taken_now
            ),
        ]
        return m

    def _memory(self, m: Module, name: str) -> Memory:
        memory = Memory(
            shape=unsigned(1), depth=self._qps, init=[], attrs={"ram_style": "distributed"}
        )
        m.submodules[name] = memory
        return memory
