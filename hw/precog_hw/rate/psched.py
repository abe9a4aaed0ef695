"""PSCHED, the predictive scheduler: a congestion score moves what a base law decided.

Arithmetic and state are those of `precog_models.rate.psched` and, of the judgement whether scores
have skill, `precog_models.rate.score_skill`.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.csr.layouts import DECISION, PARAMETERS, QP_CONFIG_LAYOUT
from precog_hw.csr.qp import config_layout
from precog_hw.dsp import Multiplier
from precog_hw.rate.law_layouts import ABOUT, clamped
from precog_hw.rate.trials import AdviceTrial, connect_host, trial_ports
from precog_hw.rows import plain_memory
from precog_spec.config import NicConfig
from precog_spec.contract import SKILL_SHIFT, Algorithm, Flag, Fmt
from precog_spec.law_fields import (
    DOUBT_MAX,
    DROP,
    DROP_FRAC,
    FACTOR_FRAC,
    INCREASE_MAX,
    JUDGED_MIN,
    NO_SCORE,
    RAISE,
    SCORE_BITS,
    SCORE_MAX,
    ScoreCommand,
)

__all__ = ["ROW", "Psched"]

_RATE = Fmt.RATE.width
_HALF = _RATE // 2
_SCORE_BITS = 7
_FACTOR_BITS = FACTOR_FRAC + 1
_OPERAND = 18  # of the multiplier, with its sign
_SQUARE = SCORE_MAX * SCORE_MAX
_MANY = 1 << SKILL_SHIFT
_PARTS = ("sla_priority", "sla_latency", "min_rate", "max_rate", "init_rate")
_CONFIG = data.StructLayout({name: QP_CONFIG_LAYOUT[name].shape for name in _PARTS})

#: What is kept of a queue pair.
ROW = data.StructLayout(
    {
        "base": unsigned(_RATE),  # the law's rate
        "based": unsigned(1),
        "output": unsigned(_RATE),
        "has_output": unsigned(1),
        "score": unsigned(_SCORE_BITS),
        "scored": unsigned(1),
        "score_t": unsigned(Fmt.TIME.width),
        "congested": unsigned(1),
        "command": unsigned(2),  # of the score
        "late": unsigned(1),  # the smoothed RTT is above the SLA's
        "cut": unsigned(1),  # a score has cut since the last sample
        "doubt": range(DOUBT_MAX + 1),  # samples in a row that found no congestion after a cut
        "judged": range(_MANY + 1),
        "least": unsigned(_SCORE_BITS),  # of the scores since the last sample
        "most": unsigned(_SCORE_BITS),
        "heard": unsigned(1),
        "claim_least": unsigned(_SCORE_BITS),  # of those before it
        "claim_most": unsigned(_SCORE_BITS),
        "claimed": unsigned(1),
        "error": range(_MANY * _SQUARE + 1),  # sum of squares
        "often": range(_MANY * SCORE_MAX + 1),  # sum of outcomes
        "window": unsigned(Fmt.WINDOW.width),  # the law's
    }
)


class _Registers:
    """The decision at work: its row and configuration, and what one step leaves for later ones."""

    def __init__(self, decision: data.View, parameters: data.View) -> None:
        self.old = Signal(ROW)
        self.new = Signal(ROW)
        self.config = Signal(_CONFIG)
        self.flags = Signal.like(decision.flags)
        self.age = Signal(Fmt.TIME.width)  # of the score
        self.expired = Signal()
        self.falls = Signal()  # the score is so low that congestion is over
        self.above = Signal(signed(_SCORE_BITS + 1))  # score minus threshold
        self.held = Signal()
        self.moves = Signal()  # the score decides
        self.delay = Signal(Fmt.RTT.width)
        self.congestion = Signal()  # the sample found some
        self.judges = Signal()  # the sample judges the scores before it
        self.excess = Signal(range((_MANY * _SQUARE >> 3) + 1))
        self.spread = Signal(range(3 * _SQUARE * _MANY * _MANY // 4 + 1))
        self.halvings = Signal(range(DOUBT_MAX + (1 << len(parameters.psched_cut))))
        self.floor = Signal(_RATE)  # what the law's rate may be cut down to
        self.sunk = Signal()  # the last output is below it
        self.multiplicand = Signal(signed(_OPERAND))
        self.multiplier = Signal(signed(_OPERAND))
        self.product: Value = Const(0)  # of those two, a cycle after the next
        self.factor = Signal(_FACTOR_BITS)
        self.part = Signal(_FACTOR_BITS)  # of the rate, its low half times the factor
        self.wanted = Signal(_RATE + 1)


class Psched(wiring.Component):
    """Decisions in, decisions out; those of queue pairs that ask for it with another rate.

    Those of events that no law decides on get its last window.

    ::

        cycle 0    1      2            3       4..9     10     11, 12           13..16       17..19
        i ─► RAM ─► row ─► age, score ─► band ─► skill ─► [x p] ─► drop, factor ─► [x base] ─► clamp
        │                                                                                        ▼
        └──────────────── of other queue pairs ────────────────────────────────────────────────► o

    Latency: none for queue pairs that do not ask, 20 cycles for others. Throughput: one of theirs
    in 21 cycles. With `config.trials` both are a cycle longer, and where a round begins 40. Cost: 1
    multiplier, qps x 345 bits of memory.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(DECISION))
    about : In(ABOUT)
        Of the decision at `i`.
    o : Out(stream.Signature(DECISION))
        One for each, in order.
    hold : In(1)
        Advice is held, for decisions without `Flag.HELD`: those of samples and, with a law engine,
        of programs have it.
    command : In(stream.Signature(config_layout(config)))
        Configure (`apply`) and reset (`clear`) a queue pair; before a decision that comes with it
        and asks. Taken in a cycle in which no decision leaves.
    parameters : In(PARAMETERS)
        To be held while a decision is in flight.
    score : Out(8)
        That moved the decision at `o`; NO_SCORE: none did.
    others
        `trial_ports(config)`.
    busy : Out(1)
        There is work.
    """

    i: stream.Interface
    about: data.View
    o: stream.Interface
    hold: Signal
    command: stream.Interface
    parameters: data.View
    busy: Signal

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(DECISION)),
                "about": In(ABOUT),
                "o": Out(stream.Signature(DECISION)),
                "hold": In(1),
                "command": In(stream.Signature(config_layout(config))),
                "parameters": In(PARAMETERS),
                "score": Out(SCORE_BITS),
                "busy": Out(1),
            }
            | trial_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.configs = configs = plain_memory(_CONFIG, self._config.qps)
        m.submodules.rows = rows = plain_memory(ROW, self._config.qps)
        row_write, row_read = rows.write_port(), rows.read_port()
        config_write, config_read = configs.write_port(), configs.read_port()
        command, decision, asks = self.command.payload, self.i.payload, self.about.psched
        at = _Registers(decision, self.parameters)
        old, new, config, flags = at.old, at.new, at.config, at.flags
        commanded = Signal()
        offers = Signal()
        m.submodules.multiplier = product = Multiplier(_OPERAND, _OPERAND, dsp=self._config.dsp)
        m.d.comb += [product.a.eq(at.multiplicand), product.b.eq(at.multiplier)]
        at.product = product.p
        trial = self._trial(m, at) if self._config.trials else None
        for read in (row_read, config_read):
            m.d.comb += read.addr.eq(Mux(self.command.valid, command.qp, decision.qp))
        m.d.comb += [
            row_write.addr.eq(Mux(commanded, command.qp, decision.qp)),
            row_write.data.eq(new),
            config_write.addr.eq(command.qp),
            *(config_write.data[name].eq(command.config[name]) for name in _PARTS),
        ]
        idle = Signal()
        passes = self.i.valid & ~asks & idle
        # What a law decided for those that do not ask is kept, in case that they ask one day.
        kept = Signal(ROW)
        m.d.comb += [
            kept.base.eq(decision.rate),
            kept.based.eq(1),
            kept.window.eq(decision.window),
            self.o.valid.eq(passes | offers),
            self.o.payload.eq(decision),
            self.i.ready.eq(self.o.ready & (passes | offers)),
        ]
        with m.If(passes & self.o.ready):
            m.d.comb += [
                row_write.en.eq(1),
                row_write.addr.eq(decision.qp),
                row_write.data.eq(kept),
            ]
        scored = offers & flags[Flag.SCORED]
        m.d.comb += self.score.eq(Mux(scored, new.score, NO_SCORE))
        with m.If(offers):
            m.d.comb += [
                self.o.payload.rate.eq(new.output),
                self.o.payload.window.eq(new.window),
                self.o.payload.flags.eq(decision.flags | flags),
            ]

        with m.FSM(name="psched") as fsm:
            with m.State("IDLE"):
                m.d.sync += commanded.eq(self.command.valid)
                # What passes has been offered: a command waits for it.
                with m.If((self.command.valid & ~passes) | (self.i.valid & asks)):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += [old.eq(row_read.data), config.eq(config_read.data)]
                m.next = "SCORE"
                with m.If(commanded):
                    m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.sync += new.eq(_configured(command, old, config))
                m.next = "COMMANDED"
            # No decision leaves in a command's cycle: the order of the two stays visible outside.
            with m.State("COMMANDED"):
                m.d.comb += [
                    self.command.ready.eq(1),
                    row_write.en.eq(1),
                    config_write.en.eq(command.apply),
                ]
                m.next = "IDLE"
            self._hear(m, at, trial)
            self._band(m, at)
            self._judge(m, at)
            self._weigh(m, at, trial)
            self._step(m, at)
            self._cut(m, at)
            with m.State("OFFER"):
                m.d.comb += [offers.eq(1), row_write.en.eq(self.o.ready)]
                if trial is not None:
                    m.d.comb += trial.i_outcome.valid.eq(self.o.ready)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        waits = self.command.valid | self.i.valid
        m.d.comb += [idle.eq(fsm.ongoing("IDLE")), self.busy.eq(~idle | waits)]
        return m

    def _trial(self, m: Module, at: _Registers) -> AdviceTrial:
        """A trial: it hears of a decision in AGE, when it has long been idle, and of its rate in
        OFFER."""
        m.submodules.trial = trial = AdviceTrial(self._config, "scores")
        m.d.comb += [
            trial.i.payload.qp.eq(self.i.payload.qp),
            trial.i.payload.t.eq(self.about.t),
            trial.i.payload.delay.eq(at.delay),
            trial.i_outcome.payload.counts.eq(self.about.sample & at.new.scored & ~at.held),
            trial.i_outcome.payload.rate.eq(at.new.output),
        ]
        connect_host(m, self, trial)
        return trial

    def _hear(self, m: Module, at: _Registers, trial: AdviceTrial | None) -> None:
        """SCORE and AGE: the row takes the rate and the score; the age of the score is found."""
        old, new = at.old, at.new
        decision, about, par = self.i.payload, self.about, self.parameters
        knows = about.rated if self._config.law_cores else about.sample  # whether advice is held
        with m.State("SCORE"):
            slow = (decision.srtt >> Fmt.SRTT.frac_bits) > at.config.sla_latency
            m.d.sync += [
                new.eq(old),
                # Scores that no sample has judged age as one.
                at.age.eq(Mux(about.score_stb & ~old.heard, 0, about.t - old.score_t)),
                at.held.eq(Mux(knows, decision.flags[Flag.HELD], self.hold | par.advice_hold)),
                at.delay.eq(about.rtt - decision.base),
            ]
            with m.If(about.rated):
                m.d.sync += [
                    new.base.eq(decision.rate),
                    new.based.eq(1),
                    new.window.eq(decision.window),
                ]
            with m.If(about.sample):
                m.d.sync += new.late.eq((at.config.sla_latency != 0) & slow)
            with m.If(about.score_stb):
                m.d.sync += [
                    new.score.eq(Mux(about.score > SCORE_MAX, SCORE_MAX, about.score)),
                    new.scored.eq(about.score != NO_SCORE),
                    new.command.eq(about.command),
                ]
                with m.If(~old.heard):
                    m.d.sync += new.score_t.eq(about.t)
            m.next = "AGE"
        with m.State("AGE"):
            if trial is not None:
                m.d.comb += trial.i.valid.eq(1)
            past = ~at.age[-1]  # else the score is of later than now
            m.d.sync += [
                at.expired.eq(
                    (par.psched_score_ticks != 0) & past & (at.age > par.psched_score_ticks)
                ),
                at.above.eq(new.score - par.psched_threshold),
                at.falls.eq(
                    (new.score == 0) | (new.score + par.psched_hysteresis <= par.psched_threshold)
                ),
                at.congestion.eq(at.delay >= par.psched_delay),
            ]
            with m.If(about.score_stb & new.scored):
                m.d.sync += new.heard.eq(1)
                with m.If(~old.heard | (new.score < old.least)):
                    m.d.sync += new.least.eq(new.score)
                with m.If(~old.heard | (new.score > old.most)):
                    m.d.sync += new.most.eq(new.score)
            m.next = "BAND"

    def _band(self, m: Module, at: _Registers) -> None:
        """BAND: whether the score says congestion, with hysteresis, and whether a sample agrees."""
        old, new = at.old, at.new
        about = self.about
        with m.State("BAND"):
            scored = new.scored & ~at.expired
            m.d.sync += [new.scored.eq(scored), at.moves.eq(scored & ~at.held)]
            with m.If(scored & (new.command == ScoreCommand.REDUCE)):
                m.d.sync += new.congested.eq(1)
            with m.Elif(~scored | at.falls):
                m.d.sync += new.congested.eq(0)
            with m.Elif(at.above > 0):
                m.d.sync += new.congested.eq(1)
            missed = Mux(at.congestion, SCORE_MAX - old.claim_least, old.claim_most)
            m.d.sync += [
                at.multiplicand.eq(missed),
                at.multiplier.eq(missed),
                at.judges.eq(about.sample & old.claimed),
            ]
            with m.If(about.sample):
                m.d.sync += new.cut.eq(0)
                with m.If(at.congestion):
                    m.d.sync += new.doubt.eq(0)
                with m.Elif(old.cut & (old.doubt != DOUBT_MAX)):
                    m.d.sync += new.doubt.eq(old.doubt + 1)
            m.next = "SQUARE"

    def _judge(self, m: Module, at: _Registers) -> None:
        """SQUARE and JUDGE: a sample adds the error of the scores before it to the sums."""
        old, new = at.old, at.new
        about, par = self.about, self.parameters
        with m.State("SQUARE"):
            holds = Mux(new.scored, new.score, 0)
            with m.If(about.sample):
                m.d.sync += [
                    new.claimed.eq(old.heard | new.scored),
                    new.claim_least.eq(Mux(old.heard, old.least, holds)),
                    new.claim_most.eq(Mux(old.heard, old.most, holds)),
                ]
                m.d.sync += [new[name].eq(0) for name in ("least", "most", "heard")]
            m.d.sync += at.halvings.eq(par.psched_cut + new.doubt)
            m.next = "JUDGE"
        with m.State("JUDGE"):
            many = old.judged == _MANY
            outcome = Mux(at.congestion, SCORE_MAX, 0)
            with m.If(at.judges):
                m.d.sync += [
                    new.error.eq(_summed(old.error, many, at.product[: 2 * _SCORE_BITS])),
                    new.often.eq(_summed(old.often, many, outcome)),
                    new.judged.eq(Mux(many, _MANY, old.judged + 1)),
                ]
            m.d.sync += at.floor.eq(new.base >> at.halvings)
            m.next = "SPREAD"

    def _weigh(self, m: Module, at: _Registers, trial: AdviceTrial | None) -> None:
        """SPREAD to TRUST: scores move nothing unless their error is below the outcomes' spread."""
        new, par = at.new, self.parameters
        with m.State("SPREAD"):
            over = new.error - _SQUARE
            m.d.sync += [
                at.multiplicand.eq(new.often),
                at.multiplier.eq(SCORE_MAX * new.judged - new.often),
                at.excess.eq(Mux(over < 0, 0, over >> 3)),
                at.floor.eq(new.base - at.floor),
            ]
            m.next = "WEIGH"
        with m.State("WEIGH"):
            m.d.sync += [
                at.multiplicand.eq(at.excess),
                at.multiplier.eq(new.judged),
                at.sunk.eq(new.output < at.floor),
            ]
            m.next = "PROVE"
        with m.State("PROVE"):
            m.d.sync += at.spread.eq(3 * at.product)
            m.next = "TRUST"
        with m.State("TRUST"):
            skilled = (new.judged >= JUDGED_MIN) & ((at.product << 5) <= at.spread)
            with m.If(par.psched_skill & ~skilled):
                m.d.sync += at.moves.eq(0)
            m.next = "STEP" if trial is None else "TRIAL"
        if trial is not None:
            with m.State("TRIAL"):
                m.d.comb += trial.o.ready.eq(1)
                with m.If(trial.o.valid):
                    m.d.sync += at.moves.eq(at.moves & ~trial.o.payload)
                    m.next = "STEP"

    def _step(self, m: Module, at: _Registers) -> None:
        """STEP to FACTOR: the factor for the rate, by how far the score is off the threshold."""
        new, par = at.new, self.parameters
        drops = Array(Const(value, _OPERAND - 1) for value in DROP)[at.config.sla_priority]
        raises = Array(Const(value, _OPERAND - 1) for value in RAISE)[at.config.sla_priority]
        one = 1 << FACTOR_FRAC
        drop, step = at.product >> (DROP_FRAC - FACTOR_FRAC), at.product >> 16
        with m.State("STEP"):
            m.d.sync += [
                at.multiplicand.eq(
                    Mux(new.congested, Mux(at.above > 0, at.above, 0), par.psched_increase)
                ),
                at.multiplier.eq(Mux(new.congested, drops, raises)),
                at.flags.eq(0),
                at.flags[Flag.SCORED].eq(at.moves),
                at.flags[Flag.CONGESTED].eq(at.moves & new.congested),
                at.flags[Flag.HELD].eq(at.held),
            ]
            m.next = "PRODUCT"
        with m.State("PRODUCT"):
            m.next = "FACTOR"
        with m.State("FACTOR"):
            half = one >> 1
            m.d.sync += at.factor.eq(one + Mux(step > INCREASE_MAX, INCREASE_MAX, step))
            with m.If(new.late | (new.command == ScoreCommand.HOLD) | self.about.above):
                m.d.sync += at.factor.eq(one)
            with m.If(new.congested):
                m.d.sync += at.factor.eq(one - Mux(drop > half, half, drop))
            m.next = "LOW"

    def _cut(self, m: Module, at: _Registers) -> None:
        """LOW to CLAMP: the law's rate times the factor, in two halves, inside all bounds."""
        new = at.new
        with m.State("LOW"):
            m.d.sync += [at.multiplicand.eq(new.base[:_HALF]), at.multiplier.eq(at.factor)]
            m.next = "HIGH"
        with m.State("HIGH"):
            m.d.sync += at.multiplicand.eq(new.base[_HALF:])
            m.next = "PART"
        with m.State("PART"):
            m.d.sync += at.part.eq(at.product >> FACTOR_FRAC)
            m.next = "SUM"
        with m.State("SUM"):
            m.d.sync += at.wanted.eq(Mux(at.moves, at.product + at.part, new.base))
            m.next = "LEAST"
        with m.State("LEAST"):
            # min(wanted, output), but at least the floor, unless no rate may rise.
            falls_back = new.has_output & (new.output < at.wanted)
            cuts, sinks = Signal(), Signal()
            m.d.comb += [
                cuts.eq(at.moves & new.congested),
                sinks.eq(cuts & Mux(falls_back, at.sunk, at.wanted < at.floor)),
            ]
            with m.If(cuts):
                m.d.sync += new.cut.eq(1)
            stays = self.about.above & new.has_output
            with m.If(stays & (falls_back | (sinks & at.sunk))):
                m.d.sync += at.wanted.eq(new.output)
            with m.Elif(sinks):
                m.d.sync += at.wanted.eq(at.floor)
            with m.Elif(cuts & falls_back):
                m.d.sync += at.wanted.eq(new.output)
            m.next = "CLAMP"
        with m.State("CLAMP"):
            m.d.sync += [new.output.eq(clamped(at.wanted, at.config)), new.has_output.eq(1)]
            m.next = "OFFER"


def _summed(total: Value, many: Value, value: Value) -> Value:
    """A sum with one more value in it; where it has `many`, 64 times a running mean."""
    return total - Mux(many, total >> SKILL_SHIFT, 0) + value


def _configured(command: data.View, old: data.View, config: data.View) -> Value:
    """The row after a command: the last output binds no more; a reset forgets all else, too."""
    changed = command.config
    init = Mux(command.apply, changed.init_rate, config.init_rate)
    keeps = ~command.clear & changed.psched
    windowed = changed.win & (changed.algorithm <= Algorithm.PREDPID)
    row = {name: Mux(keeps, old[name], 0) for name in ROW.members}
    row["has_output"] = Const(0, 1)
    row["base"] = Mux(~command.clear & old.based, old.base, init)
    row["based"] = ~command.clear & old.based
    row["window"] = Mux(~command.clear & windowed, old.window, 0)
    return Cat(row[name] for name in ROW.members)
