"""The law engine behind the other laws: decisions of queue pairs that run a program get its rate.

The golden model is `precog_models.rate.engine.unit`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.csr.qp import config_layout
from precog_hw.passing import pass_ports
from precog_hw.rate.law_layouts import ABOUT, LAW_ACK, LAW_EVENT, RAN, beyond, within
from precog_hw.rate.layouts import MODEL
from precog_hw.rows import plain_memory
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.engine.events import Kind
from precog_spec.engine.image_fields import BANKS, BUDGET_BITS
from precog_spec.engine.isa import ROW_WORDS, SLOTS
from precog_spec.law_fields import ScoreCommand

from .beginning import GIVEN, GIVEN_RATES, begin, event_of, first_base
from .commit import CLOSED, ROW, TRAP, Commit
from .core import Core
from .cores import Cores
from .flight import Flight
from .intake import Intake
from .layouts import CODE_WRITE, ENTRY_WRITE, SLOT_WRITE
from .programs import program_ports
from .store import PROGRAM

__all__ = ["ENGINE_COUNTS", "ProgramStage"]

_SLOT_BITS = (SLOTS - 1).bit_length()
_BANK_BITS = (BANKS - 1).bit_length()
_PLACE_BITS = (ROW_WORDS - 1).bit_length()
_RTT, _RATE, _WINDOW = Fmt.RTT.width, Fmt.RATE.width, Fmt.WINDOW.width

#: What is counted of programs, as `unit.COUNTS`.
ENGINE_COUNTS = ("events", "trapped", "overrun", "safe")

_TO_CORE = {
    "budget": "budget",
    **{name: name for name in ("code", "code_stb", "slot_stb", "entry", "entry_stb")},
    "slot": "slot_word",
}


class _Turn:
    """The event or command whose turn it is, and what was read of its queue pair."""

    def __init__(self, inner: wiring.Component, begun: data.View, flight_id: Signal) -> None:
        self.inner = inner
        self.begun = begun
        self.number = Signal.like(flight_id)  # of the event in flight
        self.place = Signal(_PLACE_BITS)  # in the row of a program that begins
        self.commanded = Signal()
        self.settled = Signal()  # what was read is there
        self.could_pass: Value = Const(0)  # the decision at `i`
        self.out = Signal(2)  # bounds that the rate is beyond
        self.was_reset = Signal()
        self.sent = Signal()  # the core takes the event
        self.is_new = Signal()  # the row of a program that begins is of another one
        self.holds = Signal()  # a program that the event is about to run
        self.was_on = Signal()
        self.init_rate = Signal(_RATE)
        self.base = Signal(_RTT)


class ProgramStage(wiring.Component):
    """Decisions of other laws pass; those of programs get the program's rate and window.

    ::

        i ──────────┬────────────────────────────────────────────────────► o
        i_event ─┬──┴► [configuration, row] ─► [core] ─► flight ─► commit ─▲
        i_ack ───┤                     └─────(safe law)────┘
                 └─► o_event, of other queue pairs

    Samples, events and acknowledgements take turns; eight events a core are in flight at once, each
    of another queue pair: one that comes for a queue pair that has one waits until its row is
    written, and those behind it wait with it. So do those behind one whose core has eight.
    They end in any order, which `close` tells. A trap disables
    the slot for events that begin after it. Decisions that pass do not wait for events in flight.
    A command waits until none is.

    A core has ``THREADS * budget + 256`` cycles for an event, whatever the program does: if one is
    late, the core is reset, and all that it had are overruns. An event that has begun is answered
    in that time and at most 66 cycles more for each core.

    Latency: of what passes 2 cycles; of others 21 cycles, 16 more where the program is another one
    than before, and what `Core` says. Throughput: an event in 9 cycles; of each core, one in 31
    cycles, or in an eighth of what its program takes; a decision that passes in every third cycle.
    Cost: cores, `Flight`, `Safety`, 219 bits of memory of each queue pair.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i, about : In(stream.Signature(DECISION)), In(ABOUT)
        Decisions, and what they are of.
    i_event, o_event : In, Out of (stream.Signature(LAW_EVENT))
    i_ack : In(stream.Signature(LAW_ACK))
    o : Out(stream.Signature(DECISION))
        One for each decision of `i`, and each event and acknowledgement that is not ignored.
    of : Out(ABOUT)
        Of the decision at `o`.
    ignored : Out(1)
        Strobe: an acknowledgement of a queue pair without a program, or an event that programs do
        not hear.
    hold : In(1)
        Advice is held.
    halt : In(1)
        No decision passes.
    command : In(stream.Signature(config_layout(config)))
    threshold, budget, mtu : In(24), In(10), In(16)
        RTT above which nothing rises; most turns; least window.
    slot, program : Out(3), In(PROGRAM)
        What a slot stands for, in the same cycle.
    running, fail_stb, fail_slot, fail_bank : Out
        Of `ProgramStore`.
    code, slot_word, entry : In, each with a strobe
        Writes of programs.
    counts : Out(4)
        Strobes, `ENGINE_COUNTS`.
    trap : Out(TRAP)
        The last one.
    close_stb, close : Out(1), Out(CLOSED)
        An event ends; its decision is the next one of the engine's at `o`.
    damaged_stb : Out(1)
        An event needed a word of its program that is not as it was written.
    busy : Out(1)
    model, o_model, ran : In(MODEL), Out(MODEL), Out(RAN)
        With `config.trace`: the model that answered for the decision at `i`, and at `o`; what the
        engine did for that at `o`.
    check, copies, scrub, scrubbed, suspect
        With ECC of programs: as `Cores`. What a core says while it is reset is lost.
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        guarded = program_ports(config.law_cores, ecc=config.guards_programs)
        if guarded:
            guarded["copies"] = In(config.law_cores)
        self._guarded = tuple(guarded)
        traced = {"model": In(MODEL), "o_model": Out(MODEL), "ran": Out(RAN)}
        super().__init__(
            {
                "i": In(stream.Signature(DECISION)),
                "about": In(ABOUT),
                "i_event": In(stream.Signature(LAW_EVENT)),
                "o_event": Out(stream.Signature(LAW_EVENT)),
                "i_ack": In(stream.Signature(LAW_ACK)),
                "o": Out(stream.Signature(DECISION)),
                "of": Out(ABOUT),
                "ignored": Out(1),
                "hold": In(1),
                "halt": In(1),
                "command": In(stream.Signature(config_layout(config))),
                "threshold": In(_RTT),
                "budget": In(BUDGET_BITS),
                "mtu": In(16),
                "slot": Out(_SLOT_BITS),
                "program": In(PROGRAM),
                "running": Out(BANKS),
                "fail_stb": Out(1),
                "fail_slot": Out(_SLOT_BITS),
                "fail_bank": Out(_BANK_BITS),
                "code": In(CODE_WRITE),
                "code_stb": In(1),
                "slot_word": In(SLOT_WRITE),
                "slot_stb": In(1),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "counts": Out(len(ENGINE_COUNTS)),
                "trap": Out(TRAP),
                "close_stb": Out(1),
                "close": Out(CLOSED),
                "damaged_stb": Out(1),
                "busy": Out(1),
                **(traced if config.trace else {}),
                **guarded,
            }
        )

    def core(self) -> wiring.Component:
        """What runs programs."""
        cores, qps, dsp = self._config.law_cores, self._config.qps, self._config.dsp
        ecc = self._config.guards_programs
        return Core(qps, dsp, ecc=ecc) if cores == 1 else Cores(qps, cores, dsp, ecc=ecc)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = self.core()
        m.submodules.intake = self._intake = intake = Intake(self._config)
        m.submodules.flight = self._flight = flight = Flight(self._config)
        m.submodules.commit = self._commit = Commit(self._config)
        m.submodules.core = ResetInserter(flight.restart)(inner)
        self._qp, self._put_config, self._wipe = Signal(self._config.qp_bits), Signal(), Signal()
        config, row = self._memories(m)
        self._begun = Signal.like(flight.begin)
        at = _Turn(inner, self._begun, flight.id)
        at.could_pass = intake.known & ~intake.own & ~self.halt
        m.d.sync += at.was_reset.eq(flight.restart)
        m.d.comb += [
            flight.asked.eq(self._qp),
            flight.budget.eq(self.budget),
            flight.told_stb.eq(inner.o_stb),
            flight.told.eq(inner.o),
            # A program that an event is about to run must not be touched, either.
            self.running.eq(flight.banks | (at.holds << at.begun.bank)),
        ]
        # What is read of a queue pair: a program is found, and a command compared, a cycle later.
        m.d.sync += [
            self.slot.eq(config.slot),
            at.was_on.eq(config.on),
            at.init_rate.eq(config.init_rate),
            at.base.eq(first_base(intake.words, at.begun)),
        ]
        with m.FSM(name="programs") as fsm:
            self._choose(m, at)
            self._command(m, at)
            self._prepare(m, at, config, row)
            self._send(m, at)
        self._drive_core(m, at)
        passes = Signal()
        m.d.comb += passes.eq(at.could_pass & ~self._commit.offers & ~fsm.ongoing("APPLY"))
        self._offer(m, passes)
        about_to = Cat(fsm.ongoing(name) for name in ("BOUND", "CLAMP", "CLEAR", "BEGIN")).any()
        m.d.comb += at.holds.eq(about_to & at.begun.live)
        waits = self.command.valid | intake.waits | self.i.valid
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE") | ~flight.none | waits)
        m.d.comb += at.sent.eq(inner.i.valid & inner.i.ready)
        self._count(m, at.sent)
        return m

    def _choose(self, m: Module, at: _Turn) -> None:
        """IDLE and READ: an event, or a command where none waits; its queue pair is read."""
        command, intake, flight = self.command.payload, self._intake, self._flight
        with m.State("IDLE"):
            m.d.comb += intake.may.eq(~self.command.valid)
            m.d.sync += [
                at.settled.eq(0),
                at.commanded.eq(~intake.takes),
                self._qp.eq(Mux(intake.takes, intake.qp, command.qp)),
            ]
            with m.If(self.command.valid | intake.takes):
                m.next = "READ"
        # The row is read in each cycle: the last one before the event begins counts.
        with m.State("READ"):
            m.d.sync += at.settled.eq(1)  # places are said a cycle later
            with m.If(at.commanded & at.settled & flight.none):
                m.next = "COMMAND"
            with m.If(~at.commanded & at.settled & flight.has_free & ~flight.clash):
                m.next = "FETCH"

    def _command(self, m: Module, at: _Turn) -> None:
        """COMMAND and APPLY: no decision passes in the cycle of a command."""
        command = self.command.payload
        with m.State("COMMAND"), m.If(~at.could_pass):
            m.next = "APPLY"
        with m.State("APPLY"):
            on = command.config.enable & command.config.algorithm[-1]
            m.d.comb += [
                self.command.ready.eq(1),
                self._put_config.eq(command.apply),
                self._wipe.eq(command.clear | (command.apply & (~on | ~at.was_on))),
            ]
            m.next = "IDLE"

    def _prepare(self, m: Module, at: _Turn, config: data.View, row: data.View) -> None:
        """FETCH to CLEAR: the event's program and row, its rate in bounds, zeros of a new row."""
        inner, begun = at.inner, at.begun
        with m.State("FETCH"):
            m.d.sync += begin(begun, config, row, self._intake.words, self.program, self.threshold)
            m.next = "BOUND"
        with m.State("BOUND"):
            another = ~begun.was_tagged | (begun.was_tag != begun.tag)
            m.d.sync += [
                at.out.eq(beyond(begun.rate, begun.bounds)),
                at.is_new.eq(begun.live & another),
            ]
            m.next = "CLAMP"
        with m.State("CLAMP"):
            m.d.sync += begun.rate.eq(within(begun.rate, begun.bounds, at.out))
            with m.If(~at.is_new):
                m.d.comb += self._flight.soon.eq(1)
                m.next = "BEGIN"
            with m.Else():
                m.next = "CLEAR"
        with m.State("CLEAR"):
            m.d.comb += inner.i_row.valid.eq(1)
            with m.If(inner.i_row.ready):
                m.d.sync += at.place.eq(at.place + 1)
                with m.If(at.place == ROW_WORDS - 1):
                    m.d.comb += self._flight.soon.eq(1)
                    m.next = "BEGIN"

    def _send(self, m: Module, at: _Turn) -> None:
        """BEGIN and SEND: the event gets a number and, if its program runs, goes to the core."""
        inner, flight = at.inner, self._flight
        with m.State("BEGIN"):
            m.d.sync += at.number.eq(flight.id)
            m.next = "IDLE"
            with m.If(at.begun.live):
                m.next = "SEND"
        with m.State("SEND"):
            # A reset of the core ends the event, unless it began in the very cycle: then it waits.
            m.d.comb += inner.i.valid.eq(~at.was_reset)
            with m.If(at.sent | ~flight.running.bit_select(at.number, 1)):
                m.next = "IDLE"

    def _drive_core(self, m: Module, at: _Turn) -> None:
        """What the core gets with an event, with a row's zeros, and of writes."""
        inner, intake = at.inner, self._intake
        m.d.comb += [
            *event_of(inner.i.payload, intake.words, at.begun, at.init_rate, at.base),
            inner.i.payload.qp.eq(self._qp),
            inner.i.payload.id.eq(at.number),
            inner.i.payload.words.mtu.eq(self.mtu),
            inner.i_row.payload.qp.eq(self._qp),
            inner.i_row.payload.place.eq(at.place),
            *(getattr(inner, name).eq(getattr(self, of)) for name, of in _TO_CORE.items()),
        ]
        pass_ports(m, self, inner, [n for n in self._guarded if n in inner.signature.members])

    def _count(self, m: Module, sent: Value) -> None:
        """Strobes for counters."""
        commit = self._commit
        strobes = {
            "events": sent,
            "trapped": commit.fail_stb & ~commit.over_stb,
            "overrun": commit.over_stb,
            "safe": commit.safe_stb,
        }
        m.d.comb += self.counts.eq(Cat(strobes[name] for name in ENGINE_COUNTS))

    def _memories(self, m: Module) -> tuple[data.View, data.View]:
        """Configuration and row of the queue pair at work."""
        qps, command, commit = self._config.qps, self.command.payload, self._commit
        m.submodules.configs = configs = plain_memory(GIVEN, qps)
        m.submodules.rows = rows = plain_memory(ROW, qps)
        put_config, put_row = configs.write_port(), rows.write_port()
        config, row = configs.read_port(), rows.read_port()
        given = put_config.data
        m.d.comb += [
            *(port.addr.eq(self._qp) for port in (put_config, config, row)),
            put_config.en.eq(self._put_config),
            given.on.eq(command.config.enable & command.config.algorithm[-1]),
            given.slot.eq(command.config.algorithm),
            given.psched.eq(command.config.psched),
            *(given[name].eq(command.config[name]) for name in GIVEN_RATES),
            # With a command no event is in flight.
            put_row.en.eq(commit.put_stb | self._wipe),
            put_row.addr.eq(Mux(self._wipe, self._qp, commit.of.qp)),
            put_row.data.eq(Mux(self._wipe, 0, commit.row)),
            self._intake.put_stb.eq(self._put_config),
            self._intake.put_qp.eq(self._qp),
            self._intake.put_on.eq(given.on),
        ]
        return config.data, row.data

    def _offer(self, m: Module, passes: Signal) -> None:
        """Decisions that pass, and the engine's own between them."""
        intake, flight, commit, begun = self._intake, self._flight, self._commit, self._flight.begin
        wiring.connect(m, wiring.flipped(self.i_event), intake.i_event)
        wiring.connect(m, wiring.flipped(self.i_ack), intake.i_ack)
        wiring.connect(m, intake.o_event, wiring.flipped(self.o_event))
        for name in ("ended", "of", "said", "lost"):
            m.d.comb += getattr(commit, name).eq(getattr(flight, name))
        for name in (
            "fail_stb",
            "fail_slot",
            "fail_bank",
            "trap",
            "close_stb",
            "close",
            "damaged_stb",
        ):
            m.d.comb += getattr(self, name).eq(getattr(commit, name))
        begins, offers = flight.begins, commit.offers
        m.d.comb += [
            flight.done_stb.eq(commit.done_stb),
            commit.budget.eq(self.budget),
            commit.mtu.eq(self.mtu),
            commit.passes.eq(passes),
            commit.taken.eq(self.o.ready),
            intake.decision.eq(self.i.payload),
            intake.about.eq(self.about),
            intake.offered.eq(self.i.valid),
            intake.taken.eq(self.i.ready),
            intake.hold.eq(self.hold),
            self.ignored.eq(intake.ignored),
            begun.eq(self._begun),
            begun.qp.eq(self._qp),
            begun.kind.eq(intake.words.kind),
            begun.held.eq(intake.words.held),
            begun.decision.eq(self.i.payload),
            begun.about.eq(self.about),
            self.o.valid.eq(passes | offers),
            self.o.payload.eq(self.i.payload),
            self.of.eq(self.about),
            self.i.ready.eq((self.o.ready & passes) | (begins & intake.sampled)),
        ]
        with m.If(~intake.sampled):
            decision, about = begun.decision, begun.about
            is_score = intake.words.kind == Kind.SCORE
            m.d.comb += [
                decision.as_value().eq(0),
                decision.qp.eq(self._qp),
                decision.flags[Flag.EVENT].eq(1),
                about.as_value().eq(0),
                about.t.eq(intake.words.now),
                about.rated.eq(1),
                about.score_stb.eq(is_score & (intake.command != ScoreCommand.KEEP)),
                about.score.eq(intake.words.score),
                about.command.eq(intake.command),
            ]
        with m.If(offers):
            m.d.comb += [self.o.payload.eq(commit.decision), self.of.eq(commit.about)]
        if self._config.trace:
            m.d.comb += [
                begun.rtt.eq(intake.words.rtt),
                begun.marked.eq(intake.words.marked),
                begun.model.eq(Mux(intake.sampled, self.model.as_value(), 0)),
                self.o_model.eq(Mux(offers, commit.of.model.as_value(), self.model.as_value())),
                self.ran.eq(commit.ran),
                self.ran.stb.eq(offers),
            ]
