"""The laws other than the PID, behind the rate unit: decisions in, decisions with rates out.

With a law engine no law is here, and events for PSCHED alone take turns with decisions.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION, PARAMETERS
from precog_hw.csr.qp import config_layout
from precog_hw.rate.law_layouts import ABOUT, LAW_EVENT, event_layout
from precog_hw.rate.law_unit import LawUnit
from precog_spec.config import NicConfig
from precog_spec.contract import Algorithm, Flag, Fmt
from precog_spec.law_fields import (
    LAW_CONFIG,
    LAW_EVENTS,
    PSCHED_EVENTS,
    SCORE_BITS,
    EventKind,
    ScoreCommand,
)

__all__ = ["RAW", "LawStage", "takes_events"]

#: What a law wants to know of a sample; whether the queue pair runs one that is here, and PSCHED.
RAW = data.StructLayout(
    {"rtt": Fmt.RTT.width, "t": Fmt.TIME.width, "law": 1, "psched": 1},
)


def takes_events(algorithm: Signal) -> Signal:
    """The law is one of `LawUnit`'s."""
    return (algorithm == Algorithm.TIMELY) | (algorithm == Algorithm.DCQCN)


class _Job:
    """What the law works on, and whom its answer is for."""

    def __init__(self, qp_bits: int) -> None:
        self.event = Signal(event_layout(qp_bits))
        self.answers = Signal()  # a decision is to be made of it
        self.of_event = Signal()
        self.rated = Signal()  # the decision has a rate of the law
        self.scheduled = Signal()  # PSCHED takes it
        self.again = Signal()  # RESET follows CONFIGURE
        self.rate = Signal(Fmt.RATE.width)
        self.offers = Signal()
        self.passing = Signal()  # a decision that no law here makes


class LawStage(wiring.Component):
    """Decisions of other laws pass; those of TIMELY and DCQCN get the law's rate, and so do events.

    What only PSCHED takes passes, too, as a decision without a rate. With a law engine TIMELY and
    DCQCN are programs, and nothing else is left of the stage.

    ::

        i ───────┬───────────────────────────────► o
        i_raw ───┴─► RTT event ─┐        ┌─ rate ──▲
        i_event ─► [takes?] ────┼─► laws ┘
        command ─► CONFIGURE, RESET

    A decision and an event that wait take turns. Decisions that pass do not wait for an event that
    is being worked on, so decisions and events may change places; each of both keeps its order, and
    so does everything that one law does: the golden model is told the events in the order of `o`.

    Latency: of what passes none; of others that of `LawUnit`, 3 cycles, and of what it works on.
    Throughput: `LawUnit`'s. Cost: `LawUnit`, without a law engine, and 250 flip-flops.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(DECISION))
    i_raw : In(stream.Signature(RAW))
        One for each decision, there with it or earlier.
    i_event : In(stream.Signature(LAW_EVENT))
        Of one of the `LAW_EVENTS` or the `PSCHED_EVENTS`.
    o : Out(stream.Signature(DECISION))
        One for each decision of `i` and each event that is not ignored. Of an event's the rate and
        `Flag.EVENT` count, the other fields are 0.
    about : Out(ABOUT)
        Of the decision at `o`.
    ignored : Out(1)
        Strobe: an event of a queue pair that does not exist or is not enabled, or neither its law
        nor PSCHED takes such events.
    command : In(stream.Signature(config_layout(config)))
        Configure (`apply`) and reset (`clear`) a queue pair. While it waits, `i` must be empty.
    parameters : In(PARAMETERS)
        To be held while a decision or an event is in flight.
    busy : Out(1)
        There is work.
    """

    i: stream.Interface
    i_raw: stream.Interface
    i_event: stream.Interface
    o: stream.Interface
    about: data.View
    ignored: Signal
    command: stream.Interface
    parameters: data.View
    busy: Signal

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(DECISION)),
                "i_raw": In(stream.Signature(RAW)),
                "i_event": In(stream.Signature(LAW_EVENT)),
                "o": Out(stream.Signature(DECISION)),
                "about": Out(ABOUT),
                "ignored": Out(1),
                "command": In(stream.Signature(config_layout(config))),
                "parameters": In(PARAMETERS),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        laws = self._laws(m) if self._config.fixed_laws else None
        at = _Job(self._config.qp_bits)
        of_law = self.i_raw.payload.law & (laws is not None)
        sample = self.i.valid & of_law
        self._offer(m, at, of_law)
        to_work = "IDLE" if laws is None else "LAW"  # without laws only a command gets there
        with m.FSM(name="stage") as fsm:
            self._choose(m, at, sample, to_work)
            self._look_up(m, at, laws is not None, to_work)
            # What is being offered must not be replaced.
            with m.State("PASS"), m.If(~at.passing | self.o.ready):
                m.next = "OFFER"
            with m.State("COMMAND"):
                m.d.comb += self.command.ready.eq(1)
                m.next = to_work
            if laws is not None:
                self._work(m, at, laws)
            with m.State("OFFER"):
                m.d.comb += at.offers.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        waits = self.command.valid | sample | self.i_event.valid
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE") | waits)
        return m

    def _offer(self, m: Module, at: _Job, of_law: Value) -> None:
        """A decision that passes, or one with the law's rate; an event's has nothing else."""
        m.d.comb += [
            at.passing.eq(self.i.valid & ~of_law & ~at.offers),
            self.o.valid.eq(at.passing | at.offers),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready & (at.passing | (at.offers & ~at.of_event))),
            self.i_raw.ready.eq(self.i.ready & self.i.valid),
        ]
        raw = self.i_raw.payload
        m.d.comb += [
            self.about.t.eq(raw.t),
            self.about.psched.eq(raw.psched),
            self.about.sample.eq(1),
            self.about.rated.eq(1),
            self.about.score.eq(at.event.value),
            self.about.command.eq(at.event.value >> SCORE_BITS),
            self.about.rtt.eq(raw.rtt),
        ]
        with m.If(at.offers):
            m.d.comb += self.o.payload.rate.eq(at.rate)
            with m.If(at.of_event):
                m.d.comb += [
                    self.o.payload.as_value().eq(0),
                    self.o.payload.qp.eq(at.event.qp),
                    self.o.payload.rate.eq(at.rate),
                    self.o.payload.flags.eq(1 << Flag.EVENT),
                    self.about.t.eq(at.event.t),
                    self.about.psched.eq(at.scheduled),
                    self.about.sample.eq(0),
                    self.about.rtt.eq(0),
                    self.about.rated.eq(at.rated),
                    self.about.score_stb.eq(
                        (at.event.kind == EventKind.SCORE)
                        & (self.about.command != ScoreCommand.KEEP)
                    ),
                ]

    def _choose(self, m: Module, at: _Job, sample: Value, to_work: str) -> None:
        """IDLE: a command comes first; a sample and an event that wait take turns."""
        command, job = self.command.payload, self.i_event.payload
        turn = Signal()  # the last job was a sample's
        with m.State("IDLE"):
            m.d.sync += [at.answers.eq(1), at.of_event.eq(0), at.again.eq(0)]
            m.d.sync += [
                at.event[name].eq(command.config["algorithm" if name == "law" else name])
                for name, _ in LAW_CONFIG
            ]
            with m.If(self.command.valid):
                m.d.sync += [
                    at.answers.eq(0),
                    at.event.qp.eq(command.qp),
                    at.event.kind.eq(Mux(command.apply, EventKind.CONFIGURE, EventKind.RESET)),
                    at.again.eq(command.apply & command.clear),
                ]
                m.next = "COMMAND"
            with m.Elif(sample & ~(turn & self.i_event.valid)):
                m.d.sync += [
                    turn.eq(1),
                    at.event.kind.eq(EventKind.RTT),
                    at.event.qp.eq(self.i.payload.qp),
                    at.event.t.eq(self.i_raw.payload.t),
                    at.event.value.eq(self.i_raw.payload.rtt),
                ]
                m.next = to_work
            with m.Elif(self.i_event.valid):
                m.d.sync += [turn.eq(0), at.of_event.eq(1)]
                m.d.sync += [at.event[name].eq(job[name]) for name in LAW_EVENT.members]
                m.next = "EVENT"

    def _look_up(self, m: Module, at: _Job, has_laws: bool, to_work: str) -> None:
        """EVENT: whether the queue pair's law takes the event, or PSCHED alone, or neither."""
        job = self.i_event.payload
        taker, exists = self._takers(m), (job.qp >> self._config.qp_bits) == 0
        to_law = exists & taker.law & _is_one(job.kind, LAW_EVENTS) & has_laws
        to_psched = exists & taker.psched & _is_one(job.kind, PSCHED_EVENTS)
        with m.State("EVENT"):
            m.d.comb += self.i_event.ready.eq(1)
            m.d.sync += [at.rated.eq(to_law), at.scheduled.eq(taker.psched)]
            with m.If(to_law):
                m.next = to_work
            with m.Elif(to_psched):
                m.next = "PASS"
            with m.Else():
                m.d.comb += self.ignored.eq(1)
                m.next = "IDLE"

    def _work(self, m: Module, at: _Job, laws: LawUnit) -> None:
        """LAW and ANSWER: the law executes the event, and after a command perhaps a RESET."""
        m.d.comb += laws.i.payload.eq(at.event)
        with m.State("LAW"):
            m.d.comb += laws.i.valid.eq(1)
            with m.If(laws.i.ready):
                m.next = "ANSWER"
        with m.State("ANSWER"):
            # What is being offered must not be replaced.
            m.d.comb += laws.o.ready.eq(~at.answers | ~at.passing | self.o.ready)
            m.d.sync += at.rate.eq(laws.o.payload.rate)
            with m.If(laws.o.valid & laws.o.ready):
                m.next = "OFFER"
                with m.If(~at.answers):
                    m.d.sync += [at.event.kind.eq(EventKind.RESET), at.again.eq(0)]
                    m.next = "IDLE"
                    with m.If(at.again):
                        m.next = "LAW"

    def _laws(self, m: Module) -> LawUnit:
        """TIMELY and DCQCN, with their parameters."""
        m.submodules.laws = laws = LawUnit(self._config.qps)
        for name in ("timely", "dcqcn"):
            view = getattr(laws, name)
            m.d.comb += [
                view[field].eq(self.parameters[f"{name}_{field}"]) for field in view.shape().members
            ]
        return laws

    def _takers(self, m: Module) -> data.View:
        """Who takes events of the queue pair of the event that waits; known a cycle later."""
        entry = data.StructLayout({"law": 1, "psched": 1})
        m.submodules.takers = takers = Memory(shape=entry, depth=self._config.qps, init=[])
        write, read = takers.write_port(), takers.read_port()
        command = self.command.payload
        # An event that was let through before its queue pair runs a program is ignored.
        programmed = command.config.algorithm[-1] & bool(self._config.law_cores)
        m.d.comb += [
            write.en.eq(self.command.valid & self.command.ready & command.apply),
            write.addr.eq(command.qp),
            write.data.law.eq(command.config.enable & takes_events(command.config.algorithm)),
            write.data.psched.eq(command.config.enable & command.config.psched & ~programmed),
            read.addr.eq(self.i_event.payload.qp),
        ]
        return read.data


def _is_one(kind: Value, kinds: tuple[EventKind, ...]) -> Value:
    return Cat(kind == one for one in kinds).any()
