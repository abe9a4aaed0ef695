"""From the rate unit's decision to the output: events, the law engine, PSCHED."""

from amaranth.hdl import Mux
from amaranth.lib import wiring

from precog_hw.passing import pass_ports
from precog_hw.rate.engine.engine import host_ports

from .forecasts import scores
from .parts import Laws, Parts

__all__ = ["decisions"]


def decisions(parts: Parts) -> None:
    """Connect all that follows the rate unit."""
    m, core, rate = parts.m, parts.core, parts.rate
    if parts.laws is None:
        wiring.connect(m, rate.o, wiring.flipped(core.o_decision))
        return
    laws, psched, engine = parts.laws.stage, parts.laws.psched, parts.laws.engine
    wiring.connect(m, rate.o, laws.i)
    wiring.connect(m, parts.laws.raws.o, laws.i_raw)
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
        model, made_of = Mux(laws.about.sample, rate.o_model.as_value(), 0), core.made_of
        if engine is not None:
            m.d.comb += [engine.model.eq(model), core.ran.eq(engine.ran)]
            model = engine.o_model
        m.d.comb += [
            *(made_of[name].eq(psched.about[name]) for name in ("t", "rtt")),
            made_of.score.eq(psched.score),
            made_of.model.eq(model),
        ]


def _to_psched(parts: Parts, laws: Laws) -> None:
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
