"""Congestion scores in the network: who makes them, and how they come to a flow's PSCHED.

With each sample of a flow its sender makes a score. Where scores act at home, the device is told at
once; else the score rides on every data packet to the receiver, comes back with the acknowledgement
as the echo, and the device is told what has come back, a round trip later.
"""

from precog_models.predict.cps import rtt_position, score
from precog_sim.network.control import Cfg, Ctl
from precog_sim.network.draws import drawn
from precog_sim.network.ecmp import route
from precog_sim.network.jit import inlined, outlined
from precog_sim.network.layout import FlowCol, PortCol, PrioCol, ScoreSource
from precog_sim.network.net import Net
from precog_sim.network.outside import tell
from precog_sim.network.turns import priority_of
from precog_spec.contract import Fmt
from precog_spec.law_fields import NO_SCORE, SCORE_MAX, EventKind

__all__ = ["hear", "make_score", "restore_score"]

_SCORE = int(EventKind.SCORE)
_SRTT_FRAC = Fmt.SRTT.frac_bits
_PS_PER_TICK = 1000


@inlined
def _queueing_ps(net: Net, f: int) -> float:
    """How long the bytes take that wait now in the switches on the way of `f`'s data."""
    waits = 0.0
    node = net.port[net.port[net.flow[f, FlowCol.PORT], PortCol.PEER], PortCol.NODE]
    while node >= net.cfg[Cfg.HOSTS]:
        p = route(net, node, f, False)
        if p < 0:
            break  # the first packet will find that out
        waits += net.prio[priority_of(net, p, f), PrioCol.BYTES] * net.port_f[p]
        node = net.port[net.port[p, PortCol.PEER], PortCol.NODE]
    return waits


@inlined
def _oracle(net: Net, f: int, budget: int) -> int:
    """The score of the queueing delay that is there now."""
    waits = _queueing_ps(net, f)
    ticks = int(waits / _PS_PER_TICK * (1 << _SRTT_FRAC))
    return score(net.knots, rtt_position(ticks, 0, budget))


@outlined
def make_score(net: Net, f: int, now: int) -> None:
    """The sender's score after a sample; `asked` and `decision` are still those of the sample."""
    source = net.cfg[Cfg.SCORE_SOURCE]
    budget = net.cfg[Cfg.SCORE_BUDGET]
    made = NO_SCORE
    if source in (ScoreSource.FORGED, ScoreSource.CONSTANT):
        made = SCORE_MAX
    elif source == ScoreSource.GARBAGE:
        made = int(drawn(net.ctl, Ctl.SCORE_RNG) * (SCORE_MAX + 1))
    elif source == ScoreSource.PERSISTENCE:
        made = score(net.knots, rtt_position(net.asked[1] << _SRTT_FRAC, net.decision[5], budget))
    elif source == ScoreSource.MODEL:
        if net.decision[3] > 0:
            made = score(net.knots, rtt_position(net.decision[3], net.decision[5], budget))
    else:
        made = _oracle(net, f, budget)
        if source == ScoreSource.INVERTED:
            made = SCORE_MAX - made
    net.flow[f, FlowCol.SCORE] = made
    if net.cfg[Cfg.SCORE_ECHO] == 0:
        tell(net, _SCORE, f, made, now)


@outlined
def restore_score(net: Net, f: int, now: int) -> None:
    """Just before a sample a forger says the truth, so that no forged score holds when it comes."""
    budget = net.cfg[Cfg.SCORE_BUDGET]
    made = _oracle(net, f, budget)
    tell(net, _SCORE, f, made, now)


@inlined
def hear(net: Net, f: int, echo: int, full: bool, now: int) -> None:
    """An acknowledgement has brought a score back; one that is known is told once per sample."""
    if full or echo != net.flow[f, FlowCol.HEARD]:
        net.flow[f, FlowCol.HEARD] = echo
        tell(net, _SCORE, f, echo, now)
