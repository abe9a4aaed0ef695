"""Forecasts of queues: the forecaster's share of the predictor, and its scores for PSCHED."""

from amaranth.hdl import Const, Mux, Signal, Value
from amaranth.lib import stream, wiring

from precog_hw.passing import pass_ports
from precog_hw.rate.score_events import ScoreEvents
from precog_spec.contract import Fmt

from .parts import Shared
from .ports import forecast_names

__all__ = ["answers", "forecasts", "scores"]


def forecasts(parts: Shared, wanted: Value, sample: stream.Interface) -> Value:
    """Connect the forecaster, and its inputs and those of samples with the predictor.

    Parameters
    ----------
    parts : Shared
    wanted : Value
        A sample wants the predictor.
    sample : stream.Interface
        A sample's input `k`, once its request has been made.

    Returns
    -------
    asks : Value
        The forecaster asks the predictor in this cycle.
    """
    m, core, predictor, forecaster = parts.m, parts.core, parts.predictor, parts.forecaster
    if forecaster is None:
        return Const(0)
    m.submodules.forecaster = forecaster
    wiring.connect(m, wiring.flipped(core.i_profile), forecaster.i_profile)
    wiring.connect(m, forecaster.o_forecast, wiring.flipped(core.o_forecast))
    pass_ports(m, core, forecaster, forecast_names(parts.config), prefix="forecast_")
    m.d.comb += [
        forecaster.halt.eq(core.command.valid),
        forecaster.outputs.eq(predictor.asked_outputs),
        forecaster.version.eq(predictor.asked_version),
        forecaster.decision.eq(core.o_decision.payload),
        forecaster.decision_stb.eq(core.o_decision.valid & core.o_decision.ready),
        forecaster.command.eq(core.command.payload),
        forecaster.command_stb.eq(core.command_stb),
        core.wrong_head.eq(predictor.wrong_head),
        core.slot_enables.eq(predictor.slot_enables),
    ]
    if parts.config.trace:
        m.d.comb += forecaster.asked_set.eq(predictor.asked_set)
    # A request is offered in the cycle of its transfer only, which no valid of ours decides:
    # so it never takes an offer back when a sample comes.
    asks, feeds = Signal(), Signal()
    free = predictor.i_req.ready & ~wanted
    inputs = predictor.i_x
    if parts.config.tree:
        wiring.connect(m, predictor.o_tree, forecaster.i_answer)
        m.d.comb += [
            predictor.tree_threshold.eq(forecaster.threshold),
            *(x.eq(forecaster.x[n]) for n, x in enumerate(predictor.tree_x)),
        ]
    m.d.comb += [
        forecaster.o_req.ready.eq(free),
        asks.eq(forecaster.o_req.valid & free),
        inputs.valid.eq(feeds | sample.valid),
        inputs.payload[0].eq(sample.payload.k),
        sample.ready.eq(inputs.ready & ~feeds),
    ]
    # A request's inputs are taken before or while the next request is.
    with m.If(predictor.i_req.valid & predictor.i_req.ready):
        m.d.sync += feeds.eq(asks & (not parts.config.tree))
    with m.If(feeds):
        m.d.comb += inputs.payload.eq(forecaster.x)
    return asks


def answers(parts: Shared, ready: Value) -> tuple[Value, Value]:
    """Of the predictor's answers, those on profiles go to the forecaster.

    Parameters
    ----------
    parts : Shared
    ready : Value
        One on a sample is taken.

    Returns
    -------
    given : Value
        There is one on a sample.
    taken : Value
        The one that is there is taken.
    """
    m, answer, forecaster = parts.m, parts.predictor.o_rsp, parts.forecaster
    if forecaster is None or parts.config.tree:
        return answer.valid, ready
    of_profile, its = answer.payload.qp[-1], forecaster.i_answer
    m.d.comb += [
        its.valid.eq(answer.valid & of_profile),
        its.payload.live.eq(answer.payload.live),
        its.payload.out.eq(answer.payload.out),
    ]
    return answer.valid & ~of_profile, Mux(of_profile, its.ready, ready)


def scores(parts: Shared, events: stream.Interface) -> None:
    """Scores of forecasts take turns with the events from outside.

    A score bears the latest time that a sample, a profile or an event had.
    """
    m, core, forecaster = parts.m, parts.core, parts.forecaster
    assert forecaster is not None
    m.submodules.scores = made = ScoreEvents(parts.config, follows=True)
    now = Signal(Fmt.TIME.width)
    for source in (core.i_profile, core.i_event, core.i_sample):
        with m.If(source.valid & source.ready):
            m.d.sync += now.eq(source.payload.t)
    wiring.connect(m, wiring.flipped(core.i_event), made.i)
    wiring.connect(m, made.o, events)
    m.d.comb += [
        made.heard.eq(forecaster.told),
        made.heard_slot.eq(forecaster.told_qp),
        made.heard_score.eq(forecaster.told_score),
        made.now.eq(now),
        made.command_stb.eq(core.command_stb),
        made.command.eq(core.command.payload),
        core.event_stb.eq(events.valid & events.ready),
        core.event.eq(events.payload),
    ]
