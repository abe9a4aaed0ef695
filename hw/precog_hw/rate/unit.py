"""The rate unit: configuration memory, target adjuster, law. Thesis (14)-(20), RTTch, WIN.

The golden model is `precog_models.rate.unit`.
"""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY, hold
from precog_hw.csr.layouts import DECISION, PARAMETERS, QP_CONFIG_LAYOUT
from precog_hw.csr.qp import config_layout
from precog_hw.rate.deadline import AdviceDeadline
from precog_hw.rate.layouts import ADVICE, MODEL, rate_sample_layout
from precog_hw.rate.pid import Pid
from precog_hw.rate.skill import SkillMonitor, judged_layout
from precog_hw.rate.target_adjuster import TargetAdjuster
from precog_hw.rate.trials import AdviceTrial, connect_host, trial_ports, tried_layout
from precog_hw.stream.queue import Queue
from precog_spec.config import NicConfig

__all__ = ["RateUnit"]

_JUDGED = 4  # samples in the adjuster and the law, with room to spare
_OWED = 15  # samples whose advice is still in the predictor: it and its queues hold fewer


class RateUnit(wiring.Component):
    """From samples, and what the predictor says of them, to decisions, in order.

    ::

        i ─┬─► target adjuster ─► pid ─► o
           │   [configuration] ┘   ▲
           ├─► skill monitor ──────┤
           └─► [trial] ────────────┤
        i_advice ─► [or late] ─────┘

    Latency: 16 cycles from the advice to the decision (22 with a window), if the sample came 24
    cycles before the advice. Throughput: one decision every 22 (26) cycles.
    Advice that the law has waited for as long as `advice_deadline` says is not waited for any
    longer: the decision of the base law alone is there `LATENCY` (with a window 6 more) cycles
    after the deadline.
    With `config.trials` a decision in 35 (41) cycles, and 39 more where a round begins.
    Cost: 3 multipliers, 1 block RAM of inverses, qps x 436 bits of memory.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    i : In(stream.Signature(rate_sample_layout(config)))
    i_advice : In(stream.Signature(ADVICE))
        One for each sample, in order.
    o : Out(stream.Signature(DECISION))
    command : In(stream.Signature(config_layout(config)))
        Configure (`apply`) and reset (`clear`) a queue pair. Taken while nothing is in flight, and
        before a sample that waits at `i`.
    parameters : In(PARAMETERS)
        To be held while a sample is in flight.
    hold : In(1)
        Follow no advice.
    model : In(MODEL)
        With `config.trace`, of the model that gives the advice that waits.
    o_model : Out(MODEL)
        As above, of the decision at `o`; zeros if there was no model or it was too late.
    owing : Out(1)
        Advice is still to come for a decision that has been made without it.
    others
        `trial_ports(config)`.
    activity : Out(ACTIVITY)
        The bits of this unit and its parts (`precog_hw.activity`).
    """

    PREPARE = 24
    """Cycles from a sample's transfer until its advice is taken, at the earliest."""
    LATENCY = 16
    """Cycles from the advice's transfer to the decision's offer, without a window."""
    WINDOW_LATENCY = 6
    """Cycles that a window adds."""

    i: stream.Interface
    i_advice: stream.Interface
    o: stream.Interface
    command: stream.Interface
    parameters: data.View
    hold: Signal
    owing: Signal
    activity: data.View

    def __init__(self, config: NicConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(rate_sample_layout(config))),
                "i_advice": In(stream.Signature(ADVICE)),
                "o": Out(stream.Signature(DECISION)),
                "command": In(stream.Signature(config_layout(config))),
                "parameters": In(PARAMETERS),
                "hold": In(1),
                "owing": Out(1),
                "activity": Out(ACTIVITY),
            }
            | ({"model": In(MODEL), "o_model": Out(MODEL)} if config.trace else {})
            | trial_ports(config)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.configs = configs = Memory(
            shape=QP_CONFIG_LAYOUT, depth=self._config.qps, init=[]
        )
        write, read = configs.write_port(), configs.read_port()
        m.submodules.adjuster = adjuster = TargetAdjuster(self._config)
        m.submodules.pid = pid = Pid(self._config)
        m.submodules.skill = skill = SkillMonitor(self._config)
        m.submodules.judged = judged = Queue(judged_layout(self._config), _JUDGED)
        m.submodules.deadline = deadline = AdviceDeadline(_OWED)

        wiring.connect(m, adjuster.o, pid.i)
        wiring.connect(m, wiring.flipped(self.i_advice), deadline.i)
        wiring.connect(m, judged.o, skill.i)
        wiring.connect(m, deadline.o, skill.i_advice)
        trial = self._trial(m, skill, pid) if self._config.trials else None
        if trial is None:
            wiring.connect(m, skill.o_advice, pid.i_advice)
            wiring.connect(m, pid.o, wiring.flipped(self.o))
        m.d.comb += [
            deadline.cycles.eq(self.parameters.advice_deadline),
            self.owing.eq(deadline.owing),
            pid.hold.eq(self.hold | self.parameters.advice_hold),
        ]

        if self._config.trace:
            m.submodules.answered = answered = Queue(MODEL, _JUDGED)
            late = deadline.o.payload.late
            m.d.comb += [
                answered.i.valid.eq(deadline.o.valid & deadline.o.ready),
                answered.i.payload.eq(Mux(late, 0, self.model.as_value())),
                self.o_model.eq(answered.o.payload),
                answered.o.ready.eq(self.o.valid & self.o.ready),
            ]

        command = self.command.payload
        # No sample is admitted while a command waits: once idle, the unit stays so.
        quiet, apply, clear = Signal(), Signal(), Signal()
        soon, rests = Signal(), Signal()
        idle = adjuster.idle & pid.idle & skill.idle & ~judged.o.valid & ~deadline.owing
        m.d.comb += [
            rests.eq(idle if trial is None else idle & trial),
            soon.eq(rests & self.command.valid & ~quiet),
        ]
        m.d.sync += [
            quiet.eq(soon),
            apply.eq(soon & command.apply),
            clear.eq(soon & command.clear),
        ]
        m.d.comb += [
            self.command.ready.eq(quiet),
            adjuster.i.payload.eq(self.i.payload),
            # The queue has room for all that the adjuster and the law can hold.
            adjuster.i.valid.eq(self.i.valid & ~self.command.valid),
            self.i.ready.eq(adjuster.i.ready & ~self.command.valid),
            judged.i.valid.eq(adjuster.i.valid & adjuster.i.ready),
            judged.i.payload.qp.eq(self.i.payload.qp),
            judged.i.payload.rtt.eq(self.i.payload.rtt),
            write.en.eq(apply),
            write.addr.eq(command.qp),
            write.data.eq(command.config),
            read.addr.eq(adjuster.config_addr),
            adjuster.config_data.eq(read.data),
        ]
        for unit in (adjuster, pid):
            m.d.comb += unit.parameters.eq(self.parameters)
        for unit in (adjuster, pid, skill):
            m.d.comb += [unit.clear.eq(clear), unit.clear_qp.eq(command.qp)]
        activity = self.activity
        starts = {
            "adjuster": ~adjuster.idle | self.i.valid | self.command.valid,
            "pid": ~pid.idle | pid.i.valid | self.i_advice.valid | self.command.valid,
            "skill": ~skill.idle | judged.o.valid | self.command.valid,
        }
        works = {unit: hold(m, unit, start, 1) for unit, start in starts.items()}
        m.d.comb += [activity[unit].eq(work) for unit, work in works.items()]
        # Not of `activity`'s own bits: a simulator that takes it for one word would see a loop.
        m.d.comb += activity.rate.eq(
            works["adjuster"] | works["pid"] | works["skill"] | deadline.owing
        )
        return m

    def _trial(self, m: Module, skill: SkillMonitor, pid: Pid) -> Value:
        """A trial between the law and its advice and decisions; says whether it is at rest."""
        m.submodules.trial = trial = AdviceTrial(self._config, "rtt")
        m.submodules.tried = tried = Queue(tried_layout(self._config), _JUDGED)
        wiring.connect(m, tried.o, trial.i)
        sample, advice, decision = self.i.payload, pid.i_advice, pid.o
        m.d.comb += [
            tried.i.valid.eq(self.i.valid & self.i.ready),
            tried.i.payload.qp.eq(sample.qp),
            tried.i.payload.t.eq(sample.t),
            tried.i.payload.delay.eq(sample.rtt - sample.base),
            # Advice waits for the trial.
            advice.payload.eq(skill.o_advice.payload),
            advice.valid.eq(skill.o_advice.valid & trial.o.valid),
            skill.o_advice.ready.eq(advice.ready & trial.o.valid),
            trial.o.ready.eq(advice.ready & skill.o_advice.valid),
            pid.withhold.eq(trial.o.payload),
            self.o.payload.eq(decision.payload),
            self.o.valid.eq(decision.valid),
            decision.ready.eq(self.o.ready),
            trial.i_outcome.valid.eq(decision.valid & self.o.ready),
            trial.i_outcome.payload.counts.eq(pid.advised),
            trial.i_outcome.payload.rate.eq(decision.payload.rate),
        ]
        connect_host(m, self, trial)
        return trial.idle & ~tried.o.valid
