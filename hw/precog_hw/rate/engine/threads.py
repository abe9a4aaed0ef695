"""Threads of a core: which event each one runs, and where it is in its program."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import CODE_WORDS, THREADS

from .layouts import ID_BITS

__all__ = ["DAMAGED", "DECISION", "THREAD_BITS", "TURN_BITS", "Status", "Threads", "about_layout"]

THREAD_BITS = 3
TURN_BITS = 12
_PC_BITS = (CODE_WORDS - 1).bit_length()


class Status(enum.Enum, shape=2):  # type: ignore[call-arg]
    """How an event ended, as `precog_models.rate.engine.machine.Status`."""

    DONE = 0
    ILLEGAL = 1
    OVERRUN = 2
    FELL = 3


#: Behind them, of an event that needs a damaged word; such a result has a bit of its own.
DAMAGED = len(Status)


class _State(enum.Enum, shape=2):  # type: ignore[call-arg]
    FREE = 0
    RUNS = 1
    ENDED = 2  # its stores are being made


#: What an instruction, in its stage 6, does to its thread.
DECISION = data.StructLayout(
    {
        "thread": unsigned(THREAD_BITS),
        "last": unsigned(1),  # turn of the instruction
        "turns": unsigned(TURN_BITS + 1),  # of the event, those of the instruction included
        "over": unsigned(1),  # they are more than the budget
        "illegal": unsigned(1),
        "end": unsigned(1),
        "near": unsigned(_PC_BITS + 2),  # the next instruction
        "far": unsigned(_PC_BITS + 2),  # the target
        "by_less": unsigned(1),  # whether it branches hangs on `less`, on `same`
        "by_same": unsigned(1),
        "inverts": unsigned(1),  # it branches unless it were so
    }
)


#: The same, decided.
_CHANGE = data.StructLayout(
    {
        "stb": unsigned(1),
        "thread": unsigned(THREAD_BITS),
        "last": unsigned(1),
        "turns": unsigned(TURN_BITS),
        "ends": unsigned(1),
        "status": Status,
        "damaged": unsigned(1),
        "pc": unsigned(_PC_BITS),
    }
)


def about_layout(qp_bits: int) -> data.StructLayout:
    """An event that a thread runs."""
    return data.StructLayout(
        {
            "slot": unsigned(3),
            "qp": unsigned(qp_bits),
            "id": unsigned(ID_BITS),
            "status": Status,
            "damaged": unsigned(1),  # a word of its program was not as it was written
            "turns": unsigned(TURN_BITS),
        }
    )


class Threads(wiring.Component):
    """Gives each thread its turn, and follows its program counter.

    Latency: a decision counts two cycles later, when its thread's turn comes again; what is said
    of `asked` and of free threads a cycle later.

    Parameters
    ----------
    qp_bits : int

    Members
    -------
    asked : In(qp_bits), clash : Out(1)
        A queue pair, and whether a thread has it, or stores of it are made.
    free : Out(3), any_free : Out(1)
        A thread without an event.
    start_stb : In(1), start_thread, start_pc, start_heard, start : In
        Begin an event; one that is not heard ends at once.
    thread, live, phase, pc, about : Out
        The thread whose turn it is; turns that its instruction has had.
    decision : In(DECISION), decision_stb, less, same : In(1)
        What an instruction does; how its operands compare.
    damaged : In(1)
        With `decision`: the instruction, or its word of slot memory, is not as it was written. The
        event ends, whatever the instruction says.
    ended : Out(6), abouts : Out
        Threads whose event has ended, and all events.
    retired : In(3), retired_stb : In(1)
        A thread is free again.
    busy : In(1), busy_qp : In(qp_bits)
        Stores of this queue pair are made.
    """

    def __init__(self, qp_bits: int) -> None:
        about = about_layout(qp_bits)
        super().__init__(
            {
                "asked": In(qp_bits),
                "clash": Out(1),
                "free": Out(THREAD_BITS),
                "any_free": Out(1),
                "start_stb": In(1),
                "start_thread": In(THREAD_BITS),
                "start_pc": In(_PC_BITS),
                "start_heard": In(1),
                "start": In(about),
                "thread": Out(THREAD_BITS),
                "live": Out(1),
                "phase": Out(2),
                "pc": Out(_PC_BITS),
                "about": Out(about),
                "decision": In(DECISION),
                "decision_stb": In(1),
                "damaged": In(1),
                "less": In(1),
                "same": In(1),
                "ended": Out(THREADS),
                "abouts": Out(data.ArrayLayout(about, THREADS)),
                "retired": In(THREAD_BITS),
                "retired_stb": In(1),
                "busy": In(1),
                "busy_qp": In(qp_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        states = [Signal(_State, name=f"state{n}") for n in range(THREADS)]
        pcs = [Signal(_PC_BITS, name=f"pc{n}") for n in range(THREADS)]
        phases = [Signal(2, name=f"phase{n}") for n in range(THREADS)]
        abouts = [Signal(self.about.shape(), name=f"about{n}") for n in range(THREADS)]
        m.d.sync += self.thread.eq(Mux(self.thread == THREADS - 1, 0, self.thread + 1))
        clashes = Cat(
            (state != _State.FREE) & (about.qp == self.asked)
            for state, about in zip(states, abouts, strict=True)
        )
        m.d.sync += [
            self.any_free.eq(Cat(state == _State.FREE for state in states).any()),
            self.clash.eq(clashes.any() | (self.busy & (self.busy_qp == self.asked))),
        ]
        m.d.comb += [
            self.live.eq(Array(state == _State.RUNS for state in states)[self.thread]),
            self.phase.eq(Array(phases)[self.thread]),
            self.pc.eq(Array(pcs)[self.thread]),
            self.about.eq(Array(abouts)[self.thread]),
            self.ended.eq(Cat(state == _State.ENDED for state in states)),
        ]
        change = self._decide(m)
        for n in reversed(range(THREADS)):
            with m.If(states[n] == _State.FREE):
                m.d.sync += self.free.eq(n)
        for n in range(THREADS):
            m.d.comb += self.abouts[n].eq(abouts[n])
            with m.If(change.stb & (change.thread == n)):
                m.d.sync += [
                    phases[n].eq(Mux(change.last, 0, phases[n] + 1)),
                    abouts[n].turns.eq(change.turns),
                    abouts[n].status.eq(change.status),
                    abouts[n].damaged.eq(change.damaged),
                ]
                with m.If(change.last):
                    m.d.sync += pcs[n].eq(change.pc)
                with m.If(change.ends):
                    m.d.sync += states[n].eq(_State.ENDED)
            with m.If(self.start_stb & (self.start_thread == n)):
                m.d.sync += [
                    states[n].eq(Mux(self.start_heard, _State.RUNS, _State.ENDED)),
                    pcs[n].eq(self.start_pc),
                    phases[n].eq(0),
                    abouts[n].eq(self.start),
                ]
            with m.If(self.retired_stb & (self.retired == n)):
                m.d.sync += states[n].eq(_State.FREE)
        return m

    def _decide(self, m: Module) -> data.View:
        """What one instruction, in one of its turns, does to its thread: in the next cycle."""
        decision = self.decision
        change = Signal(_CHANGE)
        taken = ((decision.by_less & self.less) | (decision.by_same & self.same)) ^ decision.inverts
        next_pc = Signal(_PC_BITS + 2)
        m.d.comb += next_pc.eq(Mux(taken, decision.far, decision.near))
        fell = Mux(taken, decision.far[_PC_BITS:].any(), decision.near[_PC_BITS:].any())
        m.d.sync += [
            change.stb.eq(self.decision_stb),
            change.thread.eq(decision.thread),
            change.last.eq(decision.last),
            change.turns.eq(decision.turns),
            change.ends.eq(1),
            change.damaged.eq(self.damaged),
            change.pc.eq(next_pc),
        ]
        with m.If(decision.illegal | self.damaged):
            m.d.sync += change.status.eq(Status.ILLEGAL)
        with m.Elif(decision.over):
            m.d.sync += change.status.eq(Status.OVERRUN)
        with m.Elif(decision.last & decision.end):
            m.d.sync += change.status.eq(Status.DONE)
        with m.Elif(decision.last & fell):
            m.d.sync += change.status.eq(Status.FELL)
        with m.Else():
            m.d.sync += change.ends.eq(0)
        return change
