"""The NIC core: RTT samples in, rate decisions out, one for each, in order.

::

                                   ┌─ lead ─► [predictor] ─► out ─► [RTT head] ─► advice ─┐
    i_sample ─► [queue] ─► [feature] ── k ──────┘                      ▲                  ▼
                   │           └─ rtt, srtt, base ─► [queues] ─ srtt ──┘   ┌─► [rate unit] ─┐
                   ├─► [who runs] ─► model slot             └─ sample ─────┘                ▼
                   └─► rtt, t ─► [queue] ──────────────────────────────────────► [other laws] ─┐
    i_event ──────────────────────────────────────────────────────────────────────────┘          ▼
                                                                            o_decision ◄── [PSCHED]
    command ─► all of them, once no sample is in flight
    i_profile ─► [forecaster] ─► o_forecast
                   ▲     └─► [scores] ─► i_event   its model is run by the predictor
                   └─ o_decision

The golden model is `precog_models.nic`.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY, hold
from precog_hw.csr.layouts import DECISION, PARAMETERS, SAMPLE
from precog_hw.csr.qp import config_layout
from precog_hw.measure.feature import Feature
from precog_hw.passing import pass_ports
from precog_hw.predict.forecast import FORECAST, PROFILE, Forecaster
from precog_hw.predict.rtt_head import RttHead
from precog_hw.predict.unit import Predictor
from precog_hw.rate.engine.engine import HOST_PORTS, LawEngine
from precog_hw.rate.law_layouts import LAW_ACK, LAW_EVENT, MADE_OF
from precog_hw.rate.law_stage import RAW, LawStage, takes_events
from precog_hw.rate.layouts import MODEL, rate_sample_layout
from precog_hw.rate.psched import Psched
from precog_hw.rate.score_events import ScoreEvents
from precog_hw.rate.unit import RateUnit
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig
from precog_spec.contract import Flag, Fmt
from precog_spec.engine.isa import THREADS

__all__ = ["Core"]

_SAMPLES = 16  # samples that wait for the feature unit
_FLYING = 8  # samples between the feature unit and the decision that the queues hold
_BEGUN = 16  # and with those in the feature unit
_PATIENCE = 16384  # cycles that a restart waits for the predictor; what works ends in fewer

_FORECAST_PORTS = (
    *("config_stb", "config_qp", "config", "threshold", "budget"),
    *("put", "query_table", "query_knot", "query", "events"),
    *("carry_stb", "carry_qp", "carry", "made", "made_qp", "made_rtt", "made_score"),
)


class Core(wiring.Component):
    """From a sample to its decision, for all queue pairs.

    Latency: from a sample's transfer to its decision's offer
    ``1 + feature + (predictor - lead) + head + rate``: 1 + 10 + 23 + 4 + 16 = 54 cycles with 64
    lanes, 4 columns, one input and up to 256 queue pairs; 60 with a window. The prediction is there
    after 38. All that holds if the predictor is free and the queue pair's context is of the model.
    Decisions of timely and dcqcn take `LawStage`'s time longer, those that a score may move
    `Psched`'s.
    Throughput: the slower of the predictor's and the rate unit's.
    Cost: 7 + 3 + 2 multipliers and the predictor; `LawStage`, `Psched`.

    Time enters through the stamps of samples and events alone: cycles without work change nothing
    that is seen.

    Parameters
    ----------
    config : NicConfig
        What is built.

    Members
    -------
    i_sample : In(stream.Signature(SAMPLE))
        Samples. One of a queue pair that does not exist or is not enabled is dropped.
    o_decision : Out(stream.Signature(DECISION))
        One for each other sample, in order; between them those of events.
    dropped : Out(1)
        Strobe: a sample is dropped.
    i_event : In(stream.Signature(LAW_EVENT))
        With `config.laws`: events for the laws that react to more than samples.
    event_ignored : Out(1)
        With `config.laws`: strobe, see `LawStage.ignored`.
    i_profile : In(stream.Signature(PROFILE)), o_forecast : Out(stream.Signature(FORECAST))
        With `config.forecast`: profiles, and one forecast for each of an enabled queue pair, in
        order. The engine takes a profile when no sample wants it; one that it has begun, a sample
        waits for. Nothing of samples and decisions waits for `o_forecast`.
    i_law_ack : In(stream.Signature(LAW_ACK))
        With `config.law_cores`: acknowledgements, for programs.
    law_* : of `LawEngine`, `HOST_PORTS`
    event_stb, event : Out(1), Out(LAW_EVENT)
        As above: each event as the laws take it, those of `i_event` and the scores of forecasts.
    wrong_head : Out(1)
        As above: strobe, a model was not used because its head is of another kind.
    slot_enables : Out(sets)
        As above: slots of the model map that stand for a model.
    forecast_* : `Forecaster`'s members `config_stb`, `config_qp`, `config`, `threshold`, `budget`,
        `put`, `query_table`, `query_knot`, `query`, `events`, and those of `carry` and `made`; with
        `config.trace` `made_of`, too
    command : In(stream.Signature(config_layout(config)))
        Configures (`apply`) and resets (`clear`) a queue pair; after the samples that the feature
        unit has begun, before those that still wait for it. A restart of the predictor (`forget`)
        waits for the same samples, at most 16384 cycles if the predictor is stuck: samples that it
        has taken are then decided on without a model, or too late. When it is done, the decisions
        on all earlier samples have left.
    hold : In(1)
        Advice of every kind is held: the base laws decide alone.
    command_stb : Out(1)
        The last unit executes `command` in this cycle: all decisions that it does not concern are
        out. Not for a restart.
    made_of : Out(MADE_OF)
        With `config.trace`: what the decision at `o_decision` was made of.
    parameters : In(PARAMETERS)
        To be changed between samples: one in flight may see the old and the new ones.
    activity : Out(ACTIVITY)
        Which units have work (`precog_hw.activity`), with `config.activity` only.
    others
        The ports of `Predictor`'s model store and, with `config.ecc`, of its scrubber, with its
        names.

    Raises
    ------
    ValueError
        The feature unit promises its features later than the engine needs them.
    """

    i_sample: stream.Interface
    o_decision: stream.Interface
    dropped: Signal
    command: stream.Interface
    hold: Signal
    command_stb: Signal
    parameters: data.View

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._predictor = Predictor(config)
        self._feature = Feature(config)
        lead = self._predictor.X_LEAD
        if lead < Feature.LEAD:
            raise ValueError(f"lead must be at least {Feature.LEAD} cycles, not {lead!r}")
        #: Cycles from a sample's transfer to its prediction's offer.
        self.prediction_latency = (
            1
            + config.relaxed
            + self._feature.latency
            + self._predictor.latency
            - Feature.LEAD
            + RttHead.latency
        )
        #: Cycles from a sample's transfer to its decision's offer, without a window.
        self.latency = self.prediction_latency + RateUnit.LATENCY
        #: Cycles that a window adds.
        self.window_latency = RateUnit.WINDOW_LATENCY
        self._forecaster = Forecaster(config) if config.forecast else None
        self._engine = LawEngine(config) if config.law_cores else None
        signature = self._predictor.signature
        super().__init__(
            {
                "i_sample": In(stream.Signature(SAMPLE)),
                "o_decision": Out(stream.Signature(DECISION)),
                "dropped": Out(1),
                "command": In(stream.Signature(config_layout(config))),
                "hold": In(1),
                "command_stb": Out(1),
                "parameters": In(PARAMETERS),
            }
            | {name: signature.members[name] for name in Predictor.outer_ports(config)}
            | ({"activity": Out(ACTIVITY)} if config.activity else {})
            | (_events() if config.laws else {})
            | (_programs(self._engine) if self._engine is not None else {})
            | (_forecasts(config, self._forecaster) if self._forecaster is not None else {})
            | ({"made_of": Out(MADE_OF)} if config.trace else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.samples = samples = Queue(SAMPLE, _SAMPLES, block=config.relaxed)
        m.submodules.feature = feature = self._feature
        m.submodules.predictor = predictor = self._predictor
        m.submodules.head = head = RttHead(dsp=config.dsp)
        m.submodules.srtts = srtts = Queue(unsigned(Fmt.SRTT.width), _FLYING)
        m.submodules.measured = measured = Queue(
            rate_sample_layout(config), _FLYING, block=config.relaxed
        )
        m.submodules.rate = rate = RateUnit(config)

        pass_ports(m, self, predictor, Predictor.outer_ports(config))
        m.d.comb += [
            feature.sigma.eq(self.parameters.sigma),
            feature.base_window.eq(self.parameters.base_window),
            rate.parameters.eq(self.parameters),
            rate.hold.eq(self.hold),
        ]

        laws = psched = None
        engine = self._engine
        if config.laws:
            m.submodules.laws = laws = LawStage(config)
            m.submodules.psched = psched = Psched(config)
            m.submodules.raws = self._raws = Queue(RAW, _BEGUN)
        if engine is not None:
            m.submodules.law_engine = engine
        halt = self._commands(m, feature, predictor, rate, laws, psched)
        wiring.connect(m, wiring.flipped(self.i_sample), samples.i)
        sample = samples.o.payload
        m.d.comb += [
            feature.i.valid.eq(samples.o.valid & ~halt),
            samples.o.ready.eq(feature.i.ready & ~halt),
            feature.i.payload.qp.eq(sample.qp),
            feature.i.payload.rtt.eq(sample.rtt),
            feature.i.payload.t.eq(sample.t),
        ]
        asks = self._forecasts(m, feature, predictor)
        self._requests(m, samples, feature, predictor, srtts, measured, asks)

        # The feature goes to the predictor, and around it. The queues have room for a sample whose
        # request has been made.
        made = Signal()
        if self._forecaster is None:
            m.d.comb += [
                predictor.i_x.valid.eq(feature.o.valid),
                predictor.i_x.payload[0].eq(feature.o.payload.k),
                feature.o.ready.eq(predictor.i_x.ready),
            ]
        m.d.comb += [
            made.eq(feature.o.valid & feature.o.ready),
            srtts.i.valid.eq(made),
            srtts.i.payload.eq(feature.o.payload.srtt),
            measured.i.valid.eq(made),
        ]
        m.d.comb += [
            measured.i.payload[name].eq(feature.o.payload[name])
            for name in ("qp", "rtt", "srtt", "base")
        ]
        wiring.connect(m, measured.o, rate.i)
        self._advice(m, predictor, srtts, head, rate)
        if laws is None or psched is None:
            wiring.connect(m, rate.o, wiring.flipped(self.o_decision))
        else:
            wiring.connect(m, rate.o, laws.i)
            wiring.connect(m, self._raws.o, laws.i_raw)
            events = laws.i_event if engine is None else engine.i_event
            if self._forecaster is None:
                wiring.connect(m, wiring.flipped(self.i_event), events)
            else:
                self._scores(m, events)
            wiring.connect(m, laws.o, psched.i)
            self._programs(m, laws, psched, engine)
            m.d.comb += [
                laws.parameters.eq(self.parameters),
                psched.parameters.eq(self.parameters),
                psched.about.eq(laws.about),
                psched.hold.eq(self.hold),
            ]
            if config.trace:
                of = laws.about
                m.d.comb += [
                    *(self.made_of[name].eq(of[name]) for name in ("t", "rtt")),
                    self.made_of.score.eq(psched.score),
                    self.made_of.model.eq(Mux(of.sample, rate.o_model.as_value(), 0)),
                ]
        if config.activity:
            measuring = ~feature.idle | feature.i.valid | feature.clear.valid
            answering = ~head.i.ready | head.i.valid
            queues = [samples, srtts, measured]
            if config.laws:
                queues.append(self._raws)
            moving = Cat(_moves(queue) for queue in queues).any()
            deciding = rate.o.valid | self.command.valid | ~self._decided
            asked = Const(self._forecaster is not None)  # by profiles at any time
            m.d.comb += [
                self.activity.eq(predictor.activity.as_value() | rate.activity.as_value()),
                self.activity.queues.eq(moving),
                self.activity.core.eq(
                    hold(m, "core", moving | measuring | answering | deciding | asked, 2)
                ),
                self.activity.feature.eq(hold(m, "feature", measuring, 1)),
                self.activity.rtt_head.eq(hold(m, "rtt_head", answering, 2)),
            ]
            if laws is not None and psched is not None:
                m.d.comb += [
                    self.activity.laws.eq(hold(m, "laws", laws.busy, 1)),
                    self.activity.psched.eq(hold(m, "psched", psched.busy, 1)),
                ]
        return m

    def _programs(
        self, m: Module, laws: LawStage, psched: Psched, engine: LawEngine | None
    ) -> None:
        """The law engine, or nothing, between PSCHED and the output."""
        if engine is None:
            wiring.connect(m, psched.o, wiring.flipped(self.o_decision))
            m.d.comb += self.event_ignored.eq(laws.ignored)
            return
        wiring.connect(m, psched.o, engine.i)
        wiring.connect(m, engine.o, wiring.flipped(self.o_decision))
        wiring.connect(m, engine.o_event, laws.i_event)
        wiring.connect(m, wiring.flipped(self.i_law_ack), engine.i_ack)
        pass_ports(m, self, engine, HOST_PORTS, prefix="law_")
        m.d.comb += [
            engine.about.eq(laws.about),
            engine.hold.eq(self.hold | self.parameters.advice_hold),
            engine.mtu.eq(self.parameters.mtu),
            self.event_ignored.eq(laws.ignored | engine.ignored),
        ]

    def _commands(
        self,
        m: Module,
        feature: Feature,
        predictor: Predictor,
        rate: RateUnit,
        laws: LawStage | None,
        psched: Psched | None,
    ) -> Signal:
        """Hand a command to all units once no sample is in flight; says when to admit none."""
        payload = self.command.payload
        flying = Signal(range(_FLYING + 8))  # samples from the feature's transfer to the decision
        begun = feature.o.valid & feature.o.ready
        ended = rate.o.valid & rate.o.ready
        m.d.sync += flying.eq(flying + begun - ended)

        halt, quiet = Signal(), Signal()
        m.d.comb += halt.eq(self.command.valid)
        # A command that waits stays: `quiet` says that there is one.
        flies = (flying != 0) | rate.owing
        if self._forecaster is not None:
            flies = flies | ~self._forecaster.quiet
        m.d.sync += quiet.eq(halt & feature.idle & ~flies & ~self.command.ready)

        # What works becomes quiet, and a restart is nothing but a reset; what does not, must be
        # restarted first.
        stuck = Signal(range(_PATIENCE + 1))
        overdue = stuck == _PATIENCE
        with m.If(~(halt & payload.forget) | self.command.ready):
            m.d.sync += stuck.eq(0)
        with m.Elif(~quiet & ~overdue):
            m.d.sync += stuck.eq(stuck + 1)

        targets = {
            "feature": (feature.clear, payload.clear),
            "predictor": (predictor.i_reset, payload.clear),
            "restart": (predictor.i_restart, payload.forget),
            "rate": (rate.command, ~payload.forget),
        }
        laws_given, decided = Signal(), Signal(init=1)
        self._decided = decided  # all samples that the rate unit has decided on have left
        if laws is not None and psched is not None:
            targets["laws"] = (laws.command, ~payload.forget)
            # Not before all events that the laws took before it have left them.
            targets["psched"] = (psched.command, laws_given)
            # Samples between the rate unit and the output, those of programs in flight too.
            programs = THREADS * self._config.law_cores
            deciding = Signal(range(_BEGUN + programs + 1))
            leaves = self.o_decision.valid & self.o_decision.ready
            of_sample = leaves & ~self.o_decision.payload.flags[Flag.EVENT]
            m.d.sync += deciding.eq(deciding + ended - of_sample)
            m.d.comb += decided.eq(deciding == 0)
            m.d.comb += [laws.command.payload.eq(payload), psched.command.payload.eq(payload)]
            m.d.comb += psched.command.payload.config.psched.eq(_scheduled(payload.config))
        last = self.command if psched is None else psched.command
        psched_given = Signal()
        if self._engine is not None:
            last = self._engine.command
            targets["programs"] = (last, psched_given)
            m.d.comb += [last.payload.eq(payload), self._engine.halt.eq(psched_given)]
        m.d.comb += self.command_stb.eq(last.valid & last.ready)
        done = []
        for name, (target, wanted) in targets.items():
            offered = Signal(name=f"{name}_offered")
            known = {"laws": laws_given, "psched": psched_given}
            given = known[name] if name in known else Signal(name=f"{name}_given")
            taken = offered & target.ready
            may = quiet | overdue if name == "restart" else quiet
            m.d.sync += offered.eq(may & wanted & ~given & ~taken)
            m.d.comb += target.valid.eq(offered)
            with m.If(taken):
                m.d.sync += given.eq(1)
            with m.If(self.command.ready):
                m.d.sync += given.eq(0)
            done.append(given | ~wanted)
        m.d.comb += [
            feature.clear.payload.eq(payload.qp),
            predictor.i_reset.payload.eq(payload.qp),
            rate.command.payload.eq(payload),
            self.command.ready.eq(quiet & Cat(done).all() & (decided | ~payload.forget)),
        ]
        return halt

    def _requests(
        self,
        m: Module,
        samples: Queue,
        feature: Feature,
        predictor: Predictor,
        srtts: Queue,
        measured: Queue,
        asks: Value,
    ) -> None:
        """Who runs, and with which model: known one cycle after the feature's start.

        A profile `asks` the predictor in cycles in which no sample does.
        """
        config, command = self._config, self.command
        entry = data.StructLayout(
            {
                "enable": 1,
                "law": 1,
                "psched": 1,
                "model_enable": 1,
                "model_slot": config.set_bits,
            }
        )
        m.submodules.entries = entries = Memory(shape=entry, depth=config.qps, init=[])
        write, read = entries.write_port(), entries.read_port()
        slot = command.payload.config.model_slot
        sample = samples.o.payload
        m.d.comb += [
            write.en.eq(command.valid & command.ready & command.payload.apply),
            write.addr.eq(command.payload.qp),
            write.data.enable.eq(command.payload.config.enable),
            write.data.law.eq(takes_events(command.payload.config.algorithm)),
            write.data.psched.eq(_scheduled(command.payload.config)),
            write.data.model_enable.eq(command.payload.config.model_enable & (slot < config.sets)),
            write.data.model_slot.eq(slot),
            read.addr.eq(sample.qp),
        ]
        begun, exists = Signal(), Signal()
        m.d.sync += begun.eq(feature.i.valid & feature.i.ready)
        with m.If(feature.i.ready):
            m.d.sync += exists.eq(sample.qp < config.qps)
        m.d.comb += [
            read.en.eq(feature.i.ready),
            self.dropped.eq(begun & ~(exists & read.data.enable)),
            feature.cancel.eq(self.dropped),
        ]

        if config.laws:
            raw = self._raws.i
            with m.If(feature.i.ready):
                m.d.sync += [raw.payload.rtt.eq(sample.rtt), raw.payload.t.eq(sample.t)]
            m.d.comb += [
                raw.valid.eq(begun & ~self.dropped),
                raw.payload.law.eq(read.data.law),
                raw.payload.psched.eq(read.data.psched),
            ]

        room = Signal()
        m.d.sync += room.eq((srtts.level < _FLYING) & (measured.level < _FLYING))
        m.d.comb += [
            predictor.i_req.valid.eq((feature.o_lead.valid & room) | asks),
            predictor.i_req.payload.qp.eq(feature.o_lead.payload),
            predictor.i_req.payload.slot.eq(read.data.model_slot),
            predictor.i_req.payload.enable.eq(read.data.model_enable),
            feature.o_lead.ready.eq(predictor.i_req.ready & room),
        ]
        if self._forecaster is not None:
            with m.If(asks):
                m.d.comb += predictor.i_req.payload.eq(self._forecaster.o_req.payload)

    def _advice(
        self, m: Module, predictor: Predictor, srtts: Queue, head: RttHead, rate: RateUnit
    ) -> None:
        """The engine's answer and the sample's S_t become a predicted RTT, or none."""
        answer = predictor.o_rsp
        given, ready = answer.valid, head.i.ready & srtts.o.valid
        if self._forecaster is not None and not self._config.tree:
            of_profile = answer.payload.qp[-1]
            given = given & ~of_profile
            its = self._forecaster.i_answer
            m.d.comb += [
                its.valid.eq(answer.valid & of_profile),
                its.payload.live.eq(answer.payload.live),
                its.payload.out.eq(answer.payload.out),
            ]
            ready = Mux(of_profile, its.ready, ready)
        both = given & srtts.o.valid
        live = Signal()
        m.d.comb += [
            head.i.valid.eq(both),
            head.i.payload.out.eq(answer.payload.out[0]),
            head.i.payload.srtt.eq(srtts.o.payload),
            answer.ready.eq(ready),
            srtts.o.ready.eq(head.i.ready & given),
            rate.i_advice.valid.eq(head.o.valid),
            rate.i_advice.payload.rtt_pred.eq(head.o.payload),
            rate.i_advice.payload.valid.eq(live),
            head.o.ready.eq(rate.i_advice.ready),
        ]
        with m.If(both & head.i.ready):
            m.d.sync += live.eq(answer.payload.live)
        if self._config.trace:
            model = Signal(MODEL)
            m.d.comb += rate.model.eq(Mux(live, model.as_value(), 0))
            with m.If(both & head.i.ready):
                m.d.sync += [model.set.eq(answer.payload.set), model.version.eq(predictor.version)]

    def _forecasts(self, m: Module, feature: Feature, predictor: Predictor) -> Value:
        """Connect the forecaster; the result is high while it uses the predictor."""
        forecaster = self._forecaster
        if forecaster is None:
            return Const(0)
        m.submodules.forecaster = forecaster
        wiring.connect(m, wiring.flipped(self.i_profile), forecaster.i_profile)
        wiring.connect(m, forecaster.o_forecast, wiring.flipped(self.o_forecast))
        pass_ports(m, self, forecaster, _forecast_ports(self._config), prefix="forecast_")
        m.d.comb += [
            forecaster.halt.eq(self.command.valid),
            forecaster.outputs.eq(predictor.asked_outputs),
            forecaster.version.eq(predictor.asked_version),
            forecaster.decision.eq(self.o_decision.payload),
            forecaster.decision_stb.eq(self.o_decision.valid & self.o_decision.ready),
            forecaster.command.eq(self.command.payload),
            forecaster.command_stb.eq(self.command_stb),
            self.wrong_head.eq(predictor.wrong_head),
            self.slot_enables.eq(predictor.slot_enables),
        ]
        if self._config.trace:
            m.d.comb += forecaster.asked_set.eq(predictor.asked_set)
        # A request is offered in the cycle of its transfer only, which no valid of ours decides:
        # so it never takes an offer back when a sample comes.
        asks, feeds = Signal(), Signal()
        free = predictor.i_req.ready & ~feature.o_lead.valid
        inputs = predictor.i_x
        if self._config.tree:
            wiring.connect(m, predictor.o_tree, forecaster.i_answer)
            m.d.comb += [
                predictor.tree_threshold.eq(forecaster.threshold),
                *(x.eq(forecaster.x[n]) for n, x in enumerate(predictor.tree_x)),
            ]
        m.d.comb += [
            forecaster.o_req.ready.eq(free),
            asks.eq(forecaster.o_req.valid & free),
            inputs.valid.eq(feeds | feature.o.valid),
            inputs.payload[0].eq(feature.o.payload.k),
            feature.o.ready.eq(inputs.ready & ~feeds),
        ]
        # A request's inputs are taken before or while the next request is.
        with m.If(predictor.i_req.valid & predictor.i_req.ready):
            m.d.sync += feeds.eq(asks & (not self._config.tree))
        with m.If(feeds):
            m.d.comb += inputs.payload.eq(forecaster.x)
        return asks

    def _scores(self, m: Module, events: stream.Interface) -> None:
        """What PSCHED is told of forecasts takes turns with the events from outside.

        A score bears the latest time that a sample, a profile or an event had.
        """
        forecaster = self._forecaster
        assert forecaster is not None
        m.submodules.scores = scores = ScoreEvents(self._config)
        now = Signal(Fmt.TIME.width)
        for source in (self.i_profile, self.i_event, self.i_sample):
            with m.If(source.valid & source.ready):
                m.d.sync += now.eq(source.payload.t)
        wiring.connect(m, wiring.flipped(self.i_event), scores.i)
        wiring.connect(m, scores.o, events)
        m.d.comb += [
            scores.heard.eq(forecaster.told),
            scores.heard_slot.eq(forecaster.told_qp),
            scores.heard_score.eq(forecaster.told_score),
            scores.now.eq(now),
            scores.command_stb.eq(self.command_stb),
            scores.command.eq(self.command.payload),
            self.event_stb.eq(events.valid & events.ready),
            self.event.eq(events.payload),
        ]


def _scheduled(config: data.View) -> Value:
    """PSCHED moves the law's rate: not a program's."""
    return config.psched & ~config.algorithm[-1]


def _moves(queue: Queue) -> Value:
    """Something enters or leaves a queue, or could."""
    return queue.i.valid | (queue.o.valid & queue.o.ready)


def _forecast_ports(config: NicConfig) -> tuple[str, ...]:
    return (*_FORECAST_PORTS, *(("made_of",) if config.trace else ()))


def _forecasts(config: NicConfig, forecaster: Forecaster) -> dict[str, wiring.Member]:
    members = forecaster.signature.members
    return {
        "i_profile": In(stream.Signature(PROFILE)),
        "o_forecast": Out(stream.Signature(FORECAST)),
        "wrong_head": Out(1),
        "slot_enables": Out(config.sets),
        "event_stb": Out(1),
        "event": Out(LAW_EVENT),
    } | {f"forecast_{name}": members[name] for name in _forecast_ports(config)}


def _programs(engine: LawEngine) -> dict[str, wiring.Member]:
    members = engine.signature.members
    return {"i_law_ack": In(stream.Signature(LAW_ACK))} | {
        f"law_{name}": members[name] for name in HOST_PORTS
    }


def _events() -> dict[str, wiring.Member]:
    return {"i_event": In(stream.Signature(LAW_EVENT)), "event_ignored": Out(1)}
