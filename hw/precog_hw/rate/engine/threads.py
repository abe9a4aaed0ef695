"""Threads of a core: which event each one runs, and where it is in its program."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from precog_spec.engine.isa import CODE_WORDS, THREADS

from .layouts import ID_BITS

__all__ = ["DECISION", "THREAD_BITS", "TURN_BITS", "Status", "Threads", "about_layout"]

THREAD_BITS = 3
TURN_BITS = 12
_PC_BITS = (CODE_WORDS - 1).bit_length()


class Status(enum.Enum, shape=2):  # type: ignore[call-arg]
    """How an event ended, as `precog_models.rate.engine.machine.Status`."""

    DONE = 0
    ILLEGAL = 1
    OVERRUN = 2
    FELL = 3


class _State(enum.Enum, shape=2):  # type: ignore[call-arg]
    FREE = 0
    RUNS = 1
    ENDED = 2  # its stores are being made


#: What an instruction, in its stage 4, does to its thread.
DECISION = data.StructLayout(
    {
        "thread": unsigned(THREAD_BITS),
        "first": unsigned(1),  # turn of the instruction
        "last": unsigned(1),  # turn of the instruction
        "cost": unsigned(3),  # its turns
        "illegal": unsigned(1),
        "end": unsigned(1),
        "pc": unsigned(_PC_BITS + 2),  # of the next instruction
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
            "turns": unsigned(TURN_BITS),
        }
    )


class Threads(wiring.Component):
    """Gives each thread its turn, and follows its program counter.

    Latency: a decision counts two cycles later, when its thread's turn comes again.

    Parameters
    ----------
    qp_bits : int

    Members
    -------
    budget : In(12)
        Most turns of an event.
    asked : In(qp_bits), clash : Out(1)
        A queue pair, and whether a thread has it.
    free : Out(3), any_free : Out(1)
        A thread without an event.
    start_stb : In(1), start_thread, start_pc, start_heard, start : In
        Begin an event; one that is not heard ends at once.
    thread, live, phase, pc, about : Out
        The thread whose turn it is; turns that its instruction has had.
    decision : In(DECISION), decision_stb : In(1)
    ended : Out(6), abouts : Out
        Threads whose event has ended, and all events.
    retired : In(3), retired_stb : In(1)
        A thread is free again.
    """

    def __init__(self, qp_bits: int) -> None:
        about = about_layout(qp_bits)
        super().__init__(
            {
                "budget": In(TURN_BITS),
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
                "ended": Out(THREADS),
                "abouts": Out(data.ArrayLayout(about, THREADS)),
                "retired": In(THREAD_BITS),
                "retired_stb": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        states = [Signal(_State, name=f"state{n}") for n in range(THREADS)]
        pcs = [Signal(_PC_BITS, name=f"pc{n}") for n in range(THREADS)]
        phases = [Signal(2, name=f"phase{n}") for n in range(THREADS)]
        abouts = [Signal(self.about.shape(), name=f"about{n}") for n in range(THREADS)]
        m.d.sync += self.thread.eq(Mux(self.thread == THREADS - 1, 0, self.thread + 1))
        m.d.comb += [
            self.live.eq(Array(state == _State.RUNS for state in states)[self.thread]),
            self.phase.eq(Array(phases)[self.thread]),
            self.pc.eq(Array(pcs)[self.thread]),
            self.about.eq(Array(abouts)[self.thread]),
            self.ended.eq(Cat(state == _State.ENDED for state in states)),
            self.any_free.eq(Cat(state == _State.FREE for state in states).any()),
            self.clash.eq(
                Cat(
                    (state != _State.FREE) & (about.qp == self.asked)
                    for state, about in zip(states, abouts, strict=True)
                ).any()
            ),
        ]
        for n in reversed(range(THREADS)):
            with m.If(states[n] == _State.FREE):
                m.d.comb += self.free.eq(n)
        for n in range(THREADS):
            m.d.comb += self.abouts[n].eq(abouts[n])
            with m.If(self.decision_stb & (self.decision.thread == n)):
                self._decide(m, states[n], pcs[n], phases[n], abouts[n])
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

    def _decide(
        self, m: Module, state: Signal, pc: Signal, phase: Signal, about: data.View
    ) -> None:
        """What one instruction, in one of its turns, does to its thread."""
        decision = self.decision
        turns = Signal(TURN_BITS + 1)
        m.d.comb += turns.eq(about.turns + Mux(decision.first, decision.cost, 0))

        def end(status: Value) -> None:
            m.d.sync += [state.eq(_State.ENDED), about.status.eq(status)]

        with m.If(~decision.illegal):
            m.d.sync += about.turns.eq(turns)
        with m.If(decision.illegal):
            end(Status.ILLEGAL)
        with m.Elif(turns > self.budget):
            end(Status.OVERRUN)
        with m.Elif(~decision.last):
            m.d.sync += phase.eq(phase + 1)
        with m.Elif(decision.end):
            end(Status.DONE)
        with m.Elif(decision.pc[_PC_BITS:].any()):
            end(Status.FELL)
        with m.Else():
            m.d.sync += [phase.eq(0), pc.eq(decision.pc)]
