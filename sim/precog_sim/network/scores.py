"""Congestion scores in the network: who makes them, and how they come to a flow's PSCHED.

With each sample of a flow its sender makes a score. Where scores act at home, the device is told at
once; else the score rides on every data packet to the receiver, comes back with the acknowledgement
as the echo, and the device is told what has come back, a round trip later.
"""

import numpy as np
from numpy.typing import NDArray

from precog_models.contract import Fmt
from precog_models.predict.cps import rtt_position, score
from precog_models.rate.law_fields import NO_SCORE, SCORE_MAX, EventKind
from precog_sim.network.ecmp import route
from precog_sim.network.jit import compiled, inlined
from precog_sim.network.layout import Cfg, Ctl, FlowCol, PortCol, ScoreSource
from precog_sim.network.outside import tell
from precog_sim.network.port import drawn

__all__ = ["hear", "make_score", "restore_score"]

_SCORE = int(EventKind.SCORE)
_SRTT_FRAC = Fmt.SRTT.frac_bits
_PS_PER_TICK = 1000

_Table = NDArray[np.int64]
_Reals = NDArray[np.float64]


@inlined
def _queueing_ps(
    port: _Table,
    port_f: _Reals,
    flow: _Table,
    cfg: _Table,
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    f: int,
) -> float:
    """How long the bytes take that wait now in the switches on the way of `f`'s data."""
    waits = 0.0
    node = port[port[flow[f, FlowCol.PORT], PortCol.PEER], PortCol.NODE]
    while node >= cfg[Cfg.HOSTS]:
        p = route(cfg, flow, route_start, route_count, route_ports, node, f, False)
        if p < 0:
            break  # the first packet will find that out
        waits += port[p, PortCol.LOW_BYTES] * port_f[p]
        node = port[port[p, PortCol.PEER], PortCol.NODE]
    return waits


@inlined
def _oracle(
    port: _Table,
    port_f: _Reals,
    flow: _Table,
    cfg: _Table,
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    knots: _Table,
    f: int,
    budget: int,
) -> int:
    """The score of the queueing delay that is there now."""
    waits = _queueing_ps(port, port_f, flow, cfg, route_start, route_count, route_ports, f)
    ticks = int(waits / _PS_PER_TICK * (1 << _SRTT_FRAC))
    return score(knots, rtt_position(ticks, 0, budget))


@compiled
def make_score(
    port: _Table,
    port_f: _Reals,
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    knots: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    now: int,
) -> None:
    """The sender's score after a sample; `asked` and `decision` are still those of the sample."""
    source = cfg[Cfg.SCORE_SOURCE]
    budget = cfg[Cfg.SCORE_BUDGET]
    made = NO_SCORE
    if source in (ScoreSource.FORGED, ScoreSource.CONSTANT):
        made = SCORE_MAX
    elif source == ScoreSource.GARBAGE:
        made = int(drawn(ctl, Ctl.SCORE_RNG) * (SCORE_MAX + 1))
    elif source == ScoreSource.PERSISTENCE:
        made = score(knots, rtt_position(asked[1] << _SRTT_FRAC, decision[5], budget))
    elif source == ScoreSource.MODEL:
        if decision[3] > 0:
            made = score(knots, rtt_position(decision[3], decision[5], budget))
    else:
        made = _oracle(
            port, port_f, flow, cfg, route_start, route_count, route_ports, knots, f, budget
        )
        if source == ScoreSource.INVERTED:
            made = SCORE_MAX - made
    flow[f, FlowCol.SCORE] = made
    if cfg[Cfg.SCORE_ECHO] == 0:
        tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE, f, made, now)


@compiled
def restore_score(
    port: _Table,
    port_f: _Reals,
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    route_start: _Table,
    route_count: _Table,
    route_ports: _Table,
    knots: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    now: int,
) -> None:
    """Just before a sample a forger says the truth, so that no forged score holds when it comes."""
    budget = cfg[Cfg.SCORE_BUDGET]
    made = _oracle(port, port_f, flow, cfg, route_start, route_count, route_ports, knots, f, budget)
    tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE, f, made, now)


@inlined
def hear(
    flow: _Table,
    rate: _Reals,
    ctl: _Table,
    cfg: _Table,
    asked: _Table,
    decision: _Table,
    log: _Table,
    f: int,
    echo: int,
    full: bool,
    now: int,
) -> None:
    """An acknowledgement has brought a score back; one that is known is told once per sample."""
    if full or echo != flow[f, FlowCol.HEARD]:
        flow[f, FlowCol.HEARD] = echo
        tell(flow, rate, ctl, cfg, asked, decision, log, _SCORE, f, echo, now)
