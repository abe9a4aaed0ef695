"""From the decision of pid or predpid to the output: events, the law engine, PSCHED."""

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import wiring

from precog_hw.passing import pass_ports
from precog_hw.rate.engine.engine import LawEngine, host_ports
from precog_hw.rate.law_stage import LawStage
from precog_hw.rate.psched import Psched
from precog_spec.config import NicConfig

from .forecasts import scores
from .parts import Laws, Shared

__all__ = ["decisions", "made_laws"]


def made_laws(m: Module, config: NicConfig, engine: LawEngine | None) -> Laws | None:
    """Stage and PSCHED, made submodules, and the engine, which is not."""
    if not config.laws:
        return None
    m.submodules.laws = stage = LawStage(config)
    m.submodules.psched = psched = Psched(config)
    return Laws(stage, psched, engine)


def decisions(parts: Shared, model: Value) -> None:
    """Connect all that follows what enters `parts.laws.stage`.

    `model` is what the trace says of the decision there.
    """
    m, core = parts.m, parts.core
    assert parts.laws is not None
    laws, psched, engine = parts.laws.stage, parts.laws.psched, parts.laws.engine
    events = laws.i_event if engine is None else engine.i_event
    if parts.forecaster is None:
        wiring.connect(m, wiring.flipped(core.i_event), events)
    else:
        scores(parts, events)
    wiring.connect(m, psched.o, wiring.flipped(core.o_decision))
    _to_psched(parts, parts.laws)
    m.d.comb += [
        psched.parameters.eq(core.parameters),
        psched.hold.eq(core.hold),
    ]
    if parts.config.trace:
        model, made_of = Mux(laws.about.sample, model, 0), core.made_of
        if engine is not None:
            m.d.comb += [engine.model.eq(model), core.ran.eq(engine.ran)]
            model = engine.o_model
        m.d.comb += [
            *(made_of[name].eq(psched.about[name]) for name in ("t", "rtt")),
            made_of.score.eq(psched.score),
            made_of.model.eq(model),
        ]


def _to_psched(parts: Shared, laws: Laws) -> None:
    """The law engine, where there is one, before PSCHED."""
    m, core, stage, psched, engine = parts.m, parts.core, laws.stage, laws.psched, laws.engine
    if engine is None:
        wiring.connect(m, stage.o, psched.i)
        m.d.comb += [
            psched.about.eq(stage.about),
            core.event_ignored.eq(stage.ignored),
        ]
        return
    wiring.connect(m, stage.o, engine.i)
    wiring.connect(m, engine.o, psched.i)
    wiring.connect(m, engine.o_event, stage.i_event)
    wiring.connect(m, wiring.flipped(core.i_law_ack), engine.i_ack)
    pass_ports(m, core, engine, host_ports(parts.config), prefix="law_")
    if parts.config.guards_programs:
        wiring.connect(m, parts.predictor.programs, engine.ecc)
    m.d.comb += [
        engine.about.eq(stage.about),
        engine.hold.eq(core.hold | core.parameters.advice_hold),
        engine.mtu.eq(core.parameters.mtu),
        psched.about.eq(engine.of),
        core.event_ignored.eq(stage.ignored | engine.ignored),
    ]
