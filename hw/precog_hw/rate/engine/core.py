"""A core of the law engine: eight events at once, an instruction a cycle."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import (
    OPS,
    RESULTS,
    ROW_WORDS,
    SLOT_WORDS,
    THREADS,
    WORD,
    Op,
)

from .dispatcher import BUFFER_BITS, EVENT_PLACES, Dispatcher
from .execute import BLOCK_RAM, Word, registers, result
from .layouts import CODE_WRITE, ENTRY_WRITE, SLOT_WRITE, event_layout, result_layout, row_layout
from .operands import first_operand, last_operand
from .programs import Programs, program_ports
from .retirer import Retirer
from .simple import Simple
from .threads import TURN_BITS, Status, Threads
from .units import delayed

__all__ = ["Core"]

_STAGES = 11
_OP_BITS = 5


class Core(wiring.Component):
    """Runs events of queue pairs through programs, as `precog_models.rate.engine.machine` does.

    ::

        i ─► dispatcher ─► [event words] ──┐
                 │        [slot memory] ───┤
                 ▼              [rows] ────┤      ┌─► units ─► [registers]
              threads ─► [code] ─► operands ──────┤
                 ▲                                └─► stores ─► retirer ─► [rows], o
                 └──────────────── decision ◄─────┘

    An instruction passes through eleven stages: its thread (0), program memory (1, 2), operands (3,
    4), units (5 to 9), write-back (10). Threads take turns, so the next one of a thread begins in
    its stage 8: after its branch is decided in 5 to 7; its result is written before operands are
    read again, in stage 11. So a register on the way costs nothing but time of the one event.

    The dispatcher writes the next event's words while all threads run, so that a thread that ends
    one begins at once. A queue pair has one event in the core at a time: the next one waits at the
    input, so that it sees the row that the first one leaves.

    With ECC each word of a program is compared with its check bits while its instruction runs. The
    decision on an instruction that is damaged, or uses a damaged word of slot memory, ends the
    event. That takes no cycle and is in no path of the fetch (`Programs`).

    Latency: of an event, `THREADS` cycles for each turn of its program, 22 to start, a cycle for
    each word that it stored, and at most 16. Throughput: an instruction a cycle; an event in 22
    cycles at most.

    Parameters
    ----------
    qps : int
        Queue pairs, a power of two.
    dsp : str
        As `Multiplier` has it.
    ecc : bool
        Programs have check bits.

    Members
    -------
    i : In(stream.Signature(event_layout))
    o : Out(result_layout), o_stb : Out(1)
        An event has ended.
    budget : In(12)
        Most turns of an event.
    code, slot, entry : In, each with a strobe
        Writes of programs: not of one that runs.
    i_row : In(stream.Signature(row_layout))
        Writes of rows: not of a queue pair that has an event in the core.
    check : In(8)
        With `ecc`: check bits of the word that is being written.
    scrub, scrubbed : In(program_scrub_layout), Out(program_answer_layout)
        As above: a word for the scrubber, three cycles later, unless one is being written.
    suspect : Out(program_scrub_layout)
        As above: a word that an event has found damaged.

    Raises
    ------
    ValueError
        `qps` is no power of two.
    """

    def __init__(self, qps: int, dsp: str = "generic", *, ecc: bool = False) -> None:
        if qps < 1 or qps & (qps - 1):
            raise ValueError(f"qps must be a power of two, not {qps!r}")
        self._qps = qps
        self._qp_bits = max((qps - 1).bit_length(), 1)
        self._dsp = dsp
        self._ecc = ecc
        super().__init__(
            {
                **program_ports(1, ecc=ecc),
                "i": In(stream.Signature(event_layout(self._qp_bits))),
                "o": Out(result_layout(self._qp_bits, ecc=ecc)),
                "o_stb": Out(1),
                "budget": In(TURN_BITS, init=(1 << TURN_BITS) - 1),
                "code": In(CODE_WRITE),
                "code_stb": In(1),
                "slot": In(SLOT_WRITE),
                "slot_stb": In(1),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "i_row": In(stream.Signature(row_layout(self._qp_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.threads = self.threads = threads = Threads(self._qp_bits)
        m.submodules.dispatcher = self.dispatcher = Dispatcher(self._qp_bits, ecc=self._ecc)
        m.submodules.retirer = self._retirer = Retirer(self._qp_bits, ecc=self._ecc)
        self._connect(m)
        # What is known of the instruction in each stage.
        self._thread = self._pipeline(m, threads.thread, "thread")
        self.live = self._pipeline(m, threads.live, "live")
        self.phase = self._pipeline(m, threads.phase, "phase")
        self.slots = self._pipeline(m, threads.about.slot, "slot")
        self._qp = self._pipeline(m, threads.about.qp, "qp")
        self.pc = self._pipeline(m, threads.pc, "pc")
        self._turns = delayed(m, threads.about.turns, 4, "turns")
        programs = Programs(m, self, ecc=self._ecc)
        fetched = delayed(m, programs.fetch(self.pc[1], self.slots[1]), 1, "fetched")
        self.words = {3: Word(fetched)}
        for n in range(4, _STAGES):
            fetched = delayed(m, fetched, 1, f"fetched{n}")
            self.words[n] = Word(fetched)
        m.d.comb += self.dispatcher.asked.eq(self._thread[2])
        self._buffer = delayed(m, self.dispatcher.buffer, 1, "buffer")
        index = Signal((SLOT_WORDS - 1).bit_length())
        first, second, writes = registers(m, self.words[3], self._thread[3])
        heard, rows = self._heard(m), self._rows(m)
        row, event = (rows, self._qp[3]), (heard, self._buffer)
        word = self.words[3]
        a = delayed(m, first_operand(m, word, first, row, event), 1, "a").as_signed()
        first_turn = delayed(m, self.phase[4] == 0, 1, "first_turn")
        # The next turn of the thread looks up what this one has found the place of.
        finds = self.live[5] & first_turn & (self.words[5].op == Op.LDX)
        place = Mux(delayed(m, finds, THREADS - 2, "looks_up"), index, word.b)
        of_slot = programs.word(place, self.slots[3])
        last = last_operand(m, word, second, of_slot, row, event)
        b = delayed(m, last, 1, "b").as_signed()
        # An index is wanted in stage 3 of the next turn.
        word = self.words[5]
        found = Signal.like(index)
        m.d.comb += found.eq(Cat(word.b, word.c[:2]) + a)
        m.d.comb += index.eq(delayed(m, found, THREADS - 2, "index"))
        self._decide(m, a, b)
        if self._ecc:
            programs.watch()
        made = result(m, self.words, first_turn, a, b, self._simple, self._dsp)
        self._write(m, made, writes)
        return m

    def _pipeline(self, m: Module, value: Value, name: str) -> list[Value]:
        """A value of stage 0, in every stage."""
        stages = [value]
        for n in range(1, _STAGES):
            stages.append(delayed(m, stages[-1], 1, f"{name}{n}"))
        return stages

    def _connect(self, m: Module) -> None:
        """Event in, thread, event out."""
        threads, dispatcher, retirer = self.threads, self.dispatcher, self._retirer
        wiring.connect(m, wiring.flipped(self.i), dispatcher.i)
        m.d.comb += [
            dispatcher.entry.eq(self.entry),
            dispatcher.entry_stb.eq(self.entry_stb),
            dispatcher.free.eq(threads.free),
            dispatcher.any_free.eq(threads.any_free),
            dispatcher.clash.eq(threads.clash),
            threads.asked.eq(self.i.payload.qp),
            threads.start_stb.eq(dispatcher.start_stb),
            threads.start_thread.eq(dispatcher.thread),
            threads.start_pc.eq(dispatcher.pc),
            threads.start_heard.eq(dispatcher.heard & ~dispatcher.damaged),
            threads.start.slot.eq(self.i.payload.slot),
            threads.start.qp.eq(self.i.payload.qp),
            threads.start.id.eq(self.i.payload.id),
            threads.start.damaged.eq(dispatcher.damaged),
            threads.start.status.eq(Mux(dispatcher.damaged, Status.ILLEGAL, Status.DONE)),
            threads.retired.eq(retirer.thread),
            threads.retired_stb.eq(retirer.free_stb),
            threads.busy.eq(retirer.busy),
            threads.busy_qp.eq(retirer.qp),
            retirer.cleared.eq(dispatcher.thread),
            retirer.cleared_stb.eq(dispatcher.start_stb),
            retirer.ended.eq(threads.ended),
            retirer.abouts.eq(threads.abouts),
            self.o.eq(retirer.o),
            self.o_stb.eq(retirer.o_stb),
        ]

    def _heard(self, m: Module) -> Memory:
        """Words of each thread's event, and of the next one."""
        m.submodules.event_memory = heard = Memory(
            shape=signed(WORD), depth=EVENT_PLACES << BUFFER_BITS, init=[], attrs=BLOCK_RAM
        )
        told = heard.write_port()
        m.d.comb += [
            told.en.eq(self.dispatcher.write_stb),
            told.addr.eq(self.dispatcher.place),
            told.data.eq(self.dispatcher.word),
        ]
        return heard

    def _rows(self, m: Module) -> Memory:
        """Rows of all queue pairs; the retirer's writes go before the host's."""
        m.submodules.rows = rows = Memory(
            shape=signed(WORD), depth=self._qps * ROW_WORDS, init=[], attrs=BLOCK_RAM
        )
        keep = rows.write_port()
        retirer, host = self._retirer, self.i_row
        m.d.comb += host.ready.eq(~retirer.write_stb)
        m.d.sync += [
            keep.en.eq(retirer.write_stb | host.valid),
            keep.addr.eq(Cat(host.payload.place, host.payload.qp)),
            keep.data.eq(host.payload.word),
        ]
        with m.If(retirer.write_stb):
            m.d.sync += [
                keep.addr.eq(Cat(retirer.place, retirer.qp)),
                keep.data.eq(retirer.word),
            ]
        return rows

    def _decide(self, m: Module, a: Value, b: Value) -> None:
        """Branches, ends and traps, in stage 6; the simple unit."""
        m.submodules.simple = self._simple = simple = Simple()
        m.d.comb += [simple.op.eq(self.words[4].op), simple.a.eq(a), simple.b.eq(b)]
        # What its operands say nothing of.
        word = self.words[4]
        known = [op in set(Op) for op in range(1 << _OP_BITS)]
        costs = Array(OPS[Op(op)].turns if known[op] else 1 for op in range(1 << _OP_BITS))
        cost = delayed(m, costs[self.words[3].op], 1, "cost")
        has_result = Array(known[op] and OPS[Op(op)].shape in RESULTS for op in range(len(known)))
        illegal = (word.op >= len(Op)) | (word.stores & ~has_result[word.op])
        last = self.phase[4] == cost - 1
        begins = (self.phase[4] == 0) & ~illegal
        turns = Signal(TURN_BITS + 1, name="turns")
        m.d.comb += turns.eq(self._turns + Mux(begins, cost, 0))
        near = Signal(len(self.threads.decision.near), name="near")
        m.d.comb += near.eq(self.pc[4] + 1)
        word, decision = self.words[5], self.threads.decision
        turns = delayed(m, turns, 1, "told_turns")
        illegal, last = delayed(m, illegal, 1, "illegal"), delayed(m, last, 1, "last")
        near = delayed(m, near, 1, "told_near")
        always = word.op == Op.JMP
        m.d.sync += [
            self.threads.decision_stb.eq(self.live[5]),
            decision.thread.eq(self._thread[5]),
            decision.turns.eq(turns),
            decision.illegal.eq(illegal),
            decision.over.eq(turns > self.budget),
            decision.last.eq(last),
            decision.end.eq(word.op == Op.END),
            decision.near.eq(near),
            decision.far.eq(near + Cat(word.c, word.rd)),
            decision.by_less.eq((word.op == Op.BLT) | (word.op == Op.BGE)),
            decision.by_same.eq((word.op == Op.BEQ) | (word.op == Op.BNE)),
            decision.inverts.eq((word.op == Op.BNE) | (word.op == Op.BGE) | always),
        ]
        m.d.comb += [self.threads.less.eq(simple.less), self.threads.same.eq(simple.same)]
        self._last = last

    def _write(self, m: Module, result: Value, writes: list[wiring.PureInterface]) -> None:
        """Write-back, in stage 10 of the last turn: until then operands are read. Then stores."""
        makes, stores = Signal(), Signal()
        word = self.words[5]
        with m.Switch(word.op):
            with m.Case(*(op for op in Op if OPS[op].shape in RESULTS)):
                m.d.comb += [makes.eq(self.live[5] & self._last), stores.eq(makes & word.stores)]
            with m.Case(Op.ST):
                m.d.comb += stores.eq(self.live[5])
        is_store = delayed(m, word.op == Op.ST, 5, "is_store")
        makes, stores = delayed(m, makes, 5, "makes"), delayed(m, stores, 5, "stores")
        word = self.words[10]
        for write in writes:
            m.d.comb += [
                write.en.eq(makes),
                write.addr.eq(Cat(word.rd, self._thread[10])),
                write.data.eq(result),
            ]
        m.d.sync += [
            self._retirer.store_stb.eq(stores),
            self._retirer.store_thread.eq(self._thread[10]),
            self._retirer.store_place.eq(Mux(is_store, word.b[:4], word.rd[:4])),
            self._retirer.store_word.eq(result),
        ]
