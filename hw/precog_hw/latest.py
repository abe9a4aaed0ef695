"""A coalescing queue: the latest word of each queue pair, in order of first arrival."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from precog_hw.rows import FEW, RowMemory, few_rows, plain_memory, sliced_memory

__all__ = ["Latest"]


class Latest(wiring.Component):
    """A set of queue pairs, and the last word of each: none waits, none is lost.

    ::

        i ─► waits already? ─┬─► [last word of every queue pair] ──────┐
                             └─► [queue of queue pairs] ─► first ──────┴─► o

    Readers are slower than writers: the pacer needs tens of cycles for a rate, a law for a score.
    A queue pair stands in the queue once. Its word is read when its turn comes, so that the last
    one always wins.

    Latency: 7 cycles from `i_stb` to `o` when nothing else waits. Throughput: a word in every
    cycle in, one in 3 cycles out. After a reset it forgets which queue pairs waited, for `qps`
    cycles in which no word may come. Cost at 1024 queue pairs: 1 DP16KD for 18 bits of a word, 1 of
    the queue, 2 of which queue pairs wait, three registers of a word.

    `relaxed`, whether one of up to 16 queue pairs waits is in LUT RAM and known at once. Latency: 4
    cycles, `merged` in that of the word. Cost: LUT RAM of the words, and the queue.

    Parameters
    ----------
    layout : data.StructLayout
        A word; its first member is `qp`, of 1 bit or more.
    sliced : bool
        Words are in a `sliced_memory`.
    relaxed : bool
        For clocks up to some 70 MHz on ECP5.
    kept : str
        Member of a word that has a memory of its own, for `keeps`; empty: none.

    Members
    -------
    i_stb : In(1)
    i : In(layout)
    tells : In(1)
        With `i_stb`: the queue pair shall have its turn. Otherwise the word counts if it waits.
    keeps : In(1)
        With `kept` and `tells`: of a word that waits that member stays.
    merged : Out(1)
        3 cycles later: that word replaces one that waits.
    o : Out(stream.Signature(layout))
        While it is not taken, a word that comes replaces it 4 cycles later, with a gap of one.

    Usage
    -----
    ::

        m.submodules.latest = latest = Latest(data.StructLayout({"qp": 6, "rate": 32}))
        m.d.comb += [
            latest.i_stb.eq(word_stb),
            latest.i.qp.eq(row),
            latest.i.rate.eq(word),
            latest.tells.eq(1),  # each new rate is worth a turn
            latest.o.ready.eq(1),
        ]
    """

    o: stream.Interface

    def __init__(
        self,
        layout: data.StructLayout,
        *,
        sliced: bool = False,
        relaxed: bool = False,
        kept: str = "",
    ) -> None:
        self._sliced = sliced
        self._bits = layout["qp"].width
        self._kept = kept
        self._rest = [name for name in layout.members if name not in ("qp", kept)]
        self._qps = 1 << self._bits
        self._few = relaxed and self._qps <= FEW
        super().__init__(
            {
                "i_stb": In(1),
                "i": In(layout),
                "tells": In(1),
                **({"keeps": In(1)} if kept else {}),
                "merged": Out(1),
                "o": Out(stream.Signature(layout)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._few:
            self._at_once(m)
            return m
        bits = self._bits
        # Of two places one is the output, and the other is full until its word has moved there.
        depth = max(self._qps, 3)
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=bits + 1, depth=depth)
        # A queue pair waits while its bits differ; each has one writer.
        m.submodules.told = told = RowMemory(1, self._qps)
        m.submodules.taken = taken = RowMemory(1, self._qps)

        walking, row = Signal(init=1), Signal(bits)
        m.d.sync += row.eq(row + walking)
        with m.If(row == self._qps - 1):
            m.d.sync += walking.eq(0)

        # Whether it waits is looked up as a word is asked for, and known two cycles later, but for
        # what was written in the cycle between.
        asked, late, word = (Signal.like(self.i, name=n) for n in ("asked", "late", "word"))
        strobes, tells = Signal(3), Signal(3)
        stb = strobes[-1]
        joins = Signal()
        replaces = Signal()  # what has its turn, but has not been taken
        m.d.sync += [
            asked.eq(self.i),
            late.eq(asked),
            word.eq(late),
            strobes.eq(Cat(self.i_stb, strobes)),
            tells.eq(Cat(self.tells, tells)),
        ]
        whole: Value = Const(1)
        if self._kept:
            keeps = Signal(3)
            m.d.sync += keeps.eq(Cat(self.keeps, keeps))
            whole = ~keeps[-1] | joins
        bits_of = []
        for name, memory in (("told", told), ("taken", taken)):
            changed, to = Signal(name=f"{name}_changed"), Signal(name=f"{name}_to")
            m.d.comb += memory.read_row.eq(asked.qp)
            m.d.sync += [
                changed.eq(memory.write_stb & (memory.write_row == late.qp)),
                to.eq(memory.write_data),
            ]
            bits_of.append(Mux(changed, to, memory.read_data))
        is_told, is_taken = bits_of
        waits = Signal()
        first, leaving = Signal(bits), Signal()
        m.d.comb += [
            waits.eq(is_told != is_taken),
            joins.eq(stb & tells[-1] & ~waits & ~replaces),
            self.merged.eq(stb & tells[-1] & (waits | replaces)),
            waiting.w_en.eq(joins),
            waiting.w_data.eq(Cat(word.qp, ~is_taken)),
            told.write_stb.eq(joins),
            told.write_row.eq(word.qp),
            told.write_data.eq(~is_taken),
            taken.write_row.eq(first),
            taken.write_data.eq(leaving),
        ]
        with m.If(walking):
            for memory in (told, taken):
                m.d.comb += [
                    memory.write_stb.eq(1),
                    memory.write_row.eq(row),
                    memory.write_data.eq(0),
                ]

        reads, again = self._turns(m, (stb, whole), word, waiting, Cat(first, leaving))
        # It waits no more; until it is taken, its next word replaces this one all the same.
        with m.If(reads):
            m.d.comb += taken.write_stb.eq(1)
        m.d.comb += replaces.eq(again)
        return m

    def _turns(
        self,
        m: Module,
        comes: tuple[Value, Value],
        word: data.View,
        waiting: SyncFIFOBuffered,
        turn: Value,
    ) -> tuple[Value, Value]:
        """The words' memory and its reader: `turn` takes what the queue gives.

        `comes` says that a word is written, and the member `kept`, too.

        Returns
        -------
        tuple of Value
            A word is being read; it, or the one at the output, is replaced by a new one.
        """
        first, (stb, whole) = turn[: self._bits], comes
        reads = Signal()
        m.d.comb += self.o.payload.qp.eq(first)
        self._words(m, "orders", stb, word, self._rest, (first, reads))
        if self._kept:
            self._words(m, "kept", stb & whole, word, [self._kept], (first, reads))
        changes = Signal()
        m.d.comb += changes.eq(stb & (word.qp == first))
        with m.FSM(name="turn") as fsm:
            with m.State("NEXT"):
                m.d.comb += waiting.r_en.eq(1)
                m.d.sync += turn.eq(waiting.r_data)
                with m.If(waiting.r_rdy):
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
        taken = self.o.valid & self.o.ready
        m.d.comb += reads.eq(fsm.ongoing("READ"))
        return reads, (word.qp == first) & (reads | fsm.ongoing("OFFER")) & ~taken

    def _words(
        self,
        m: Module,
        name: str,
        stb: Value,
        word: data.View,
        members: Sequence[str],
        reads: tuple[Value, Value],
    ) -> None:
        """A memory of some members of each word: of `reads`' row they are at `o`."""
        came, out = (Cat(*(w[name] for name in members)) for w in (word, self.o.payload))
        memory = sliced_memory if self._sliced and not self._few else plain_memory
        m.submodules[name] = orders = memory(unsigned(len(came)), self._qps)
        write, read = orders.write_port(), orders.read_port()
        m.d.comb += [
            write.en.eq(stb),
            write.addr.eq(word.qp),
            write.data.eq(came),
            read.addr.eq(reads[0]),
            read.en.eq(reads[1]),
            out.eq(read.data),
        ]

    def _at_once(self, m: Module) -> None:
        """The relaxed form: a word is written as it comes, and joins the queue in that cycle."""
        bits = self._bits
        m.submodules.waiting = waiting = SyncFIFOBuffered(width=bits + 1, depth=max(self._qps, 3))
        m.submodules.told = told = few_rows(1, self._qps)
        m.submodules.taken = taken = few_rows(1, self._qps)
        walking, row = Signal(init=1), Signal(bits)
        m.d.sync += row.eq(row + walking)
        with m.If(row == self._qps - 1):
            m.d.sync += walking.eq(0)
        first, leaving = Signal(bits), Signal()
        joins = Signal()
        comes = self.i_stb, ~self.keeps | joins if self._kept else Const(1)
        reads, replaces = self._turns(m, comes, self.i, waiting, Cat(first, leaving))
        was, to = (rows.read_port(domain="comb") for rows in (told, taken))
        begins, ends = (rows.write_port() for rows in (told, taken))
        known = (was.data != to.data) | replaces
        m.d.comb += [
            joins.eq(self.i_stb & self.tells & ~known),
            was.addr.eq(self.i.qp),
            to.addr.eq(self.i.qp),
            self.merged.eq(self.i_stb & self.tells & known),
            waiting.w_en.eq(joins),
            waiting.w_data.eq(Cat(self.i.qp, ~to.data)),
            begins.en.eq(joins | walking),
            begins.addr.eq(Mux(walking, row, self.i.qp)),
            begins.data.eq(~to.data & ~walking),
            ends.en.eq(reads | walking),
            ends.addr.eq(Mux(walking, row, first)),
            ends.data.eq(leaving & ~walking),
        ]
