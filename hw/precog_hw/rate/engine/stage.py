"""The law engine behind the other laws: decisions of queue pairs that run a program get its rate.

The golden model is `precog_models.rate.engine.unit`.
"""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION
from precog_hw.csr.qp import config_layout
from precog_hw.rate.law_layouts import ABOUT, BOUNDS, LAW_ACK, LAW_EVENT, clamped
from precog_hw.rows import plain_memory
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.engine.events import Kind
from precog_spec.engine.image_fields import BUDGET_BITS
from precog_spec.engine.isa import ROW_WORDS, SLOTS, THREADS

from .core import Core
from .intake import Intake
from .layouts import CODE_WRITE, ENTRY_WRITE, SLOT_WRITE
from .safety import SAID, Safety
from .store import PROGRAM
from .threads import Status

__all__ = ["ENGINE_COUNTS", "TRAP", "ProgramStage"]

_SLOT_BITS = (SLOTS - 1).bit_length()
_SPARE = 64  # cycles that an event takes besides its turns, and some more
_PLACE_BITS = (ROW_WORDS - 1).bit_length()
_RTT, _RATE, _WINDOW = Fmt.RTT.width, Fmt.RATE.width, Fmt.WINDOW.width

#: What is counted of programs, as `unit.COUNTS`.
ENGINE_COUNTS = ("events", "trapped", "overrun", "safe")

#: Where the last trap was.
TRAP = data.StructLayout({"slot": _SLOT_BITS, "status": 2, "qp": 16, "turns": 12})

_CONFIG = data.StructLayout(
    {"on": 1, "slot": _SLOT_BITS, "min_rate": _RATE, "max_rate": _RATE, "init_rate": _RATE}
)
_ROW = data.StructLayout(
    {"live": 1, "rate": _RATE, "window": _WINDOW, "base": _RTT, "tagged": 1, "tag": 32}
)
_BOUNDS = ("min_rate", "max_rate", "init_rate")
_TOLD = ("rated", "windowed", "rate", "window")


class ProgramStage(wiring.Component):
    """Decisions of other laws pass; those of programs get the program's rate and window.

    ::

        i ──────────┬────────────────────────────────────────────► o
        i_event ─┬──┴► [configuration, row] ─► [core] ─► [safety] ─▲
        i_ack ───┤                     └─► (safe law) ──┘
                 └─► o_event, of other queue pairs

    One event at a time; samples, events and acknowledgements take turns. Decisions that pass do not
    wait for an event that is being worked on. An event is answered within
    ``THREADS * budget + 64 + 32`` cycles, whatever the program does: a core that has not answered
    is reset, which counts as an overrun.

    Latency: of what passes none; of others 9 cycles, 16 where the program is another one than
    before, and what `Core` says. Throughput: an event in that time. Cost: `Core`, `Safety`, 218
    bits of memory for each queue pair.

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
    running, running_bank, fail_stb, fail_slot, fail_bank : Out
        Of `ProgramStore`.
    code, slot_word, entry : In, each with a strobe
        Writes of programs.
    counts : Out(4)
        Strobes, `ENGINE_COUNTS`.
    trap : Out(TRAP)
        The last one.
    busy : Out(1)
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
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
                "running": Out(1),
                "running_bank": Out(_SLOT_BITS),
                "fail_stb": Out(1),
                "fail_slot": Out(_SLOT_BITS),
                "fail_bank": Out(_SLOT_BITS),
                "code": In(CODE_WRITE),
                "code_stb": In(1),
                "slot_word": In(SLOT_WRITE),
                "slot_stb": In(1),
                "entry": In(ENTRY_WRITE),
                "entry_stb": In(1),
                "counts": Out(len(ENGINE_COUNTS)),
                "trap": Out(TRAP),
                "busy": Out(1),
            }
        )

    def core(self) -> wiring.Component:
        """What runs programs."""
        return Core(self._config.qps)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = self.core()
        m.submodules.intake = intake = Intake(self._config)
        self._intake = intake
        self._restart = Signal()
        m.submodules.core = ResetInserter(self._restart)(inner)
        m.submodules.safety = safety = Safety()
        self._qp, self._base = Signal(self._config.qp_bits), Signal(_RTT)
        self._put_config, self._put_row = Signal(), Signal()
        config, row, written = self._memories(m)
        bounds = data.View(BOUNDS, Cat(config.min_rate, config.max_rate))
        rate, window = Signal(_RATE), Signal(_WINDOW)
        offers, passes, above = Signal(), Signal(), Signal()
        final = Signal(data.StructLayout({"rate": _RATE, "window": _WINDOW}))
        tag, windows, turns = Signal(32), Signal(), Signal(12)
        place, status = Signal(_PLACE_BITS, name="place"), Signal(Status)
        longest = THREADS * (1 << BUDGET_BITS) + _SPARE + 1
        timer, late = Signal(range(longest), name="timer"), Signal()
        words, said, command = intake.words, Signal(SAID), self.command.payload
        timed = (words.kind == Kind.ACK) | (words.kind == Kind.SAMPLE)
        self._program(m, inner, config, rate, window)
        m.d.comb += late.eq(timer >= THREADS * self.budget + _SPARE)
        m.d.comb += [
            *(safety.said.eq(said), safety.kind.eq(words.kind), safety.mtu.eq(self.mtu)),
            *(safety.rate.eq(rate), safety.window.eq(window), safety.bounds.eq(bounds)),
            *(safety.above.eq(above), self.slot.eq(config.slot)),
            written.base.eq(self._base),
            *(written.rate.eq(safety.o_rate), written.window.eq(safety.o_window)),
            *(written.live.eq(1), written.tagged.eq(~said.safe | row.tagged)),
            written.tag.eq(Mux(said.safe, row.tag, tag)),
        ]
        commanded = Signal()
        with m.FSM(name="programs") as fsm:
            with m.State("IDLE"):
                m.d.comb += intake.may.eq(~self.command.valid)
                m.d.sync += [
                    commanded.eq(self.command.valid),
                    self._qp.eq(Mux(self.command.valid, command.qp, intake.qp)),
                ]
                with m.If(self.command.valid | intake.takes):
                    m.next = "READ"
            with m.State("READ"):
                m.next = "FETCH"
                with m.If(commanded):
                    m.next = "COMMAND"
            with m.State("COMMAND"), m.If(~passes):
                on = command.config.enable & command.config.algorithm[-1]
                changes = command.clear | (command.apply & (~on | ~config.on))
                m.d.comb += [
                    *(self.command.ready.eq(1), self._put_config.eq(command.apply)),
                    *(self._put_row.eq(changes), written.eq(0)),
                ]
                m.next = "IDLE"
            with m.State("FETCH"):
                told = Mux(words.base == 0, row.base, words.base)
                m.d.sync += [
                    rate.eq(clamped(Mux(row.live, row.rate, config.init_rate), bounds)),
                    window.eq(Mux(row.live, row.window, 0)),
                    self._base.eq(told),
                    above.eq(timed & (words.rtt > self.threshold)),
                    *(said.eq(0), said.safe.eq(~self.program.live)),
                    *(self.running_bank.eq(self.program.bank), self.fail_slot.eq(config.slot)),
                    *(tag.eq(self.program.tag), windows.eq(self.program.windowed)),
                    *(place.eq(0), timer.eq(0), self.running.eq(self.program.live)),
                ]
                m.next = "WRITE"
                with m.If(self.program.live):
                    m.next = "SEND"
                    with m.If(~row.tagged | (row.tag != self.program.tag)):
                        m.next = "CLEAR"
            with m.State("CLEAR"):
                m.d.comb += inner.i_row.valid.eq(1)
                with m.If(inner.i_row.ready):
                    m.d.sync += place.eq(place + 1)
                    with m.If(place == ROW_WORDS - 1):
                        m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += inner.i.valid.eq(1)
                m.d.sync += timer.eq(timer + 1)
                with m.If(inner.i.ready):
                    m.next = "WAIT"
                with m.If(late):
                    m.next = "LATE"
            with m.State("WAIT"):
                m.d.sync += [
                    *(timer.eq(timer + 1), status.eq(inner.o.status), turns.eq(inner.o.turns)),
                    *(said[name].eq(inner.o[name]) for name in _TOLD),
                    said.windows.eq(windows),
                    said.trapped.eq(inner.o.status != Status.DONE),
                ]
                with m.If(inner.o_stb):
                    m.next = "JUDGE"
                with m.Elif(late):
                    m.next = "LATE"
            with m.State("LATE"):
                m.d.comb += self._restart.eq(1)
                m.d.sync += [said.trapped.eq(1), status.eq(Status.OVERRUN), turns.eq(self.budget)]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.comb += self.fail_stb.eq(said.trapped)
                with m.If(said.trapped):
                    m.d.sync += [
                        *(self.trap.slot.eq(self.fail_slot), self.trap.status.eq(status)),
                        *(self.trap.qp.eq(self._qp), self.trap.turns.eq(turns)),
                    ]
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += self._put_row.eq(1)
                m.d.sync += [
                    *(final.rate.eq(safety.o_rate), final.window.eq(safety.o_window)),
                    self.running.eq(0),
                ]
                m.next = "PASS"
            # What is being offered must not be replaced.
            with m.State("PASS"), m.If(~passes | self.o.ready):
                m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += offers.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        self._offer(m, offers, passes, final)
        sent, over = fsm.ongoing("SEND") & inner.i.ready, status == Status.OVERRUN
        strobes = {
            "events": sent,
            "trapped": self.fail_stb & ~over,
            "overrun": self.fail_stb & over,
            "safe": fsm.ongoing("WRITE") & said.safe,
        }
        waits = self.command.valid | intake.waits | self.i.valid
        m.d.comb += [
            inner.i_row.payload.place.eq(place),
            self.fail_bank.eq(self.running_bank),
            self.counts.eq(Cat(strobes[name] for name in ENGINE_COUNTS)),
            self.busy.eq(~fsm.ongoing("IDLE") | waits),
        ]
        return m

    def _memories(self, m: Module) -> tuple[data.View, data.View, data.View]:
        """Configuration and row of the queue pair at work, and the row to be written."""
        qps, command = self._config.qps, self.command.payload
        m.submodules.configs = configs = plain_memory(_CONFIG, qps)
        m.submodules.rows = rows = plain_memory(_ROW, qps)
        put_config, put_row = configs.write_port(), rows.write_port()
        config, row = configs.read_port(), rows.read_port()
        given = put_config.data
        m.d.comb += [
            *(port.addr.eq(self._qp) for port in (put_config, put_row, config, row)),
            *(put_config.en.eq(self._put_config), put_row.en.eq(self._put_row)),
            given.on.eq(command.config.enable & command.config.algorithm[-1]),
            given.slot.eq(command.config.algorithm),
            *(given[name].eq(command.config[name]) for name in _BOUNDS),
        ]
        m.d.comb += [
            *(self._intake.put_stb.eq(self._put_config), self._intake.put_qp.eq(self._qp)),
            self._intake.put_on.eq(given.on),
        ]
        return config.data, row.data, put_row.data

    def _program(
        self, m: Module, core: Core, config: data.View, rate: Signal, window: Signal
    ) -> None:
        """An event for the core, and writes of programs."""
        event, words, base = core.i.payload, self._intake.words, self._base
        timed = (words.kind == Kind.ACK) | (words.kind == Kind.SAMPLE)
        m.d.comb += [
            *(event.qp.eq(self._qp), event.slot.eq(self.running_bank), event.words.eq(words)),
            *(event.words[name].eq(config[name]) for name in _BOUNDS),
            *(event.words.rate.eq(rate), event.words.window.eq(window)),
            event.words.base.eq(Mux((base == 0) & timed, words.rtt, base)),
            event.words.mtu.eq(self.mtu),
            core.i_row.payload.qp.eq(self._qp),
            core.budget.eq(self.budget),
            *(core.code.eq(self.code), core.code_stb.eq(self.code_stb)),
            *(core.slot.eq(self.slot_word), core.slot_stb.eq(self.slot_stb)),
            *(core.entry.eq(self.entry), core.entry_stb.eq(self.entry_stb)),
        ]

    def _offer(self, m: Module, offers: Signal, passes: Signal, final: data.View) -> None:
        """Decisions that pass, and the engine's own between them."""
        intake, o, about = self._intake, self.o.payload, self.of
        wiring.connect(m, wiring.flipped(self.i_event), intake.i_event)
        wiring.connect(m, wiring.flipped(self.i_ack), intake.i_ack)
        wiring.connect(m, intake.o_event, wiring.flipped(self.o_event))
        m.d.comb += [
            *(intake.decision.eq(self.i.payload), intake.about.eq(self.about)),
            *(intake.offered.eq(self.i.valid), intake.hold.eq(self.hold)),
            self.ignored.eq(intake.ignored),
            passes.eq(self.i.valid & ~intake.own & ~offers & ~self.halt),
            self.o.valid.eq(passes | offers),
            *(o.eq(self.i.payload), about.eq(self.about)),
            self.i.ready.eq(self.o.ready & (passes | (offers & intake.sampled))),
        ]
        with m.If(offers):
            with m.If(~intake.sampled):
                m.d.comb += [
                    *(o.as_value().eq(0), o.qp.eq(self._qp), o.flags[Flag.EVENT].eq(1)),
                    *(about.as_value().eq(0), about.t.eq(intake.words.now), about.rated.eq(1)),
                ]
            m.d.comb += [*(o.rate.eq(final.rate), o.window.eq(final.window))]
            with m.If(intake.words.held):
                m.d.comb += o.flags[Flag.HELD].eq(1)
