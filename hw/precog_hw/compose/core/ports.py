"""Ports of the core, by the options that bring them."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from precog_hw.activity import ACTIVITY
from precog_hw.csr.layouts import DECISION, PARAMETERS, SAMPLE
from precog_hw.csr.qp import config_layout
from precog_hw.predict.forecast import FORECAST, PROFILE, Forecaster
from precog_hw.predict.unit import Predictor
from precog_hw.rate.engine.engine import LawEngine, host_ports
from precog_hw.rate.law_layouts import LAW_ACK, LAW_EVENT, MADE_OF, RAN
from precog_hw.rate.trials import FOUND, TRIALS
from precog_spec.config import NicConfig
from precog_spec.trial_fields import TRIAL_KINDS

__all__ = ["core_ports", "forecast_names"]

#: Members of `Forecaster` that lead outside.
_FORECAST_PORTS = (
    *("config_stb", "config_qp", "config", "threshold", "budget"),
    *("put", "query_table", "query_knot", "query", "events"),
    *("carry_stb", "carry_qp", "carry", "made", "made_qp", "made_rtt", "made_score"),
)


def core_ports(
    config: NicConfig,
    predictor: Predictor,
    engine: LawEngine | None,
    forecaster: Forecaster | None,
) -> dict[str, wiring.Member]:
    """Members of the core, among them those of its parts that lead outside."""
    ports = {
        "i_sample": In(stream.Signature(SAMPLE)),
        "o_decision": Out(stream.Signature(DECISION)),
        "dropped": Out(1),
        "command": In(stream.Signature(config_layout(config))),
        "restart_waits": In(1),
        "hold": In(1),
        "command_stb": Out(1),
        "parameters": In(PARAMETERS),
    }
    ports |= _passed(predictor, Predictor.outer_ports(config))
    if config.activity:
        ports |= {"activity": Out(ACTIVITY)}
    if config.laws:
        ports |= {"i_event": In(stream.Signature(LAW_EVENT)), "event_ignored": Out(1)}
    if engine is not None:
        ports |= {"i_law_ack": In(stream.Signature(LAW_ACK))}
        ports |= _passed(engine, host_ports(config), prefix="law_")
    if forecaster is not None:
        ports |= {
            "i_profile": In(stream.Signature(PROFILE)),
            "o_forecast": Out(stream.Signature(FORECAST)),
            "wrong_head": Out(1),
            "slot_enables": Out(config.sets),
            "event_stb": Out(1),
            "event": Out(LAW_EVENT),
        }
        ports |= _passed(forecaster, forecast_names(config), prefix="forecast_")
    if config.trials:
        found = {f"found_{kind}": Out(FOUND) for kind in TRIAL_KINDS}
        ports |= {"trials": In(TRIALS), "trial_clear": In(1), "trial_clearing": Out(1), **found}
    if config.trace:
        ports |= {"made_of": Out(MADE_OF), **({"ran": Out(RAN)} if engine is not None else {})}
    return ports


def forecast_names(config: NicConfig) -> tuple[str, ...]:
    """Members of `Forecaster` that lead outside."""
    return (*_FORECAST_PORTS, *(("made_of",) if config.trace else ()))


def _passed(
    part: wiring.Component, names: tuple[str, ...], *, prefix: str = ""
) -> dict[str, wiring.Member]:
    """Members of a part, with `prefix` in front of their names."""
    members = part.signature.members
    return {prefix + name: members[name] for name in names}
