"""Forecasts: profiles in, probabilities and scores out; the predictor runs the model.

::

    i_profile ─► [who, which model] ─► o_req, x ─► (predictor) ─► i_answer ─► [softmax] ─┐
                                                   o_forecast ◄─ all of it ◄─────────────┤
    decision ─► [position of RTTpred] ─────────► [score table] ◄─ tail ──────────────────┘
                                                     ├─► last scores ─► `ScoreSource` ─► told
                                                     └─► made

With `NicConfig.tree` the answer is a tree's: a distribution, without softmax.

Golden model: `precog_models.predict.forecast`, in the order of `o_req`.
"""

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_spec.config import NicConfig
from precog_spec.contract import (
    FORECAST_FIELDS,
    NO_SCORE,
    PROFILE_FIELDS,
    PROFILE_INPUTS,
    TRACE_BODIES,
    Flag,
    Fmt,
    HeadKind,
    ScoreSource,
    TraceKind,
)

from ..csr.layouts import DECISION
from ..csr.qp import config_layout
from .cps import KNOT_WRITE, POSITION, SCORE_BITS, RttPosition, ScoreTable
from .layouts import OUTPUTS, X_VECTOR
from .softmax import Softmax
from .tree import ANSWER
from .unit import sample_layout

__all__ = ["EVENTS", "FORECAST", "MADE_OF", "PROFILE", "Forecaster", "forecast_config_layout"]

PROFILE = data.StructLayout(
    {
        name: signed(bits) if name.startswith("x") else unsigned(bits)
        for name, bits in PROFILE_FIELDS
    }
)
FORECAST = data.StructLayout({name: unsigned(bits) for name, bits in FORECAST_FIELDS})

#: Strobes: a forecast; one without a valid model; a profile of no enabled queue pair; a decision
#: that came while the one before was being scored.
EVENTS = data.StructLayout({"forecasts": 1, "no_model": 1, "dropped": 1, "stale": 1})

#: A forecast's inputs, for the trace.
MADE_OF = data.StructLayout(
    {
        name: unsigned(bits)
        for name, bits in TRACE_BODIES[TraceKind.FORECAST]
        if name not in FORECAST.members
    }
)

_LOGITS = data.StructLayout({"live": 1, "out": OUTPUTS})
_LAST = data.StructLayout({"queue": SCORE_BITS, "rtt": SCORE_BITS})  # plus 1; 0: none


def forecast_config_layout(config: NicConfig) -> data.StructLayout:
    """A queue pair's `FORECAST_CONFIG`."""
    return data.StructLayout({"queue_enable": 1, "queue_slot": config.set_bits, "score_source": 2})


class Forecaster(wiring.Component):
    """One forecast for each profile of an enabled queue pair, in order; and scores for PSCHED.

    One profile is worked on at a time: the engine, 90 cycles of softmax, 17 of the table. A profile
    waits while samples use the engine, and while `o_forecast` is not taken; samples never wait for
    either. Decisions are scored one at a time, in about 40 cycles; others are `stale`.

    Latency: from the model's answer to `o_forecast` 109 cycles, from a tree's 19. Throughput: one
    in the engine's latency and 114 cycles, or in the tree's and 24. Cost: `Softmax` but for trees,
    `ScoreTable`, `RttPosition`, 700 flip-flops, LUT RAM of 20 bits per queue pair.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i_profile : In(stream.Signature(PROFILE))
    o_req : Out(stream of sample_layout), x : Out(X_VECTOR)
        A profile that wants its model; its inputs hold from then until the answer.
    halt : In(1), quiet : Out(1)
        Make no request; none is on its way.
    i_answer : In(stream.Signature(...))
        The model's, when asked; taken at once. With `config.tree` `predict.tree.ANSWER`, taken
        when the forecast has left.
    outputs, version : In(4), In(32)
        Of the model that was asked last: O - 1.
    o_forecast : Out(stream.Signature(FORECAST))
        Its payload holds from `events.forecasts` until its transfer.
    asked_set, made_of : In(set_bits), Out(MADE_OF)
        With `config.trace`: set of the model that was asked last; what the forecast of
        `events.forecasts` was made of, set and probability being 0 without a valid model.
    decision_stb, decision : In
        Each decision, as it leaves the core.
    command_stb, command : In
        What is configured and cleared, as it is.
    config_stb, config_qp, config : In
        Write a queue pair's configuration here.
    threshold, budget : In(4), In(24)
        First bin of congestion; queueing delay that is congestion, ticks.
    put, query_table, query_knot, query
        `ScoreTable`'s.
    carry_stb, carry_qp, carry : In
        Whether packets of a queue pair carry the scores of its `rtt` model.
    told, told_qp, told_score : Out
        What PSCHED is to be told: 0..100 or NO_SCORE.
    made, made_qp, made_rtt, made_score : Out
        Each score as it is made: of the `rtt` model, or of the `queue` model; plus 1, 0 without a
        valid model. Those of RTTs only where PSCHED or packets want them.
    events : Out(EVENTS)
    """

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._table = table = ScoreTable()
        super().__init__(
            {
                "i_profile": In(stream.Signature(PROFILE)),
                "o_req": Out(stream.Signature(sample_layout(config))),
                "x": Out(X_VECTOR),
                "halt": In(1),
                "quiet": Out(1),
                "i_answer": In(stream.Signature(ANSWER if config.tree else _LOGITS)),
                "outputs": In(4),
                "version": In(32),
                "o_forecast": Out(stream.Signature(FORECAST)),
                "decision_stb": In(1),
                "decision": In(DECISION),
                "command_stb": In(1),
                "command": In(config_layout(config)),
                "config_stb": In(1),
                "config_qp": In(config.qp_bits),
                "config": In(forecast_config_layout(config)),
                "threshold": In(4),
                "budget": In(Fmt.RTT.width),
                "put": In(KNOT_WRITE),
                "query_table": In(1),
                "query_knot": In(table.query_knot.shape()),
                "query": Out(table.query.shape()),
                "carry_stb": In(1),
                "carry_qp": In(config.qp_bits),
                "carry": In(1),
                "told": Out(1),
                "told_qp": Out(config.qp_bits),
                "told_score": Out(8),
                "made": Out(1),
                "made_qp": Out(config.qp_bits),
                "made_rtt": Out(1),
                "made_score": Out(SCORE_BITS),
                "events": Out(EVENTS),
            }
            | ({"asked_set": In(config.set_bits), "made_of": Out(MADE_OF)} if config.trace else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = self._table
        m.d.comb += [
            table.put.eq(self.put),
            table.query_table.eq(self.query_table),
            table.query_knot.eq(self.query_knot),
            self.query.eq(table.query),
        ]
        # The table works for one at a time; the profile's position goes first.
        queue, rtt = _Path(self._config, "queue"), _Path(self._config, "rtt")
        busy, of_queue = Signal(), Signal()
        given, scored = Signal(), Signal()
        m.d.comb += [
            table.i.valid.eq(~busy & (queue.asks | rtt.asks)),
            table.i.payload.table.eq(Mux(queue.asks, HeadKind.QUEUE, HeadKind.RTT)),
            table.i.payload.position.eq(Mux(queue.asks, queue.position, rtt.position)),
            table.o.ready.eq(1),
            given.eq(table.i.valid & table.i.ready),
            scored.eq(table.o.valid),
            queue.given.eq(given & queue.asks),
            rtt.given.eq(given & ~queue.asks),
            queue.scored.eq(scored & of_queue),
            rtt.scored.eq(scored & ~of_queue),
        ]
        with m.If(given):
            m.d.sync += [busy.eq(1), of_queue.eq(queue.asks)]
        with m.Elif(scored):
            m.d.sync += busy.eq(0)
        for path in (queue, rtt):
            with m.If(path.scored):
                m.d.sync += path.score.eq(table.o.payload + 1)
            with m.If(self.command_stb & self.command.clear & (self.command.qp == path.qp)):
                m.d.sync += path.void.eq(1)

        enabled, configs = self._configurations(m)
        self._profiles(m, enabled, configs, queue)
        self._decisions(m, configs, rtt)
        self._tell(m, queue, rtt)
        return m

    def _configurations(self, m: Module) -> tuple[Memory, Memory]:
        """Which queue pairs are enabled, and their configurations here."""
        qps, distributed = self._config.qps, {"ram_style": "distributed"}
        layout = forecast_config_layout(self._config)
        m.submodules.enabled = enabled = Memory(shape=1, depth=qps, init=[], attrs=distributed)
        m.submodules.configs = configs = Memory(shape=layout, depth=qps, init=[], attrs=distributed)
        put_enable, put_config = enabled.write_port(), configs.write_port()
        m.d.comb += [
            put_enable.en.eq(self.command_stb & self.command.apply),
            put_enable.addr.eq(self.command.qp),
            put_enable.data.eq(self.command.config.enable),
            put_config.en.eq(self.config_stb),
            put_config.addr.eq(self.config_qp),
            put_config.data.eq(self.config),
        ]
        return enabled, configs

    def _profiles(self, m: Module, enabled: Memory, configs: Memory, path: "_Path") -> None:
        """From a profile to its forecast."""
        ends = Signal()  # the forecast leaves: its distribution need not stay
        said, said_valid, model_says = self._distribution(m, ends)
        profile, live = Signal(PROFILE), Signal()
        version = Signal(32)
        is_enabled, own = enabled.read_port(domain="comb"), configs.read_port(domain="comb")
        exists = (profile.qp >> self._config.qp_bits) == 0
        request, answer = self.o_req.payload, self.o_forecast.payload
        m.d.comb += [
            path.qp.eq(profile.qp),
            is_enabled.addr.eq(path.qp),
            own.addr.eq(path.qp),
            request.qp.eq(path.qp),
            request.slot.eq(own.data.queue_slot),
            request.enable.eq(own.data.queue_enable),
            request.kind.eq(HeadKind.QUEUE),
            *(self.x[n].eq(profile[f"x{n}"]) for n in range(len(PROFILE_INPUTS))),
            path.position.eq(said.tail),
            *(answer[name].eq(profile[name]) for name in ("qp", "t")),
            answer.cps.eq(NO_SCORE),
        ]
        with m.If(live):
            m.d.comb += [answer.cps.eq(path.score - 1), answer.version.eq(version)]
            m.d.comb += [answer[f"p{n}"].eq(p) for n, p in enumerate(said.p)]
        with m.FSM(name="profile") as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i_profile.ready.eq(1)
                m.d.sync += profile.eq(self.i_profile.payload)
                with m.If(self.i_profile.valid):
                    m.next = "REQUEST"
            with m.State("REQUEST"), m.If(~self.halt):
                # Looked up in the cycle of the request: a command is before it, or after it.
                m.d.sync += [path.source.eq(own.data.score_source), path.void.eq(0)]
                with m.If(exists & is_enabled.data):
                    m.d.comb += self.o_req.valid.eq(1)
                    with m.If(self.o_req.ready):
                        m.next = "ANSWER"
                with m.Else():
                    m.d.comb += self.events.dropped.eq(1)
                    m.next = "IDLE"
            with m.State("ANSWER"):
                m.d.sync += [live.eq(self.i_answer.payload.live), version.eq(self.version)]
                m.d.sync += path.score.eq(0)
                with m.If(self.i_answer.valid):
                    m.next = "TELL"
                    with m.If(self.i_answer.payload.live):
                        m.d.comb += model_says.eq(1)
                        m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += path.asks.eq(said_valid)
                with m.If(path.given):
                    m.next = "SCORE"
            with m.State("SCORE"), m.If(path.scored):
                m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += path.tells.eq(1)
                with m.If(path.told):
                    m.d.comb += [self.events.forecasts.eq(1), self.events.no_model.eq(~live)]
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o_forecast.valid.eq(1)
                with m.If(self.o_forecast.ready):
                    m.d.comb += ends.eq(1)
                    m.next = "IDLE"
        m.d.comb += [
            path.counts.eq(_is_of(path.source, ScoreSource.QUEUE) & ~path.void),
            self.quiet.eq(~fsm.ongoing("ANSWER")),
        ]
        if self._config.trace:
            model_set = Signal.like(self.asked_set)
            with m.If(fsm.ongoing("ANSWER")):
                m.d.sync += model_set.eq(self.asked_set)
            m.d.comb += [
                self.made_of[f"x{n}"].eq(profile[f"x{n}"]) for n in range(len(PROFILE_INPUTS))
            ]
            with m.If(live):
                m.d.comb += [self.made_of.set.eq(model_set), self.made_of.probability.eq(said.tail)]

    def _distribution(self, m: Module, ends: Value) -> tuple[data.View, Value, Signal]:
        """What the model's answer says, whether it is there; a strobe for an answer to look at."""
        model_says = Signal()
        if self._config.tree:
            answer = self.i_answer
            m.d.comb += answer.ready.eq(ends)
            return answer.payload, answer.valid, model_says
        m.submodules.softmax = softmax = Softmax(dsp=self._config.dsp, relaxed=self._config.relaxed)
        m.d.comb += [
            softmax.threshold.eq(self.threshold),
            softmax.i.payload.logits.eq(self.i_answer.payload.out),
            softmax.i.payload.outputs.eq(self.outputs),
            softmax.i.valid.eq(model_says),  # its last result has been taken: it is ready
            softmax.o.ready.eq(ends),
            self.i_answer.ready.eq(1),
        ]
        return softmax.o.payload, softmax.o.valid, model_says

    def _decisions(self, m: Module, configs: Memory, path: "_Path") -> None:
        """From a decision on a sample to the score of its prediction, where that is wanted."""
        m.submodules.position = position = RttPosition()
        decision, own = self.decision, configs.read_port(domain="comb")
        m.submodules.carries = carries = Memory(
            shape=1, depth=self._config.qps, init=[], attrs={"ram_style": "distributed"}
        )
        put, carried = carries.write_port(), carries.read_port(domain="comb")
        wanted = Signal()
        m.d.comb += [
            put.en.eq(self.carry_stb),
            put.addr.eq(self.carry_qp),
            put.data.eq(self.carry),
            carried.addr.eq(decision.qp),
            own.addr.eq(decision.qp),
            wanted.eq(
                self.decision_stb
                & ~decision.flags[Flag.EVENT]
                & (_is_of(own.data.score_source, ScoreSource.RTT) | carried.data)
            ),
            position.budget.eq(self.budget),
            path.position.eq(position.o.payload),
            path.counts.eq(_is_of(path.source, ScoreSource.RTT) & ~path.void),
        ]
        about = Signal(position.i.payload.shape())
        m.d.comb += position.i.payload.eq(about)
        with m.FSM(name="decision") as fsm:
            with m.State("IDLE"), m.If(wanted):
                m.d.sync += [
                    path.qp.eq(decision.qp),
                    path.source.eq(own.data.score_source),
                    path.void.eq(0),
                    path.score.eq(0),
                    about.predicted.eq(decision.rtt_pred),
                    about.base.eq(decision.base),
                ]
                m.next = "TELL"
                with m.If((decision.rtt_pred != 0) & ~decision.flags[Flag.UNSKILLED]):
                    m.next = "POSITION"
            with m.State("POSITION"):
                m.d.comb += position.i.valid.eq(1)
                with m.If(position.i.ready):
                    m.next = "SCORE"
            with m.State("SCORE"):
                m.d.comb += [path.asks.eq(position.o.valid), position.o.ready.eq(path.given)]
                with m.If(path.scored):
                    m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += path.tells.eq(1)
                with m.If(path.told):
                    m.next = "IDLE"
        m.d.comb += self.events.stale.eq(wanted & ~fsm.ongoing("IDLE"))

    def _tell(self, m: Module, queue: "_Path", rtt: "_Path") -> None:
        """The last scores of a queue pair: a clear first, then the profile's, then the decision's.

        What is told comes a cycle later, so never after a clear that it came before.
        """
        m.submodules.last = last = Memory(
            shape=_LAST, depth=self._config.qps, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = last.write_port(), last.read_port(domain="comb")
        clears = self.command_stb & self.command.clear
        row, source, counts = Signal(_LAST), Signal(2), Signal()
        m.d.comb += [
            queue.told.eq(queue.tells & ~clears),
            rtt.told.eq(rtt.tells & ~clears & ~queue.tells),
            read.addr.eq(Mux(queue.tells, queue.qp, rtt.qp)),
            source.eq(Mux(queue.tells, queue.source, rtt.source)),
            counts.eq((queue.told & queue.counts) | (rtt.told & rtt.counts)),
            row.queue.eq(Mux(queue.tells, queue.score, read.data.queue)),
            row.rtt.eq(Mux(queue.tells, read.data.rtt, rtt.score)),
            write.en.eq(clears | counts),
            write.addr.eq(Mux(clears, self.command.qp, read.addr)),
            write.data.eq(Mux(clears, 0, row.as_value())),
        ]
        of_queue = Mux(_is_of(source, ScoreSource.QUEUE), row.queue, 0)
        of_rtt = Mux(_is_of(source, ScoreSource.RTT), row.rtt, 0)
        best = Signal(SCORE_BITS)
        m.d.comb += best.eq(Mux(of_queue > of_rtt, of_queue, of_rtt))
        m.d.sync += [
            self.told.eq(counts),
            self.told_qp.eq(read.addr),
            self.told_score.eq(Mux(best == 0, NO_SCORE, best - 1)),
            self.made.eq((queue.told & ~queue.void) | (rtt.told & ~rtt.void)),
            self.made_qp.eq(read.addr),
            self.made_rtt.eq(~queue.tells),
            self.made_score.eq(Mux(queue.tells, queue.score, rtt.score)),
        ]


class _Path:
    """Signals of what goes through the table and is told: of profiles, or of decisions."""

    def __init__(self, config: NicConfig, name: str) -> None:
        def one(part: str, bits: int = 1) -> Signal:
            return Signal(bits, name=f"{name}_{part}")

        self.qp, self.source = one("qp", config.qp_bits), one("source", 2)
        self.position = one("position", POSITION["position"].width)
        self.asks, self.given, self.scored = one("asks"), one("given"), one("scored")
        self.score = one("score", SCORE_BITS)  # plus 1; 0: none
        self.void = one("void")  # cleared since it began
        self.counts, self.tells, self.told = one("counts"), one("tells"), one("told")


def _is_of(source: Value, one: ScoreSource) -> Value:
    """`source` asks for the scores of `one`."""
    return (source == one) | (source == ScoreSource.MAX)
