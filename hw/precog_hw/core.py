"""The NIC core: RTT samples in, rate decisions out, one for each, in order.

::

                                   ┌─ lead ─► [predictor] ─► out ─► [RTT head] ─► advice ─┐
    i_sample ─► [queue] ─► [feature] ── k ──────┘                      ▲                  ▼
                   │           └─ rtt, srtt, base ─► [queues] ─ srtt ──┘   ┌─► [rate unit] ─┐
                   ├─► [who runs] ─► model slot             └─ sample ─────┘                ▼
                   └─► rtt, t ─► [queue] ──────────────────────────────────────► [other laws] ─┐
    i_event ──────────────────────────────────────────────────────────────────────────┘          ▼
                                                          o_decision ◄── [PSCHED] ◄── [law engine]
    command ─► all of them, once no sample is in flight
    i_profile ─► [forecaster] ─► o_forecast
                   ▲     └─► [scores] ─► i_event   its model is run by the predictor
                   └─ o_decision

The golden model is `precog_models.nic`.
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring

from precog_hw.activity import hold
from precog_hw.compose.core.commands import commands
from precog_hw.compose.core.decisions import decisions, made_laws
from precog_hw.compose.core.forecasts import forecasts
from precog_hw.compose.core.parts import BEGUN, FLYING, Parts
from precog_hw.compose.core.ports import core_ports
from precog_hw.compose.core.requests import advice, features, requests
from precog_hw.csr.layouts import SAMPLE
from precog_hw.measure.feature import Feature
from precog_hw.passing import pass_ports
from precog_hw.predict.forecast import Forecaster
from precog_hw.predict.rtt_head import RttHead
from precog_hw.predict.unit import Predictor
from precog_hw.rate.engine.engine import LawEngine
from precog_hw.rate.law_stage import RAW
from precog_hw.rate.layouts import rate_sample_layout
from precog_hw.rate.unit import RateUnit
from precog_hw.stream.queue import Queue
from precog_hw.stream.through import ThroughQueue
from precog_spec.config import NicConfig
from precog_spec.contract import Fmt

__all__ = ["Core"]

_SAMPLES = 16  # samples that wait for the feature unit


class Core(wiring.Component):
    """From a sample to its decision, for all queue pairs.

    Latency: from a sample's transfer to its prediction
    ``feature + (predictor - lead) + head``: 8 + 17 + 1 = 26 cycles with 64 lanes, 4 columns, one
    input and up to 256 queue pairs; two more where the output is limited. The decision is there
    ``1 + rate`` = 17 cycles after it, and after the rate unit's preparation:
    ``feature + 1 + prepare + rate`` = 8 + 1 + 24 + 16 = 49, and 55 with a window. All that holds if
    the predictor is free and the queue pair's context is of the model.
    Decisions of programs take the engine's time longer, those that a score may move `Psched`'s.
    Throughput: the slower of the predictor's and the rate unit's.
    Cost: 9 + 3 + 2 multipliers and the predictor; `LawStage`, `Psched`.

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
        With `config.laws`: events for programs and PSCHED.
    event_ignored : Out(1)
        With `config.laws`: strobe, see `LawStage.ignored`.
    i_profile : In(stream.Signature(PROFILE)), o_forecast : Out(stream.Signature(FORECAST))
        With `config.forecast`: profiles, and one forecast for each of an enabled queue pair, in
        order. The engine takes a profile when no sample wants it; one that it has begun, a sample
        waits for. Nothing of samples and decisions waits for `o_forecast`.
    i_law_ack : In(stream.Signature(LAW_ACK))
        With `config.law_cores`: acknowledgements, for programs.
    law_* : of `LawEngine`, `host_ports`
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
    restart_waits : In(1)
        A restart waits behind `command`. If the predictor is stuck, it is done first, and again in
        its turn.
    hold : In(1)
        Advice of every kind is held: the base laws decide alone.
    command_stb : Out(1)
        The last unit executes `command` in this cycle: all decisions that it does not concern are
        out. Not for a restart.
    made_of : Out(MADE_OF)
        With `config.trace`: what the decision at `o_decision` was made of.
    ran : Out(RAN)
        With `config.trace` and `config.law_cores`: what the law engine did for it.
    trials : In(TRIALS), found_* : Out(FOUND), trial_clear : In(1), trial_clearing : Out(1)
        With `config.trials`: what the trials share, and what each of `TRIAL_KINDS` has found.
        `trial_clear` is a strobe: both forget all; `trial_clearing`: one of them has not yet.
    parameters : In(PARAMETERS)
        To be changed between samples: one in flight may see the old and the new ones.
    activity : Out(ACTIVITY)
        Which units have work (`precog_hw.activity`), with `config.activity` only.
    others
        The ports of `Predictor`'s model store and, with `config.ecc`, of its scrubber, with its
        names.
    """

    i_sample: stream.Interface
    o_decision: stream.Interface
    dropped: Signal
    command: stream.Interface
    restart_waits: Signal
    hold: Signal
    command_stb: Signal
    parameters: data.View

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        self._predictor = Predictor(config)
        self._feature = Feature(config, lead=self._predictor.x_lead)
        begins = 2 if config.relaxed else 0  # in the samples' queue
        #: Cycles from a sample's transfer to its prediction's offer.
        self.prediction_latency = (
            begins
            + self._feature.latency
            + self._predictor.latency
            - self._predictor.x_lead
            + RttHead.latency
        )
        #: Cycles from a sample's transfer to its decision's offer, without a window.
        prepared = begins + self._feature.latency + 1 + config.relaxed + RateUnit.PREPARE
        self.latency = max(self.prediction_latency + 1, prepared) + RateUnit.LATENCY
        #: Cycles that a window adds.
        self.window_latency = RateUnit.WINDOW_LATENCY
        self._forecaster = Forecaster(config) if config.forecast else None
        self._engine = LawEngine(config) if config.law_cores else None
        super().__init__(core_ports(config, self._predictor, self._engine, self._forecaster))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = self._parts(m)
        feature, rate = parts.feature, parts.rate
        pass_ports(m, self, parts.predictor, Predictor.outer_ports(self._config))
        m.d.comb += [
            feature.sigma.eq(self.parameters.sigma),
            feature.base_window.eq(self.parameters.base_window),
            rate.parameters.eq(self.parameters),
            rate.hold.eq(self.hold),
        ]
        halt, decided = commands(parts)
        wiring.connect(m, wiring.flipped(self.i_sample), parts.samples.i)
        waiting, sample = parts.samples.o, parts.samples.o.payload
        m.d.comb += [
            feature.i.valid.eq(waiting.valid & ~halt),
            waiting.ready.eq(feature.i.ready & ~halt),
            feature.i.payload.qp.eq(sample.qp),
            feature.i.payload.rtt.eq(sample.rtt),
            feature.i.payload.t.eq(sample.t),
        ]
        requests(parts, forecasts(parts, feature.o_lead.valid, feature.o))
        features(parts)
        wiring.connect(m, parts.measured.o, rate.i)
        advice(parts)
        if parts.laws is None or parts.raws is None:
            wiring.connect(m, rate.o, wiring.flipped(self.o_decision))
        else:
            wiring.connect(m, rate.o, parts.laws.stage.i)
            wiring.connect(m, parts.raws.o, parts.laws.stage.i_raw)
            decisions(parts, rate.o_model.as_value() if self._config.trace else Const(0))
        if self._config.trials:
            assert parts.laws is not None
            psched = parts.laws.psched
            m.d.comb += [
                *(unit.trials.eq(self.trials) for unit in (rate, psched)),
                *(unit.trial_clear.eq(self.trial_clear) for unit in (rate, psched)),
                self.trial_clearing.eq(rate.trial_clearing | psched.trial_clearing),
                self.found_rtt.eq(rate.found),
                self.found_scores.eq(psched.found),
            ]
        if self._config.activity:
            self._activity(parts, decided)
        return m

    def _parts(self, m: Module) -> Parts:
        config, block = self._config, self._config.relaxed
        # A sample that finds nothing before it begins in its own cycle.
        samples = Queue(SAMPLE, _SAMPLES, block=True) if block else ThroughQueue(SAMPLE, _SAMPLES)
        m.submodules.samples = samples
        m.submodules.feature = self._feature
        m.submodules.predictor = self._predictor
        m.submodules.head = head = RttHead(dsp=config.dsp)
        m.submodules.srtts = srtts = Queue(unsigned(Fmt.SRTT.width), FLYING)
        m.submodules.measured = measured = Queue(rate_sample_layout(config), FLYING, block=block)
        m.submodules.rate = rate = RateUnit(config)
        laws, raws = made_laws(m, config, self._engine), None
        if laws is not None:
            m.submodules.raws = raws = Queue(RAW, BEGUN)
        if self._engine is not None:
            m.submodules.law_engine = self._engine
        return Parts(
            m=m,
            core=self,
            config=config,
            samples=samples,
            srtts=srtts,
            measured=measured,
            raws=raws,
            feature=self._feature,
            predictor=self._predictor,
            head=head,
            rate=rate,
            laws=laws,
            forecaster=self._forecaster,
        )

    def _activity(self, parts: Parts, decided: Value) -> None:
        """Which units have work, and for how long after it their clocks must run."""
        m, feature, head, laws = parts.m, parts.feature, parts.head, parts.laws
        measuring = ~feature.idle | feature.i.valid | feature.clear.valid
        answering = ~head.i.ready | head.i.valid
        advising = parts.rate.i_advice.valid
        queues: list[Queue | ThroughQueue] = [parts.samples, parts.srtts, parts.measured]
        if parts.raws is not None:
            queues.append(parts.raws)
        moving = Cat(_moves(queue) for queue in queues).any()
        deciding = parts.rate.o.valid | self.command.valid | ~decided
        asked = Const(parts.forecaster is not None)  # by profiles at any time
        works = parts.predictor.activity.as_value() | parts.rate.activity.as_value()
        m.d.comb += [
            self.activity.eq(works),
            self.activity.queues.eq(moving),
            self.activity.core.eq(
                hold(m, "core", moving | measuring | answering | advising | deciding | asked, 2)
            ),
            self.activity.feature.eq(hold(m, "feature", measuring, 1)),
            # It multiplies a cycle before an answer.
            self.activity.rtt_head.eq(
                hold(m, "rtt_head", answering, 2) | parts.predictor.activity.head
            ),
        ]
        if laws is not None:
            m.d.comb += [
                self.activity.laws.eq(hold(m, "laws", laws.stage.busy, 1)),
                self.activity.psched.eq(hold(m, "psched", laws.psched.busy, 1)),
            ]


def _moves(queue: Queue | ThroughQueue) -> Value:
    """Something enters or leaves a queue, or could."""
    return queue.i.valid | (queue.o.valid & queue.o.ready)
